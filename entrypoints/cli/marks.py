"""The marks and colours of outcomes and words, the same in every part of what a person sees."""

from __future__ import annotations

MARKS = {
    "waiting": ("·", "dim"),
    "running": ("▸", "cyan"),
    "passed": ("✓", "green"),
    "done": ("✓", "green"),
    "failed": ("✗", "red"),
    "could_not_run": ("?", "yellow"),
    "not_judged": ("?", "yellow"),
    "skipped": ("-", "dim"),
}
"""By how a step, check or criterion stands."""

WORD_MARKS = {"PASS": ("✓", "green"), "FAIL": ("✗", "red"), "UNPROVED": ("?", "yellow")}
"""By a role's word on a criterion."""

SCRIPTED = ("  scripted: no model judged", "bold yellow")
"""What stands beside anything that a file answered in a model's place."""
