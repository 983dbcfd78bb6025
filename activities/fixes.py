"""What a fix loop asks for beside its passes and rounds: what they cost, and the files that people read of it."""

from __future__ import annotations

import asyncio

from temporalio import activity

from activities.boundary import beating, speaks_temporal
from domain.fix_files import FOLDER, SUMMARY
from domain.fix_messages import FiledFixLoop, FileFixLoopInput, SpentInput, SpentResult
from domain.fix_pages import pages
from domain.ports import EvidenceStore, Ledger, Snapshots
from domain.roles.names import STAGES, Role


class FixActivities:
    """Activities of fix loops."""

    def __init__(self, store: EvidenceStore, ledger: Ledger, snapshots: Snapshots) -> None:
        self._store = store
        self._ledger = ledger
        self._snapshots = snapshots

    @activity.defn(name="fix.spent")
    @speaks_temporal
    async def spent(self, request: SpentInput) -> SpentResult:
        """What the ledger has of a round. Raises `Unavailable` (store_unavailable, disk_full)."""
        async with beating():
            return await asyncio.to_thread(self._spent, request)

    @activity.defn(name="fix.file")
    @speaks_temporal
    async def file(self, request: FileFixLoopInput) -> FiledFixLoop:
        """`SUMMARY.md` and what each iteration came to, into the folder of the round that the loop began with.

        Raises `Unavailable` (store_unavailable, disk_full). Again, it writes the same files.
        """
        async with beating():
            return await asyncio.to_thread(self._file, request)

    def _spent(self, request: SpentInput) -> SpentResult:
        others = (role for role in STAGES if role != "fix_builder")
        return SpentResult(
            verifying=sum(self._of(request, role) for role in others), fixing=self._of(request, "fix_builder")
        )

    def _of(self, request: SpentInput, role: Role) -> int:
        """Micros; what was sent and never heard of again may have been paid for, so it counts."""
        spent = self._ledger.spent(request.session, request.todo, request.attempt, role)
        return spent.micros + spent.lost

    def _file(self, request: FileFixLoopInput) -> FiledFixLoop:
        repaired = request.from_head and request.to_head and request.from_head != request.to_head
        patch = self._snapshots.patch(request.from_head, request.to_head) if repaired else ""
        result = request.result.model_copy(update={"patch": patch})
        files = pages(request.model_copy(update={"result": result}), self._store.get)
        for name, data in files.items():
            self._store.place(request.session, request.todo, request.attempt, f"{FOLDER}/{name}", data)
        return FiledFixLoop(summary=self._store.put(files[SUMMARY]), patch=patch)
