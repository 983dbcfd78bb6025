"""What a round costs the server and the worker, beside a workflow with one activity."""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import psutil
from temporalio.client import Client
from temporalio.worker import Worker

from bench.least import OneActivity, nothing
from bench.numbers import interleaved, ratio, summary
from bench.project import SMALL, Project, opened

CHECKS = 7
QUEUE = "bench"


def measure(folder: Path, runs: int, quick: bool) -> dict[str, Any]:  # noqa: ARG001 - one form is short enough
    """Events in the history and CPU milliseconds of server and worker, for a round and for one activity."""
    with opened(folder, SMALL) as project:
        project.verify(CHECKS)
        return asyncio.run(_compared(project, runs))


async def _compared(project: Project, runs: int) -> dict[str, Any]:
    client = await Client.connect(project.status()["temporal_address"])
    found = project.processes()
    ours, server, worker = psutil.Process(), found["server"], found["worker"]
    loop = asyncio.get_running_loop()

    def of_a_round() -> float:
        return _cpu_ms([server, worker], lambda: project.verify(CHECKS))

    def of_one_activity() -> float:
        started = asyncio.run_coroutine_threadsafe(_one(client), loop)
        return _cpu_ms([server, ours], started.result)

    async with Worker(client, task_queue=QUEUE, workflows=[OneActivity], activities=[nothing]):
        measured = {"round": of_a_round, "one activity": of_one_activity}
        cpu = await asyncio.to_thread(interleaved, runs, measured)
        events = {"one activity": await _events(client, await _one(client))}
    events["round"] = await _events(client, f"round/local/checks-{CHECKS}/1")
    return {
        "checks": CHECKS,
        "events": events,
        "events_ratio": round(events["round"] / events["one activity"], 1),
        "cpu_ms": {name: summary(values, 0) for name, values in cpu.items()},
        "cpu_ratio": ratio(cpu["round"], [max(value, 1.0) for value in cpu["one activity"]]),
    }


async def _one(client: Client) -> str:
    name = f"bench/{uuid.uuid4().hex}"
    await client.execute_workflow(OneActivity.run, id=name, task_queue=QUEUE)
    return name


async def _events(client: Client, workflow_id: str) -> int:
    return len((await client.get_workflow_handle(workflow_id).fetch_history()).events)


def _cpu_ms(processes: Iterable[psutil.Process], work: Any) -> float:
    before = sum(_used(process) for process in processes)
    work()
    return (sum(_used(process) for process in processes) - before) * 1000


def _used(process: psutil.Process) -> float:
    """CPU seconds; for this process without its children, which are commands."""
    if process.pid == os.getpid():
        times = os.times()
        return times.user + times.system
    used = process.cpu_times()
    return float(used.user + used.system)
