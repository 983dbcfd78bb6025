"""Freezes a worker's tree with its base, then tells what of it may be trusted."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from temporalio import activity

from activities.boundary import beating, speaks_temporal
from domain.fix_messages import Applied, ApplyInput
from domain.messages import FreezeInput, Frozen, FrozenBase, ProbeInput, ScopeInput, ScopeResult
from domain.ports import Snapshots
from domain.probes import ProbeTrees


class SnapshotActivities:
    """Activities on trees. `freeze_base` and `freeze` run where the workspace is; afterwards only digests travel."""

    def __init__(self, snapshots: Snapshots) -> None:
        self._snapshots = snapshots

    @activity.defn(name="snapshot.freeze_base")
    @speaks_temporal
    async def freeze_base(self, request: FreezeInput) -> FrozenBase:
        """Copy the base, and the files beside the order, into the evidence store."""
        async with beating() as say:
            return await asyncio.to_thread(self._snapshots.freeze_base, request, say)

    @activity.defn(name="snapshot.freeze")
    @speaks_temporal
    async def freeze(self, request: FreezeInput) -> Frozen:
        """Copy workspace and base into the evidence store."""
        async with beating() as say:
            return await asyncio.to_thread(self._snapshots.freeze, request, say)

    @activity.defn(name="snapshot.assess")
    @speaks_temporal
    async def assess(self, request: ScopeInput) -> ScopeResult:
        """The trusted tree, and what became of each change."""
        async with beating():
            return await asyncio.to_thread(self._snapshots.assess, request)

    @activity.defn(name="snapshot.probe")
    @speaks_temporal
    async def probe(self, request: ProbeInput) -> ProbeTrees:
        """The trees on which a required check has to fail, if the checks test the change."""
        async with beating():
            return await asyncio.to_thread(self._snapshots.probe, request)

    @activity.defn(name="snapshot.apply")
    @speaks_temporal
    async def apply(self, request: ApplyInput) -> Applied:
        """A verified repair into the workspace, where that has not changed since.

        Begun, it goes to its end: whoever cancels it meanwhile is told what it wrote.
        """
        async with beating() as say:
            writing = asyncio.ensure_future(asyncio.to_thread(self._snapshots.apply, request, say))
            while not writing.done():
                with suppress(asyncio.CancelledError):
                    await asyncio.wait([writing])
            return writing.result()
