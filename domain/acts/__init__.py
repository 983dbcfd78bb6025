"""What a command does to a todo beyond its place in the table: pure and total, every rule of DESIGN 3 that is no cap.

`workers`, `people` and `system`: who asks. Each function takes the todo as it stands, the request and the time, and
answers with a `Step` or a `Refusal`. It starts nothing: the workflow stores the step's rows, assigns its todo, and
brings rounds, timers and reports in line with that.
"""
