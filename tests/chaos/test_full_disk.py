"""A disk that fills up while rounds run, and is freed again: right verdicts or `disk_full`, and nothing is damaged."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from docker import APIClient

from tests.chaos.check import OWNER, leftovers
from tests.chaos.conftest import World
from tests.chaos.disk import Disk, mounted
from tests.chaos.faults import Killer, full_disks
from tests.chaos.rounds import KINDS, Answer
from tests.integration.conftest import LIMIT_SECONDS, wait_for
from tests.postgres import Cluster

STATE_MIB = 224
"""Room for all that the rounds write, and beyond it what a command wants free (`host_state.FREE_BYTES`)."""

DATABASE_MIB = 192
"""Room for an empty cluster and some segments of its log; the tests' cluster keeps few of them."""

SHORT = (3, 1)
LONG = (int(os.environ.get("CHAOS_ROUNDS", "60")) // 2, int(os.environ.get("CHAOS_FAULTS", "40")) // 4)


@pytest.mark.parametrize(
    ("rounds", "times"),
    [
        pytest.param(*SHORT, marks=pytest.mark.slow),
        pytest.param(*LONG, marks=[pytest.mark.slow, pytest.mark.timeout(3600)]),
    ],
    ids=["short", "long"],
)
def test_a_full_state_directory_damages_nothing(
    make_world: Callable[[Path], World], tmp_path: Path, engine: APIClient, rounds: int, times: int
) -> None:
    with mounted(tmp_path / "disk", STATE_MIB) as disk:
        world = make_world(disk.path / "state")
        assert world.project.run("up").returncode == 0
        answers = fill_while_rounds_run(world, disk, rounds, times)
        answers += world.clients(len(KINDS)).run(lambda: None)
        problems = world.judge(answers, engine)
        assert problems == [], f"seed {world.seed}\n" + "\n".join(problems)
        assert [a for a in answers if not a.acknowledged] == []
        assert {cause for a in answers for cause in a.before} <= {"disk_full"}


def fill_while_rounds_run(
    world: World, disk: Disk, rounds: int, times: int, cluster: Cluster | None = None
) -> list[Answer]:
    clients = world.clients(rounds)
    faults = full_disks(world.chance("disk"), rounds, times)
    killer = Killer(world.state_dir, clients, faults, world.chance("victims"), cluster, disk)
    began = time.monotonic()
    answers = clients.run(killer.run)
    print(f"seed {world.seed}: {rounds} rounds, disk full {times} times, {time.monotonic() - began:.0f} s")
    print("\n".join(killer.done))
    print("\n".join(answer.line for answer in answers))
    return answers


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("rounds", "times"), [LONG], ids=["long"])
def test_a_full_disk_under_postgresql_damages_nothing(
    make_world: Callable[[Path], World], tmp_path: Path, engine: APIClient, rounds: int, times: int
) -> None:
    folder = Path(tempfile.mkdtemp(prefix="countersign-pg-"))
    folder.chmod(0o755)  # the server runs as another user
    with mounted(folder / "disk", DATABASE_MIB) as disk:
        cluster = Cluster(disk.path / "cluster")
        try:
            cluster.start()
            world = make_world(tmp_path / "state")
            world.project.environment["COUNTERSIGN_DATABASE_URL"] = cluster.create_database("chaos")
            assert world.project.run("up").returncode == 0
            answers = fill_while_rounds_run(world, disk, rounds, times, cluster)
            answers += world.clients(len(KINDS)).run(lambda: None)
            problems = world.judge(answers, engine)
        finally:
            cluster.remove()
    shutil.rmtree(folder)
    assert problems == [], f"seed {world.seed}\n" + "\n".join(problems)
    assert [a for a in answers if not a.acknowledged] == []


@pytest.mark.slow
def test_a_round_without_room_for_its_evidence_says_so_and_what_would_help(
    make_world: Callable[[Path], World], tmp_path: Path, engine: APIClient
) -> None:
    with mounted(tmp_path / "disk", STATE_MIB) as disk:
        world = make_world(disk.path / "state")
        order = world.project.order(id="wo-room", verification={"checks": [{"name": "slow", "command": "sleep 3"}]})
        assert world.project.run("up").returncode == 0
        verify = world.project.start("verify", order, "--json")
        label = f"{OWNER}={world.state_dir}"
        wait_for(lambda: any("check" in c["Names"][0] for c in engine.containers(filters={"label": label})))
        for _ in range(70):  # half a second each: longer than the tries of a check take
            disk.fill()
            time.sleep(0.5)
        disk.clear()
        out, err = verify.communicate(timeout=LIMIT_SECONDS)
        assert verify.returncode == 3, err
        (check,) = json.loads(out)["checks"]
        assert (check["outcome"], check["code"]) == ("could_not_run", "disk_full")
        assert "Free some space" in out
        assert world.project.run("verify", order).returncode == 0, "with room again"
        assert world.project.run("log", "verify").returncode == 0
        assert world.project.run("down").returncode == 0
        assert list(leftovers(engine, world.settings, world.mark)) == []
