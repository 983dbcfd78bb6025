"""How sure a round is of the work, in the five words of the fix loop. It decides nothing: `decision` has.

Source: seed `fix loop` 1 "Step C", DESIGN 4 "Vocabulary".
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from domain.checks import CheckResult
from domain.decision import Decision, RoundOutcome

ADVISED_AGAINST = "advised_against"
"""The code of a judge's ruling that something is not met which holds nothing back."""


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
    PERFECT, one with `notices`, or with a reason beside the pass, VERIFIED. Checks that could not be run are the
    harness's, tried often enough or not.
    """
    match decision.outcome:
        case RoundOutcome.CHANGES_REQUESTED:
            return Confidence.FEEDBACK
        case RoundOutcome.INCONCLUSIVE:
            return Confidence.FAILED
        case RoundOutcome.NEEDS_HUMAN if decision.trigger == "checks_could_not_run":
            return Confidence.FAILED
        case RoundOutcome.VERIFIED if remarks(decision, results):
            return Confidence.PARTIAL
        case RoundOutcome.VERIFIED:
            return Confidence.VERIFIED if any(notices) or len(decision.reasons) > 1 else Confidence.PERFECT
    return None


def remarks(decision: Decision, results: Iterable[CheckResult]) -> tuple[str, ...]:
    """What of the work is not as it should be although nothing of it holds a pass back: each in a sentence."""
    not_passed = (
        f"{r.id}{'' if r.required else ' (advisory)'}: {r.text or r.outcome}" for r in results if not r.passed
    )
    advice = (reason.text for reason in decision.reasons if reason.code == ADVISED_AGAINST)
    return (*not_passed, *advice)
