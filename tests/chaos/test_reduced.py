"""Defects that chaos has shown, each as the smallest thing that shows it; and that its own judge can say no."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from docker import APIClient

from adapters.config.order_file import load_order
from domain.events import TrailRow
from entrypoints.host_state import Files, HostState, Process
from entrypoints.stores import build_trail
from tests.chaos import check
from tests.chaos.conftest import World
from tests.integration.conftest import LIMIT_SECONDS, wait_for
from tests.postgres import Cluster


@pytest.fixture
def world(make_world: Callable[[Path], World], tmp_path: Path) -> Iterator[World]:
    made = make_world(tmp_path / "state")
    yield made
    assert made.project.run("down").returncode == 0
    wait_for(lambda: check.processes(made.mark) == [])


def kill(process: Process | None) -> None:
    assert process is not None
    os.kill(process.pid, signal.SIGKILL)
    wait_for(lambda: process.find() is None)


def state_of(world: World) -> HostState:
    state = Files(world.state_dir).read()
    assert state is not None
    return state


def ended(client: subprocess.Popen[str]) -> tuple[int, str]:
    _, err = client.communicate(timeout=LIMIT_SECONDS)
    return client.returncode, err


def test_a_host_that_is_killed_while_it_starts_is_started_again(world: World) -> None:
    up = world.project.start("up")
    wait_for(lambda: Files(world.state_dir).alive() is not None)
    kill(state_of(world).host)
    code, err = ended(up)
    assert code == 0, err


@pytest.mark.slow
def test_a_server_that_was_killed_while_it_made_its_tables_starts_again(world: World) -> None:
    """Every moment of its first half second; the worst leave a database with which no server starts."""
    files = Files(world.state_dir)
    for delay in (0.0, 0.05, 0.1, 0.2):
        up = world.project.start("up")
        wait_for(files.database.exists)
        time.sleep(delay)
        state = state_of(world)
        kill(state.host)
        kill(state.server)
        code, err = ended(up)
        assert code == 0, err
        assert world.project.run("down").returncode == 0
        for left in world.state_dir.glob("temporal.*"):
            left.unlink()


def test_a_database_that_no_server_has_listened_with_is_made_anew(world: World) -> None:
    files = Files(world.state_dir)
    world.state_dir.mkdir()
    files.unproven.touch()
    with closing(sqlite3.connect(files.database)) as connection:  # what a killed server leaves: no tables
        connection.execute("PRAGMA journal_mode = WAL")
    up = world.project.run("up")
    assert up.returncode == 0, up.stderr
    assert not files.unproven.exists()
    kept = files.database.stat().st_ino
    kill(state_of(world).server)
    wait_for(lambda: state_of(world).server is not None and world.project.run("status").returncode == 0)
    assert files.database.stat().st_ino == kept, "one that a server has listened with is kept"


@pytest.mark.slow
def test_a_round_goes_on_when_host_and_worker_are_killed(world: World, engine: APIClient) -> None:
    """Server and command are all that is left: only the command can start a host again."""
    order = world.project.order(id="wo-slow", verification={"checks": [{"name": "slow", "command": "sleep 6"}]})
    verify = world.project.start("verify", order)
    label = f"{check.OWNER}={world.state_dir}"
    wait_for(lambda: any("check" in c["Names"][0] for c in engine.containers(filters={"label": label})))
    state = state_of(world)
    kill(state.host)
    kill(state.worker)
    code, err = ended(verify)
    assert code == 0, err


@pytest.mark.slow
def test_a_round_outlives_two_minutes_without_its_database_and_says_what_it_waits_for(
    world: World, postgres: Cluster, engine: APIClient
) -> None:
    world.project.environment["COUNTERSIGN_DATABASE_URL"] = postgres.create_database("chaos")
    order = world.project.order(id="wo-slow", verification={"checks": [{"name": "slow", "command": "sleep 4"}]})
    verify = world.project.start("verify", order)
    label = f"{check.OWNER}={world.state_dir}"
    wait_for(lambda: any("check" in c["Names"][0] for c in engine.containers(filters={"label": label})))
    postgres.kill()
    time.sleep(125)
    assert verify.poll() is None, "it still waits"
    postgres.start()
    code, err = ended(verify)
    assert code == 0, err
    assert "waits: the trail in postgresql" in err
    trail = build_trail(world.settings)
    assert [row.action for row in trail.rows()].count("audit_completed") == 1
    trail.close()


@pytest.mark.slow
def test_the_judge_sees_what_is_lost_doubled_or_wrong(world: World) -> None:
    clients = world.clients(5)
    answers = clients.run(lambda: None)
    trail = build_trail(world.settings)
    rows = list(trail.rows())
    trail.close()
    ended = {(row.todo_id, row.attempt): "COMPLETED" for row in rows}
    orders = {todo: load_order(world.project.root / f"{todo}.yaml") for todo in set(world.todos)}

    def problems(seen: list[TrailRow]) -> list[str]:
        return list(check.problems_of_rounds(ended, seen, answers, orders))

    assert problems(rows) == []
    counted = {"verification_started", "check_started", "check_completed", "audit_completed"}
    for number, row in enumerate(rows):
        assert problems([*rows, row]), f"{row.action} twice"
        assert bool(problems(rows[:number] + rows[number + 1 :])) == (row.action in counted), f"{row.action} lost"
        if row.action == "audit_completed":
            wrong = row.model_copy(update={"payload": {**row.payload, "outcome": "failed"}})
            assert problems([*rows[:number], wrong, *rows[number + 1 :]])
    stuck = {**ended, (world.todos[0], 1): "RUNNING"}
    assert list(check.problems_of_rounds(stuck, rows, answers, orders))
