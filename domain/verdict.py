"""What the auditor's and the judge's words come to, as the decision sees them. The answers are `domain.roles`'."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from domain.base import Message


class AuditorOutcome(StrEnum):
    """The auditor's overall word. Seed `authority` 4.4: PASS, SOFT_FAIL, HARD_FAIL; seed `auditor` 3.3: blocked.

    The last four are no word on the work: nobody could be asked, no answer held up, the money or the time was spent.
    """

    APPROVED = "approved"
    CHANGES_REQUESTED = "changes_requested"
    FAILED = "failed"
    BLOCKED = "blocked"
    UNAVAILABLE = "unavailable"
    INCONCLUSIVE = "inconclusive"
    COST_CAP = "cost_cap_exceeded"
    TIMED_OUT = "timed_out"


class Audit(Message):
    """One audit, done or attempted. `cited`: what it cites holds up by `roles.citations`.

    `feedback`: its reasons and what it wants done, or why there is no word, in words. `confidence` is of the whole
    verdict, None where there is none. `passed_subjective`: the criteria that only a judge can tell and that it holds to
    be met, each with its confidence. `evidence`: the ids that it cites. `objects_to`: the criteria that it holds not to
    be met or not shown to be.
    """

    outcome: AuditorOutcome
    cited: bool = False
    feedback: str = ""
    confidence: float | None = None
    passed_subjective: dict[str, float] = {}
    evidence: tuple[str, ...] = ()
    objects_to: tuple[str, ...] = ()


class TiebreakOutcome(StrEnum):
    """What the adversarial stage came to. Only `judged` is a word on the work."""

    JUDGED = "judged"
    UNAVAILABLE = "unavailable"
    INCONCLUSIVE = "inconclusive"
    COST_CAP = "cost_cap_exceeded"
    TIMED_OUT = "timed_out"


class Ruled(Message):
    """The judge on one disputed criterion. `evidence`: the ids that it quotes."""

    criterion: str
    verdict: Literal["PASS", "FAIL"]
    confidence: float
    reasoning: str = ""
    evidence: tuple[str, ...] = ()


class Tiebreak(Message):
    """The adversarial stage as the decision sees it: what the judge ruled, or why there is no word, in `feedback`.

    `settled`: criteria on which the judge was not sure and said the same with the order of the arguments swapped.
    Without a word on the work there are no rulings: what it may have said of one is no word, either.
    """

    outcome: TiebreakOutcome
    rulings: tuple[Ruled, ...] = ()
    settled: tuple[str, ...] = ()
    feedback: str = ""

    @property
    def failed(self) -> tuple[Ruled, ...]:
        """What it ruled not to be met, sure or not: that only ever holds back."""
        judged = self.outcome is TiebreakOutcome.JUDGED
        return tuple(ruled for ruled in self.rulings if judged and ruled.verdict == "FAIL")

    def passed(self, threshold: float) -> dict[str, Ruled]:
        """What it ruled to be met, by id, where it was as sure as `threshold` or the word is settled."""
        failed = {ruled.criterion for ruled in self.failed}
        return {
            ruled.criterion: ruled
            for ruled in self.rulings
            if self.outcome is TiebreakOutcome.JUDGED
            and ruled.criterion not in failed
            and (ruled.confidence >= threshold or ruled.criterion in self.settled)
        }
