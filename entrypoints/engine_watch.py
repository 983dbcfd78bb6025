"""Lets a worker take checks only while its Docker engine answers, so that another has those that it cannot run.

It is for workers of one's own. The embedded host's is the only one there is: it takes them, and says what is missing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any, Protocol

import structlog
from temporalio.exceptions import ApplicationError
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor

from activities.boundary import cause_of
from domain.errors import Cause

ANSWER_SECONDS = 10
"""How long an engine may take to answer a ping; a busy one takes a second or two."""

PING_EVERY_SECONDS = 2.0
STOPPED_SECONDS = 0.2
"""How long a worker takes, at most, from being told to end until it polls no more."""

Polling = AbstractAsyncContextManager[object]
"""A `Worker`: it polls while its block runs."""

log = structlog.get_logger("entrypoints.engine_watch")


class PingedEngine(Protocol):
    """An engine, as far as it is watched."""

    async def answers(self, seconds: int) -> bool:
        """Whether it answers in so many seconds."""
        ...


class EngineWatch(Interceptor):
    """Starts a worker when the engine answers and ends it when it does not, again and again.

    As an interceptor of that worker it holds back the failure of an activity that did not reach the engine until the
    worker has stopped polling, if it has to: else its next try could come to the same engine.
    """

    def __init__(self, engine: PingedEngine, ping_every: float = PING_EVERY_SECONDS) -> None:
        self._engine = engine
        self._ping_every = ping_every
        self._over = asyncio.Event()
        self._doubted = asyncio.Event()
        self._looked = asyncio.Condition()
        self._gone = False

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        """See the base class."""
        return _Doubting(next, self)

    @asynccontextmanager
    async def polling(self, make: Callable[[], Polling]) -> AsyncIterator[None]:
        """While the block runs, a worker that `make` makes polls whenever the engine answers; at its end, it drains.

        What is fatal to the worker ends the block, as `async with Worker` does, and is raised.
        """
        block = asyncio.current_task()
        assert block is not None
        keeping = asyncio.create_task(self._keep(make))
        keeping.add_done_callback(lambda _: None if self._over.is_set() else block.cancel())
        try:
            yield
        finally:
            self._over.set()
            self._doubted.set()
            await keeping

    async def doubt(self) -> None:
        """An activity did not reach the engine: look at once. Returns when the worker polls no more, if it is gone."""
        if self._gone or self._over.is_set():
            return
        async with self._looked:
            self._doubted.set()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._looked.wait(), ANSWER_SECONDS + STOPPED_SECONDS)
        if self._gone:
            await asyncio.sleep(STOPPED_SECONDS)

    async def _keep(self, make: Callable[[], Polling]) -> None:
        while not self._over.is_set():
            if not await self._look():
                await self._pause()
                continue
            async with make():
                while not self._over.is_set():
                    await self._pause()
                    if not self._over.is_set() and not await self._look():
                        break

    async def _pause(self) -> None:
        """Until the next ping is due, or somebody doubts."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._doubted.wait(), self._ping_every)

    async def _look(self) -> bool:
        """Whether the engine answers; a change is logged once."""
        self._doubted.clear()
        gone = not await self._engine.answers(ANSWER_SECONDS)
        if gone and not self._gone:
            log.warning("the Docker engine does not answer, so no checks are taken until it does")
        if self._gone and not gone:
            log.info("the Docker engine answers again, so checks are taken")
        self._gone = gone
        async with self._looked:
            self._looked.notify_all()
        return not gone


class _Doubting(ActivityInboundInterceptor):
    def __init__(self, next: ActivityInboundInterceptor, watch: EngineWatch) -> None:
        super().__init__(next)
        self._watch = watch

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        try:
            return await super().execute_activity(input)
        except ApplicationError as error:
            if cause_of(error) is Cause.ENGINE_UNAVAILABLE:
                await self._watch.doubt()
            raise
