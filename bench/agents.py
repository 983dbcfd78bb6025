"""Scripted agents on a project's running host: they create todos, start and claim them, and wait for the verdict.

Everything is the real thing but the work: a todo's criterion is that a file is there, which needs no container, so that
what is measured is what Countersign itself costs.
"""

from __future__ import annotations

import asyncio
import shutil
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

import psutil
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from adapters.config.settings import load_settings
from adapters.masking.stores import MaskedEvidence, MaskedTrail
from bench.held import environment
from bench.project import CannotMeasure, Project
from domain.claims.claim import Claim, ClaimedEvidence
from domain.events import Actor
from domain.life import PlannedTodo, SessionInput
from domain.order import Order
from domain.planning import todos_blob
from domain.read_model import Table
from domain.requests import AddNote, Answer, MakeClaim, Request, Start
from domain.session import Session
from domain.status import TodoStatus
from entrypoints.client import connect
from entrypoints.lives import AGAIN
from entrypoints.names import host_id
from entrypoints.stores import build_evidence, build_trail
from workflows.options import WORKFLOWS_QUEUE, priority
from workflows.session.workflow import SessionWorkflow

ANN = Actor(role="unattributed", identity="bench")
BOT = Actor(role="worker", identity="bench")
PATIENCE_SECONDS = 3600.0
GONE_SECONDS = 600.0
LOOK_SECONDS = 0.25
RESULT = "result.txt"
TODOS: tuple[Table, ...] = ("todos",)
CLAIM = Claim(
    explanation="wrote the result file with the number of the todo in it, see [result]",
    evidence=[ClaimedEvidence(label="result", type="file_content", data="its session and its number")],
    files_modified=[RESULT],
)

T = TypeVar("T")


@dataclass(frozen=True)
class Agents:
    """A client of the host, and the stores that it shares with it."""

    project: Project
    client: Client
    trail: MaskedTrail
    evidence: MaskedEvidence

    async def create(self, session: str, todos: int) -> list[str]:
        """A session of that many todos, each of which has its first row when this returns; their ids."""
        return await self.open(session, [self._planned(number, session) for number in range(todos)])

    async def open(self, session: str, planned: Sequence[PlannedTodo]) -> list[str]:
        """A session of these, as `create` says."""
        now = datetime.now(UTC)
        new = Session(
            id=session, host=host_id(), store=self.trail.store_id(), created_by=ANN, created_at=now, deadline=now
        )
        await self.client.start_workflow(
            SessionWorkflow.run,
            SessionInput(session=new, plan=self.evidence.put(todos_blob(planned)), actor=ANN),
            id=new.workflow_id,
            task_queue=WORKFLOWS_QUEUE,
            priority=priority(session),
        )
        todos = len(planned)
        await until(lambda: len(self.trail.state(session, tables=TODOS).todos) == todos, slow=todos > 1000)
        return [one.order.id for one in planned]

    def _planned(self, number: int, session: str) -> PlannedTodo:
        id = f"todo-{number:05}"
        given = {
            "id": id,
            "content": f"work number {number}",
            "workspace": str(self.project.root / "lives" / session / id),
            "base": str(self.project.root / "base"),
            "acceptance_criteria": [{"id": "AC-1", "type": "file_exists", "params": {"path": RESULT}}],
        }
        return PlannedTodo(
            order=Order.model_validate(given),
            parent=f"todo-{number - number % 10:05}" if number % 10 else "",
            order_index=number,
        )

    async def live(self, session: str, todo: str) -> None:
        """From its start to its verdict, which has to be that it is verified. For a todo without subtasks."""
        folder = self.project.root / "lives" / session / todo
        shutil.copytree(self.project.root / "base", folder)
        (folder / RESULT).write_text(f"{session}/{todo}\n")
        await self.ask(f"todo/{session}/{todo}", "start", Start(actor=BOT))
        await self.ask(f"todo/{session}/{todo}", "claim", MakeClaim(actor=BOT, claim=CLAIM))
        await until(lambda: self._status(session, todo) is not TodoStatus.CLAIMED)
        if (status := self._status(session, todo)) is not TodoStatus.VERIFIED:
            raise CannotMeasure(f"{session}/{todo} came to be {status}")

    def _status(self, session: str, todo: str) -> TodoStatus:
        return self.trail.state(session, todo, TODOS).todos[0].status

    async def note(self, session: str, todo: str) -> None:
        """A person writes something down: the smallest command that is a row of the trail."""
        await self.ask(f"todo/{session}/{todo}", "note", AddNote(actor=ANN, content="seen"))

    async def ask(self, workflow_id: str, command: str, request: Request) -> None:
        """An update, again under the same id while the server has no room for it.

        Raises `CannotMeasure` if refused, `RPCError` where the server does not come back.
        """
        update = uuid.uuid4().hex
        handle = self.client.get_workflow_handle(workflow_id)
        give_up = time.monotonic() + GONE_SECONDS
        while True:
            try:
                answer: Answer = await handle.execute_update(command, request, id=update, result_type=Answer)
            except RPCError as error:
                if error.status not in AGAIN | {RPCStatusCode.NOT_FOUND} or time.monotonic() > give_up:
                    raise
                await asyncio.sleep(0.1)
                continue
            if answer.refused:
                raise CannotMeasure(f"{command} of {workflow_id} was refused: {answer.refused.reason}")
            return

    async def events(self, workflow_id: str) -> int:
        """How many events the history of its last run has."""
        return len((await self.client.get_workflow_handle(workflow_id).fetch_history()).events)


@asynccontextmanager
async def agents(project: Project) -> AsyncIterator[Agents]:
    """Agents on the project's host, which is started."""
    project.countersign("up")
    with environment(project.environment()):
        settings = load_settings(project.root)
    trail = build_trail(settings)
    try:
        client = await connect(settings, project.status()["temporal_address"])
        yield Agents(project, client, trail, build_evidence(settings))
    finally:
        trail.close()


async def at_once(many: int, items: Sequence[T], work: Callable[[T], Awaitable[None]]) -> None:
    """`work` for each, at most so many at a time. Raises what the first that fails raises; the others end."""
    free = asyncio.Semaphore(many)

    async def one(item: T) -> None:
        async with free:
            await work(item)

    try:
        async with asyncio.TaskGroup() as group:
            for item in items:
                group.create_task(one(item))
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from errors


async def until(true: Callable[[], bool], slow: bool = False) -> None:
    """Look until it is true; `slow`: looking takes long, so that it is done seldom. Raises `CannotMeasure`."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + PATIENCE_SECONDS
    while not await asyncio.to_thread(true):
        if loop.time() > deadline:
            raise CannotMeasure("it takes longer than an hour")
        await asyncio.sleep(LOOK_SECONDS * (20 if slow else 1))


class Cpu:
    """CPU seconds that processes use from now on, by name."""

    def __init__(self, processes: dict[str, psutil.Process]) -> None:
        self._processes = processes
        self._before = self._now()

    def used(self) -> dict[str, float]:
        """So many, each."""
        return {name: used - self._before[name] for name, used in self._now().items()}

    def _now(self) -> dict[str, float]:
        return {name: _seconds(process) for name, process in self._processes.items()}


def _seconds(process: psutil.Process) -> float:
    times: Any = process.cpu_times()
    return float(times.user + times.system)
