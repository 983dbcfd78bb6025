"""Tells people: who is to be told, and each message to each address. When, is for the workflow to say.

A message that was taken is remembered before that is said, so that a worker that dies in between sends it once. What
the store cannot say is not waited for: a message that comes twice, with the same id, is better than none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from typing import TypeVar

from temporalio import activity

from activities.boundary import beating, speaks_temporal
from domain.base import canonical_json, sha256_hex
from domain.errors import Unavailable
from domain.notifications import Delivery, Sent, Whom, WhomInput
from domain.ports import EvidenceStore, Notifier

STORE_SECONDS = 10.0
"""How long the store may take to say whether a message was taken before."""

TAKEN = b"taken"
T = TypeVar("T")


class NotificationActivities:
    """Activities on notifications. `executor`: threads of their own for the store, which nothing else waits for."""

    def __init__(self, notifier: Notifier, store: EvidenceStore, executor: Executor) -> None:
        self._notifier = notifier
        self._store = store
        self._executor = executor

    @activity.defn(name="notification.plan")
    @speaks_temporal
    async def plan(self, request: WhomInput) -> Whom:
        """Who is told of this by the configuration of this worker, and when they are reminded."""
        return self._notifier.whom(request)

    @activity.defn(name="notification.send")
    @speaks_temporal
    async def send(self, delivery: Delivery) -> Sent:
        """Send it, unless the address has taken it already. Fails retryably where it was not taken."""
        async with beating():
            return await self._sent(delivery)

    async def _sent(self, delivery: Delivery) -> Sent:
        key = sha256_hex(canonical_json({"delivery": delivery.id}))
        sent = Sent(tries=activity.info().attempt)
        if await self._asked(lambda: self._store.recall(key)) is not None:
            return sent
        await self._notifier.send(delivery)
        await self._asked(lambda: self._store.remember(key, TAKEN))
        return sent

    async def _asked(self, what: Callable[[], T]) -> T | None:
        """The store's answer; None where it has none in time."""
        try:
            async with asyncio.timeout(STORE_SECONDS):
                return await asyncio.get_running_loop().run_in_executor(self._executor, what)
        except (Unavailable, TimeoutError) as error:
            activity.logger.warning("not known whether a message was taken: %s", error)
            return None
