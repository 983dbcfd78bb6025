"""What is filed of a round: its report, and the folder that people open. Made from the record and the stored blobs.

The same whenever it is made, so that an export and a round judged again have what was filed then. Source: seed
`pipeline` "Evidence Storage" and "Evidence Schema".
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from pydantic import BaseModel

from domain.answers import said_in
from domain.checks import CheckResult, Outcome, items_of
from domain.excerpts import excerpt
from domain.failing_tests.readers import failed_tests
from domain.feedback import OUTPUT_CHARACTERS, Attempt, RetryContext, retry_context
from domain.filed_order import SPECIFICATION
from domain.messages import RoundRecord
from domain.missing_tools import missing_tool
from domain.report import Report, build
from domain.report_lines import Output
from domain.said_files import files_said
from domain.scope import ScopeReport

OUTPUT_LINES = 400
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
    attempt = Attempt(session=record.input.session, todo=record.input.todo, number=record.input.attempt)
    printed = {result.id: _printed(result, read) for result in record.results}
    failing = {
        result.id: found
        for result in record.results
        if result.outcome is Outcome.FAILED and (found := failed_tests("\n".join(printed[result.id].values())))
    }
    retry = retry_context(
        attempt,
        retry=record.input.order.verification.retry,
        decision=record.decision,
        results=[result.model_copy(update=printed[result.id]) for result in record.results],
        scope=scope,
        diff=diff,
        contradictions=record.contradictions,
        failing=failing,
    )
    if retry is not None:
        retry = retry.model_copy(update={"human_feedback": record.input.human_feedback or None})
    outputs = {
        result.id: Output(
            **_shortened(printed[result.id], attempt.log(result.id)),
            failed_tests=failing.get(result.id),
            lacks=_lacks(result, printed[result.id]),
        )
        for result in record.results
        if printed[result.id]
    }
    answers = {digest: shape.model_validate_json(read(digest)) for digest, shape in said_in(record)}
    return Filing(build(record, outputs, scope, retry, answers), retry, diff)


def folder_of(record: bytes, report: bytes, diff: str) -> dict[str, bytes]:
    """The attempt's folder by name: what was asked, run, seen, said and decided. `record` and `report`: as stored.

    What they hold is taken as it stands there: what an earlier version filed has to be made again without the fields of
    this one. The order is that which was written: drafted criteria are no part of it until somebody puts them there.
    """
    told, order = json.loads(report), json.loads(record)["input"]["order"]
    items = items_of(RoundRecord.model_validate_json(record).order)
    return {
        "spec.json": _plain(order | _specification(told)),
        "tests.json": _plain([item.model_dump(mode="json") for item in items]),
        "results.json": _plain([*told["criteria"], *told["checks"]]),
        "changes.diff": diff.encode(),
        **{name: _plain(value) for name, value in files_said(told).items()},
        "verdict.json": report,
    }


def _specification(report: dict[str, Any]) -> dict[str, Any]:
    """The designer's answer beside the order, where there is one."""
    draft = report.get("draft")
    return {SPECIFICATION: draft["specification"]} if draft and draft["specification"] else {}


def document(value: BaseModel) -> bytes:
    """`value` as it is stored and shown: indented JSON with a line's end."""
    return _plain(value.model_dump(mode="json"))


def _printed(result: CheckResult, read: Read) -> dict[str, str]:
    """Whole outputs, from the evidence: what travelled with the result is only their end."""
    if not result.evidence:
        return {}
    finding = json.loads(read(result.evidence))["finding"]
    return {name: finding[name] for name in ("stdout", "stderr")}


def _lacks(result: CheckResult, printed: dict[str, str]) -> str:
    """How to give the image what it lacks, where the base, which nobody changed, does not pass for want of it."""
    if result.passed or result.base_outcome in (None, Outcome.PASSED):
        return ""
    return missing_tool("\n".join(printed.values()))


def _shortened(printed: dict[str, str], command: str) -> dict[str, str]:
    return {name: excerpt(text, command, OUTPUT_LINES, OUTPUT_CHARACTERS) for name, text in printed.items()}


def _plain(value: object) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()
