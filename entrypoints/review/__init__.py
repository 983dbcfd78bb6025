"""The review of one todo on a terminal: what is read for it, how it is shown, and what a person may do about it."""
