"""The report of a round, as CONTRACT publishes it: one JSON document that says what was checked and what was seen."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from domain.base import Message
from domain.checks import CheckResult, Outcome, subjective_of
from domain.criteria import Subjective
from domain.decision import Reason, RoundOutcome
from domain.feedback import RetryContext
from domain.messages import RoundRecord
from domain.scope import ScopeReport, Violation
from domain.tree import Dropped

NOT_JUDGED = "not_judged"
"""The outcome of a criterion that only a judge can tell, while none has."""


class Output(Message):
    """What a command printed: heads and tails where it was long."""

    stdout: str = ""
    stderr: str = ""


class CriterionEvidence(Message):
    """Seed `pipeline` "Evidence Schema", with the id of the stored evidence."""

    id: str
    exit_code: int | None
    stdout: str
    stderr: str


class CriterionReport(Message):
    """One criterion's line in the report."""

    id: str
    description: str
    test_type: str
    command: str
    required: bool
    passed: bool
    outcome: str
    code: str
    text: str
    next_step: str
    isolation: str
    base_outcome: str = ""
    duration_ms: int
    evidence: CriterionEvidence


class CheckReport(Message):
    """One check's line in the report. Seed `authority` 3.5 with what CONTRACT adds; controls and tests join later.

    `base_outcome` is empty where the check was not run on the base: it is run there only when it failed.
    """

    name: str
    command: str
    outcome: str
    passed: bool
    exit_code: int | None
    output: str
    duration_ms: int
    required: bool
    code: str
    text: str
    next_step: str
    isolation: str
    base_outcome: str = ""
    evidence: str


class SnapshotReport(Message):
    """What was verified: digests bind the verdict to trees and order."""

    digest: str
    head_digest: str
    base_digest: str
    order_digest: str
    changed: tuple[str, ...]
    restored: tuple[str, ...]
    dropped: tuple[Dropped, ...]


class ScopeSection(Message):
    """Whether the worker kept to the order's scope."""

    passed: bool
    violations: tuple[Violation, ...]


class Summary(Message):
    """Counts over criteria and checks; those not judged are in the total alone. `audited`: how many a judge did."""

    total: int
    passed: int
    failed: int
    could_not_run: int
    audited: int = 0


class Usage(Message):
    """What the roles cost."""

    tokens: int = 0
    cost_usd: float = 0.0


class TrailHead(Message):
    """Where the trail stood when the round was decided."""

    session: str
    sequence: int
    head: str


class Report(Message):
    """The whole document. `verdict` is the decision's word, `outcome` what `decide` said."""

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
    audits: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    judgement: str | None = None
    usage: Usage = Usage()
    summary: Summary
    retry_context: RetryContext | None
    trail: TrailHead


def build(
    record: RoundRecord, outputs: Mapping[str, Output], scope: ScopeReport | None, retry: RetryContext | None
) -> Report:
    """The report of `record`; `outputs` by item id are the long outputs that did not travel with it."""
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
        criteria=_criteria(record, outputs),
        checks=tuple(_check(r, outputs) for r in record.results if r.spelling == "check"),
        summary=_summary(record),
        retry_context=retry,
        trail=TrailHead(session=record.input.session, sequence=record.head_sequence, head=record.head_hash),
    )


def _snapshot(record: RoundRecord, scope: ScopeReport | None) -> SnapshotReport | None:
    if record.frozen is None or record.scope is None or scope is None:
        return None
    return SnapshotReport(
        digest=record.scope.tree,
        head_digest=record.frozen.head,
        base_digest=record.frozen.base,
        order_digest=record.input.order_digest,
        changed=tuple(change.path for change in scope.accepted),
        restored=scope.restored,
        dropped=scope.dropped,
    )


def _criteria(record: RoundRecord, outputs: Mapping[str, Output]) -> tuple[CriterionReport, ...]:
    """Every criterion of the order, as it is written there: those that only a judge can tell are not judged."""
    ran = {r.id: _criterion(r, outputs) for r in record.results if r.spelling == "criterion"}
    unjudged = {criterion.id: _unjudged(criterion) for criterion in subjective_of(record.input.order)}
    both = {**ran, **unjudged}
    return tuple(both[c.id] for c in record.input.order.acceptance_criteria if c.id in both)


def _unjudged(criterion: Subjective) -> CriterionReport:
    return CriterionReport(
        id=criterion.id,
        description=criterion.description,
        test_type=criterion.type,
        command="",
        required=criterion.required,
        passed=False,
        outcome=NOT_JUDGED,
        code=NOT_JUDGED,
        text="nobody judged it",
        next_step="",
        isolation="not_run",
        base_outcome="",
        duration_ms=0,
        evidence=CriterionEvidence(id="", exit_code=None, stdout="", stderr=""),
    )


def _criterion(result: CheckResult, outputs: Mapping[str, Output]) -> CriterionReport:
    output = outputs.get(result.id, Output(stdout=result.stdout, stderr=result.stderr))
    return CriterionReport(
        id=result.id,
        description=result.label,
        test_type=result.type,
        command=result.command,
        required=result.required,
        passed=result.passed,
        outcome=result.outcome,
        code=result.code,
        text=result.text,
        next_step=result.next_step,
        isolation=result.isolation,
        base_outcome=result.base_outcome or "",
        duration_ms=result.duration_ms,
        evidence=CriterionEvidence(
            id=result.evidence, exit_code=result.exit_code, stdout=output.stdout, stderr=output.stderr
        ),
    )


def _check(result: CheckResult, outputs: Mapping[str, Output]) -> CheckReport:
    output = outputs.get(result.id, Output(stdout=result.stdout, stderr=result.stderr))
    return CheckReport(
        name=result.id,
        command=result.command,
        outcome=result.outcome,
        passed=result.passed,
        exit_code=result.exit_code,
        output="\n".join(part.rstrip("\n") for part in (output.stdout, output.stderr) if part),
        duration_ms=result.duration_ms,
        required=result.required,
        code=result.code,
        text=result.text,
        next_step=result.next_step,
        isolation=result.isolation,
        base_outcome=result.base_outcome or "",
        evidence=result.evidence,
    )


def _summary(record: RoundRecord) -> Summary:
    def count(outcome: Outcome) -> int:
        return sum(result.outcome is outcome for result in record.results)

    return Summary(
        total=len(record.results) + len(subjective_of(record.input.order)),
        passed=count(Outcome.PASSED),
        failed=count(Outcome.FAILED),
        could_not_run=count(Outcome.COULD_NOT_RUN),
    )
