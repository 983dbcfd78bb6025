"""Two workers with an engine each; one dies while checks run on both. The other one has them, and every verdict."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from math import inf

from pydantic import JsonValue
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker

from domain.checks import Item
from domain.decision import RoundOutcome
from domain.errors import Cause, Unavailable
from domain.messages import RoundResult
from domain.ports import CheckContext, Finding
from entrypoints.engine_watch import EngineWatch
from tests.fakes.evidence import MemoryStore
from tests.workflow.conftest import PASSED, House, Script, ScriptedPorts, StrictTrail, on_an_engine, order_of, working
from tests.workflow.lives import UNTIL_SECONDS
from workflows.options import SANDBOX_QUEUE, WORKFLOWS_QUEUE
from workflows.verification import VerificationWorkflow

ROUNDS = 4
CHECKS = 3
AT_ONCE = 2


class Mortal(ScriptedPorts):
    """An engine that may be gone: what ran on it is lost then, and what is begun on it fails."""

    def __init__(self, script: Script, store: MemoryStore) -> None:
        super().__init__(script, store)
        self.lives = True
        self.may_pass = 0.0
        self.running: set[str] = set()
        self.passed: list[str] = []
        self.lost: list[str] = []

    def kill(self) -> None:
        """From now on nothing is to be had of it."""
        self.lives = False

    def revive(self) -> None:
        """It answers again."""
        self.lives = True

    async def answers(self, seconds: int) -> bool:
        """While it lives."""
        return self.lives

    async def release(self, round: str) -> None:
        """While it lives."""
        self._refuse()

    async def check(self, item: Item, context: CheckContext) -> Finding:
        """It runs until it may pass, or the engine goes."""
        name = f"{context.round} {item.id}"
        self.running.add(name)
        try:
            while self.lives and self.may_pass < 1:  # noqa: ASYNC110 - the test sets both as it goes
                await asyncio.sleep(0.01)
        finally:
            self.running.remove(name)
        if self.lives:
            self.may_pass -= 1
            self.passed.append(name)
            return PASSED
        self.lost.append(name)
        self._refuse()
        raise AssertionError("it is gone")

    def _refuse(self) -> None:
        if not self.lives:
            raise Unavailable(Cause.ENGINE_UNAVAILABLE, "connection refused", "start it")


def worker_on(client: Client, engine: Mortal, store: MemoryStore) -> AbstractAsyncContextManager[None]:
    """A worker as one's own is: it takes some checks at once, as long as its engine answers."""
    watch = EngineWatch(engine, ping_every=0.2)

    def make() -> Worker:
        activities = on_an_engine(engine, store)
        return Worker(
            client,
            task_queue=SANDBOX_QUEUE,
            activities=activities,
            interceptors=[watch],
            max_concurrent_activities=AT_ONCE,
            graceful_shutdown_timeout=timedelta(seconds=60),
        )

    return watch.polling(make)


async def another(client: Client) -> Client:
    """As another process has it: no two workers of one client poll the same queue."""
    address = client.service_client.config.target_host
    return await Client.connect(address, namespace=client.namespace, data_converter=pydantic_data_converter)


async def until(what: Callable[[], bool]) -> None:
    async with asyncio.timeout(UNTIL_SECONDS):
        while not what():  # noqa: ASYNC110 - what is waited for is no event of ours
            await asyncio.sleep(0.01)


async def decide(house: House, todo: str) -> RoundResult:
    names: list[JsonValue] = [{"name": f"c{number}", "command": "run"} for number in range(CHECKS)]
    request = house.round(order_of(todo, verification={"checks": names}))
    return await house.client.execute_workflow(
        VerificationWorkflow.run, request, id=request.workflow_id, task_queue=WORKFLOWS_QUEUE
    )


async def test_rounds_whose_engine_dies_end_on_the_other(server: WorkflowEnvironment) -> None:
    script, trail, store = Script(), StrictTrail(), MemoryStore()
    house = House(client=server.client, script=script, trail=trail, store=store)
    dies, stays = Mortal(script, store), Mortal(script, store)
    async with (
        working(server.client, script, trail, store, without=SANDBOX_QUEUE),
        worker_on(server.client, dies, store),
        worker_on(await another(server.client), stays, store),
    ):
        rounds = asyncio.gather(*(decide(house, f"wo-failover-{number}") for number in range(ROUNDS)))
        await until(lambda: len(dies.running) == len(stays.running) == AT_ONCE)
        dies.may_pass = 1
        await until(lambda: len(dies.passed) == 1 and len(dies.running) == AT_ONCE)
        dies.kill()
        stays.may_pass = inf
        results = await rounds
        before = len(dies.passed)
        stays.kill()
        dies.may_pass = inf
        dies.revive()
        results.append(await decide(house, "wo-failover-back"))
    assert [result.decision.outcome for result in results] == [RoundOutcome.VERIFIED] * (ROUNDS + 1)
    assert len(dies.lost) >= AT_ONCE, "checks ran on it when it died"
    assert max(Counter(dies.lost).values()) == 1, "and came to the other one with their next try"
    assert (before, len(stays.passed)) == (1, ROUNDS * CHECKS - 1)
    assert len(dies.passed) == before + CHECKS, "once it answers again it is given checks again"
