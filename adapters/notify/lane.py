"""A lane of its own for each address: threads and places that no other address, and nothing else, waits for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

from domain.errors import Cause, Unavailable

AT_ONCE = 4
"""Messages that an address is sent at a time. One that hangs keeps so many threads, and no more."""

PLACE_SECONDS = 5.0
"""How long a message waits for a place before it is tried again later: it keeps a slot of the worker's meanwhile."""

SEND_SECONDS = 30.0
"""How long an address may take to take one; well below the activity's own limit."""


class Lane:
    """What one address has. Its threads are made when they are needed; one that hangs is left to itself."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix=f"notify-{name}")
        self._places = asyncio.Semaphore(AT_ONCE)

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """While one message is sent. Raises `Unavailable` where there is no place, or it takes too long."""
        try:
            async with asyncio.timeout(PLACE_SECONDS):
                await self._places.acquire()
        except TimeoutError:
            raise not_taken(self.name, f"{AT_ONCE} earlier messages are still under way") from None
        try:
            async with asyncio.timeout(SEND_SECONDS):
                yield
        except TimeoutError:
            raise not_taken(self.name, f"no answer within {SEND_SECONDS:g} s") from None
        finally:
            self._places.release()

    def close(self) -> None:
        """Begin nothing more."""
        self.threads.shutdown(wait=False, cancel_futures=True)


def not_taken(name: str, why: str) -> Unavailable:
    """What is raised where an address did not take a message. `why` has no secret in it."""
    return Unavailable(
        Cause.SERVICE_UNAVAILABLE,
        f"the address {name} did not take it: {why}",
        "countersign doctor --notify sends a test to every address",
    )
