"""A todo's life on a Temporal server: the real workflow, with a session and rounds that do as they are told."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from temporalio import activity
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowHandle
from temporalio.service import RPCError, RPCStatusCode
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Replayer, Worker

from activities.boundary import speaks_temporal
from activities.notifications import NotificationActivities
from activities.signatures import SignatureActivities
from activities.trail import TrailActivities
from adapters.signatures import SshSignatures
from domain.base import sha256_hex
from domain.claims.claim import Claim, ClaimedEvidence
from domain.claims.minted import MintedEvidence
from domain.events import Actor, TrailRow
from domain.fix_messages import FixLoopInput, FixLoopResult
from domain.life import AdmitInput, AdmitResult, TodoInput, WorkInput, WorkResult
from domain.messages import FreezeInput, Frozen, FrozenBase, RoundInput
from domain.requests import Answer, MakeClaim, Request, Start
from domain.safeguards import Clock
from domain.session import TodoReport
from domain.signatures import Signers
from domain.status import SessionStatus
from domain.todo import Gate, Todo
from tests.fakes.evidence import MemoryStore
from tests.fakes.notifier import ScriptedNotifier
from tests.workflow import conftest
from tests.workflow.asking import answer_of, told_by
from tests.workflow.conftest import StrictTrail, order_of
from tests.workflow.scripted import LoopPlan, Plan, ScriptedLoop, ScriptedRound, ScriptedSession
from tests.workflow.scripted_role import Sayings
from workflows.notification import NotificationWorkflow
from workflows.options import (
    NOTIFICATIONS_QUEUE,
    ROLES_QUEUE,
    SANDBOX_QUEUE,
    WORKFLOWS_QUEUE,
    agents_queue,
    workspace_queue,
)
from workflows.session.starting import turn_of
from workflows.todo import TodoWorkflow
from workflows.verification import VerificationWorkflow

ENDS_SECONDS = 600.0
"""A todo that never ends is what is found: a task that the server gave to the worker of the test before comes again
after ten seconds, one of an activity after `conftest.PATIENCE`, and so may the next."""

UNTIL_SECONDS = 600.0
"""Something that never comes is what is found: a task that was lost while a process stood still comes again, as above.
"""

LAST_WORD = Gate(number=1_000_000, heard=1_000_000, status=SessionStatus.STOPPED, retired=True)
"""Of the session: it takes into account whatever was reported. Any other word that is still under way is older, and
what a todo waits to hear about would be heard in none."""

WORKER = Actor(role="worker", identity="bot")
ANN = Actor(role="unattributed", identity="ann")
_names = itertools.count(1)


@dataclass
class Script:
    """What the outside answers. Rounds and freezes are taken one after the other; then all is well.

    With `audited`, rounds are the real ones, in which all checks pass and the auditor says that. `signers`: who may
    sign by the configuration now.
    """

    rounds: list[Plan] = field(default_factory=list)
    loops: list[LoopPlan] = field(default_factory=list)
    freezes: list[Exception] = field(default_factory=list)
    works: list[WorkResult | Exception] = field(default_factory=list)
    freezing: asyncio.Event | None = None
    asked: list[RoundInput] = field(default_factory=list)
    looped: list[FixLoopInput] = field(default_factory=list)
    frozen: list[FreezeInput] = field(default_factory=list)
    worked: list[WorkInput] = field(default_factory=list)
    admitted: list[AdmitInput] = field(default_factory=list)
    working: asyncio.Event | None = None
    cancelled: int = 0
    audited: Sayings | None = None
    notifier: ScriptedNotifier = field(default_factory=ScriptedNotifier)
    signers: Signers | None = None


class Outside:
    """The activities of a todo."""

    def __init__(self, script: Script) -> None:
        self._script = script

    @activity.defn(name="script.round")
    async def round(self, request: RoundInput) -> Plan:
        """The next plan."""
        self._script.asked.append(request)
        return self._script.rounds.pop(0) if self._script.rounds else Plan()

    @activity.defn(name="script.loop")
    async def loop(self, request: FixLoopInput) -> LoopPlan:
        """The next plan, which there has to be."""
        self._script.looped.append(request)
        return self._script.loops.pop(0)

    @activity.defn(name="snapshot.freeze_base")
    @speaks_temporal
    async def freeze_base(self, request: FreezeInput) -> FrozenBase:
        """A base by name only."""
        return FrozenBase(manifest="b" * 64, rest="e" * 64, files=1)

    @activity.defn(name="snapshot.freeze")
    @speaks_temporal
    async def freeze(self, request: FreezeInput) -> Frozen:
        """The work by name only."""
        self._script.frozen.append(request)
        if self._script.freezing:
            await self._script.freezing.wait()
        if self._script.freezes:
            raise self._script.freezes.pop(0)
        return Frozen(head="a" * 64, base="b" * 64, head_files=1, head_bytes=1, base_files=1, dropped="d" * 64)

    @activity.defn(name="claim.admit")
    async def admit(self, request: AdmitInput) -> AdmitResult:
        """A claim is news when it says something else."""
        self._script.admitted.append(request)
        given = (*(request.claim.evidence if request.claim else ()), *request.evidence)
        evidence = tuple(_minted(piece) for piece in given)
        said = request.claim.explanation if request.claim else ""
        return AdmitResult(claim="c" * 64, news=sha256_hex(said.encode()), evidence=evidence)

    @activity.defn(name="worker.run")
    @speaks_temporal
    async def work(self, request: WorkInput) -> WorkResult:
        """The next result; while `working` is not set, it goes on."""
        self._script.worked.append(request)
        try:
            while self._script.working and not self._script.working.is_set():
                activity.heartbeat()
                await asyncio.sleep(0.05)
        except asyncio.CancelledError:
            self._script.cancelled += 1
            raise
        result = self._script.works.pop(0)
        if isinstance(result, Exception):
            raise result
        return result


def _word(gate: Gate) -> dict[str, Any]:
    """What a gate says; the answer to a report that is on its way has another number, too."""
    return gate.model_dump(exclude={"number", "heard"})


def _minted(piece: ClaimedEvidence) -> MintedEvidence:
    digest = sha256_hex(json.dumps(piece.data).encode())
    return MintedEvidence(id=f"ev-{digest[:8]}", label=piece.label, type=piece.type, digest=digest, news=digest)


@dataclass
class Life:
    """One todo with its session. Its clock is the server's, until `passes` moves it on."""

    environment: WorkflowEnvironment
    client: Client
    script: Script
    trail: StrictTrail
    todo: Todo
    handle: WorkflowHandle[TodoWorkflow, Todo]
    session: WorkflowHandle[ScriptedSession, None]

    @property
    def notifier(self) -> ScriptedNotifier:
        """Who is told what."""
        return self.script.notifier

    def told_by(self, number: int) -> WorkflowHandle[Any, None]:
        """The workflow that tells people the `number`th thing."""
        name = f"notification/{self.todo.session}/{self.todo.id}/{number}"
        return self.client.get_workflow_handle(name, result_type=type(None))

    async def ask(self, name: str, request: Request, update_id: str | None = None) -> Answer:
        """An update, to whichever run there is."""
        handle: WorkflowHandle[Any, Any] = self.client.get_workflow_handle(self.todo.workflow_id)
        return await answer_of(handle, name, request, result_type=Answer, update_id=update_id)

    async def started(self) -> Answer:
        """It is in progress."""
        return await self.ask("start", Start(actor=WORKER))

    async def claims(self, said: str = "wrote the parser", update_id: str | None = None) -> Answer:
        """A claim with evidence."""
        return await self.ask("claim", MakeClaim(actor=WORKER, claim=claim_of(said)), update_id)

    async def state(self) -> Todo:
        """What it knows."""
        handle: WorkflowHandle[Any, Any] = self.client.get_workflow_handle(self.todo.workflow_id)
        return await told_by(handle, TodoWorkflow.state)

    async def becomes(self, status: str, review: str | None = None) -> Todo:
        """Wait until it stands there."""
        await until(self._stands(status, review))
        return await self.state()

    def _stands(self, status: str, review: str | None) -> Callable[[], Awaitable[bool]]:
        async def stands() -> bool:
            todo = await self.state()
            return todo.status == status and review in (None, todo.review_status)

        return stands

    async def says(self, gate: Gate) -> None:
        """The session's word, heard."""
        before = (await self.state()).gate.number
        await self.session.signal("say", args=[self.todo.id, gate])

        async def heard() -> bool:
            there = (await self.state()).gate
            return there.number != before and _word(there) == _word(gate)

        await until(heard)

    async def passes(self, seconds: float) -> None:
        """Time passes for the todo."""
        await self.environment.fast_forward(self.handle, seconds)

    async def reports(self) -> list[TodoReport]:
        """What the session was told."""
        return await told_by(self.session, ScriptedSession.reports)

    async def told(self, **fields: object) -> TodoReport:
        """Wait until the session's last report has these."""
        last: list[TodoReport] = []

        async def heard() -> bool:
            last[:] = (await self.reports())[-1:]
            return any(all(getattr(report, name) == value for name, value in fields.items()) for report in last)

        await until(heard)
        return last[0]

    def rows(self, *actions: str) -> list[TrailRow]:
        """The todo's rows, of these actions if any are named."""
        return [row for row in self.trail.rows() if not actions or row.action in actions]

    async def rounds(self, count: int) -> None:
        """Wait until that many rounds have begun."""

        async def begun() -> bool:
            return len(self.script.asked) >= count

        await until(begun)

    async def loops(self, count: int) -> WorkflowHandle[Any, FixLoopResult]:
        """Wait until that many fix loops have begun; the last one."""

        async def begun() -> bool:
            return len(self.script.looped) >= count

        await until(begun)
        return self.client.get_workflow_handle(self.script.looped[count - 1].workflow_id, result_type=FixLoopResult)

    async def waits(self) -> None:
        """Wait until another try of the round is waited for."""

        async def waited() -> bool:
            return (await self.state()).retry_at is not None

        await until(waited)

    async def has(self, action: str, count: int = 1) -> TrailRow:
        """Wait for a row."""

        async def there() -> bool:
            return len(self.rows(action)) >= count

        await until(there)
        return self.rows(action)[count - 1]

    async def timers(self) -> list[float]:
        """The seconds of every timer that was set, the latest one last.

        When a timer's row is written says less: a skip can end beyond the moment that the timer was set for.
        """
        history = await self.handle.fetch_history()
        started = (event.timer_started_event_attributes for event in history.events)
        return [timer.start_to_fire_timeout.ToTimedelta().total_seconds() for timer in started if timer.timer_id]

    async def replayed(self) -> None:
        """Every run's history leads to the same commands again."""
        replayer = Replayer(workflows=[TodoWorkflow], data_converter=self.client.data_converter, debug_mode=True)
        run: str | None = self.handle.first_execution_run_id
        while run:
            history = await self.client.get_workflow_handle(self.todo.workflow_id, run_id=run).fetch_history()
            await replayer.replay_workflow(history)
            last = history.events[-1]
            again = last.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW
            run = last.workflow_execution_continued_as_new_event_attributes.new_execution_run_id if again else None


async def until(true: Callable[[], Awaitable[bool]]) -> None:
    """Wait until it is true."""
    deadline = time.monotonic() + UNTIL_SECONDS
    while not await true():
        if time.monotonic() > deadline:
            raise AssertionError("it never was")
        await asyncio.sleep(0.02)


async def telling_of(client: Client, session: str, *todos: str) -> list[WorkflowHandle[Any, Any]]:
    """Every workflow that tells people of these todos, or of the session."""
    found = [client.get_workflow_handle(f"notification/{session}")]
    for todo in todos:
        for number in itertools.count(1):
            handle = client.get_workflow_handle(f"notification/{session}/{todo}/{number}")
            try:
                await handle.describe()
            except RPCError as error:
                if error.status is not RPCStatusCode.NOT_FOUND:
                    raise
                break
            found.append(handle)
    return found


async def terminated(*left: WorkflowHandle[Any, Any]) -> None:
    """What a test leaves open, or else the workers of the next one take it up, to whom the names mean others."""
    for handle in left:
        try:
            await handle.terminate()
        except RPCError as error:  # it has ended: by itself, or failed where it answers a todo that has just ended
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise


def claim_of(said: str, evidence: str | None = None) -> Claim:
    """A claim that says something, with one piece of evidence."""
    data = evidence if evidence is not None else f"seen after: {said}"
    piece = ClaimedEvidence(label="tests", type="command_output", data=data)
    return Claim(explanation=f"{said}, see [tests]", evidence=[piece], files_modified=["src/a.py"])


@asynccontextmanager
async def living(
    environment: WorkflowEnvironment,
    gate: Gate = Gate(),  # noqa: B008 - frozen, so safe to share
    audited: Sayings | None = None,
    signers: Signers | None = None,
    **order: Any,
) -> AsyncIterator[Life]:
    """A todo with an order like that, pending, and everything that it needs; replayed at the end.

    `audited` as in `Script`. `signers`: of its session.
    """
    session, client = f"s{next(_names)}", environment.client
    given, store = order_of("wo-1", **order), MemoryStore()
    todo = Todo(
        session=session,
        id="wo-1",
        order=given,
        order_digest=given.digest,
        host="here",
        created_by=ANN,
        clock=Clock(limit=given.safeguards.todo_timeout),
        gate=gate,
        worker=given.worker,
        signers=store.put(signers.blob) if signers else "",
    )
    with environment.with_time_skipping_disabled():
        script, trail = Script(audited=audited, signers=signers), StrictTrail()
        async with _working(client, script, trail, store):
            sessions = await client.start_workflow(
                ScriptedSession.run, id=f"session/{session}", task_queue=WORKFLOWS_QUEUE
            )
            new = TodoInput(todo=todo)
            handle = await client.start_workflow(
                TodoWorkflow.run, new, id=todo.workflow_id, task_queue=WORKFLOWS_QUEUE, priority=turn_of(new)
            )
            last = client.get_workflow_handle(todo.workflow_id)
            try:
                life = Life(environment, client, script, trail, todo, handle, sessions)
                yield life
                async with asyncio.timeout(ENDS_SECONDS):
                    await last.signal("gate", LAST_WORD)
                    await last.result()
                await life.replayed()
            finally:
                await terminated(last, sessions, *await telling_of(client, session, todo.id))


@asynccontextmanager
async def _working(client: Client, script: Script, trail: StrictTrail, store: MemoryStore) -> AsyncIterator[None]:
    outside = Outside(script)
    signatures = SignatureActivities(store, SshSignatures(lambda: script.signers))
    queues: dict[str, list[Callable[..., Any]]] = {
        WORKFLOWS_QUEUE: [
            TrailActivities(trail).append,
            outside.round,
            outside.loop,
            outside.admit,
            signatures.check,
        ],
        workspace_queue("here"): [outside.freeze, outside.freeze_base],
        agents_queue("here"): [outside.work],
        NOTIFICATIONS_QUEUE: telling(script.notifier),
    }
    if script.audited:
        of_rounds = conftest.of_a_round(conftest.Script(auditor=script.audited), trail, MemoryStore())
        queues[WORKFLOWS_QUEUE] = [*of_rounds[WORKFLOWS_QUEUE], outside.admit]
        queues |= {queue: of_rounds[queue] for queue in (SANDBOX_QUEUE, ROLES_QUEUE)}
    rounds = VerificationWorkflow if script.audited else ScriptedRound
    workflows = [TodoWorkflow, rounds, ScriptedLoop, ScriptedSession, NotificationWorkflow]
    async with AsyncExitStack() as stack:
        for queue, activities in queues.items():
            worker = Worker(
                client,
                task_queue=queue,
                workflows=workflows if queue == WORKFLOWS_QUEUE else [],
                activities=activities,
                max_heartbeat_throttle_interval=timedelta(seconds=0.1),  # an activity learns of its end by its beats
            )
            await stack.enter_async_context(worker)
        yield


def telling(notifier: ScriptedNotifier) -> list[Callable[..., Any]]:
    """The activities of the queue that tells people."""
    told = NotificationActivities(notifier, MemoryStore(), ThreadPoolExecutor(1))
    return [told.plan, told.send]


def worked(claim: Claim | None = None, **fields: Any) -> WorkResult:
    """What a worker command came to."""
    now = datetime(2026, 1, 15, 10, 0, tzinfo=UTC)
    return WorkResult(claim=claim, exit_code=0, started_at=now, ended_at=now, isolation="environment", **fields)
