"""How long a small session waits beside a very large one, and how long when it is alone.

Both are lived on a project's own host by clients that stay connected: created, every todo started and claimed, fifty
at a time, its round run to a verdict. The criteria are of the cheapest kind (`file_exists`), so what is shared is
server, worker and trail; `checks` adds a container each.
"""

from __future__ import annotations

import asyncio
import statistics
import time
import uuid
from pathlib import Path
from typing import Any

from bench.agents import BOT, PATIENCE_SECONDS, TODOS, Agents, agents, at_once, until
from bench.numbers import summary
from bench.project import CannotMeasure, Project, Tree, opened
from domain.claims.claim import Claim, ClaimedEvidence
from domain.life import PlannedTodo
from domain.order import Order
from domain.requests import MakeClaim, Start
from domain.status import TodoStatus

SMALL_TODOS = 10
LARGE_TODOS, QUICK_LARGE_TODOS = 2_000, 150
LARGE_WITH_CHECKS, QUICK_LARGE_WITH_CHECKS = 300, 80
"""Of a large session; its first fifty verdicts come close together, after all fifty claims, and it has to go on."""
TINY = Tree("10 kB in 10 files", 10, 10_000)
AT_ONCE = 50


def measure(folder: Path, runs: int, quick: bool) -> dict[str, Any]:
    """Seconds from a session's opening to its last verdict: alone, beside the large one, and the medians' ratio."""
    repeats = max(1, min(runs, 3))
    sizes = {
        "criteria": QUICK_LARGE_TODOS if quick else LARGE_TODOS,
        "checks": QUICK_LARGE_WITH_CHECKS if quick else LARGE_WITH_CHECKS,
    }
    return {"kinds": [_of(folder / kind, kind, large, repeats) for kind, large in sizes.items()]}


def _of(folder: Path, kind: str, large: int, repeats: int) -> dict[str, Any]:
    with opened(folder, TINY) as project:
        project.countersign("up")
        if kind == "checks":
            project.verify(1)  # its image is made, and the limits are proven
        return asyncio.run(_compared(project, kind, large, repeats))


async def _compared(project: Project, kind: str, large: int, repeats: int) -> dict[str, Any]:
    async with agents(project) as crew:
        await _life(crew, kind, SMALL_TODOS)  # what is made once only
        alone = [await _life(crew, kind, SMALL_TODOS) for _ in range(repeats)]
        name = _name("large")
        crowd = asyncio.create_task(_life(crew, kind, large, name))
        beside = await _beside(crew, kind, repeats, name, crowd)
        verdicts = _verified(crew, name)
        await crowd
    return {
        "kind": kind,
        "small": SMALL_TODOS,
        "large": large,
        "alone": summary(alone, 2),
        "beside": summary(beside, 2),
        "ratio": round(statistics.median(beside) / statistics.median(alone), 2),
        "large_seconds": round(crowd.result(), 1),
        "verdicts_before": verdicts,
    }


async def _beside(crew: Agents, kind: str, repeats: int, name: str, crowd: asyncio.Task[float]) -> list[float]:
    """Small sessions, one after the other, from when the large one has its first verdict. It has to outlast them."""
    await until(lambda: crowd.done() or _verified(crew, name) > 0)
    found = [await _life(crew, kind, SMALL_TODOS) for _ in range(repeats)]
    if crowd.done():
        raise CannotMeasure("the large session was over before the small one")
    return found


async def _life(crew: Agents, kind: str, todos: int, name: str = "") -> float:
    """Seconds that a whole session took, from its opening to the last of its verdicts."""
    name = name or _name("small")
    planned = [_todo(crew.project, kind, number) for number in range(todos)]

    async def lived(todo: str) -> None:
        """An agent's part; it goes on with the next todo while this one is verified."""
        await crew.ask(f"todo/{name}/{todo}", "start", Start(actor=BOT))
        evidence = ClaimedEvidence(label="file", type="file", data=f"{todo} is there")
        claim = Claim(explanation=f"Wrote what {todo} asks for, see [file].", evidence=[evidence])
        await crew.ask(f"todo/{name}/{todo}", "claim", MakeClaim(actor=BOT, claim=claim))

    began = time.perf_counter()
    await at_once(AT_ONCE, await crew.open(name, planned), lived)
    await until(lambda: _verified(crew, name) == todos)
    return time.perf_counter() - began


def _verified(crew: Agents, name: str) -> int:
    views = crew.trail.state(name, tables=TODOS).todos
    return sum(view.status is TodoStatus.VERIFIED for view in views)


def _todo(project: Project, kind: str, number: int) -> PlannedTodo:
    path = "folder000/file00000.txt"
    checks = [{"name": "there", "kind": "command", "command": f"test -f {path}"}] if kind == "checks" else []
    order = {
        "id": f"todo-{number:05}",
        "content": f"work number {number}",
        "workspace": str(project.workspace),
        "base": str(project.root / "base"),
        "environment": {"image": "python"},
        "acceptance_criteria": [{"id": "AC-1", "type": "file_exists", "params": {"path": path}}],
        "safeguards": {"todo_timeout": PATIENCE_SECONDS * 10},
        "verification": {"objective_only": True, "checks": checks},
    }
    return PlannedTodo(order=Order.model_validate(order), order_index=number)


def _name(kind: str) -> str:
    return f"{kind}-{uuid.uuid4().hex[:8]}"
