"""Runs one pass of a role. How long it took is in its heartbeats, so that all its tries share one limit."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from temporalio import activity

from activities.boundary import speaks_temporal
from domain.ports import Progress, Roles
from domain.roles.passes import PassInput
from domain.roles.results import PassResult

BEAT_SECONDS = 1.0
"""How much of the time that a killed try took is forgotten at most, as far as the worker sends every heartbeat."""


class RoleActivities:
    """Activities on roles, on a queue of their own: their workers need no engine, and have no credential of one."""

    def __init__(self, roles: Roles) -> None:
        self._roles = roles

    @activity.defn(name="role.pass")
    @speaks_temporal
    async def run(self, request: PassInput) -> PassResult:
        """The pass, for as long as its limit leaves after earlier tries. Cancelled, it ends what it has begun."""
        used = _used(activity.info().heartbeat_details)
        async with _counting(used) as say:
            return await self._roles.run(request, say, used)


def _used(details: object) -> float:
    """Seconds that earlier tries took, as the last of them said."""
    match details:
        case [float() | int() as seconds, *_]:
            return float(seconds)
    return 0.0


@asynccontextmanager
async def _counting(used: float, now: Callable[[], float] = time.monotonic) -> AsyncIterator[Progress]:
    """Heartbeat while the body runs: the seconds used in all, and the last word that was said."""
    begun, said = now(), [""]

    def say(text: str) -> None:
        said[0] = text

    async def beat() -> None:
        while True:
            activity.heartbeat(used + now() - begun, said[0])
            await asyncio.sleep(BEAT_SECONDS)

    task = asyncio.create_task(beat())
    try:
        yield say
    finally:
        task.cancel()
        # The last word is the one that a further try goes by, where this one ends in an error.
        activity.heartbeat(used + now() - begun, said[0])
