"""The processes that live a plan: started, started again when they were killed, told to stop when all is done."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import yaml

from domain.errors import Unavailable
from tests.chaos.conftest import World
from tests.chaos.todo_clients import STOP, Task, views_of
from tests.chaos.todo_log import Ledger
from tests.chaos.todos import Key, Plan, agents, file_of, not_at_rest, people, workspace_of

ROOT = Path(__file__).resolve().parents[2]
TICK_SECONDS = 0.1
LOOK_SECONDS = 1.0
STUCK_SECONDS = 300.0
"""Without any answer, and something is wrong."""

TRIES = 5
"""So often somebody asks for the same session whom nobody could tell whether there is one."""


def created_before(create: Callable[[], subprocess.CompletedProcess[str]]) -> bool:
    """Ask for a session until somebody could tell; whether it was there, because an earlier try had created it.

    Only what could not be told is asked again, as the clients do; a defect of Countersign, which has the same exit
    code and no answer on stdout, fails, and so does every other refusal.
    """
    for tried in range(TRIES):
        asked = create()
        told = json.loads(asked.stdout or "{}")
        if asked.returncode == 0:
            return False
        if tried and (asked.returncode, told.get("code")) == (1, "session_exists"):
            return True
        assert (asked.returncode, told.get("error")) == (3, "unavailable"), asked.stderr
    raise AssertionError(f"{TRIES} times nobody could tell whether there is a session: {asked.stderr}")


@dataclass
class _Running:
    task: Task
    process: subprocess.Popen[bytes]
    killed: bool = False


class Crowd:
    """All of them. `begun`: how many commands were answered so far."""

    def __init__(self, world: World, plan: Plan, count: int, folder: Path) -> None:
        self._world, self._plan, self._count, self._folder = world, plan, count, folder
        self._lock = threading.Lock()
        self._running: list[_Running] = []
        self.ledger = Ledger(folder)
        self.ended = threading.Event()
        self.killed = 0

    @property
    def begun(self) -> int:
        """What the faults go by."""
        return self.ledger.answers

    def create(self) -> None:
        """The trees and the sessions, by the command line."""
        root = self._world.project.root
        for part in self._plan.parts:
            folder = root / workspace_of(part)
            folder.mkdir(parents=True)
            (folder / "a.txt").write_text("before\n")
        for session in self._plan.sessions:
            (root / f"{session}.yaml").write_text(yaml.safe_dump(file_of(self._plan, session)))
            if created_before(partial(self._world.project.run, "session", "create", f"{session}.yaml", "--json")):
                self._wait_for_todos(session)

    def _wait_for_todos(self, session: str) -> None:
        """As `session create` does, which could not: the session's workflow goes on creating them by itself."""
        wanted = {part.key for part in self._plan.parts if part.session == session}
        deadline = time.monotonic() + STUCK_SECONDS
        while missing := wanted - self._there():
            assert time.monotonic() < deadline, f"nobody creates {sorted(missing)}"
            time.sleep(TICK_SECONDS)

    def _there(self) -> set[Key]:
        try:
            return set(views_of(self._world.settings))
        except Unavailable:
            return set()

    def run(self, beside: Callable[[], None]) -> None:
        """Until everything is where it ends, with `beside` in a thread of its own; what it raises is raised here."""
        with ThreadPoolExecutor(1) as threads:
            self._running = [self._start(task) for task in self._tasks()]
            other = threads.submit(beside)
            try:
                self._watch(other.done)
                (self._folder / STOP).touch()
                for one in self._running:
                    assert one.process.wait(240) == 0, self._said(one)
            finally:
                self.ended.set()
                for one in self._running:
                    one.process.kill()
                    one.process.wait()
            other.result()
        self.ledger.read()

    def kill_one(self, chance: random.Random) -> int:
        """Kill -9 a client; it is started again, and goes on."""
        with self._lock:
            victim = chance.choice(self._running)
            victim.killed = True
            victim.process.kill()
            self.killed += 1
            return victim.process.pid

    def _tasks(self) -> list[Task]:
        numbers = [("agent", number) for number in range(agents(self._count))]
        numbers += [("person", number) for number in range(people(self._count))]
        settings = self._world.settings
        return [
            Task(
                seed=self._plan.seed,
                todos=self._count,
                party=party,
                number=number,
                folder=str(self._folder),
                project=str(settings.project),
                state_dir=str(settings.state_dir),
                database_url=settings.database_url,
            )
            for party, number in numbers
        ]

    def _start(self, task: Task) -> _Running:
        with (self._folder / f"{task.name}.err").open("ab") as errors:
            command = [sys.executable, "-m", "tests.chaos.todo_clients", task.text]
            environment = self._world.project.environment
            return _Running(task, subprocess.Popen(command, cwd=ROOT, env=environment, stderr=errors))

    def _watch(self, faults_over: Callable[[], bool]) -> None:
        looked = moved = time.monotonic()
        answers = 0
        while True:
            self.ledger.read()
            self._revive()
            now = time.monotonic()
            if self.ledger.answers != answers or not faults_over():
                answers, moved = self.ledger.answers, now
            if now - looked > LOOK_SECONDS:
                looked = now
                open_ones = self._open()
                if not open_ones and faults_over():
                    return
                assert now - moved < STUCK_SECONDS, f"nothing moves: {open_ones[:10]}"
            time.sleep(TICK_SECONDS)

    def _open(self) -> list[str]:
        acts = [f"act {act.number}" for act in self._plan.acts if str(act.number) not in self.ledger.acted]
        try:
            return acts + not_at_rest(self._plan, views_of(self._world.settings), self.ledger.accepted)
        except Unavailable as error:
            return [str(error)]

    def _revive(self) -> None:
        with self._lock:
            for place, one in enumerate(self._running):
                if one.process.poll() is not None:
                    assert one.killed, self._said(one)
                    self._running[place] = self._start(one.task)

    def _said(self, one: _Running) -> str:
        text = (self._folder / f"{one.task.name}.err").read_text()
        return f"{one.task.name} ended with {one.process.returncode}: {text[-3000:]}"
