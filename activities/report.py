"""Files a round's report: as a blob, which the trail names, and as the folder that people open."""

from __future__ import annotations

import asyncio
import json

from pydantic import BaseModel
from temporalio import activity

from activities.boundary import beating, speaks_temporal
from domain.checks import CheckResult, items_of
from domain.feedback import OUTPUT_CHARACTERS, retry_context, tail
from domain.messages import FiledReport, RoundRecord
from domain.ports import EvidenceStore
from domain.report import Output, Report, build
from domain.scope import ScopeReport

OUTPUT_LINES = 400


class ReportActivities:
    """Activities on reports."""

    def __init__(self, store: EvidenceStore) -> None:
        self._store = store

    @activity.defn(name="report.file")
    @speaks_temporal
    async def file(self, record: RoundRecord) -> FiledReport:
        """Store the report and write the attempt's folder."""
        async with beating():
            return await asyncio.to_thread(self._file, record)

    def _file(self, record: RoundRecord) -> FiledReport:
        scope = ScopeReport.model_validate_json(self._store.get(record.scope.report)) if record.scope else None
        diff = self._store.get(record.scope.diff).decode(errors="replace") if record.scope else ""
        retry = retry_context(
            attempt=record.input.attempt,
            retry=record.input.order.verification.retry,
            decision=record.decision,
            results=[result.model_copy(update=self._printed(result)) for result in record.results],
            restored=scope.restored if scope else (),
            diff=diff,
        )
        outputs = {result.id: self._output(result) for result in record.results}
        report = build(record, outputs, scope, retry)
        encoded = _document(report)
        self._place(record, report, diff, encoded)
        return FiledReport(report=self._store.put(encoded))

    def _output(self, result: CheckResult) -> Output:
        printed = self._printed(result)
        return Output(**{name: tail(text, OUTPUT_LINES, OUTPUT_CHARACTERS) for name, text in printed.items()})

    def _printed(self, result: CheckResult) -> dict[str, str]:
        """Whole outputs, from the evidence: what travelled with the result is only their end."""
        if not result.evidence:
            return {}
        finding = json.loads(self._store.get(result.evidence))["finding"]
        return {name: finding[name] for name in ("stdout", "stderr")}

    def _place(self, record: RoundRecord, report: Report, diff: str, encoded: bytes) -> None:
        """The seed `pipeline` folder: what was asked, what was run, what was seen, what was decided."""
        order = record.input.order
        items = [item.model_dump(mode="json") for item in items_of(order)]
        results = [result.model_dump(mode="json") for result in (*report.criteria, *report.checks)]
        files = {
            "spec.json": _document(order),
            "tests.json": _plain(items),
            "results.json": _plain(results),
            "changes.diff": diff.encode(),
            "verdict.json": encoded,
        }
        for name, data in files.items():
            self._store.place(record.input.session, record.input.todo, record.input.attempt, name, data)


def _document(value: BaseModel) -> bytes:
    return _plain(value.model_dump(mode="json"))


def _plain(value: object) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()
