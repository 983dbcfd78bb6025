"""What a todo costs in a small session, in a very large one, and in one of many; and beside one bare activity.

On one host: a small session by itself, then a large and a small one that are lived in turns, a family of todos each, so
that both see a server and a trail of the same age, then many at once. Every todo is created; of each size as many are
lived: started, claimed, verified. CPU is that of server and worker; the clients' is nobody's.
"""

from __future__ import annotations

import asyncio
import sys
import time
import uuid
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from temporalio.api.enums.v1 import EventType
from temporalio.client import Client

from bench.agents import ANN, Agents, Cpu, agents, at_once
from bench.bare import QUEUE, bare_worker
from bench.least import OneActivity
from bench.project import Project, Tree, opened
from domain.requests import Stop
from workflows.session.workflow import SessionWorkflow

TINY = Tree("one file", 1, 20)
AT_WORK = 8
"""Agents that work at the same time."""
FAMILY = 10
"""A todo and its subtasks, as `Agents.create` makes them; the subtasks are lived, the first to the last."""
REST_SECONDS = 1.0
"""What follows from the last command is of what is measured, too: the session hears of it, and tells others."""


@dataclass(frozen=True)
class Size:
    """So many sessions of so many todos each, of which in all so many families are lived."""

    name: str
    sessions: int
    todos: int
    families: int = 10


@dataclass(frozen=True)
class Sizes:
    """`again` is what `small` is, beside `large`."""

    small: Size
    large: Size
    again: Size
    many: Size
    bare: int


ALL = Sizes(
    Size("1 of 100", 1, 100),
    Size("1 of 10,000", 1, 10_000),
    Size("1 of 100, beside it", 1, 100),
    Size("50 of 200", 50, 200),
    bare=200,
)
QUICK = Sizes(
    Size("1 of 20", 1, 20, 1),
    Size("1 of 60", 1, 60, 1),
    Size("1 of 20, beside it", 1, 20, 1),
    Size("3 of 20", 3, 20, 1),
    bare=20,
)


@dataclass(frozen=True)
class Created:
    """Sessions of one size, with what it took to create them; `families`: those whose subtasks are lived."""

    size: Size
    names: list[str]
    families: list[list[tuple[str, str]]]
    spent: dict[str, float]


def measure(folder: Path, runs: int, quick: bool) -> dict[str, Any]:  # noqa: ARG001 - one run is long enough
    """Milliseconds of CPU and of the clock for each todo, events and bytes, for each size."""
    with opened(folder, TINY) as project:
        return asyncio.run(_measured(project, QUICK if quick else ALL))


async def _measured(project: Project, sizes: Sizes) -> dict[str, Any]:
    async with agents(project) as them:
        await _of(them, Size("warm-up", 1, 20, 1))
        least = await _least(them, sizes.bare)
        (small,) = await _of(them, sizes.small)
        large, again = await _of(them, sizes.large, sizes.again)
        bare_again = await _least(them, sizes.bare)
        (many,) = await _of(them, sizes.many)
    return {
        "one_activity": {**least, "cpu_ms_again": bare_again["cpu_ms"]},
        "sizes": [small, large, again, many],
        "ratios": {
            f"{phase}, {what}{when}": round(large[phase][what] / other[phase][what], 2)
            for phase in ("created", "lived")
            for what in ("cpu_ms", "wall_ms")
            for when, other in (("", again), (", of a new host's", small))
        },
        "events_ratio": round(small["events_a_life"] / least["events"], 1),
        "cpu_an_event_ratio": round(small["cpu_ms_an_event"] / least["cpu_ms_an_event"], 2),
    }


async def _least(them: Agents, many: int) -> dict[str, Any]:
    """The workflow with one activity, so many times, as many at once as agents work."""
    address = them.project.status()["temporal_address"]
    ids = [f"bare/{uuid.uuid4().hex}" for _ in range(many)]
    with bare_worker(address) as worker:
        client = await Client.connect(address)

        async def one(id: str) -> None:
            await client.execute_workflow(OneActivity.run, id=id, task_queue=QUEUE)

        await at_once(AT_WORK, ids[:10], one)
        cpu = Cpu({"server": them.project.processes()["server"], "worker": worker})
        began = time.perf_counter()
        await at_once(AT_WORK, ids[10:], one)
        spent = _each(cpu.used(), time.perf_counter() - began, many - 10)
    _say("one activity", spent)
    events = await them.events(ids[0])
    return {**spent, "events": events, "cpu_ms_an_event": round(spent["cpu_ms"] / events, 2)}


async def _of(them: Agents, *sizes: Size) -> list[dict[str, Any]]:
    """Sessions of these sizes: created one size after the other, lived in turns, and stopped."""
    all_created = [await _created(them, size) for size in sizes]
    lived = await _lived(them, all_created)
    return [await _told(them, created, one) for created, one in zip(all_created, lived, strict=True)]


async def _created(them: Agents, size: Size) -> Created:
    names = [f"bench-{uuid.uuid4().hex[:8]}" for _ in range(size.sessions)]
    families = []

    async def create(session: str) -> None:
        todos = await them.create(session, size.todos)
        of_session = (todos[at + 1 : at + FAMILY] for at in range(0, len(todos), FAMILY))
        families.extend([[(session, todo) for todo in family] for family in of_session])

    spent = _Spent(them.project)
    await spent.on(at_once(size.sessions, names, create))
    each = spent.each(size.sessions * size.todos)
    _say(f"{size.name}: created", each)
    families.sort()
    return Created(size, names, families[:: len(families) // size.families][: size.families], each)


async def _lived(them: Agents, all_created: Sequence[Created]) -> list[dict[str, float]]:
    """A family of each in turns."""

    async def live(one: tuple[str, str]) -> None:
        await them.live(*one)

    spent = [_Spent(them.project) for _ in all_created]
    for families in zip(*(created.families for created in all_created), strict=True):
        for one, family in zip(spent, families, strict=True):
            await one.on(at_once(AT_WORK, family, live))
    each = [one.each(_lives(created)) for one, created in zip(spent, all_created, strict=True)]
    for created, found in zip(all_created, each, strict=True):
        _say(f"{created.size.name}: lived", found)
    return each


def _lives(created: Created) -> int:
    return sum(len(family) for family in created.families)


async def _told(them: Agents, created: Created, lived: dict[str, float]) -> dict[str, Any]:
    """What was found of a size. Stopped, all of it has heard all: what is measured next has nobody beside it."""
    began, size = time.perf_counter(), created.size
    await asyncio.gather(*(them.ask(f"session/{name}", "stop", Stop(actor=ANN)) for name in created.names))
    seconds = round(time.perf_counter() - began, 1)
    print(f"  {size.name}: stopped in {seconds} s", file=sys.stderr, flush=True)
    session, todo = created.families[0][0]
    events = await them.events(f"todo/{session}/{todo}") + await them.events(f"round/{session}/{todo}/1")
    return {
        "name": size.name,
        "todos": size.sessions * size.todos,
        "lives": _lives(created),
        "created": created.spent,
        "lived": lived,
        "stop": seconds,
        "events_a_life": events,
        "cpu_ms_an_event": round((created.spent["cpu_ms"] + lived["cpu_ms"]) / events, 2),
        **await _history(them, created.names[0], size.todos),
    }


class _Spent:
    """CPU of the host, and the time on the clock, in all that it was `on`."""

    def __init__(self, project: Project) -> None:
        found = project.processes()
        self._processes = {name: found[name] for name in ("server", "worker")}
        self._used = dict.fromkeys(self._processes, 0.0)
        self._seconds = 0.0

    async def on(self, work: Awaitable[None]) -> None:
        """Do it, and take into account what it took."""
        cpu, began = Cpu(self._processes), time.perf_counter()
        await work
        self._seconds += time.perf_counter() - began
        await asyncio.sleep(REST_SECONDS)
        for name, used in cpu.used().items():
            self._used[name] += used

    def each(self, many: int) -> dict[str, float]:
        """Milliseconds for each of many."""
        return _each(self._used, self._seconds, many)


def _say(what: str, each: dict[str, float]) -> None:
    """So that whoever waits sees it go on."""
    print(f"  {what}, ms each: {each}", file=sys.stderr, flush=True)


def _each(seconds_used: dict[str, float], seconds: float, many: int) -> dict[str, float]:
    used = {f"{name}_cpu_ms": round(value / many * 1000, 1) for name, value in seconds_used.items()}
    return {**used, "cpu_ms": round(sum(used.values()), 1), "wall_ms": round(seconds / many * 1000, 1)}


async def _history(them: Agents, session: str, todos: int) -> dict[str, Any]:
    """Of a session: how many runs, their events, the largest history, and what one run hands to the next."""
    events, largest = [], 0
    at: Any = them.client.get_workflow_handle(f"session/{session}")
    run = (await at.describe()).raw_description.workflow_execution_info.first_run_id
    state: str = await at.query(SessionWorkflow.packed_state)
    while run:
        handle = them.client.get_workflow_handle(f"session/{session}", run_id=run)
        history = await handle.fetch_history()
        described = await handle.describe()
        largest = max(largest, described.raw_description.workflow_execution_info.history_size_bytes)
        events.append(len(history.events))
        last = history.events[-1]
        again = last.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW
        run = last.workflow_execution_continued_as_new_event_attributes.new_execution_run_id if again else ""
    return {
        "runs": len(events),
        "session_events_a_todo": round(sum(events) / todos, 2),
        "most_history_bytes": largest,
        "packed_bytes": len(state),
    }
