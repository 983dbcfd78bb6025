"""What a pass of a role comes to, and all passes of a round together. Only digests of long texts travel.

Source: DESIGN 4 "Role passes", seed `auditor` 3.0.2.
"""

from __future__ import annotations

from typing import Literal

from domain.base import Message
from domain.checks import CheckResult
from domain.roles.designed import Specification, TestPlan
from domain.roles.disputes import Dispute
from domain.roles.names import Side
from domain.roles.opinion import Question, Word
from domain.verdict import Audit, Ruled, Tiebreak


class WantedTest(Message):
    """A check that a role asks for, by the name that the order gives it."""

    call: str
    item: str


class RefusedCall(Message):
    """A tool call that was refused: to write, to climb out, to reach a host off the list, or for what is not there."""

    tool: str
    arguments: str
    code: str
    reason: str


class Assessed(Message):
    """One criterion, for the trail; `evidence` is what the first quote cites."""

    criterion: str
    assessment: Word
    confidence: float
    evidence: str = ""


class Fixed(Message):
    """What a fix builder came to. Seed `fix loop` 1: `APPLIED:n`, `PARTIAL:n/m`, `COULD_NOT_APPLY: reason` is `answer`.

    `head` names the manifest of the work with its edits, `patch` the blob of the unified diff that they are, `paths`
    what they change; `head` is empty where it could not apply.
    """

    kind: Literal["applied", "partial", "could_not_apply"]
    answer: str
    reason: str = ""
    edits: int = 0
    head: str = ""
    head_files: int = 0
    head_bytes: int = 0
    patch: str = ""
    paths: tuple[str, ...] = ()


class PassUsage(Message):
    """What a pass used. `requests`: those that were sent; `remembered`: those answered from an earlier try's memory."""

    requests: int = 0
    remembered: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    micros: int = 0


class Provenance(Message):
    """What the answer follows from, beside the packet: digests. `scripted`: no model answered, a file did."""

    model: str = ""
    scripted: bool = False
    prompt: str = ""
    tools: str = ""
    policy: str = ""
    packet: str = ""


PassOutcome = Literal[
    "answered",
    "asks",
    "wants_tests",
    "not_configured",
    "unavailable",
    "inconclusive",
    "cost_cap_exceeded",
    "timed_out",
]


class PassResult(Message):
    """What a pass came to. `said` names the blob of its answer (`FirstLook` or `Opinion`), `messages` the conversation.

    `audit` only from an `answered` informed stage. `why`: in words, where nothing was answered. `seconds`: what it took
    of the audit's time, over all its tries. `rulings` only from a judge, `specification` from a designer, `plan` from a
    strategist, `fixed` from a fix builder.
    """

    outcome: PassOutcome
    why: str = ""
    said: str = ""
    messages: str = ""
    audit: Audit | None = None
    assessed: tuple[Assessed, ...] = ()
    question: Question | None = None
    tests: tuple[WantedTest, ...] = ()
    refused: tuple[RefusedCall, ...] = ()
    usage: PassUsage = PassUsage()
    provenance: Provenance = Provenance()
    seconds: float = 0.0
    rulings: tuple[Ruled, ...] = ()
    specification: Specification | None = None
    plan: TestPlan | None = None
    fixed: Fixed | None = None


class Answered(Message):
    """A follow-up as it went: `answer` is None where nobody answered in time; `evidence` are ids of ours."""

    round: int
    question: Question
    answer: str | None = None
    evidence: tuple[str, ...] = ()


class AuditRecord(Message):
    """The auditor's part of a round's record: every pass in its order, and what it all comes to for `decide`.

    `audit` is None where nobody judged: no model is configured, or the order asks for none. `ran`: what came of the
    checks that passes asked for, in their order.
    """

    passes: tuple[PassResult, ...] = ()
    dialogue: tuple[Answered, ...] = ()
    ran: tuple[CheckResult, ...] = ()
    audit: Audit | None = None
    seconds: float = 0.0


class Hearing(Message):
    """One time that the judge was asked: whose argument it read first, and what came of it."""

    first: Side
    result: PassResult


class DisputeRecord(Message):
    """The adversarial stage of a round's record: what was disputed, both sides, the judge's one or two hearings.

    `tiebreak`: what it comes to for `decide`, None where nobody argued; then `why` says why not, if anything was
    disputed at all.
    """

    disputes: tuple[Dispute, ...] = ()
    advocate: PassResult | None = None
    critic: PassResult | None = None
    hearings: tuple[Hearing, ...] = ()
    tiebreak: Tiebreak | None = None
    why: str = ""
    seconds: float = 0.0

    @property
    def passes(self) -> tuple[PassResult, ...]:
        """Every pass in its order."""
        sides = (side for side in (self.advocate, self.critic) if side is not None)
        return (*sides, *(hearing.result for hearing in self.hearings))
