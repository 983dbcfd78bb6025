"""kill -9 of worker, host, Temporal server, database and clients while rounds run: nothing is lost or done twice."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from docker import APIClient

from tests.chaos.conftest import World
from tests.chaos.faults import PROCESSES, Killer, schedule
from tests.postgres import Cluster


@dataclass(frozen=True)
class Size:
    """How many rounds, and how many kills of processes."""

    rounds: int
    kills: int


SHORT = Size(8, 4)
LONG = Size(int(os.environ.get("CHAOS_ROUNDS", "60")), int(os.environ.get("CHAOS_FAULTS", "40")))


@pytest.mark.parametrize(
    "size", [SHORT, pytest.param(LONG, marks=[pytest.mark.slow, pytest.mark.timeout(3600)])], ids=["short", "long"]
)
@pytest.mark.parametrize("database", ["postgresql", pytest.param("sqlite", marks=pytest.mark.slow)])
def test_every_acknowledged_round_is_in_the_trail_once(
    make_world: Callable[[Path], World], tmp_path: Path, engine: APIClient, postgres: Cluster, size: Size, database: str
) -> None:
    world = make_world(tmp_path / "state")
    victims = PROCESSES
    if database == "postgresql":
        world.project.environment["COUNTERSIGN_DATABASE_URL"] = postgres.create_database("chaos")
    else:
        victims = tuple(victim for victim in PROCESSES if victim != "database")
    clients = world.clients(size.rounds)
    faults = schedule(world.chance("faults"), size.rounds, size.kills, victims)
    killer = Killer(world.state_dir, clients, faults, world.chance("victims"), postgres)
    began = time.monotonic()
    answers = clients.run(killer.run)
    print(f"seed {world.seed}: {size.rounds} rounds, {len(killer.done)} faults, {time.monotonic() - began:.0f} s")
    print("\n".join(killer.done))
    print("\n".join(answer.line for answer in answers))
    problems = world.judge(answers, engine)
    assert problems == [], f"seed {world.seed}\n" + "\n".join([*problems, *killer.done])
    assert killer.missed == []
    assert [answer for answer in answers if not answer.acknowledged and not answer.killed] == []
