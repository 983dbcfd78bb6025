"""Projects of their own for tests that use the command line as a person would: real server, real engine, real files."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import psutil
import pytest
import yaml
from docker import APIClient
from docker.utils import kwargs_from_env

from tests.acting import as_a_person, program
from tests.forked import FORKS
from tests.worker_commands import Place

LIMIT_SECONDS = 600


@dataclass
class Project:
    """A folder with an order, a base and a workspace, and a state directory of its own."""

    root: Path
    environment: dict[str, str]
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """`countersign ARGUMENTS` in the project's folder, to its end, in a process that has imported it before.

        What a person asks is asked as one (`acting.as_a_person`); `run_bare` leaves the line as it is.
        """
        return self.run_bare(*as_a_person(arguments, self.environment | environment), **environment)

    def run_bare(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """The same with these arguments and no other."""
        return FORKS.run(arguments, self.root, self.environment | environment, LIMIT_SECONDS)

    def run_program(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """The same by the program itself, which looks for its modules and imports them."""
        return subprocess.run(
            [*program(), *arguments],
            cwd=self.root,
            env=self.environment | environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        """`countersign ARGUMENTS`, left running; `close` ends it."""
        line = (*program(), *as_a_person(arguments))
        process = subprocess.Popen(
            ["env", "--default-signal=INT", *line],  # which a shell's background job would ignore
            cwd=self.root,
            env=self.environment | environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.started.append(process)
        return process

    def close(self) -> subprocess.CompletedProcess[str]:
        """End what was started, and the host."""
        for process in self.started:
            process.kill()
            for pipe in (process.stdout, process.stderr):
                if pipe:
                    pipe.close()
            process.wait()
        return self.run("down")

    def write(self, **files: str) -> None:
        """Files by path; `__` stands for a slash and `_dot_` for a dot, since these are argument names."""
        for name, text in files.items():
            path = self.root / name.replace("__", "/").replace("_dot_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def order(self, **fields: Any) -> str:
        """Write an order and answer with its path; workspace and base are the folders `work` and `base`."""
        order = {"content": "some work", "workspace": "work", "base": "base", **fields}
        path = self.root / f"{fields.get('id', 'order')}.yaml"
        path.write_text(yaml.safe_dump(order))
        return path.name

    def status(self) -> dict[str, Any]:
        """What runs for this project."""
        status: dict[str, Any] = self.answer("status", "--json")
        return status

    def rows(self, todo: str) -> list[dict[str, Any]]:
        """The trail of a todo, none where it has not begun."""
        if self.run("log", "show", todo).returncode == 5:
            return []
        rows: list[dict[str, Any]] = self.answer("log", "show", todo, "--json")
        return rows

    def answer(self, *arguments: str) -> Any:
        """What a command that succeeds prints as JSON."""
        result = self.run(*arguments)
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout)


def until_it_polls(said: IO[str]) -> None:
    """Read what a worker says on stderr until it says that it polls; it may have something to say before."""
    before = []
    for line in said:
        if "worker polls" in line:
            return
        before.append(line)
    raise AssertionError(f"it never polled: {''.join(before)}")


def wait_for(what: Callable[[], bool], seconds: float = 150.0) -> None:
    """Until it is so; fails when it never is. How soon, on a machine with much to do, is no part of that."""
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.1)


@pytest.fixture(scope="session")
def engine() -> Iterator[APIClient]:
    """The real engine; without one these tests fail."""
    api = APIClient(**kwargs_from_env())
    yield api
    api.close()


def make_project(folder: Path, state: Path) -> Project:
    """A project with a base, and a workspace in which one line of one file is changed."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("COUNTERSIGN_", "TEMPORAL_"))}
    project = Project(root=folder, environment=environment | {"XDG_STATE_HOME": str(state), "COLUMNS": "200"})
    project.write(base__a_dot_txt="before\n", work__a_dot_txt="after\n")
    return project


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    """A project whose host, if it gets one, ends with the test."""
    folder = tmp_path / "project"
    folder.mkdir()
    made = make_project(folder, tmp_path / "state")
    yield made
    made.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """One project for the tests of a module that do not harm it: its host starts once."""
    folder = tmp_path_factory.mktemp("shared")
    made = make_project(folder, tmp_path_factory.mktemp("state"))
    yield made
    assert made.close().returncode == 0


def alive(pid: int) -> bool:
    """Whether a process of that id runs."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """Where worker commands run, with a state directory beside it."""
    return Place(tmp_path)


@pytest.fixture(params=["namespaces", "environment"])
def either(request: pytest.FixtureRequest, place: Place) -> Place:
    """The same confined, and as on a system that allows no namespaces."""
    if request.param == "environment":
        place.unconfined()
    return place
