"""Bounds how many runs there are at once on one engine. It knows no queue: who comes first is up to chance."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

_POLL_SECONDS = 0.02


class Slots:
    """`number` slots, for any event loop. Waiting for one takes no thread, and ends at once when it is cancelled."""

    def __init__(self, number: int) -> None:
        self._free = threading.BoundedSemaphore(number)

    @asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        """A slot, for as long as the block lasts."""
        while not self._free.acquire(blocking=False):  # noqa: ASYNC110 - an event is bound to one loop
            await asyncio.sleep(_POLL_SECONDS)
        try:
            yield
        finally:
            self._free.release()
