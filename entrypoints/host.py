"""Composition: which adapter stands behind which port, and the Temporal workers that run them. It decides nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal, get_args

import structlog
from temporalio.client import Client
from temporalio.runtime import Runtime
from temporalio.worker import Worker

from activities.checks import CheckActivities
from activities.report import ReportActivities
from activities.sandbox import SandboxActivities
from activities.snapshot import SnapshotActivities
from activities.trail import TrailActivities
from adapters.checkers.registry import checkers
from adapters.checkers.remote import Access
from adapters.config.settings import Settings
from adapters.masking.known import masker_of
from adapters.masking.stores import MaskedChecker
from adapters.sandbox import DockerSandbox
from adapters.snapshot.found import SnapshotLimits
from adapters.snapshot.snapshots import FileSnapshots
from domain.errors import Unavailable
from domain.ports import EvidenceStore, Trail
from entrypoints.names import host_id
from entrypoints.observers import Observer, begin_at_zero, count_open_rounds
from entrypoints.stores import build_evidence, build_trail
from workflows.options import SANDBOX_QUEUE, WORKFLOWS_QUEUE, workspace_queue
from workflows.verification import VerificationWorkflow

IMAGES_DIR = Path(__file__).resolve().parent.parent / "sandbox_images"
REAP_SECONDS = 60.0
SPARE_THREADS = 32
"""Beside one thread a running check: an append that had to wait behind checks would time out."""

STICKY = timedelta(seconds=1.5)
"""How long a task waits for a worker that has died before another may have it."""

QueueName = Literal["workflows", "workspace", "sandbox"]
QUEUE_NAMES: tuple[QueueName, ...] = get_args(QueueName)

log = structlog.get_logger("entrypoints.host")


@dataclass(frozen=True)
class Adapters:
    """Everything with I/O, built once a process."""

    trail: Trail
    evidence: EvidenceStore
    snapshots: FileSnapshots
    sandbox: DockerSandbox


def build_sandbox(settings: Settings, evidence: EvidenceStore) -> DockerSandbox:
    """The project's sandbox; nothing is asked of the engine yet."""
    return DockerSandbox(
        evidence,
        images_dir=IMAGES_DIR,
        base_image=settings.base_image,
        owner=str(settings.state_dir),
        docker_host=settings.docker_host,
    )


def build_adapters(settings: Settings) -> Adapters:
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
    )


async def work(
    settings: Settings,
    client: Client,
    queues: tuple[QueueName, ...],
    stop: asyncio.Event,
    polls: Callable[[], None],
    alone: bool,
) -> None:
    """Poll `queues` until `stop` is set; what runs then has `drain_timeout` seconds to end before it is handed back.

    `polls` is called once it does. `alone`: no other worker of this state directory runs, so before and after nothing
    of it belongs on the engine; a round that goes on seals anew.
    """
    adapters = build_adapters(settings)
    threads = settings.parallelism + SPARE_THREADS
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(threads, thread_name_prefix="activity"))
    async with AsyncExitStack() as stack:
        stack.callback(adapters.sandbox.close)
        if alone:
            await _clear(adapters.sandbox)
            stack.push_async_callback(_clear, adapters.sandbox)
        for name in queues:
            await stack.enter_async_context(_worker(name, settings, client, adapters))
        if "sandbox" in queues:
            reaper = asyncio.create_task(_reap_forever(adapters.sandbox))
            stack.callback(reaper.cancel)
        if "workflows" in queues and settings.metrics_address:
            begin_at_zero(Runtime.default().metric_meter, client.namespace)
            counter = asyncio.create_task(count_open_rounds(client, Runtime.default().metric_meter))
            stack.callback(counter.cancel)
        polls()
        log.info("worker polls", queues=list(queues), host=host_id(), state=str(settings.state_dir))
        await stop.wait()
        log.info("worker drains", seconds=settings.drain_timeout)


def _worker(name: QueueName, settings: Settings, client: Client, adapters: Adapters) -> Worker:
    sandbox = SandboxActivities(adapters.sandbox)
    access = Access(settings.api_allow, settings.github_url, settings.github_token)
    masker = masker_of(settings)
    masked = {
        type_: MaskedChecker(checker, masker)
        for type_, checker in checkers(adapters.evidence, adapters.sandbox, access).items()
    }
    checks = CheckActivities(masked, adapters.evidence)
    snapshot = SnapshotActivities(adapters.snapshots)
    activities: dict[QueueName, list[Callable[..., Any]]] = {
        "workflows": [
            TrailActivities(adapters.trail).append,
            ReportActivities(adapters.evidence).file,
            snapshot.assess,
        ],
        "workspace": [snapshot.freeze],
        "sandbox": [sandbox.prepare, sandbox.setup, sandbox.release, checks.run, checks.run_on_base],
    }
    queue = {"workflows": WORKFLOWS_QUEUE, "workspace": workspace_queue(host_id()), "sandbox": SANDBOX_QUEUE}[name]
    return Worker(
        client,
        task_queue=queue,
        workflows=[VerificationWorkflow] if name == "workflows" else [],
        activities=activities[name],
        interceptors=[Observer(Runtime.default().metric_meter)],
        max_concurrent_activities=settings.parallelism if name == "sandbox" else SPARE_THREADS // 2,
        graceful_shutdown_timeout=timedelta(seconds=settings.drain_timeout),
        sticky_queue_schedule_to_start_timeout=STICKY,
    )


async def _clear(sandbox: DockerSandbox) -> None:
    try:
        await sandbox.clear()
    except Unavailable as error:
        log.info("nothing cleared", reason=error.reason)


async def _reap_forever(sandbox: DockerSandbox) -> None:
    """Remove what dead workers left behind, once its deadline has passed; an engine that is gone is asked again."""
    while True:
        try:
            removed = await sandbox.reap()
            if removed:
                log.info("reaped", removed=removed)
        except Unavailable as error:
            log.warning("nothing reaped", reason=error.reason)
        await asyncio.sleep(REAP_SECONDS)
