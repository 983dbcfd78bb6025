"""A time-skipping Temporal server, and a worker whose ports are scripted."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from pydantic import JsonValue
from temporalio import activity
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker
from temporalio.worker._workflow import _WorkflowWorker

from activities.boundary import speaks_temporal
from activities.checks import CheckActivities
from activities.claims import ClaimActivities
from activities.drafts import DraftActivities
from activities.report import ReportActivities
from activities.roles import RoleActivities
from activities.sandbox import SandboxActivities
from activities.snapshot import SnapshotActivities
from activities.standalone import StandaloneActivities
from activities.trail import TrailActivities
from adapters.todos import temporal
from domain.base import canonical_json
from domain.checks import Item, Observation, Outcome
from domain.criteria import CRITERION_TYPES
from domain.event_kinds import problems
from domain.events import Actor, TrailEntry, TrailRef
from domain.fix_messages import Applied, ApplyInput, FiledFixLoop, FileFixLoopInput, SpentInput, SpentResult
from domain.messages import (
    FreezeInput,
    Frozen,
    FrozenBase,
    Image,
    ProbeInput,
    RoundInput,
    ScopeInput,
    ScopeResult,
    SetupInput,
)
from domain.order import Order
from domain.ports import CheckContext, Finding, ProbeRequest, Progress, RunRequest, Served
from domain.probes import ProbeTrees
from domain.scope import ScopeReport, Violation
from domain.tree import Dropped, Manifest
from entrypoints.spawning import FAIR
from entrypoints.temporal_binary import server_binary
from tests.fakes.evidence import MemoryStore
from tests.fakes.trail import MemoryTrail
from tests.workflow.scripted_role import Sayings, ScriptedRole
from workflows import options
from workflows.fix_loop import FixLoopWorkflow
from workflows.options import ROLES_QUEUE, SANDBOX_QUEUE, SEARCH_ATTRIBUTES, WORKFLOWS_QUEUE, workspace_queue
from workflows.standalone_act import StandaloneActWorkflow
from workflows.verification import VerificationWorkflow

PASSED = Finding(outcome=Outcome.PASSED, code="ok", text="exit code 0", exit_code=0)
FAILED = Finding(outcome=Outcome.FAILED, code="exit_code", text="exit code 1, expected 0", exit_code=1, stdout="boom\n")

BASE = "b" * 64
EMPTY = Manifest.of(()).digest
WORKFLOWS = (VerificationWorkflow, FixLoopWorkflow, StandaloneActWorkflow)
NOTHING_TO_UNDO = ProbeTrees(why="nothing to undo")
Said = Finding | Exception
TOGETHER_SECONDS = 180.0
"""Less than `PATIENCE`: a check is not given up while it waits for others."""


@dataclass
class Script:
    """What each port answers, and what was asked. A list is answered one after the other, its last one for ever.

    `base_runs`: what runs on the base come to one after the other, where that is not `base`'s for all of them. On an
    `empty` tree everything fails that is not named there.

    `applies`: what comes of repairs for the workspace, one after the other, all of them written afterwards. Once the
    first is under way `applying` is set, and it ends no sooner than `apply_held` is. `costs`: what the ledger has of
    each attempt.

    A check takes its `seconds`, and ends no sooner than so many have run `together` and what it is `held` by is set.
    """

    freeze: list[Exception] = field(default_factory=list)
    prepare: list[Exception] = field(default_factory=list)
    setup: list[Exception] = field(default_factory=list)
    setups: list[SetupInput] = field(default_factory=list)
    readied: list[tuple[Image, SetupInput | None]] = field(default_factory=list)
    prepared: list[str] = field(default_factory=list)
    changed_inputs: tuple[str, ...] = ()
    base: dict[str, Said] = field(default_factory=dict)
    based: list[str] = field(default_factory=list)
    base_runs: dict[str, list[Said]] = field(default_factory=dict)
    empty: dict[str, Said] = field(default_factory=dict)
    linted: list[tuple[Item, CheckContext]] = field(default_factory=list)
    contexts: list[CheckContext] = field(default_factory=list)
    limits: dict[str, float] = field(default_factory=dict)
    frozen: list[FreezeInput] = field(default_factory=list)
    frozen_bases: list[FreezeInput] = field(default_factory=list)
    assessed: list[ScopeInput] = field(default_factory=list)
    violations: tuple[Violation, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    probe: ProbeTrees | Exception = NOTHING_TO_UNDO
    probed: dict[tuple[str, str], Finding] = field(default_factory=dict)
    items: dict[str, list[Said]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    together: int = 0
    held: dict[str, asyncio.Event] = field(default_factory=dict)
    applies: list[Applied | Exception] = field(default_factory=list)
    applied: list[ApplyInput] = field(default_factory=list)
    applying: threading.Event = field(default_factory=threading.Event)
    apply_held: threading.Event | None = None
    costs: dict[int, SpentResult] = field(default_factory=dict)
    files: list[Exception] = field(default_factory=list)
    filed: list[FileFixLoopInput] = field(default_factory=list)
    auditor: Sayings = field(default_factory=Sayings)
    ran: list[str] = field(default_factory=list)
    released: list[str] = field(default_factory=list)
    running: int = 0
    most_at_once: int = 0
    cancelled: list[str] = field(default_factory=list)
    began: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def runs(self, item: str) -> None:
        """Wait until the item's check has begun."""
        async with self.began:
            await self.began.wait_for(lambda: item in self.ran)

    async def may_end(self, item: str) -> None:
        """Wait until the item's check may end. What is to run at once and does not is found by whoever counts it."""
        if item in self.held:
            await self.held[item].wait()
        with suppress(TimeoutError):
            async with asyncio.timeout(TOGETHER_SECONDS), self.began:
                await self.began.wait_for(lambda: self.most_at_once >= self.together)


class ScriptedPorts:
    """Snapshots, sandbox and every checker at once."""

    def __init__(self, script: Script, store: MemoryStore) -> None:
        self._script = script
        self._store = store
        self.type = "any"

    def freeze_base(self, request: FreezeInput, progress: Progress) -> FrozenBase:
        """A base by name only."""
        self._script.frozen_bases.append(request)
        return FrozenBase(manifest=BASE, rest="e" * 64, files=2)

    def freeze(self, request: FreezeInput, progress: Progress) -> Frozen:
        """Two trees by name only."""
        self._script.frozen.append(request)
        if self._script.freeze:
            raise self._script.freeze.pop(0)
        return Frozen(head="h" * 64, base=BASE, head_files=2, head_bytes=20, base_files=2, dropped="d" * 64)

    def assess(self, request: ScopeInput) -> ScopeResult:
        """A report with the scripted violations."""
        self._script.assessed.append(request)
        report = ScopeReport(violations=self._script.violations, dropped=self._script.dropped)
        return ScopeResult(
            tree=BASE if request.frozen.head == BASE else "t" * 64,
            tree_bytes=20,
            report=self._store.put(report.model_dump_json().encode()),
            diff=self._store.put(b"--- a/x\n+++ b/x\n"),
            violations=report.violations,
            violations_total=len(report.violations),
            changed_inputs=self._script.changed_inputs,
            base=BASE,
            trusted=self._store.put(b"[]"),
            dropped=self._script.dropped,
            dropped_total=len(self._script.dropped),
        )

    def probe(self, request: ProbeInput) -> ProbeTrees:
        """The scripted trees."""
        if isinstance(self._script.probe, Exception):
            raise self._script.probe
        return self._script.probe

    def apply(self, request: ApplyInput, progress: Progress) -> Applied:
        """The next answer, once it may be given."""
        script = self._script
        script.applied.append(request)
        script.applying.set()
        if script.apply_held is not None:
            assert script.apply_held.wait(TOGETHER_SECONDS), "nobody lets it end"
        answer = script.applies.pop(0) if script.applies else Applied(paths=("a.py",))
        if isinstance(answer, Exception):
            raise answer
        return answer

    def patch(self, from_head: str, to_head: str) -> str:
        """A difference by name only."""
        return self._store.put(f"{from_head} to {to_head}".encode())

    async def prepare(self, image: str, progress: Progress) -> Image:
        """An image by name only."""
        self._script.prepared.append(image)
        if self._script.prepare:
            raise self._script.prepare.pop(0)
        return Image(reference=image, id=f"sha256:{image}")

    async def setup(self, request: SetupInput, progress: Progress) -> Image:
        """An image by name only."""
        self._script.setups.append(request)
        if self._script.setup:
            raise self._script.setup.pop(0)
        return Image(reference="set-up", id="sha256:set-up")

    async def ready(self, image: Image, setup: SetupInput | None, progress: Progress) -> Image:
        """As the first engine has it."""
        self._script.readied.append((image, setup))
        return image

    async def run(self, request: RunRequest) -> Observation:
        """Checkers are scripted, so that nothing reaches this."""
        raise AssertionError(request)

    async def serve(self, served: RunRequest, probe: ProbeRequest) -> Served:
        """Checkers are scripted, so that nothing reaches this."""
        raise AssertionError(served)

    async def release(self, round: str) -> None:
        """Note it."""
        self._script.released.append(round)

    async def reap(self) -> int:
        """Nothing to reap."""
        return 0

    async def check(self, item: Item, context: CheckContext) -> Finding:
        """The item's next answer, after its scripted seconds."""
        script = self._script
        if context.tree in (BASE, EMPTY):
            if context.run:
                script.linted.append((item, context))
            script.based.append(item.id)
            on_base = script.base.get(item.id, PASSED) if context.tree == BASE else script.empty.get(item.id, FAILED)
            if context.tree == BASE and script.base_runs.get(item.id):
                on_base = script.base_runs[item.id].pop(0)
            if isinstance(on_base, Exception):
                raise on_base
            return on_base
        if (context.tree, item.id) in script.probed:
            return script.probed[context.tree, item.id]
        script.contexts.append(context)
        script.limits[item.id] = item.criterion.timeout
        script.running += 1
        script.most_at_once = max(script.most_at_once, script.running)
        try:
            async with script.began:
                script.ran.append(item.id)
                script.began.notify_all()
            await asyncio.sleep(script.seconds.get(item.id, 0.05))
            await script.may_end(item.id)
        except asyncio.CancelledError:
            script.cancelled.append(item.id)
            raise
        finally:
            script.running -= 1
        answers = script.items.get(item.id, [PASSED])
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


class ScriptedFixes:
    """What a fix loop asks of the ledger and of the folder that people read."""

    def __init__(self, script: Script, ports: ScriptedPorts, store: MemoryStore) -> None:
        self._script = script
        self._ports = ports
        self._store = store

    @activity.defn(name="fix.spent")
    async def spent(self, request: SpentInput) -> SpentResult:
        """The attempt's costs."""
        return self._script.costs.get(request.attempt, SpentResult())

    @activity.defn(name="fix.file")
    @speaks_temporal
    async def file(self, request: FileFixLoopInput) -> FiledFixLoop:
        """Note it."""
        self._script.filed.append(request)
        if self._script.files:
            raise self._script.files.pop(0)
        patch = self._ports.patch(request.from_head, request.to_head) if request.to_head else ""
        return FiledFixLoop(summary=self._store.put(b"# A fix loop"), patch=patch)


class StrictTrail(MemoryTrail):
    """A trail that takes only what the table of events allows."""

    def append(self, entry: TrailEntry) -> TrailRef:
        assert problems(entry) == ()
        return super().append(entry)


@dataclass
class House:
    """A server, a worker on it, and what its ports did."""

    client: Client
    script: Script
    trail: MemoryTrail
    store: MemoryStore

    def round(self, order: Order, attempt: int = 1) -> RoundInput:
        """A round of `order`."""
        return RoundInput(
            session="local",
            todo=order.id,
            attempt=attempt,
            order=order,
            order_digest="0" * 64,
            host="here",
            store=self.trail.store_id(),
            actor=Actor(role="human", identity="ann"),
        )

    def actions(self) -> list[str]:
        """What the trail has, in order."""
        return [row.action for row in self.trail.rows()]


def order_of(order_id: str, **fields: JsonValue) -> Order:
    """An order with an id, a workspace and a base, and whatever else is given."""
    given = {"id": order_id, "content": "some work", "workspace": "/w", "base": "/b", **fields}
    return Order.model_validate_json(canonical_json(given))


async def start_server(*settings: str) -> WorkflowEnvironment:
    """The real server in its time-skipping mode (DESIGN 6), with further dynamic `settings`, each `name=value`."""
    return await WorkflowEnvironment.start_time_skipping_v2(
        dev_server_existing_path=server_binary(None),
        dev_server_extra_args=[
            f"--dynamic-config-value={setting}"
            for setting in ("frontend.WorkflowTimeSkippingEnabled=true", *FAIR, *settings)
        ],
        search_attributes=SEARCH_ATTRIBUTES,
        data_converter=pydantic_data_converter,
    )


PATIENCE = timedelta(minutes=4)


def _drop(_: object, __: object) -> None:
    """What is set is not kept."""


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """No activity that is under way is given up, and no word goes unheard, because these processes stand still.

    What has to run out of its time is set short by the test that is about it.
    """
    monkeypatch.setattr(options, "HEARTBEAT", PATIENCE)
    for one in (getattr(options, name) for name in dir(options) if name.isupper()):
        if isinstance(one, dict) and "start_to_close_timeout" in one:
            monkeypatch.setitem(one, "start_to_close_timeout", max(one["start_to_close_timeout"], PATIENCE))
            if "heartbeat_timeout" in one:
                monkeypatch.setitem(one, "heartbeat_timeout", PATIENCE)
    monkeypatch.setattr(options, "HEARD_SECONDS", 200.0)
    monkeypatch.setattr(options, "ASKED_SECONDS", 100.0)
    monkeypatch.setattr(temporal, "RPC", PATIENCE)
    # The SDK takes a workflow's task that had no processor for two seconds for a deadlock, throws an exception into
    # whatever its thread is at, and fails the task; a worker that is made later reads this instead of its own value.
    seconds = PATIENCE.total_seconds()
    monkeypatch.setattr(_WorkflowWorker, "_deadlock_timeout_seconds", property(lambda _: seconds, _drop), raising=False)


@pytest.fixture(scope="session")
async def server() -> AsyncIterator[WorkflowEnvironment]:
    """One server for all tests of workflows."""
    async with await start_server() as environment:
        yield environment


@pytest.fixture
async def house(server: WorkflowEnvironment) -> AsyncIterator[House]:
    """A worker with scripted ports on the shared server."""
    script, trail, store = Script(), StrictTrail(), MemoryStore()
    async with working(server.client, script, trail, store):
        yield House(client=server.client, script=script, trail=trail, store=store)


def on_an_engine(ports: ScriptedPorts, store: MemoryStore) -> list[Callable[..., object]]:
    """The activities of the queue that has an engine."""
    sandbox = SandboxActivities(ports)
    checks = CheckActivities(dict.fromkeys((*CRITERION_TYPES, "pytest"), ports), store, ports)
    return [sandbox.prepare, sandbox.setup, sandbox.release, checks.run, checks.run_on_base]


def of_a_round(script: Script, trail: MemoryTrail, store: MemoryStore) -> dict[str, list[Callable[..., object]]]:
    """The activities of a round, by queue."""
    ports = ScriptedPorts(script, store)
    snapshot = SnapshotActivities(ports)
    fixes = ScriptedFixes(script, ports, store)
    return {
        WORKFLOWS_QUEUE: [
            TrailActivities(trail).append,
            StandaloneActivities(trail, store, lambda: None).load,
            ReportActivities(store).file,
            ClaimActivities(store).compare,
            DraftActivities(store).find,
            DraftActivities(store).keep,
            snapshot.assess,
            snapshot.probe,
            fixes.spent,
            fixes.file,
        ],
        workspace_queue("here"): [snapshot.freeze, snapshot.freeze_base, snapshot.apply],
        SANDBOX_QUEUE: on_an_engine(ports, store),
        ROLES_QUEUE: [RoleActivities(ScriptedRole(script.auditor, store)).run],
    }


@asynccontextmanager
async def working(
    client: Client, script: Script, trail: MemoryTrail, store: MemoryStore, *, without: str = ""
) -> AsyncIterator[None]:
    """Workers for every queue but `without`."""
    queues = {queue: done for queue, done in of_a_round(script, trail, store).items() if queue != without}
    with ThreadPoolExecutor() as executor:
        workers = [
            Worker(
                client,
                task_queue=queue,
                workflows=[VerificationWorkflow, FixLoopWorkflow, StandaloneActWorkflow]
                if queue == WORKFLOWS_QUEUE
                else [],
                activities=activities,
                activity_executor=executor,
                max_heartbeat_throttle_interval=timedelta(seconds=0.1),  # an activity learns of its end by its beats
            )
            for queue, activities in queues.items()
        ]
        async with AsyncExitStack() as stack:
            for worker in workers:
                await stack.enter_async_context(worker)
            yield
