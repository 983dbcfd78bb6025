"""What a round drafted: the specification, the criteria that came of it, and what was rejected by name."""

from __future__ import annotations

from typing import Literal

from domain.base import Message
from domain.criteria import Criterion
from domain.order import Order
from domain.roles.results import PassResult

LEAST_CRITERIA, MOST_FAILED = 3, 0.1
"""What drafted criteria are held to: fewer are none, and so large a part of them may fail if not all have to pass."""

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
    `why`: in words, where nothing was drafted although it was asked for, or not all of it. `unknown`: that was for a
    cause outside the work and the roles, so that the round is tried again. `remembered`: an earlier attempt drafted it.
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
    unknown: bool = False
    remembered: bool = False

    @property
    def undrafted(self) -> str:
        """Why it could not be told what to check, for a cause outside the work; empty where it could."""
        return self.why if self.unknown else ""

    def completed(self, order: Order) -> Order:
        """`order` with what was drafted for it, and with the seed's thresholds for that where it states none itself.

        What is no gate changes no threshold. Seed `pipeline` "Configuration": `min_criteria`, `max_fail_rate`.
        """
        whole = order.with_criteria(self.criteria)
        if not self.criteria or not self.binding:
            return whole
        stated = order.verification
        thresholds = {
            "min_criteria": stated.min_criteria or LEAST_CRITERIA,
            "max_fail_rate": stated.max_fail_rate or MOST_FAILED,
        }
        return whole.model_copy(update={"verification": stated.model_copy(update=thresholds)})

    @property
    def no_gate(self) -> frozenset[str]:
        """The ids of what joined the order and is no gate by itself: an agent's content led to it."""
        return frozenset() if self.binding else frozenset(criterion.id for criterion in self.criteria)

    @property
    def notice(self) -> str:
        """What a reader has to know of it, empty for nothing."""
        if self.criteria:
            return f"not everything was drafted: {self.why}" if self.why else ""
        return f"no checks were drafted: {self.why}" if self.why else ""
