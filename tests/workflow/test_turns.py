"""Sessions take turns at the engine, whatever each has waiting there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from pydantic import JsonValue
from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client, WorkflowHandle
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker

from domain.checks import Item
from domain.events import Actor
from domain.messages import RoundInput, RoundResult
from domain.ports import CheckContext, Finding
from tests.fakes.evidence import MemoryStore
from tests.workflow.conftest import PASSED, Script, ScriptedPorts, StrictTrail, on_an_engine, order_of, working
from tests.workflow.lives import UNTIL_SECONDS
from workflows.options import SANDBOX_QUEUE, WORKFLOWS_QUEUE, priority
from workflows.verification import VerificationWorkflow

MANY, FEW = 8, 2


class InOrder(ScriptedPorts):
    """Notes which session's turn it was."""

    def __init__(self, script: Script, store: MemoryStore) -> None:
        super().__init__(script, store)
        self.store = store
        self.turns: list[str] = []

    async def check(self, item: Item, context: CheckContext) -> Finding:
        """It passes at once."""
        self.turns.append(context.round.split("/")[1])
        return PASSED


async def test_a_small_session_has_its_turns_beside_a_large_one(server: WorkflowEnvironment) -> None:
    async with waiting(server, {"large": MANY, "small": FEW}) as (ports, rounds):
        async with engine(server.client, ports), asyncio.timeout(UNTIL_SECONDS):
            await asyncio.gather(*(one.result() for one in rounds))
        assert len(ports.turns) == MANY + FEW
        last = max(number for number, turn in enumerate(ports.turns) if turn == "small")
        assert last <= 2 * FEW, ports.turns


@asynccontextmanager
async def waiting(
    environment: WorkflowEnvironment, sessions: dict[str, int]
) -> AsyncIterator[tuple[InOrder, list[WorkflowHandle[VerificationWorkflow, RoundResult]]]]:
    """So many rounds of each session, all of which wait for an engine: those of the first session came first."""
    client, script, trail, store = environment.client, Script(), StrictTrail(), MemoryStore()
    with environment.with_time_skipping_disabled():
        async with working(client, script, trail, store, without=SANDBOX_QUEUE):
            handles = []
            came = 0
            for session, rounds in sessions.items():
                handles += [await start(client, session, number, trail.store_id()) for number in range(rounds)]
                came += rounds
                await backlog(client, came)
            yield InOrder(script, store), handles


async def start(
    client: Client, session: str, number: int, store: str
) -> WorkflowHandle[VerificationWorkflow, RoundResult]:
    criterion: dict[str, JsonValue] = {"id": "AC-1", "type": "file_exists", "params": {"path": "a"}}
    order = order_of(f"wo-{number}", acceptance_criteria=[criterion])
    request = RoundInput(
        session=session,
        todo=order.id,
        attempt=1,
        order=order,
        order_digest="0" * 64,
        host="here",
        store=store,
        actor=Actor(role="human", identity="ann"),
    )
    return await client.start_workflow(
        VerificationWorkflow.run,
        request,
        id=f"{request.workflow_id}/turns",
        task_queue=WORKFLOWS_QUEUE,
        priority=priority(session),
    )


async def backlog(client: Client, wanted: int) -> None:
    """Return when so much waits for an engine."""
    request = DescribeTaskQueueRequest(
        namespace=client.namespace,
        task_queue=TaskQueue(name=SANDBOX_QUEUE),
        task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY,
        report_stats=True,
    )
    async with asyncio.timeout(UNTIL_SECONDS):
        while True:
            answer = await client.workflow_service.describe_task_queue(request)
            if answer.stats.approximate_backlog_count >= wanted:
                return
            await asyncio.sleep(0.05)


@asynccontextmanager
async def engine(client: Client, ports: InOrder) -> AsyncIterator[None]:
    """A worker that runs one check at a time."""
    activities = on_an_engine(ports, ports.store)
    async with Worker(client, task_queue=SANDBOX_QUEUE, activities=activities, max_concurrent_activities=1):
        yield
