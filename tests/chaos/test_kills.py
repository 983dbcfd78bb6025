"""kill -9 of worker, host, Temporal server, database and clients while rounds run: nothing is lost or done twice."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from docker import APIClient

from tests.chaos.conftest import World
from tests.chaos.faults import PROCESSES, Killer, schedule
from tests.postgres import Cluster

ROUNDS = int(os.environ.get("CHAOS_ROUNDS", "60"))
KILLS = int(os.environ.get("CHAOS_FAULTS", "40"))


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("database", ["postgresql", "sqlite"])
def test_every_acknowledged_round_is_in_the_trail_once(
    make_world: Callable[[Path], World], tmp_path: Path, engine: APIClient, postgres: Cluster, database: str
) -> None:
    world = make_world(tmp_path / "state")
    victims = PROCESSES
    if database == "postgresql":
        world.project.environment["COUNTERSIGN_DATABASE_URL"] = postgres.create_database("chaos")
    else:
        victims = tuple(victim for victim in PROCESSES if victim != "database")
    clients = world.clients(ROUNDS)
    faults = schedule(world.chance("faults"), ROUNDS, KILLS, victims)
    killer = Killer(world.state_dir, clients, faults, world.chance("victims"), postgres)
    began = time.monotonic()
    answers = clients.run(killer.run)
    print(f"seed {world.seed}: {ROUNDS} rounds, {len(killer.done)} faults, {time.monotonic() - began:.0f} s")
    print("\n".join(killer.done))
    print("\n".join(answer.line for answer in answers))
    problems = world.judge(answers, engine)
    assert problems == [], f"seed {world.seed}\n" + "\n".join([*problems, *killer.done])
    assert killer.missed == []
    assert [answer for answer in answers if not answer.acknowledged and not answer.killed] == []
