"""A worker takes checks while its engine answers, no longer, and again afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
import structlog
from temporalio.exceptions import ApplicationError
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput

from domain.errors import Cause
from entrypoints import engine_watch
from entrypoints.engine_watch import EngineWatch

SOON = 60.0


class Engine:
    """It answers as long as it lives."""

    def __init__(self, lives: bool = True) -> None:
        self.lives = lives
        self.pings = 0

    async def answers(self, seconds: int) -> bool:
        self.pings += 1
        return self.lives


class Workers:
    """Notes when one polls."""

    def __init__(self) -> None:
        self.polls = 0
        self.made = 0

    @asynccontextmanager
    async def make(self) -> AsyncIterator[None]:
        self.made += 1
        self.polls += 1
        try:
            yield
        finally:
            self.polls -= 1


async def until(what: Callable[[], bool]) -> None:
    async with asyncio.timeout(SOON):
        while not what():  # noqa: ASYNC110 - what is waited for is no event of ours
            await asyncio.sleep(0.005)


async def test_it_polls_while_the_engine_answers_and_again_when_it_does_again() -> None:
    engine, workers = Engine(lives=False), Workers()
    with structlog.testing.capture_logs() as logged:
        async with EngineWatch(engine, ping_every=0.01).polling(workers.make):
            await until(lambda: engine.pings > 3)
            assert workers.made == 0
            engine.lives = True
            await until(lambda: workers.polls == 1)
            seen = engine.pings
            await until(lambda: engine.pings > seen + 3)
            assert workers.made == 1, "the same one, as long as it answers"
            engine.lives = False
            await until(lambda: workers.polls == 0)
            engine.lives = True
            await until(lambda: workers.polls == 1)
    assert (workers.made, workers.polls) == (2, 0)
    assert [(line["log_level"], "again" in line["event"]) for line in logged] == [
        *(("warning", False), ("info", True)),
        *(("warning", False), ("info", True)),
    ], "each change once"


async def test_it_ends_at_once_whether_it_polls_or_not() -> None:
    for engine in (Engine(), Engine(lives=False)):
        workers = Workers()
        async with asyncio.timeout(SOON):
            async with EngineWatch(engine, ping_every=3600).polling(workers.make):
                await until(lambda looked=engine: looked.pings == 1)  # type: ignore[misc]  # mypy knows no such default
        assert workers.polls == 0


async def failing(watch: EngineWatch, error: Exception) -> None:
    """One activity that fails, as the worker's interceptors see it."""

    class Activity(ActivityInboundInterceptor):
        def __init__(self) -> None:
            pass

        async def execute_activity(self, input: ExecuteActivityInput) -> Any:
            raise error

    with pytest.raises(type(error)):
        await watch.intercept_activity(Activity()).execute_activity(cast("ExecuteActivityInput", None))


def unavailable(cause: Cause) -> ApplicationError:
    return ApplicationError("why", cause.value, "why", "what to do", type="unavailable")


async def test_a_failure_for_the_engine_is_told_only_when_nothing_polls_any_more() -> None:
    engine, workers = Engine(), Workers()
    watch = EngineWatch(engine, ping_every=3600)
    async with watch.polling(workers.make):
        await until(lambda: workers.polls == 1)
        engine.lives = False
        async with asyncio.timeout(SOON):
            await failing(watch, unavailable(Cause.ENGINE_UNAVAILABLE))
        assert workers.polls == 0
        async with asyncio.timeout(engine_watch.STOPPED_SECONDS / 2):
            await failing(watch, unavailable(Cause.ENGINE_UNAVAILABLE))


@pytest.mark.parametrize("error", [unavailable(Cause.DISK_FULL), ApplicationError("x", type="other"), ValueError("x")])
async def test_another_failure_says_nothing_of_the_engine(error: Exception) -> None:
    engine, workers = Engine(), Workers()
    watch = EngineWatch(engine, ping_every=3600)
    async with watch.polling(workers.make):
        await until(lambda: workers.polls == 1)
        engine.lives = False
        await failing(watch, error)
        await asyncio.sleep(0.05)
        assert (workers.polls, engine.pings) == (1, 1)


async def test_an_engine_that_answers_keeps_its_worker() -> None:
    engine, workers = Engine(), Workers()
    watch = EngineWatch(engine, ping_every=3600)
    async with watch.polling(workers.make):
        await until(lambda: workers.polls == 1)
        await failing(watch, unavailable(Cause.ENGINE_UNAVAILABLE))
        assert (workers.polls, workers.made, engine.pings) == (1, 1, 2)


async def test_what_is_fatal_to_a_worker_is_fatal() -> None:
    @asynccontextmanager
    async def make() -> AsyncIterator[None]:
        raise RuntimeError("the server knows no such namespace")
        yield

    with pytest.raises(RuntimeError, match="namespace"):
        async with asyncio.timeout(SOON), EngineWatch(Engine()).polling(make):
            await asyncio.sleep(3600)
