"""The report of a round, as CONTRACT publishes it: one JSON document that says what was checked and what was seen."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from domain.answers import Words, passes_of
from domain.audit_report import (
    AuditorReport,
    AuditReport,
    Usage,
    auditor_of,
    audits_of,
    criteria_of,
    used,
)
from domain.authority import Authority
from domain.base import Message
from domain.checks import Outcome, subjective_of
from domain.claims.claim import Contradiction
from domain.decision import VERDICTS, Reason, RoundOutcome
from domain.dispute_report import ArgumentReport, JudgementReport, arguments_of, judgement_of, rulings_of
from domain.draft_report import DraftReport, draft_of
from domain.feedback import RetryContext
from domain.fix_report import FixLoopReport
from domain.headline import WORDS, headline
from domain.messages import RoundRecord
from domain.order import BaseRevision
from domain.probes import ProbeSeen
from domain.report_lines import NOT_JUDGED, CheckReport, CriterionReport, Opinions, Output, check_line, criteria_lines
from domain.scope import ScopeReport, Violation
from domain.tree import Dropped

NOBODY: Words = {}


class SnapshotReport(Message):
    """What was verified: digests bind the verdict to trees and order.

    `base` is where the base was read from: the full id of a commit, or a directory's absolute path.
    """

    digest: str
    head_digest: str
    base_digest: str
    order_digest: str
    changed: tuple[str, ...]
    restored: tuple[str, ...]
    dropped: tuple[Dropped, ...]
    base: str = ""


class ScopeSection(Message):
    """Whether the worker kept to the order's scope."""

    passed: bool
    violations: tuple[Violation, ...]


class Summary(Message):
    """Counts over criteria and checks; those not judged are in the total alone.

    `audited`: of the criteria that only a judge can tell, those that one did.
    """

    total: int
    passed: int
    failed: int
    could_not_run: int
    audited: int = 0


class TrailHead(Message):
    """Where the trail stood when the round was decided."""

    session: str
    sequence: int
    head: str


class Remembered(Message):
    """Where a report came from that no round was run for."""

    attempt: int
    """The round that came to it."""
    at: datetime
    """When that was decided: by the round, or by a person afterwards."""
    kind: Literal["approved", "overridden", "rejected"] | None = None
    """What a person decided about that round, which outranks what it came to; null where no person did."""
    by: str = ""
    """Who that was."""


class Report(Message):
    """The whole document. `verdict` is the decision's word, `outcome` what `decide` said, `headline` both in a line.

    `audits` has every pass of the auditor, `auditor` what they came to: null where nobody judged. `arguments`: both
    sides on each disputed criterion, `judgement` what became of the dispute: null where nothing was disputed. `draft`:
    null where nothing was to be drafted. `usage` is that of all roles. `fix_loop`: the loop that ended with this round,
    as `countersign verify` has it; `remembered`: that nothing was run for it. Both are null in what is stored.
    """

    work_order_id: str
    session: str
    attempt: int
    content: str
    timestamp: datetime
    duration_ms: int
    verdict: Literal["PASS", "FAIL", "INCONCLUSIVE"]
    outcome: RoundOutcome
    trigger: str
    reasons: tuple[Reason, ...]
    notices: tuple[str, ...]
    snapshot: SnapshotReport | None
    scope: ScopeSection | None
    criteria: tuple[CriterionReport, ...]
    checks: tuple[CheckReport, ...]
    audits: tuple[AuditReport, ...] = ()
    auditor: AuditorReport | None = None
    arguments: tuple[ArgumentReport, ...] = ()
    judgement: JudgementReport | None = None
    draft: DraftReport | None = None
    usage: Usage = Usage()
    summary: Summary
    retry_context: RetryContext | None
    probe: ProbeSeen | None = None
    contradictions: tuple[Contradiction, ...] = ()
    trail: TrailHead
    fix_loop: FixLoopReport | None = None
    authority: Authority = Authority()
    """The files that were in force, the pin, the variables that choose who decides; of a todo, at its creation."""
    next: tuple[str, ...] = ()
    """The commands by which a person decides, where one has to: as `countersign verify` has them, empty in what is
    stored."""
    headline: str = ""
    remembered: Remembered | None = None


def build(
    record: RoundRecord,
    outputs: Mapping[str, Output],
    scope: ScopeReport | None,
    retry: RetryContext | None,
    answers: Words = NOBODY,
) -> Report:
    """The report of `record`; `outputs` by item id are the long outputs that did not travel with it.

    `answers` are those of the roles, by the digests that the record names.
    """
    rulings = {ruling.criterion: ruling for ruling in rulings_of(record.dispute, answers)}
    opinions = Opinions(criteria_of(record.audit, answers), rulings)
    criteria = criteria_lines(record, outputs, opinions)
    checks = tuple(check_line(r, outputs, opinions) for r in record.results if r.spelling == "check")
    first_line = headline(record.decision.outcome, (*criteria, *checks), scope, len(record.contradictions))
    return Report(
        work_order_id=record.input.todo,
        session=record.input.session,
        attempt=record.input.attempt,
        content=record.input.order.content,
        timestamp=record.ended_at,
        duration_ms=int((record.ended_at - record.started_at).total_seconds() * 1000),
        verdict=record.decision.verdict,
        outcome=record.decision.outcome,
        trigger=record.decision.trigger,
        reasons=record.decision.reasons,
        notices=record.notices,
        snapshot=_snapshot(record, scope),
        scope=ScopeSection(passed=not scope.violations, violations=scope.violations) if scope else None,
        criteria=criteria,
        checks=checks,
        audits=audits_of(record.audit, answers),
        auditor=auditor_of(record.audit, answers),
        arguments=arguments_of(record.dispute, answers),
        judgement=judgement_of(record.dispute, answers),
        draft=draft_of(record.draft, answers),
        usage=used(result.usage for result in passes_of(record)),
        summary=_summary(record, criteria),
        retry_context=retry,
        probe=record.probe,
        contradictions=record.contradictions,
        authority=record.input.authority,
        trail=TrailHead(session=record.input.session, sequence=record.head_sequence, head=record.head_hash),
        headline=first_line,
    )


def with_fix_loop(report: Report, loop: FixLoopReport) -> Report:
    """The report of a loop's last round, with the loop. A verified round that a person has to look at is no pass."""
    said: dict[str, object] = {"fix_loop": loop}
    if loop.ending == "escalated" and report.outcome is RoundOutcome.VERIFIED:
        outcome = RoundOutcome.NEEDS_HUMAN
        said |= {"outcome": outcome, "verdict": VERDICTS[outcome], "trigger": loop.trigger, "headline": WORDS[outcome]}
    return report.model_copy(update=said)


def _snapshot(record: RoundRecord, scope: ScopeReport | None) -> SnapshotReport | None:
    if record.frozen is None or record.scope is None or scope is None:
        return None
    base = record.order.base
    return SnapshotReport(
        digest=record.scope.tree,
        head_digest=record.frozen.head,
        base_digest=record.frozen.base,
        order_digest=record.input.order_digest,
        changed=tuple(change.path for change in scope.accepted),
        restored=scope.restored,
        dropped=scope.dropped,
        base=base.revision if isinstance(base, BaseRevision) else base if isinstance(base, str) else "",
    )


def _summary(record: RoundRecord, criteria: tuple[CriterionReport, ...]) -> Summary:
    told_by_a_judge = {criterion.id for criterion in subjective_of(record.order)}
    judged = [line.outcome for line in criteria if line.id in told_by_a_judge and line.outcome != NOT_JUDGED]
    outcomes = [*(result.outcome.value for result in record.results), *judged]
    return Summary(
        total=len(record.results) + len(told_by_a_judge),
        passed=outcomes.count(Outcome.PASSED),
        failed=outcomes.count(Outcome.FAILED),
        could_not_run=outcomes.count(Outcome.COULD_NOT_RUN),
        audited=len(judged),
    )
