"""How long an update takes while 1, 10 and 50 agents send them, beside bare ones on the same server.

Ours writes a note on a todo: judged, stored as a row of the trail, answered after that. Beside it an update that is
answered at once, and one that runs an activity first which does nothing: the least for whoever has to store something.
Every agent has a todo, or a workflow, of its own, and sends one update after the other.
"""

from __future__ import annotations

import asyncio
import statistics
import time
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from temporalio.client import Client

from bench.agents import Agents, agents, at_once
from bench.bare import QUEUE, bare_worker
from bench.least import Updates
from bench.project import Project, opened
from bench.sessions import TINY

AGENTS = (1, 10, 50)
EACH = {1: 200, 10: 40, 50: 12}
"""Updates of each of so many agents."""

WARM_UP = 3
SESSION = "bench-updates"

Sent = Callable[[int], Awaitable[None]]
"""One update of the agent of that number."""


def measure(folder: Path, runs: int, quick: bool) -> dict[str, Any]:
    """Median and 99th percentile in milliseconds, of each kind for each number of agents."""
    with opened(folder, TINY) as project:
        return asyncio.run(_measured(project, (1, 3) if quick else AGENTS, 1 if quick else max(1, runs // 3)))


async def _measured(project: Project, many: tuple[int, ...], runs: int) -> dict[str, Any]:
    address = project.status()["temporal_address"] if project.countersign("up") else ""
    async with agents(project) as them:
        with bare_worker(address):
            kinds = await _kinds(them, await Client.connect(address), max(many))
            for kind in kinds.values():
                await _of_all(kind, max(many), WARM_UP)
            return {"updates": [await _compared(kinds, number, runs) for number in many]}


async def _kinds(them: Agents, client: Client, many: int) -> dict[str, Sent]:
    todos = await them.create(SESSION, many)
    ids = [f"bare/{uuid.uuid4().hex}" for _ in range(many)]

    async def start(id: str) -> None:
        await client.start_workflow(Updates.run, id=id, task_queue=QUEUE)

    await at_once(8, ids, start)

    async def bare(agent: int) -> None:
        await client.get_workflow_handle(ids[agent]).execute_update("bare")

    async def stored(agent: int) -> None:
        await client.get_workflow_handle(ids[agent]).execute_update("stored")

    async def note(agent: int) -> None:
        await them.note(SESSION, todos[agent])

    return {"bare": bare, "one activity": stored, "note": note}


async def _compared(kinds: dict[str, Sent], many: int, runs: int) -> dict[str, Any]:
    """Each kind after the other, again and again: what disturbs the machine disturbs all."""
    found: dict[str, list[float]] = {name: [] for name in kinds}
    for _ in range(runs):
        for name, kind in kinds.items():
            found[name] += await _of_all(kind, many, EACH.get(many, 10))
    return {"agents": many, **{name: _percentiles(values) for name, values in found.items()}}


async def _of_all(send: Sent, many: int, each: int) -> list[float]:
    """Seconds of every update."""
    taken: list[float] = []

    async def agent(number: int) -> None:
        for _ in range(each):
            began = time.perf_counter()
            await send(number)
            taken.append(time.perf_counter() - began)

    await at_once(many, range(many), agent)
    return taken


def _percentiles(seconds: list[float]) -> dict[str, float]:
    cuts = statistics.quantiles(seconds, n=100, method="inclusive")
    return {"p50_ms": round(cuts[49] * 1000, 1), "p99_ms": round(cuts[98] * 1000, 1), "updates": len(seconds)}
