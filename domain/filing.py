"""What is filed of a round: its report, and the folder that people open. Made from the record and the stored blobs.

The same whenever it is made, so that an export and a round judged again have what was filed then. Source: seed
`pipeline` "Evidence Storage" and "Evidence Schema".
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from pydantic import BaseModel

from domain.audit_report import AuditReport, said_of
from domain.checks import CheckResult, items_of
from domain.feedback import OUTPUT_CHARACTERS, RetryContext, retry_context, tail
from domain.messages import RoundRecord
from domain.report import Report, build
from domain.report_lines import Output
from domain.scope import ScopeReport

OUTPUT_LINES = 400
FIRST_LOOK = ("assessments", "suspicions")
OPINION = (
    *("verdict", "confidence", "assessments", "claims", "reasons", "required_actions", "evidence_citations"),
    *("model", "scripted", "prompt", "tools", "policy", "packet"),
)
"""What of a pass stands beside the answer in the folder that people open."""

Read = Callable[[str], bytes]
"""The blob of a digest, as `domain.ports.EvidenceStore.get` answers."""


class Filing(NamedTuple):
    """A round's documents: what is stored, and what people see."""

    report: Report
    retry: RetryContext | None
    diff: str


def assemble(record: RoundRecord, read: Read) -> Filing:
    """The documents of `record`. Raises what `read` raises for a blob that is missing or damaged."""
    scope = ScopeReport.model_validate_json(read(record.scope.report)) if record.scope else None
    diff = read(record.scope.diff).decode(errors="replace") if record.scope else ""
    printed = {result.id: _printed(result, read) for result in record.results}
    retry = retry_context(
        attempt=record.input.attempt,
        retry=record.input.order.verification.retry,
        decision=record.decision,
        results=[result.model_copy(update=printed[result.id]) for result in record.results],
        scope=scope,
        diff=diff,
        contradictions=record.contradictions,
    )
    outputs = {name: _shortened(texts) for name, texts in printed.items()}
    answers = {digest: shape.model_validate_json(read(digest)) for digest, shape in said_of(record.audit)}
    return Filing(build(record, outputs, scope, retry, answers), retry, diff)


def folder_of(record: RoundRecord, report: Report, diff: str) -> dict[str, bytes]:
    """The attempt's folder by name: what was asked, run, seen, said and decided.

    `audits/` and `arguments/` list what roles said: each an empty list while none was asked.
    """
    results = [result.model_dump(mode="json") for result in (*report.criteria, *report.checks)]
    audits = {"audits/auditor.json": _plain(_audit(report))} if report.audits else {}
    return {
        "spec.json": document(record.input.order),
        "tests.json": _plain([item.model_dump(mode="json") for item in items_of(record.input.order)]),
        "results.json": _plain(results),
        "changes.diff": diff.encode(),
        "audits/index.json": _plain([_listed(audit) for audit in report.audits]),
        **audits,
        "arguments/index.json": _plain(list(report.arguments)),
        "verdict.json": document(report),
    }


def _listed(audit: AuditReport) -> dict[str, Any]:
    """One line of the list of what roles said."""
    words = audit.model_dump(mode="json", include={"role", "stage", "part", "outcome", "verdict", "model", "scripted"})
    return {**words, "file": "auditor.json"}


def _audit(report: Report) -> dict[str, Any]:
    """The auditor's part for people: what it came to, its blind first look, its opinion, the dialogue, each pass."""
    passes = [audit.model_dump(mode="json") for audit in report.audits]
    answered = {audit["stage"]: audit for audit in passes if audit["outcome"] == "answered"}
    return {
        "auditor": report.auditor.model_dump(mode="json") if report.auditor else None,
        "first_look": _answer(answered.get("blind"), FIRST_LOOK),
        "opinion": _answer(answered.get("informed"), OPINION),
        "dialogue": [audit["question"] for audit in passes if audit["question"]],
        "refused": [call for audit in passes for call in audit["refused"]],
        "usage": report.usage.model_dump(mode="json"),
        "passes": passes,
    }


def _answer(audit: dict[str, Any] | None, fields: tuple[str, ...]) -> dict[str, Any] | None:
    return {name: audit[name] for name in fields} if audit else None


def document(value: BaseModel) -> bytes:
    """`value` as it is stored and shown: indented JSON with a line's end."""
    return _plain(value.model_dump(mode="json"))


def _printed(result: CheckResult, read: Read) -> dict[str, str]:
    """Whole outputs, from the evidence: what travelled with the result is only their end."""
    if not result.evidence:
        return {}
    finding = json.loads(read(result.evidence))["finding"]
    return {name: finding[name] for name in ("stdout", "stderr")}


def _shortened(printed: dict[str, str]) -> Output:
    return Output(**{name: tail(text, OUTPUT_LINES, OUTPUT_CHARACTERS) for name, text in printed.items()})


def _plain(value: object) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()
