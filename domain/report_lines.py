"""The report's lines: one for each criterion and check, with what the harness saw and what the roles say of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from domain.audit_report import CriterionAudit
from domain.base import Message
from domain.checks import CheckResult, Outcome, subjective_of
from domain.criteria import Subjective
from domain.dispute_report import RulingReport
from domain.failing_tests.readers import FailedTests
from domain.messages import RoundRecord
from domain.roles.opinion import Quote
from domain.scrutiny import ControlSeen, Counts

NOT_JUDGED = "not_judged"
"""The outcome of a criterion that only a judge can tell, while none has, or none is sure enough."""


class Output(Message):
    """What a command printed: where it was long, its lines with errors and its end.

    `failed_tests` are read from all of it; `lacks`: how to give the image a tool that it says is not there.
    """

    stdout: str = ""
    stderr: str = ""
    failed_tests: FailedTests | None = None
    lacks: str = ""


class CriterionEvidence(Message):
    """Seed `pipeline` "Evidence Schema", with the id of the stored evidence.

    `quotes`: where only a judge could tell, the words that it went by; `id` is then the blob of its whole answer.
    """

    id: str
    exit_code: int | None
    stdout: str
    stderr: str
    quotes: tuple[Quote, ...] = ()


class ExpectationReport(Message):
    """Whether the tests depend on what they expect; `share` is constrained of measured, null where none was measured.

    The rest is as in `domain.scrutiny.Expectation`.
    """

    share: float | None
    tests: int
    measured: int
    constrained: int
    unconstrained: tuple[str, ...]
    seed: int


class Examined(Message):
    """What was learned of a check itself; null where it was not examined in that way.

    `failed_tests`: the tests that it names as failed, read from what it printed; they word the failure and decide
    nothing. `outcomes`: of each run, where a failure was run again. `seed` is what the random cases follow from.
    """

    tests: Counts | None = None
    control: ControlSeen | None = None
    expectation: ExpectationReport | None = None
    failed_tests: FailedTests | None = None
    outcomes: tuple[str, ...] = ()
    seed: int | None = None


class CriterionReport(Examined):
    """One criterion's line in the report. `audited`: the auditor on it, null where it was not asked.

    `judged`: the judge on it, null where it did not rule. `drafted`: the order did not have it, a designer did.
    """

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
    audited: CriterionAudit | None = None
    judged: RulingReport | None = None
    drafted: bool = False


class CheckReport(Examined):
    """One check's line in the report. Seed `authority` 3.5 with what CONTRACT adds.

    `base_outcome` is empty where the check was not run on the base: a command is run there only when it failed.
    `judged`: the judge on it, null where it did not rule; its outcome is what was seen, whatever a judge says.
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
    judged: RulingReport | None = None


class Opinions(NamedTuple):
    """What roles say of criteria and checks, by their ids: the auditor, and the judge where it ruled."""

    audited: Mapping[str, CriterionAudit]
    judged: Mapping[str, RulingReport]


def criteria_lines(
    record: RoundRecord, outputs: Mapping[str, Output], opinions: Opinions
) -> tuple[CriterionReport, ...]:
    """Every criterion of the order and those drafted for it, in their order. `outputs` by id."""
    order = record.order
    written = {criterion.id: criterion.type for criterion in order.acceptance_criteria}
    threshold = order.verification.confidence_threshold
    told = {r.id: _criterion(r, written[r.id], outputs) for r in record.results if r.spelling == "criterion"}
    for criterion in subjective_of(order):
        told[criterion.id] = _told_by_a_judge(criterion, opinions, threshold)
    drafted = {criterion.id for criterion in record.draft.criteria} if record.draft else set()
    return tuple(
        told[id].model_copy(
            update={
                "audited": opinions.audited.get(id),
                "judged": opinions.judged.get(id),
                "drafted": id in drafted,
            }
        )
        for id in written
        if id in told
    )


def _told_by_a_judge(criterion: Subjective, opinions: Opinions, threshold: float) -> CriterionReport:
    """A criterion that only a judge can tell: as the judge rules, else as the auditor has it, where it is sure."""
    audited, judged = opinions.audited.get(criterion.id), opinions.judged.get(criterion.id)
    outcome, code, text = _ruled(judged) if judged else _word(audited, threshold)
    told = judged or audited
    return CriterionReport(
        id=criterion.id,
        description=criterion.description,
        test_type=criterion.type,
        command="",
        required=criterion.required,
        passed=outcome == Outcome.PASSED,
        outcome=outcome,
        code=code,
        text=text,
        next_step="",
        isolation="not_run",
        base_outcome="",
        duration_ms=0,
        evidence=CriterionEvidence(
            id=told.said if told else "", exit_code=None, stdout="", stderr="", quotes=told.quotes if told else ()
        ),
    )


def _ruled(judged: RulingReport) -> tuple[str, str, str]:
    """Outcome, code and text."""
    outcome = Outcome.PASSED if judged.verdict == "PASS" else Outcome.FAILED
    return outcome, "judged", f"the judge: {judged.reasoning}"


def _word(audited: CriterionAudit | None, threshold: float) -> tuple[str, str, str]:
    """Outcome, code and text."""
    if audited is None:
        return NOT_JUDGED, NOT_JUDGED, "nobody judged it"
    if audited.assessment == "UNPROVED":
        return NOT_JUDGED, "unproved", f"the auditor could not tell: {audited.reason}"
    if audited.assessment == "FAIL":
        return Outcome.FAILED, "judged", f"the auditor: {audited.reason}"
    if audited.confidence < threshold:
        sure = f"with confidence {audited.confidence:.2f}, below {threshold:.2f}"
        return NOT_JUDGED, "low_confidence", f"the auditor would pass it {sure}: {audited.reason}"
    return Outcome.PASSED, "judged", f"the auditor: {audited.reason}"


def _criterion(result: CheckResult, written: str, outputs: Mapping[str, Output]) -> CriterionReport:
    """`written`: its type as the order has it, where a command that runs pytest is a command."""
    output = outputs.get(result.id, Output(stdout=result.stdout, stderr=result.stderr))
    return CriterionReport(
        id=result.id,
        description=result.label,
        **_examined(result, output),
        test_type=written,
        command=result.command,
        required=result.required,
        passed=result.passed,
        outcome=result.outcome,
        code=result.code,
        text=result.text,
        next_step=output.lacks or result.next_step,
        isolation=result.isolation,
        base_outcome=result.base_outcome or "",
        duration_ms=result.duration_ms,
        evidence=CriterionEvidence(
            id=result.evidence, exit_code=result.exit_code, stdout=output.stdout, stderr=output.stderr
        ),
    )


def check_line(result: CheckResult, outputs: Mapping[str, Output], opinions: Opinions) -> CheckReport:
    """A check's line. `outputs` by id."""
    output = outputs.get(result.id, Output(stdout=result.stdout, stderr=result.stderr))
    return CheckReport(
        **_examined(result, output),
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
        next_step=output.lacks or result.next_step,
        isolation=result.isolation,
        base_outcome=result.base_outcome or "",
        evidence=result.evidence,
        judged=opinions.judged.get(result.id),
    )


def _examined(result: CheckResult, output: Output) -> dict[str, Any]:
    expectation = result.expectation
    return {
        "tests": result.tests,
        "control": result.control,
        "expectation": ExpectationReport(share=expectation.share, **dict(expectation)) if expectation else None,
        "failed_tests": output.failed_tests,
        "outcomes": tuple(outcome.value for outcome in result.outcomes),
        "seed": result.seed,
    }
