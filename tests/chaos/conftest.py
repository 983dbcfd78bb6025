"""A project, its rounds and its faults, each chosen by a seed that a failure names."""

from __future__ import annotations

import asyncio
import os
import random
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest
from docker import APIClient
from docker.utils import kwargs_from_env

from adapters.config.order_file import load_order
from adapters.config.settings import Settings
from entrypoints import client
from entrypoints.stores import build_trail
from tests.chaos import check
from tests.chaos.rounds import Answer, Clients, orders
from tests.integration.conftest import Project, make_project
from tests.postgres import Cluster

SEED = int(os.environ.get("CHAOS_SEED", "20260115"))


@dataclass
class World:
    """A project with a state directory of its own, whose processes can be told from all others."""

    project: Project
    state_dir: Path
    mark: str
    seed: int = SEED
    todos: list[str] = field(default_factory=list)

    @property
    def settings(self) -> Settings:
        """The same that the project's commands have."""
        file = f"sqlite:///{self.state_dir}/trail.db"
        database = self.project.environment.get("COUNTERSIGN_DATABASE_URL", file)
        return Settings(project=self.project.root, state_dir=self.state_dir, database_url=database)

    def chance(self, what: str) -> random.Random:
        """Random numbers for `what`, the same for the same seed."""
        return random.Random(f"{self.seed} {what}")

    def clients(self, rounds: int) -> Clients:
        """Clients for that many rounds."""
        todos = orders(self.project, rounds, self.chance(f"orders {len(self.todos)}"))
        self.todos += todos
        return Clients(self.project, todos)

    def judge(self, answers: Sequence[Answer], engine: APIClient) -> list[str]:
        """Everything that is wrong once all have ended and the host was told to; also prints how it went."""
        started = time.monotonic()
        ended = asyncio.run(check.settled(self.settings))
        trail = build_trail(self.settings)
        rows = list(trail.rows())
        trail.close()
        specified = {todo: load_order(self.project.root / f"{todo}.yaml") for todo in set(self.todos)}
        problems = list(check.problems_of_rounds(ended, rows, answers, specified))
        down = self.project.run("down")
        if down.returncode != 0:
            problems.append(f"down: {down.stderr}")
        problems += check.problems_of_stores(self.settings)
        problems += check.leftovers(engine, self.settings, self.mark)
        print(f"{len(ended)} rounds ended, {len(check.inconclusive(rows))} inconclusive; ", end="")
        print(f"{sum(answer.acknowledged for answer in answers)} acknowledged, ", end="")
        print(
            f"{sum(answer.killed for answer in answers)} clients killed; judged in {time.monotonic() - started:.0f} s"
        )
        return problems


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test's own client does not give up a server, or itself, that stands still for a while."""
    monkeypatch.setattr(client, "CONNECT_SECONDS", 120.0)
    monkeypatch.setattr(client, "RPC", timedelta(seconds=120))


@pytest.fixture
def make_world(tmp_path: Path) -> Callable[[Path], World]:
    """Makes a world around a state directory."""

    def make(state_dir: Path) -> World:
        folder = tmp_path / "project"
        folder.mkdir()
        project = make_project(folder, tmp_path / "unused")
        mark = f"CHAOS_{uuid.uuid4().hex}"
        project.environment |= {"COUNTERSIGN_STATE_DIR": str(state_dir), mark: "1"}
        return World(project, state_dir, mark)

    return make


@pytest.fixture
def postgres() -> Iterator[Cluster]:
    """A server of the test's own, since it is killed."""
    cluster = Cluster()
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.remove()


@pytest.fixture(scope="session")
def engine() -> Iterator[APIClient]:
    """The real engine; without one these tests fail."""
    api = APIClient(**kwargs_from_env())
    yield api
    api.close()
