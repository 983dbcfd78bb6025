"""Writes events to the trail, once each."""

from __future__ import annotations

import asyncio

from temporalio import activity

from activities.boundary import speaks_temporal
from domain.errors import Cause, Unavailable
from domain.events import TrailRef
from domain.messages import AppendInput
from domain.ports import Trail


class TrailActivities:
    """Activities on the trail."""

    def __init__(self, trail: Trail) -> None:
        self._trail = trail

    @activity.defn(name="trail.append")
    @speaks_temporal
    async def append(self, request: AppendInput) -> TrailRef:
        """Store the event; sent again it answers with the stored row. Refuses an event meant for another trail."""
        return await asyncio.to_thread(self._append, request)

    def _append(self, request: AppendInput) -> TrailRef:
        if request.store and request.store != self._trail.store_id():
            raise Unavailable(
                Cause.STORE_MISMATCH,
                "this worker writes to another trail than the one that the command reads",
                "give worker and command the same state directory or database: COUNTERSIGN_STATE_DIR",
            )
        return self._trail.append(request.entry)
