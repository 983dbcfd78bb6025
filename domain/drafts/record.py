"""What a round drafted: the specification, the criteria that came of it, and what was rejected by name."""

from __future__ import annotations

from typing import Literal

from domain.base import Message
from domain.criteria import Criterion
from domain.roles.results import PassResult

Fault = Literal["vacuous", "flaky", "needs_network", "does_not_run", "passes_on_base", "fails_on_base"]
"""Why a drafted check may not count. `vacuous`: it passes on an empty tree; `passes_on_base`: what it tests is new, and
the base passes it; `fails_on_base`: what it tests is old, and the base fails it."""


class Rejected(Message):
    """A drafted check that did not pass its lint: of which criterion, what it was, and why, in words."""

    criterion: str
    check: str
    code: Fault
    reason: str


class DraftRecord(Message):
    """The drafting of one round. `criteria` joined the order; `dropped` did not, `returned` went back once.

    `specification` names the blob of the designer's answer, empty where there is none. `uncovered`: requirements that
    no check which counts covers. `binding`: whether they are a gate, which what an agent asked for never makes.
    `why`: in words, where nothing was drafted although it was asked for.
    """

    passes: tuple[PassResult, ...] = ()
    specification: str = ""
    summary: str = ""
    criteria: tuple[Criterion, ...] = ()
    returned: tuple[Rejected, ...] = ()
    dropped: tuple[Rejected, ...] = ()
    uncovered: tuple[str, ...] = ()
    binding: bool = True
    why: str = ""
    seconds: float = 0.0
