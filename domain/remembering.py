"""Which verdicts answer again: those of the same work under the same authority that only the work decided. Pure.

A round is compared by its record. What the engine and the stores have now is `entrypoints.remembered`'s to compare.
"""

from __future__ import annotations

from collections.abc import Iterator

from domain.authority import Authority
from domain.checks import CheckResult, Outcome
from domain.confidence import confidence_of
from domain.criteria import ApiResponse, PrExists, PrMerged
from domain.decision import VERDICTS, Reason, RoundOutcome
from domain.feedback import RetryContext
from domain.fixing import begins
from domain.headline import WORDS
from domain.messages import Frozen, RoundInput, RoundRecord, RoundResult
from domain.report import Remembered, Report
from domain.verdict import AuditorOutcome, TiebreakOutcome

CONCLUSIVE = frozenset({RoundOutcome.VERIFIED, RoundOutcome.CHANGES_REQUESTED, RoundOutcome.FAILED})
_OUTSIDE = (ApiResponse, PrExists, PrMerged)
_NO_WORD = frozenset(
    {AuditorOutcome.UNAVAILABLE, AuditorOutcome.INCONCLUSIVE, AuditorOutcome.COST_CAP, AuditorOutcome.TIMED_OUT}
)
_TIMED_OUT = "verification_timeout"


def same_work(record: RoundRecord, request: RoundInput, frozen: Frozen) -> bool:
    """Whether the recorded round was about what `request` asks about: order, claim and, by digest, all trees."""
    then = record.frozen
    if then is None:
        return False
    return (record.input.order_digest, record.input.claim) == (request.order_digest, request.claim) and (
        then.head,
        then.base,
        then.order_files,
        then.commits,
    ) == (frozen.head, frozen.base, frozen.order_files, frozen.commits)


def changed_authority(then: Authority, now: Authority) -> str:
    """What else decides now than did then, in words; empty where it is the same."""
    if not then.program:
        return "what decided then was not recorded"
    if then.program != now.program:
        return "Countersign itself changed"
    if then.configuration != now.configuration:
        files = {file.path for file in set(then.configuration) ^ set(now.configuration)}
        return f"the configuration changed: {', '.join(sorted(files))}" if files else "the configuration changed"
    names = {name for name, _ in then.environment.items() ^ now.environment.items()}
    if names:
        return f"other variables decide: {', '.join(sorted(names))}"
    for what in ("pin", "signers", "models"):
        if getattr(then, what) != getattr(now, what):
            return f"the {what} changed" if what == "pin" else f"the {what} are others"
    return "" if then == now else "the authority changed"


def unlasting(record: RoundRecord) -> str:
    """Why the verdict that the round came to may be another next time, in words; empty where only the work decided."""
    if record.input.loop or _is_repaired(record):
        return "a fix loop belongs to it"
    if outside := next((c.id for c in record.order.acceptance_criteria if isinstance(c, _OUTSIDE)), None):
        return f"{outside} asks a service outside"
    for result in _results(record):
        if result.flaky:
            return f"{result.id} was flaky"
        if result.outcome is Outcome.COULD_NOT_RUN:
            return f"{result.id} could not be run"
        if result.code == _TIMED_OUT:
            return f"{result.id} ran out of time"
    return _without_a_word(record)


def answered(report: Report, where: Remembered, words: str = "") -> Report:
    """The stored `report` as it answers again; by a person's decision, with their `words`, where `where` has one."""
    if where.kind is None:
        return report.model_copy(update={"remembered": where})
    outcome = RoundOutcome.CHANGES_REQUESTED if where.kind == "rejected" else RoundOutcome.VERIFIED
    why = Reason(code=f"{where.kind}_by_person", text=f"{where.by} {where.kind} it" + (f": {words}" if words else ""))
    decided = {"outcome": outcome, "verdict": VERDICTS[outcome], "trigger": "", "headline": WORDS[outcome]}
    retry = None if where.kind != "rejected" else _sent_back(report, where.attempt, words, why.text)
    return report.model_copy(
        update={**decided, "reasons": (why, *report.reasons), "remembered": where, "retry_context": retry}
    )


def _sent_back(report: Report, attempt: int, words: str, why: str) -> RetryContext:
    """What the next attempt is told where a person rejected: their words, beside what the round saw."""
    seen = report.retry_context or RetryContext(attempt_number=attempt + 1, max_attempts=0, specific_failures=(why,))
    return seen.model_copy(update={"human_feedback": words or None})


def _is_repaired(record: RoundRecord) -> bool:
    """Whether the round began a fix loop, whose end is what the command answered."""
    confidence = confidence_of(record.decision, record.results, record.notices)
    return begins(record.input.order, RoundResult(decision=record.decision, report="", confidence=confidence))


def _results(record: RoundRecord) -> Iterator[CheckResult]:
    """Of everything that was run: also what the auditor had run once more."""
    yield from record.results
    if record.audit:
        yield from record.audit.ran


def _without_a_word(record: RoundRecord) -> str:
    audit = record.audit.audit if record.audit else None
    if audit is not None and audit.outcome in _NO_WORD:
        return "the auditor had no word on it"
    tiebreak = record.dispute.tiebreak if record.dispute else None
    if tiebreak is not None and tiebreak.outcome is not TiebreakOutcome.JUDGED:
        return "the judge had no word on it"
    unknown = record.probe is not None and record.probe.unknown
    return "the probe could not be run" if unknown else ""
