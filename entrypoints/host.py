"""Composition: which adapter stands behind which port, and the Temporal workers that run them. It decides nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, Literal, get_args

import structlog
from temporalio.client import Client
from temporalio.common import VersioningBehavior, WorkerDeploymentVersion
from temporalio.runtime import Runtime
from temporalio.worker import Interceptor, Worker, WorkerDeploymentConfig, WorkflowRunner
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions

from activities.checks import CheckActivities
from activities.claims import ClaimActivities
from activities.drafts import DraftActivities
from activities.fixes import FixActivities
from activities.notifications import NotificationActivities
from activities.report import ReportActivities
from activities.roles import RoleActivities
from activities.sandbox import SandboxActivities
from activities.signatures import SignatureActivities
from activities.snapshot import SnapshotActivities
from activities.standalone import StandaloneActivities
from activities.todos import TodoActivities
from activities.trail import TrailActivities
from activities.work import WorkActivities
from adapters.checkers.registry import checkers
from adapters.checkers.remote import Access
from adapters.config.settings import Settings
from adapters.config.signers import load_signers, signers_left
from adapters.ledger import SqlLedger
from adapters.masking.known import masker_of
from adapters.masking.stores import MaskedChecker, MaskedSignatures, MaskedTrail
from adapters.notify.notifier import ConfiguredNotifier
from adapters.sandbox.sandbox import DockerSandbox
from adapters.signatures import SshSignatures
from adapters.snapshot.found import SnapshotLimits
from adapters.snapshot.snapshots import FileSnapshots
from adapters.todos.temporal import TemporalTodos
from adapters.workers.commands import CommandWorkers
from domain.errors import Unavailable
from domain.ports import EvidenceStore
from entrypoints.agents import build_workers
from entrypoints.ended_rounds import release_ended
from entrypoints.engine_watch import EngineWatch
from entrypoints.host_files import Files
from entrypoints.in_use import InUse
from entrypoints.names import IMAGES_DIR, former_hosts, host_id
from entrypoints.observers import Observer, begin_at_zero, count_open_rounds
from entrypoints.roles import ConfiguredRoles
from entrypoints.slots import slots
from entrypoints.stores import build_evidence, build_ledger, build_trail
from workflows.fix_loop import FixLoopWorkflow
from workflows.notification import NotificationWorkflow
from workflows.options import (
    NOTIFICATIONS_QUEUE,
    ROLES_QUEUE,
    SANDBOX_QUEUE,
    WORKFLOWS_QUEUE,
    agents_queue,
    workspace_queue,
)
from workflows.pinned import PinnedVerificationWorkflow
from workflows.session.starting import attributes_of, title_of, turn_of
from workflows.session.workflow import SessionWorkflow
from workflows.standalone_act import StandaloneActWorkflow
from workflows.todo import TodoWorkflow
from workflows.verification import VerificationWorkflow

REAP_SECONDS = 60.0
SPARE_THREADS = 32
"""Beside one thread a running container: an append that had to wait behind checks would time out."""

STICKY = timedelta(seconds=1.5)
"""How long a task waits for a worker that has died before another may have it."""

_LASTING = (SessionWorkflow, TodoWorkflow, FixLoopWorkflow, NotificationWorkflow, StandaloneActWorkflow)
WORKFLOWS = (*_LASTING, VerificationWorkflow)
VERSIONED = (*_LASTING, PinnedVerificationWorkflow)

NOTICED = timedelta(seconds=2)
"""How long an activity that is to end does not know it: it hears that with a heartbeat."""

QueueName = Literal["workflows", "workspace", "sandbox", "agents", "roles", "notifications"]
QUEUE_NAMES: tuple[QueueName, ...] = get_args(QueueName)
OF_A_HOST: tuple[QueueName, ...] = ("workspace", "agents")

log = structlog.get_logger("entrypoints.host")


@dataclass(frozen=True)
class Adapters:
    """Everything with I/O, built once a process."""

    trail: MaskedTrail
    evidence: EvidenceStore
    snapshots: FileSnapshots
    sandbox: DockerSandbox
    workers: CommandWorkers
    todos: TemporalTodos
    roles: ConfiguredRoles
    ledger: SqlLedger
    notifier: ConfiguredNotifier


def workflow_runner() -> WorkflowRunner:
    """The SDK's sandbox, which imports our modules once and not for each workflow that is made or had back.

    What it would refuse them while they run, `scripts/house` does before; replays have all of it.
    """
    ours = SandboxRestrictions.default.with_passthrough_modules("domain", "activities", "workflows")
    return SandboxedWorkflowRunner(restrictions=ours)


def build_sandbox(settings: Settings, evidence: EvidenceStore) -> DockerSandbox:
    """The project's sandbox; nothing is asked of the engine yet."""
    return DockerSandbox(
        evidence,
        images_dir=IMAGES_DIR,
        base_image=settings.base_image,
        owner=str(settings.state_dir),
        docker_host=settings.docker_host,
        slots=settings.parallelism,
    )


def build_adapters(settings: Settings, client: Client) -> Adapters:
    """All adapters. Raises `Unavailable` when the database cannot be opened."""
    evidence = build_evidence(settings)
    limits = SnapshotLimits(
        max_files=settings.max_files,
        max_file_bytes=settings.max_file_bytes,
        max_total_bytes=settings.max_total_bytes,
    )
    return Adapters(
        trail=build_trail(settings),
        evidence=evidence,
        snapshots=FileSnapshots(evidence, limits, masker_of(settings)),
        sandbox=build_sandbox(settings, evidence),
        workers=build_workers(settings, evidence, client.service_client.config.target_host),
        todos=TemporalTodos(client, WORKFLOWS_QUEUE, attributes_of, title_of, turn_of),
        roles=ConfiguredRoles(settings, evidence),
        ledger=build_ledger(settings),
        notifier=ConfiguredNotifier(settings.notifications, masker_of(settings)),
    )


async def work(
    settings: Settings,
    client: Client,
    queues: tuple[QueueName, ...],
    stop: asyncio.Event,
    polls: Callable[[], None],
    alone: bool,
    embedded: bool = False,
) -> None:
    """Poll `queues` until `stop` is set; what runs then has `drain_timeout` seconds to end before it is handed back.

    `polls` is called once it does. `alone`: no other worker of this state directory runs, so before and after nothing
    of it belongs on the engine; a round that goes on seals anew. `embedded`: nor will another, and what it does keeps
    its host; of several workers each takes checks only while its own engine answers.
    """
    adapters = build_adapters(settings, client)
    noting = InUse(Files(settings.state_dir).used)
    threads = settings.parallelism + SPARE_THREADS
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(threads, thread_name_prefix="activity"))
    async with AsyncExitStack() as stack:
        stack.callback(adapters.trail.close)
        stack.callback(adapters.sandbox.close)
        stack.callback(adapters.roles.close)
        stack.callback(adapters.ledger.close)
        stack.callback(adapters.notifier.close)
        if alone:
            await _clear(adapters.sandbox)
            stack.push_async_callback(_clear, adapters.sandbox)
        for name in queues:
            if name == "sandbox" and not embedded:
                watch = EngineWatch(adapters.sandbox)
                make = partial(_worker, name, settings, client, adapters, host_id(), watch)
                await stack.enter_async_context(watch.polling(make))
                continue
            for host in (host_id(), *(former_hosts(settings.state_dir) if name in OF_A_HOST else ())):
                more = (noting,) if embedded else ()
                await stack.enter_async_context(_worker(name, settings, client, adapters, host, *more))
        if embedded:
            keeper = asyncio.create_task(noting.keep())
            stack.callback(keeper.cancel)
        if "sandbox" in queues:
            reaper = asyncio.create_task(_reap_forever(adapters.sandbox, None if embedded else client))
            stack.callback(reaper.cancel)
        if "workflows" in queues and settings.metrics_address:
            begin_at_zero(Runtime.default().metric_meter, client.namespace)
            counter = asyncio.create_task(count_open_rounds(client, Runtime.default().metric_meter))
            stack.callback(counter.cancel)
        polls()
        log.info("worker polls", queues=list(queues), host=host_id(), state=str(settings.state_dir))
        await stop.wait()
        log.info("worker drains", seconds=settings.drain_timeout)


def _worker(
    name: QueueName, settings: Settings, client: Client, adapters: Adapters, host: str, *more: Interceptor
) -> Worker:
    queue = {
        "workflows": WORKFLOWS_QUEUE,
        "workspace": workspace_queue(host),
        "sandbox": SANDBOX_QUEUE,
        "agents": agents_queue(host),
        "roles": ROLES_QUEUE,
        "notifications": NOTIFICATIONS_QUEUE,
    }[name]
    return Worker(
        client,
        task_queue=queue,
        workflows=(VERSIONED if settings.deployment else WORKFLOWS) if name == "workflows" else (),
        activities=_activities(settings, adapters)[name],
        workflow_runner=workflow_runner(),
        interceptors=[Observer(Runtime.default().metric_meter), *more],
        **slots(name, settings.parallelism),
        graceful_shutdown_timeout=timedelta(seconds=settings.drain_timeout),
        sticky_queue_schedule_to_start_timeout=STICKY,
        deployment_config=_deployment(settings),
        max_heartbeat_throttle_interval=NOTICED,
    )


def _activities(settings: Settings, adapters: Adapters) -> dict[QueueName, list[Callable[..., Any]]]:
    """Those of each queue, with what stands behind their ports."""
    sandbox = SandboxActivities(adapters.sandbox)
    access = Access(settings.api_allow, settings.github_url, settings.github_token)
    masker = masker_of(settings)
    masked = {
        type_: MaskedChecker(checker, masker)
        for type_, checker in checkers(adapters.evidence, adapters.sandbox, access).items()
    }
    checks = CheckActivities(masked, adapters.evidence, adapters.sandbox)
    snapshot = SnapshotActivities(adapters.snapshots)
    claims = ClaimActivities(adapters.evidence)
    drafts = DraftActivities(adapters.evidence)
    fixes = FixActivities(adapters.evidence, adapters.ledger, adapters.snapshots)
    todos = TodoActivities(adapters.evidence, adapters.todos)
    notifications = NotificationActivities(adapters.notifier, adapters.evidence, adapters.notifier.threads)
    signatures = MaskedSignatures(SshSignatures(partial(signers_left, settings)), masker)
    return {
        "workflows": [
            TrailActivities(adapters.trail).append,
            ReportActivities(adapters.evidence).file,
            claims.admit,
            claims.compare,
            drafts.find,
            drafts.keep,
            fixes.spent,
            fixes.file,
            SignatureActivities(adapters.evidence, signatures).check,
            StandaloneActivities(adapters.trail, adapters.evidence, partial(load_signers, settings)).load,
            todos.plan,
            todos.start,
            todos.tell,
            snapshot.assess,
            snapshot.probe,
        ],
        "workspace": [snapshot.freeze, snapshot.freeze_base, snapshot.apply],
        "sandbox": [sandbox.prepare, sandbox.setup, sandbox.release, checks.run, checks.run_on_base],
        "agents": [WorkActivities(adapters.workers, adapters.evidence).run],
        "roles": [RoleActivities(adapters.roles).run],
        "notifications": [notifications.plan, notifications.send],
    }


def _deployment(settings: Settings) -> WorkerDeploymentConfig | None:
    """Which version of which deployment this worker is. Workflows go on with the next one, except rounds."""
    if settings.deployment is None or settings.build_id is None:
        return None
    version = WorkerDeploymentVersion(settings.deployment, settings.build_id)
    return WorkerDeploymentConfig(
        version=version,
        use_worker_versioning=True,
        default_versioning_behavior=VersioningBehavior.AUTO_UPGRADE,
    )


async def _clear(sandbox: DockerSandbox) -> None:
    try:
        await sandbox.clear()
    except Unavailable as error:
        log.info("nothing cleared", reason=error.reason)


async def _reap_forever(sandbox: DockerSandbox, client: Client | None) -> None:
    """Remove what dead workers left behind, once its deadline has passed; an engine that is gone is asked again.

    With `client`, also what is left of rounds that were released on another engine.
    """
    while True:
        try:
            removed = await sandbox.reap()
            if removed:
                log.info("reaped", removed=removed)
            if client and (released := await release_ended(client, sandbox)):
                log.info("released here, too", rounds=released)
        except Unavailable as error:
            log.warning("nothing reaped", reason=error.reason)
        await asyncio.sleep(REAP_SECONDS)
