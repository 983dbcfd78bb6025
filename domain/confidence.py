"""How sure a round is of the work, in the five words of the fix loop. It decides nothing: `decision` has.

Source: seed `fix loop` 1 "Step C", DESIGN 4 "Vocabulary".
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from domain.checks import CheckResult
from domain.decision import Decision, RoundOutcome


class Confidence(StrEnum):
    """PERFECT and VERIFIED are passes, PARTIAL one with notes; FEEDBACK can be repaired, FAILED is the harness's."""

    PERFECT = "PERFECT"
    VERIFIED = "VERIFIED"
    PARTIAL = "PARTIAL"
    FEEDBACK = "FEEDBACK"
    FAILED = "FAILED"


def confidence_of(decision: Decision, results: Iterable[CheckResult], notices: Iterable[str] = ()) -> Confidence | None:
    """The word for it; None for a round that a fix loop has no word for: a hard fail, and what needs a human anyway.

    A verified round in which something that is not required did not pass is PARTIAL; one with nothing to remark on is
    PERFECT, one with `notices` VERIFIED.
    """
    match decision.outcome:
        case RoundOutcome.CHANGES_REQUESTED:
            return Confidence.FEEDBACK
        case RoundOutcome.INCONCLUSIVE:
            return Confidence.FAILED
        case RoundOutcome.VERIFIED if not all(result.passed for result in results):
            return Confidence.PARTIAL
        case RoundOutcome.VERIFIED:
            return Confidence.VERIFIED if any(notices) else Confidence.PERFECT
    return None
