"""What crosses a process boundary in a fix loop: one frozen input and one result each. Only added to."""

from __future__ import annotations

from typing import Literal

from domain.base import Message
from domain.confidence import Confidence
from domain.fixing import Budget, Tally
from domain.messages import FreezeInput, Frozen, RoundInput, RoundResult

Ending = Literal["success", "success_with_notes", "escalated", "aborted"]
Placed = Literal["", "applied", "offered"]
"""Where the patch went: nowhere, into the workspace, or into the evidence folder alone."""


class FixLoopInput(Message):
    """The fix loop of one round: `round` as it was asked, `result` as it ended.

    `tally` has what earlier loops of the same todo used of `budget`. `frozen_base` as in `FreezeInput`, empty for none.
    """

    round: RoundInput
    result: RoundResult
    tally: Tally = Tally()
    budget: Budget
    frozen_base: str = ""

    @property
    def workflow_id(self) -> str:
        """`fix/SESSION/TODO/ATTEMPT`, by the round whose work is repaired."""
        return fix_loop_id(self.round.session, self.round.todo, self.round.attempt)


def fix_loop_id(session: str, todo: str, attempt: int) -> str:
    """The id of the fix loop of a round."""
    return f"fix/{session}/{todo}/{attempt}"


class Iteration(Message):
    """One iteration. `attempt` numbers the round of its result, 0 where there was none; `why`: why not.

    `answer` is the fix builder's, `feedback`, `patch` and `report` name blobs: the `RetryContext` that it was given,
    its unified diff, and the report of the round. `micros`: what the ledger has for it.
    """

    loop: int
    answer: str = ""
    edits: int = 0
    refused: int = 0
    paths: tuple[str, ...] = ()
    feedback: str = ""
    patch: str = ""
    attempt: int = 0
    report: str = ""
    outcome: str = ""
    confidence: Confidence | None = None
    why: str = ""
    micros: int = 0


class FixLoopResult(Message):
    """What a fix loop came to. `trigger` and `reason` where it escalated; `tally` with what was used before it.

    `frozen`, `attempt` and `result` are of the last round, the one whose work is verified where it succeeded. `patch`
    names the blob of the whole unified diff from the worker's work to that, `summary` that of `SUMMARY.md`. `placed`:
    where the patch went, `why_offered`: why not into the workspace.
    """

    ending: Ending
    trigger: str = ""
    reason: str = ""
    tally: Tally = Tally()
    loops: int = 0
    of: int = 0
    iterations: tuple[Iteration, ...] = ()
    attempt: int = 0
    frozen: Frozen | None = None
    result: RoundResult | None = None
    patch: str = ""
    placed: Placed = ""
    why_offered: str = ""
    summary: str = ""
    notes: tuple[str, ...] = ()


class FixProgress(Message):
    """A fix loop as it stands, which its `progress` query answers. `round` is the workflow id of one that runs."""

    loop: int = 0
    of: int = 0
    doing: str = ""
    round: str = ""
    iterations: tuple[Iteration, ...] = ()


class SpentInput(Message):
    """Of which round the ledger is asked."""

    session: str
    todo: str
    attempt: int


class SpentResult(Message):
    """Micros of a round: its own roles', and those of the fix builder that repaired its work. Lost requests count."""

    verifying: int = 0
    fixing: int = 0


class ApplyInput(Message):
    """A repair for a workspace: from the tree `head`, as it was frozen, to `fixed` (manifests by digest).

    `freeze` is how the workspace is looked at, the same as when `head` was frozen.
    """

    freeze: FreezeInput
    head: str
    fixed: str


class Applied(Message):
    """What became of it: `paths` have the repair, all of its paths unless `why` says what kept the rest from it.

    With a `why`, `paths` are mostly empty: only what is changed while it is written leaves a repair in the middle.
    """

    paths: tuple[str, ...] = ()
    why: str = ""


class FileFixLoopInput(Message):
    """What people read of a fix loop, to be put into the folder of the round that it began with: `attempt`.

    `from_head` and `to_head`: manifests by digest, whose difference is the patch; empty where nothing was repaired.
    """

    session: str
    todo: str
    attempt: int
    title: str
    domain: str
    result: FixLoopResult
    budget: Budget
    from_head: str = ""
    to_head: str = ""


class FiledFixLoop(Message):
    """Blobs: of `SUMMARY.md`, and of the whole patch."""

    summary: str
    patch: str = ""
