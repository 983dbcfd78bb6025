"""One pass of a role: what the activity is told. What it answers is in `results`.

Source: DESIGN 4 "Role passes" and 8 "Blind first pass".
"""

from __future__ import annotations

from domain.base import Message
from domain.checks import CheckResult
from domain.claims.claim import Contradiction
from domain.drafts.record import Rejected
from domain.life import FollowUpAnswer
from domain.messages import Frozen, RoundInput, ScopeResult
from domain.roles.disputes import Dispute
from domain.roles.names import Role, Side, Stage


class RanTest(Message):
    """What came of a check that a role asked for; `call` is its tool call's id."""

    call: str
    result: CheckResult


class GivenCase(Message):
    """One side's answer that a judge is given; `said` names its blob, `messages` that of its conversation.

    Of the conversation the judge is shown what the side's tools found and its answer quotes.
    """

    side: Side
    said: str
    messages: str = ""


class PassInput(Message):
    """One pass. A stage has as many as it takes: it pauses where a worker has to answer or a check has to run.

    `part` counts a stage's passes from 0. `messages` names the blob of the conversation so far, empty for a new one.
    `first_look` names that of the blind stage's answer. `answers` are all follow-ups so far; `questions` how many more
    may be asked. `ran`: what came of the checks that the pass before asked for. `limit`: seconds that are left of the
    audit's time. `model` stands for the configured one (`rejudge --model`), empty for none.
    `take`: of a pass that is run anew on purpose, so that nothing of another take is remembered.
    `disputes`: what is argued about, `opinion` the blob of the auditor's word, `cases` both sides in the order in which
    a judge reads them. `specification`: the blob of the designer's; `rejected`: checks of an earlier plan that did not
    pass their lint. A designer's and a strategist's `scope.tree` is the base: what they write must not know the work.
    `feedback`: the blob of the `RetryContext` that a fix builder works by; `budget`: micros that its loop has left.
    """

    round: RoundInput
    frozen: Frozen
    scope: ScopeResult
    results: tuple[CheckResult, ...]
    contradictions: tuple[Contradiction, ...] = ()
    role: Role = "auditor"
    stage: Stage
    part: int = 0
    messages: str = ""
    first_look: str = ""
    answers: tuple[FollowUpAnswer, ...] = ()
    questions: int = 0
    ran: tuple[RanTest, ...] = ()
    limit: float
    model: str = ""
    take: str = ""
    disputes: tuple[Dispute, ...] = ()
    opinion: str = ""
    cases: tuple[GivenCase, ...] = ()
    specification: str = ""
    rejected: tuple[Rejected, ...] = ()
    feedback: str = ""
    budget: int | None = None

    @property
    def key(self) -> str:
        """The same for the same pass, whichever worker runs it, however often."""
        return f"{self.round.workflow_id}/{self.role}/{self.stage}/{self.part}"
