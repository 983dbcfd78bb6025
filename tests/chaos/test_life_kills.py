"""Kill -9 of worker and server between any two steps of claim, round and verdict: the same end, caps and rows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from entrypoints.host_state import Files
from tests.chaos.conftest import World
from tests.chaos.faults import Victim
from tests.chaos.life import VICTIMS, Life, Told, killed_at


def kill(world: World, victim: Victim) -> int | None:
    """End the host's process at once, if it lives; its id."""
    state = Files(world.state_dir).read()
    named = {"worker": state.worker, "server": state.server}[victim] if state else None
    process = named.find() if named else None
    if process is None:
        return None
    process.kill()
    return process.pid


def lived(world: World, name: str, at: int = 0, victim: Victim = "worker") -> tuple[list[Told], bool]:
    """The rows of a life in which `victim` was killed once there were `at` of them (0: never), and whether it was."""
    life = Life(world.project, world.settings, name)
    with ExitStack() as stack:
        killed = stack.enter_context(killed_at(life, at, lambda: kill(world, victim))) if at else []
        life.create()
        asyncio.run(life.live())
    return life.rows(), bool(killed)


def sweep(world: World, moments: list[tuple[int, Victim]], undisturbed: list[Told]) -> list[str]:
    """What differs, by moment."""
    problems = []
    for number, (at, victim) in enumerate(moments):
        rows, killed = lived(world, f"killed-{number}", at, victim)
        if not killed:
            problems.append(f"{victim} was not there to be killed at row {at}")
        if rows != undisturbed:
            differing = [one for one in (*rows, *undisturbed) if (one in rows) is not (one in undisturbed)]
            problems.append(f"{victim} killed at row {at}: {differing[:6]}")
    return problems


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_kill_at_any_step_changes_nothing(make_world: Callable[[Path], World], tmp_path: Path) -> None:
    world = make_world(tmp_path / "state")
    (world.project.root / "base" / "b.txt").write_text("before\n")
    try:
        undisturbed, _ = lived(world, "undisturbed")
        again, _ = lived(world, "again")
        assert again == undisturbed, "what is compared does not vary by itself"
        moments = [(at, victim) for at in range(1, len(undisturbed)) for victim in VICTIMS]
        problems = sweep(world, moments, undisturbed)
    finally:
        world.project.run("down")
    assert problems == []
