"""What the auditor's word comes to, as the decision sees it. The answer itself is `roles.opinion`'s."""

from __future__ import annotations

from enum import StrEnum

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
    be met, each with its confidence. `evidence`: the ids that it cites.
    """

    outcome: AuditorOutcome
    cited: bool = False
    feedback: str = ""
    confidence: float | None = None
    passed_subjective: dict[str, float] = {}
    evidence: tuple[str, ...] = ()
