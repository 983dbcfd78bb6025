"""What a fix loop asks for beside its passes and rounds: what they cost, and the files that people read of it."""

from __future__ import annotations

from temporalio import activity

from activities.boundary import speaks_temporal
from domain.fix_messages import FiledFixLoop, FileFixLoopInput, SpentInput, SpentResult
from domain.ports import EvidenceStore, Ledger


class FixActivities:
    """Activities of fix loops."""

    def __init__(self, store: EvidenceStore, ledger: Ledger) -> None:
        self._store = store
        self._ledger = ledger

    @activity.defn(name="fix.spent")
    @speaks_temporal
    async def spent(self, request: SpentInput) -> SpentResult:
        """What the ledger has of a round."""
        raise NotImplementedError

    @activity.defn(name="fix.file")
    @speaks_temporal
    async def file(self, request: FileFixLoopInput) -> FiledFixLoop:
        """`SUMMARY.md` and what each iteration came to, into the folder of the round that the loop began with."""
        raise NotImplementedError
