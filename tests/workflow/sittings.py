"""A session on a Temporal server: the real workflow and adapter, with todos that do as they are told."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowHandle
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Replayer, UnsandboxedWorkflowRunner, Worker, WorkflowRunner
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner

from activities.todos import TodoActivities
from activities.trail import TrailActivities
from adapters.todos.temporal import TemporalTodos
from domain.events import Actor, TrailRow
from domain.life import PlannedTodo, SessionInput
from domain.planning import SessionPlan, todos_blob
from domain.requests import Answer, Request
from domain.session import SESSION_TIMEOUT, Session
from domain.status import TodoStatus
from domain.todo import Gate, workflow_id_of
from tests.fakes.evidence import MemoryStore
from tests.fakes.notifier import ScriptedNotifier
from tests.workflow.asking import answer_of, told_by
from tests.workflow.conftest import StrictTrail, order_of
from tests.workflow.lives import Outside, Script, telling, telling_of, terminated, until
from tests.workflow.scripted import ScriptedRound
from tests.workflow.scripted_todo import ScriptedTodo
from workflows.notification import NotificationWorkflow
from workflows.options import NOTIFICATIONS_QUEUE, WORKFLOWS_QUEUE, workspace_queue
from workflows.session.starting import attributes_of, title_of, turn_of
from workflows.session.workflow import SessionWorkflow
from workflows.todo import TodoWorkflow

ANN = Actor(role="unattributed", identity="ann")
BOT = Actor(role="worker", identity="bot")
_names = itertools.count(1)


@dataclass
class Sitting:
    """One session with its todos. Its clock is the server's, until `passes` moves it on."""

    environment: WorkflowEnvironment
    client: Client
    trail: StrictTrail
    store: MemoryStore
    id: str
    first: WorkflowHandle[Any, Any]
    patched: bool

    @property
    def handle(self) -> WorkflowHandle[SessionWorkflow, None]:
        """Whichever run there is."""
        return self.client.get_workflow_handle_for(SessionWorkflow.run, f"session/{self.id}")

    def todo(self, todo: str) -> WorkflowHandle[ScriptedTodo, None]:
        """One of its todos."""
        return self.client.get_workflow_handle_for(ScriptedTodo.run, workflow_id_of(self.id, todo))

    async def ask(self, name: str, request: Request, update_id: str | None = None) -> Answer:
        """An update of the session."""
        return await answer_of(self.handle, name, request, result_type=Answer, update_id=update_id)

    async def state(self) -> Session:
        """What it knows."""
        return await told_by(self.handle, SessionWorkflow.state)

    async def gates(self, todo: str) -> list[Gate]:
        """What it told a todo."""
        return await told_by(self.todo(todo), ScriptedTodo.gates)

    async def reports(self, todo: str, status: str, trigger: str = "") -> int:
        """A todo reports it, whether the session has heard it yet or not; the report's number."""
        return await answer_of(self.todo(todo), "become", TodoStatus(status), trigger, result_type=int)

    async def becomes(self, todo: str, status: str, trigger: str = "") -> Gate:
        """A todo reports it, and the session has heard it; the last that it said to the todo."""
        number = await self.reports(todo, status, trigger)

        async def heard() -> bool:
            return (await self.state()).todos[todo].report >= number

        await until(heard)
        return (await self.gates(todo))[-1]

    async def asks(self, todo: str, status: str) -> Gate:
        """The session's word on how things stand now."""
        return await answer_of(self.todo(todo), "ask", TodoStatus(status), result_type=Gate)

    async def told(self, todo: str, **fields: Any) -> Gate:
        """Wait until the last word to a todo is like that."""

        async def is_so() -> bool:
            gate = (await self.gates(todo))[-1]
            return all(getattr(gate, name) == value for name, value in fields.items())

        await until(is_so)
        return (await self.gates(todo))[-1]

    async def is_(self, status: str) -> Session:
        """Wait until the session stands there."""

        async def stands() -> bool:
            return (await self.state()).status == status

        await until(stands)
        return await self.state()

    async def passes(self, seconds: float) -> None:
        """Time passes for the session."""
        await self.environment.fast_forward(self.handle, seconds)

    def rows(self, *actions: str) -> list[TrailRow]:
        """The session's own rows, of these actions if any are named."""
        return [row for row in self.trail.rows() if row.todo_id == "" and (not actions or row.action in actions)]

    def plan(self, *todos: PlannedTodo) -> str:
        """The blob of a plan."""
        return self.store.put(todos_blob(todos))

    async def runs(self) -> list[str]:
        """The ids of its runs, the first one first."""
        found, run = [], self.first.first_execution_run_id
        while run:
            found.append(run)
            history = await self.client.get_workflow_handle(f"session/{self.id}", run_id=run).fetch_history()
            last = history.events[-1]
            again = last.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW
            run = last.workflow_execution_continued_as_new_event_attributes.new_execution_run_id if again else None
        return found

    async def replayed(self) -> None:
        """Every run's history leads to the same commands again."""
        runner = UnsandboxedWorkflowRunner() if self.patched else SandboxedWorkflowRunner()
        replayer = Replayer(
            workflows=[SessionWorkflow],
            data_converter=self.client.data_converter,
            workflow_runner=runner,
            debug_mode=True,
        )
        for run in await self.runs():
            history = await self.client.get_workflow_handle(f"session/{self.id}", run_id=run).fetch_history()
            await replayer.replay_workflow(history)


def todo(id: str, *needs: str, parent: str = "", order_index: int = 0, **order: Any) -> PlannedTodo:
    """A todo to be."""
    return PlannedTodo(order=order_of(id, depends_on=list(needs), **order), parent=parent, order_index=order_index)


@asynccontextmanager
async def sitting(
    environment: WorkflowEnvironment,
    *todos: PlannedTodo,
    seconds: float = SESSION_TIMEOUT,
    defaults: bool = False,
    patched: bool = False,
    outside: Script | None = None,
    notifier: ScriptedNotifier | None = None,
    by: Actor = ANN,
) -> AsyncIterator[Sitting]:
    """A session of these todos, opened; replayed at the end. With `defaults` agents may create todos like any here.

    `outside`: the todos are real ones, with that around them, and their rounds do as they are told.
    `notifier`: by whom people are told, where there is no `outside` that says so.
    `patched`: what a test changed in a module holds in the workflows, too, which have their own copies otherwise.
    """
    client, trail, store = environment.client, StrictTrail(), MemoryStore()
    told = Script(notifier=notifier or ScriptedNotifier())
    activities = TodoActivities(store, TemporalTodos(client, WORKFLOWS_QUEUE, attributes_of, title_of, turn_of))
    with environment.with_time_skipping_disabled():
        runner = UnsandboxedWorkflowRunner() if patched else SandboxedWorkflowRunner()
        calls: list[Callable[..., Any]] = [
            TrailActivities(trail).append,
            activities.plan,
            activities.start,
            activities.tell,
        ]
        kinds: list[type] = [ScriptedTodo] if outside is None else [TodoWorkflow, ScriptedRound]
        async with _working(client, runner, calls, outside or told, kinds):
            moment = datetime(2026, 1, 15, tzinfo=UTC)
            session = Session(
                id=f"sit{next(_names)}",
                host="here",
                store=trail.store_id(),
                order=store.put(SessionPlan(defaults=order_of("defaults")).blob) if defaults else "",
                created_by=by,
                created_at=moment,
                deadline=moment,
                timeout=seconds,
            )
            plan = store.put(todos_blob(todos))
            handle = await client.start_workflow(
                SessionWorkflow.run,
                SessionInput(session=session, plan=plan, actor=by),
                id=session.workflow_id,
                task_queue=WORKFLOWS_QUEUE,
            )
            seated = Sitting(environment, client, trail, store, session.id, handle, patched)
            try:
                await until(lambda: _seated(seated, [one.order.id for one in todos]))
                yield seated
                await seated.replayed()
            finally:
                todos_there = (await seated.state()).todos
                left = await telling_of(client, session.id, *todos_there)
                await terminated(seated.handle, *map(seated.todo, todos_there), *left)


@asynccontextmanager
async def _working(
    client: Client, runner: WorkflowRunner, calls: list[Callable[..., Any]], outside: Script, todos: list[type]
) -> AsyncIterator[None]:
    ports = Outside(outside)
    workflows = [SessionWorkflow, NotificationWorkflow, *todos]
    async with (
        Worker(
            client,
            task_queue=WORKFLOWS_QUEUE,
            workflows=workflows,
            activities=[*calls, ports.round, ports.admit],
            workflow_runner=runner,
        ),
        Worker(client, task_queue=workspace_queue("here"), activities=[ports.freeze, ports.freeze_base]),
        Worker(client, task_queue=NOTIFICATIONS_QUEUE, activities=telling(outside.notifier)),
    ):
        yield


async def _seated(seated: Sitting, todos: list[str]) -> bool:
    """Whether it has begun, and its todos with it."""
    if not seated.rows("session_created"):
        return False
    listed = [one.id async for one in seated.client.list_workflows(f"WorkflowId STARTS_WITH 'todo/{seated.id}/'")]
    return len(listed) == len(todos)
