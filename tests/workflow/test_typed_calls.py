"""Updates are asked until they are answered, and are done once: over the real server, whatever gets lost on the way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from temporalio import workflow
from temporalio.client import (
    Client,
    Interceptor,
    OutboundInterceptor,
    QueryWorkflowInput,
    StartWorkflowUpdateInput,
    WorkflowHandle,
    WorkflowUpdateHandle,
)
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from activities.packing import packed
from domain.errors import Cause, Refused, Unavailable
from domain.events import Actor
from domain.life import SessionInput
from domain.requests import Answer, Start
from domain.session import Entry, Session
from entrypoints import lives
from entrypoints.lives import Lives
from tests.workflow.lives import until
from workflows.session.workflow import SessionWorkflow

ANN = Actor(role="worker", identity="ann")
ASK = Start(actor=ANN)
QUEUE = "typed-calls"
FAILS_FAST = 3
"""The try of a workflow's task from which on the server takes no update or query for it."""

NOW = datetime(2026, 1, 15, 10, 0, tzinfo=UTC)
SESSION = Session(id="s", host="h", created_by=ANN, created_at=NOW, deadline=NOW)


@workflow.defn(name="Answering")
class Answering:
    """Answers with how many updates it has been sent, each after a while."""

    def __init__(self) -> None:
        self._taken = 0

    @workflow.run
    async def run(self) -> None:
        """Until it is terminated."""
        await workflow.wait_condition(lambda: False)

    @workflow.query(name="packed")
    def session(self) -> str:
        """As a session's."""
        return packed(SESSION)

    @workflow.update(name="start")
    async def start(self, request: Start) -> Answer:
        """Count it."""
        self._taken += 1
        taken = self._taken
        await workflow.sleep(0.1)
        return Answer(version=taken, status=request.actor.identity)

    @workflow.update(name="block")
    async def block(self, request: Start) -> Answer:
        """What could not be told."""
        details = ("disk_full", "the disk is full", "make room")
        raise ApplicationError("full", *details, type="unavailable", non_retryable=True)

    @workflow.update(name="claim")
    async def claim(self, request: Start) -> Answer:
        """A defect."""
        raise ApplicationError("boom", type="defect", non_retryable=True)


@dataclass
class Losing(Interceptor):
    """A way to the server on which the first answers get lost, after what was asked has been done."""

    lost: list[RPCStatusCode] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    queries: int = 0
    began: asyncio.Event = field(default_factory=asyncio.Event)

    def intercept_client(self, next: OutboundInterceptor) -> OutboundInterceptor:
        """Between the client and the server."""
        return _Losing(next, self)


class _Losing(OutboundInterceptor):
    def __init__(self, onwards: OutboundInterceptor, way: Losing) -> None:
        super().__init__(onwards)
        self._way = way

    async def start_workflow_update(self, input: StartWorkflowUpdateInput) -> WorkflowUpdateHandle[Any]:
        """Done, and then forgotten while there is something to lose."""
        self._way.ids.append(input.update_id or "")
        self._way.began.set()
        handle = await super().start_workflow_update(input)
        if self._way.lost:
            raise RPCError("lost on the way", self._way.lost.pop(0), b"")
        return handle

    async def query_workflow(self, input: QueryWorkflowInput) -> Any:
        """Answered, unless there is something to lose."""
        self._way.queries += 1
        if self._way.lost:
            raise RPCError("lost on the way", self._way.lost.pop(0), b"")
        return await super().query_workflow(input)


@pytest.fixture(autouse=True)
def long_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    """A try is given up and made again where a test says so, not where these processes stand still."""
    monkeypatch.setattr(lives, "TRY", timedelta(minutes=2))


@dataclass
class Way:
    """Typed calls over a way that can lose answers."""

    lives: Lives
    losing: Losing
    reopened: list[bool]


@pytest.fixture
async def way(server: WorkflowEnvironment) -> AsyncIterator[Way]:
    config = server.client.config()
    losing = Losing()
    config["interceptors"] = [losing]
    client = Client(**config)
    reopened: list[bool] = []

    async def reopen(secrets: Sequence[str]) -> Client:
        reopened.append(True)
        return client

    worker = Worker(client, task_queue=QUEUE, workflows=[Answering], workflow_runner=UnsandboxedWorkflowRunner())
    async with worker:
        handle = await client.start_workflow("Answering", id="todo/s/a", task_queue=QUEUE)
        yield Way(Lives(client, reopen), losing, reopened)
        await handle.terminate()


async def test_fifteen_at_once_are_each_done_once(way: Way) -> None:
    asked = [way.lives.ask_todo("s", "a", "start", ASK) for _ in range(15)]
    answers = await asyncio.gather(*asked)
    assert sorted(answer.version for answer in answers) == list(range(1, 16))


AWAY = (RPCStatusCode.UNAVAILABLE, RPCStatusCode.UNKNOWN)
"""Of a server that does not answer, and of one that was killed while it answered."""


@pytest.mark.parametrize(
    "status",
    [*AWAY, RPCStatusCode.RESOURCE_EXHAUSTED, RPCStatusCode.ABORTED, lives.FAILING],
    ids=lambda s: s.name,
)
async def test_what_was_done_before_its_answer_got_lost_is_not_done_again(way: Way, status: RPCStatusCode) -> None:
    way.losing.lost = [status, status]
    answer = await way.lives.ask_todo("s", "a", "start", ASK)
    assert (answer.version, answer.status) == (1, "ann")
    assert len(way.losing.ids) == 3
    assert len(set(way.losing.ids)) == 1, "the same id, again and again"
    assert bool(way.reopened) is (status in AWAY), "only a server that is away is opened again"


async def test_what_the_server_refuses_is_not_asked_again(way: Way) -> None:
    way.losing.lost = [RPCStatusCode.PERMISSION_DENIED]
    with pytest.raises(Unavailable):
        await way.lives.ask_todo("s", "a", "start", ASK)
    assert len(way.losing.ids) == 1


async def test_nobody_there_is_a_refusal_and_no_defect(way: Way) -> None:
    with pytest.raises(Refused, match="there is no todo s/nobody") as todo:
        await way.lives.ask_todo("s", "nobody", "start", ASK)
    with pytest.raises(Refused) as session:
        await way.lives.ask_session("nobody", "start", ASK)
    with pytest.raises(Refused) as state:
        await way.lives.session("nobody")
    assert [error.value.code for error in (todo, session, state)] == [
        "unknown_todo",
        "unknown_session",
        "unknown_session",
    ]
    assert await way.lives.progress("round/s/nobody/1") is None


async def test_what_could_not_be_told_says_why(way: Way) -> None:
    with pytest.raises(Unavailable) as full:
        await way.lives.ask_todo("s", "a", "block", ASK)
    assert (full.value.cause, full.value.reason, full.value.next_step) == (
        Cause.DISK_FULL,
        "the disk is full",
        "make room",
    )
    with pytest.raises(Unavailable, match="broke on 'claim': defect: boom") as broke:
        await way.lives.ask_todo("s", "a", "claim", ASK)
    assert broke.value.cause is Cause.SYSTEM_ERROR


async def test_without_a_worker_it_is_asked_again_for_a_while(way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lives, "TRY", timedelta(seconds=0.3))
    client = way.lives._client
    handle = await client.start_workflow("Answering", id="todo/s/idle", task_queue="nobody-polls-this")
    asking = asyncio.create_task(way.lives.ask_todo("s", "idle", "start", ASK))
    while len(way.losing.ids) < 3:  # noqa: ASYNC110 - the way says nothing by itself
        await asyncio.sleep(0.05)
    monkeypatch.setattr(lives, "TAKEN_SECONDS", 0.1)
    with pytest.raises(Unavailable) as error:
        await asking
    await handle.terminate()
    assert error.value.cause is Cause.NO_WORKER
    assert len(set(way.losing.ids)) == 1
    assert way.reopened, "the host may have died"


class Failing:
    """Fails its tasks as a defect does, until it is mended."""

    broken = True


@workflow.defn(name="Answering")
class Broken(Answering):
    """It cannot go on."""

    @workflow.run
    async def run(self) -> None:
        """A defect in a workflow's task, which is tried again and again."""
        if Failing.broken:
            raise RuntimeError("a defect")
        await workflow.wait_condition(lambda: False)


@asynccontextmanager
async def broken(way: Way) -> AsyncIterator[None]:
    """A todo whose tasks have failed so often that the server takes no update for it."""
    client, queue = way.lives._client, f"{QUEUE}-broken"
    async with Worker(client, task_queue=queue, workflows=[Broken], workflow_runner=UnsandboxedWorkflowRunner()):
        handle = await client.start_workflow("Answering", id="todo/s/broken", task_queue=queue)
        try:
            await until(lambda: _has_failed(handle))
            yield
        finally:
            await handle.terminate()


async def _has_failed(handle: WorkflowHandle[Any, Any]) -> bool:
    return (await handle.describe()).raw_description.pending_workflow_task.attempt >= FAILS_FAST


async def test_one_that_cannot_go_on_is_told_of(way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lives, "FAILING_SECONDS", 0.3)
    way.losing.lost = [lives.FAILING] * 100
    with pytest.raises(Unavailable, match="cannot go on, and so does not take 'start': lost on the way") as error:
        await way.lives.ask_todo("s", "a", "start", ASK)
    assert error.value.cause is Cause.SYSTEM_ERROR


@pytest.fixture
async def session(way: Way) -> AsyncIterator[None]:
    handle = await way.lives._client.start_workflow("Answering", id="session/s", task_queue=QUEUE)
    yield
    await handle.terminate()


@pytest.mark.usefixtures("session")
async def test_a_query_is_asked_again_while_tasks_run_out_of_time(way: Way) -> None:
    way.losing.lost = [lives.FAILING, lives.FAILING]
    assert await way.lives.session("s") == SESSION
    assert way.losing.queries == 3


@pytest.mark.usefixtures("session")
@pytest.mark.parametrize("status", [*AWAY, RPCStatusCode.DEADLINE_EXCEEDED], ids=lambda s: s.name)
async def test_a_query_that_nobody_answered_in_time_is_asked_again(way: Way, status: RPCStatusCode) -> None:
    way.losing.lost = [status, status]
    assert await way.lives.session("s") == SESSION
    assert way.losing.queries == 3
    assert way.reopened == [True, True], "the host may have died"


@pytest.mark.usefixtures("session")
async def test_a_query_that_is_not_answered_is_told_of(way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lives, "FAILING_SECONDS", 0.3)
    way.losing.lost = [lives.FAILING] * 100
    with pytest.raises(Unavailable, match="cannot go on, and so does not take 'packed': lost on the way") as error:
        await way.lives.session("s")
    assert error.value.cause is Cause.SYSTEM_ERROR
    way.losing.lost, way.losing.queries = [RPCStatusCode.PERMISSION_DENIED], 0
    with pytest.raises(Unavailable):
        await way.lives.session("s")
    assert way.losing.queries == 1


@pytest.mark.slow  # those above have its parts
async def test_one_whose_tasks_fail_is_asked_again_until_they_do_not(way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Failing, "broken", True)
    async with broken(way):
        with pytest.raises(RPCError) as unasked:
            await way.lives._client.get_workflow_handle("todo/s/broken").query("packed")
        assert unasked.value.status is lives.FAILING, "as it is for updates"
        asking = asyncio.create_task(way.lives.ask_todo("s", "broken", "start", ASK))
        while len(way.losing.ids) < 3:  # noqa: ASYNC110 - the way says nothing by itself
            await asyncio.sleep(0.05)
        monkeypatch.setattr(Failing, "broken", False)
        assert (await asking).version == 1


async def test_who_stops_waiting_is_not_kept(way: Way) -> None:
    client = way.lives._client
    handle = await client.start_workflow("Answering", id="todo/s/idler", task_queue="nobody-polls-this")
    asking = asyncio.create_task(way.lives.ask_todo("s", "idler", "start", ASK))
    await way.losing.began.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(asking, 60)
    await handle.terminate()


async def test_a_session_is_opened_once(way: Way) -> None:
    now = datetime.now(UTC)
    session = Session(id="opened", host="h", created_by=ANN, created_at=now, deadline=now)
    asked = SessionInput(session=session, plan="0" * 64, actor=ANN)
    assert await way.lives.open_session(asked, "a *title*")
    assert not await way.lives.open_session(asked, "another")
    await way.lives._client.get_workflow_handle("session/opened").terminate()


async def test_ten_thousand_todos_are_known_to_a_client(server: WorkflowEnvironment) -> None:
    many = {f"todo-{number}": Entry(id=f"todo-{number}", order_index=number) for number in range(10_000)}
    now = datetime.now(UTC)
    session = Session(
        id="large", host="here", created_by=ANN, created_at=now, deadline=now + timedelta(days=1), todos=many
    )
    request = SessionInput(packed=packed(session), actor=ANN)
    # Without it the SDK takes what waits two seconds for a processor for a deadlock, and fails the task.
    with server.with_time_skipping_disabled():  # else its day is over at once, which a later test's worker is told of
        async with Worker(server.client, task_queue="large", workflows=[SessionWorkflow], debug_mode=True):
            handle = await server.client.start_workflow(
                SessionWorkflow.run,
                request,
                id="session/large",
                task_queue="large",
                task_timeout=timedelta(minutes=2),  # to unpack it takes seconds where there is little of a processor
            )

            async def again(_: Sequence[str]) -> Client:
                return server.client

            assert await Lives(server.client, again).session("large") == session
            await handle.terminate()
