"""What the auditor and the judge say that holds a round back, in reasons: their words, and why there are none.

What it makes of the verdict is `decision`'s. Source: DESIGN 4 "decide, in order", seed `authority` 4.4, seed `pipeline`
"Judge".
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from domain.base import Message
from domain.verdict import Audit, AuditorOutcome, Tiebreak, TiebreakOutcome

JUDGE_FAILED = "judge_failed"
"""The code of a ruling that holds the work back."""


class Reason(Message):
    """One reason of a decision: a stable code, a sentence, and the ids of the evidence that shows it."""

    code: str
    text: str
    evidence: tuple[str, ...] = ()


_OF_THE_AUDITOR = {
    AuditorOutcome.UNAVAILABLE: ("verifier_unavailable", "verifier unavailable"),
    AuditorOutcome.INCONCLUSIVE: ("auditor_inconclusive", "no answer of the auditor's held up"),
    AuditorOutcome.COST_CAP: ("cost_cap_exceeded", "asking the auditor would pass a cap on costs"),
    AuditorOutcome.TIMED_OUT: ("audit_timed_out", "the auditor came to no verdict within its time"),
}
_OF_THE_STAGE = {
    TiebreakOutcome.UNAVAILABLE: ("judge_unavailable", "what is disputed could not be argued"),
    TiebreakOutcome.INCONCLUSIVE: ("judge_inconclusive", "what is disputed was not settled"),
    TiebreakOutcome.COST_CAP: ("cost_cap_exceeded", "arguing what is disputed would pass a cap on costs"),
    TiebreakOutcome.TIMED_OUT: ("judge_timed_out", "what is disputed was not settled in the time for it"),
}
"""Why there is no word on the work: the code, and what comes before the reason."""


def feedback(
    audit: Audit | None, tiebreak: Tiebreak | None, threshold: float, required: Collection[str]
) -> list[Reason]:
    """What both have to say where they do not hold the work to be right, or why they say nothing.

    `required`: the criteria and checks on which a ruling holds the work back; on any other it is advice.
    """
    return [*_of_the_auditor(audit, tiebreak, threshold), *_of_the_judge(tiebreak, required)]


def overruled(audit: Audit | None, tiebreak: Tiebreak | None, threshold: float) -> tuple[str, ...]:
    """The criteria that an auditor who wants changes objects to, where the judge ruled surely that each is met.

    None where one of them was not ruled so, and for an objection that names no criterion: it stands.
    """
    if audit is None or tiebreak is None or audit.outcome is not AuditorOutcome.CHANGES_REQUESTED:
        return ()
    passed = tiebreak.passed(threshold)
    return audit.objects_to if all(id in passed for id in audit.objects_to) else ()


def unjudged(
    subjective: Collection[str], audit: Audit | None, tiebreak: Tiebreak | None, threshold: float
) -> Iterator[Reason]:
    """The required criteria that only a judge can tell and that nobody was sure enough are met.

    Where there is a ruling, it stands, whatever the auditor's confidence. No rate forgives one of these:
    `require_all_pass: false` and `max_fail_rate` are for what a machine can tell.
    """
    ruled = tiebreak.passed(threshold) if tiebreak else {}
    wanted = frozenset(subjective) - ruled.keys()
    sure = audit.passed_subjective if audit else {}
    if unnamed := sorted(wanted - sure.keys()):
        yield Reason(code="not_judged", text=f"nobody judged {', '.join(unnamed)}, and only a judge can")
    for id in sorted(wanted & sure.keys()):
        if sure[id] < threshold:
            text = f"the auditor is not sure enough of {id}: {_compared(sure[id], threshold)}"
            yield Reason(code="not_judged", text=text)


def unsure(
    criteria: Collection[str], audit: Audit | None, tiebreak: Tiebreak | None, threshold: float
) -> Iterator[Reason]:
    """An approval that the auditor is not sure of: told beside the pass, which the checks have earned.

    Not where a judge ruled on every one of the `criteria`: its word is beside the checks then. Nor where the auditor's
    word is overruled, since that is no approval.
    """
    confidence = audit.confidence or 0.0 if audit else 1.0
    ruled = {ruling.criterion for ruling in tiebreak.rulings} if tiebreak else set()
    if confidence >= threshold or overruled(audit, tiebreak, threshold) or (criteria and ruled >= set(criteria)):
        return
    yield Reason(
        code="low_confidence", text=f"the auditor is not sure of its approval: {_compared(confidence, threshold)}"
    )


def _of_the_auditor(audit: Audit | None, tiebreak: Tiebreak | None, threshold: float) -> Iterator[Reason]:
    if audit is None or audit.outcome is AuditorOutcome.APPROVED:
        return
    if audit.outcome in _OF_THE_AUDITOR:
        yield _silent(*_OF_THE_AUDITOR[audit.outcome], audit.feedback)
    elif gone := overruled(audit, tiebreak, threshold):
        text = f"the auditor objected to {', '.join(gone)}, and the judge ruled that each is met after both sides"
        yield Reason(code="objection_overruled", text=text, evidence=audit.evidence)
    else:
        text = audit.feedback or f"the auditor's word is {audit.outcome}"
        yield Reason(code=f"auditor_{audit.outcome}", text=text, evidence=audit.evidence)


def _of_the_judge(tiebreak: Tiebreak | None, required: Collection[str]) -> Iterator[Reason]:
    if tiebreak is None:
        return
    if tiebreak.outcome in _OF_THE_STAGE:
        yield _silent(*_OF_THE_STAGE[tiebreak.outcome], tiebreak.feedback)
    for ruled in tiebreak.failed:
        code = JUDGE_FAILED if ruled.criterion in required else "advised_against"
        yield Reason(code=code, text=f"{ruled.criterion}: {ruled.reasoning or 'not met'}", evidence=ruled.evidence)


def _silent(code: str, text: str, why: str) -> Reason:
    return Reason(code=code, text=f"{text}: {why}" if why else text)


def _compared(confidence: float, threshold: float) -> str:
    return f"a confidence of {confidence:g}, and the order wants {threshold:g}"
