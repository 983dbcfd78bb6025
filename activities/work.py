"""Runs a todo's worker command. What it claims is for the todo's workflow to ask the lifecycle about."""

from __future__ import annotations

import asyncio

from temporalio import activity

from activities.boundary import beating, speaks_temporal
from domain.brief import brief_of
from domain.feedback import RetryContext
from domain.life import WorkInput, WorkResult
from domain.ports import EvidenceStore, Workers


class WorkActivities:
    """Activities on worker commands; on the queue of the host where the workspace is."""

    def __init__(self, workers: Workers, store: EvidenceStore) -> None:
        self._workers = workers
        self._store = store

    @activity.defn(name="worker.run")
    @speaks_temporal
    async def run(self, request: WorkInput) -> WorkResult:
        """What came of the command, which is run once for its drive. Cancelled, nothing of it is left."""
        async with beating() as say:
            last = await self._last_round(request)
            return await self._workers.run(request, brief_of(request.todo, last), say)

    async def _last_round(self, request: WorkInput) -> RetryContext | None:
        if not request.todo.retry_context:
            return None
        return RetryContext.model_validate_json(await asyncio.to_thread(self._store.get, request.todo.retry_context))
