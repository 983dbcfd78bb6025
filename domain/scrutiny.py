"""What was learned about a check itself: that it ran what it should, that it can fail, that the work decides it.

Facts for the report, stored with the check's result; what they mean for the outcome is the checker's. Source: DESIGN 8.
"""

from __future__ import annotations

from typing import Literal

from domain.base import Message

NAMED = 20
"""Tests of each kind that are told by name; the evidence has them all."""

GROUPS = 4
"""Runs that a command of tests has beside its own, at most: with the values of some of its files changed in each."""

SINGLES = 3
"""Runs with only some of these values changed that may follow, one after the other."""

PROOFS = 5
"""Runs that may follow one of them that passed."""


class Counts(Message):
    """The tests of a structured run. `expected`: those that the base, or the order, has; the others are of the head.

    `missing`: expected and not reported. `added`: of the head alone. `pre_existing`: failed, and are recorded failing
    on the base. The rest are counts of the head's outcomes.
    """

    expected: int = 0
    passed: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0
    xfailed: int = 0
    xpassed: int = 0
    missing: int = 0
    added: int = 0
    pre_existing: int = 0


class ControlSeen(Message):
    """What became of the run that has to fail. `missed`: it did not, so the check can be talked into passing.

    `kind`: a `canary` test in a run of pytest, the order's own `patch` or `command`, or the `tests` of a command whose
    expected values were changed.
    """

    kind: Literal["canary", "patch", "command", "tests"]
    outcome: Literal["noticed", "missed", "not_applicable"]
    text: str = ""
    evidence: str = ""


class Expectation(Message):
    """How many tests depend on the values that they expect: one literal of each was changed, and it had to fail.

    `tests` that were expected and passed; of them `measured` had a literal to change and ran changed, `constrained`
    went red then. `unconstrained` names the first of the others. `seed` chose the literals and the sample.
    """

    tests: int = 0
    measured: int = 0
    constrained: int = 0
    unconstrained: tuple[str, ...] = ()
    seed: int = 0

    @property
    def share(self) -> float | None:
        """Constrained of measured, None where nothing was measured."""
        return self.constrained / self.measured if self.measured else None
