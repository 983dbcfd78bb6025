"""Files a round's report: as a blob, which the trail names, and as the folder that people open."""

from __future__ import annotations

import asyncio

from temporalio import activity

from activities.boundary import beating, speaks_temporal
from domain.filing import assemble, document, folder_of
from domain.messages import FiledReport, RoundRecord
from domain.ports import EvidenceStore


class ReportActivities:
    """Activities on reports."""

    def __init__(self, store: EvidenceStore) -> None:
        self._store = store

    @activity.defn(name="report.file")
    @speaks_temporal
    async def file(self, record: RoundRecord) -> FiledReport:
        """Store report, record and what the next attempt is told, and write the attempt's folder."""
        async with beating():
            return await asyncio.to_thread(self._file, record)

    def _file(self, record: RoundRecord) -> FiledReport:
        made, retry, diff = assemble(record, self._store.get)
        report, stored = document(made), document(record)
        for name, data in folder_of(stored, report, diff).items():
            self._store.place(record.input.session, record.input.todo, record.input.attempt, name, data)
        return FiledReport(
            report=self._store.put(report),
            record=self._store.put(stored),
            retry_context=self._store.put(document(retry)) if retry else "",
            failures=len(retry.specific_failures) if retry else 0,
        )
