"""Cheap rounds whose outcome is known beforehand, and the clients that start them as people do, several at once."""

from __future__ import annotations

import json
import random
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from domain.decision import RoundOutcome
from tests.integration.conftest import Project

AT_ONCE = 4
CLIENT_SECONDS = 420.0
"""More than a client ever waits for something that is away."""

TRANSIENT = ("store_unavailable", "disk_full")
"""Causes that a command names and that pass."""


@dataclass(frozen=True)
class Kind:
    """A sort of round: what its order says, what must come of it, and `verify`'s exit code for that."""

    name: str
    outcome: RoundOutcome
    code: int
    order: dict[str, Any]


def _exists(path: str) -> dict[str, Any]:
    return {"id": "AC-1", "type": "file_exists", "params": {"path": path}}


def _checks(*commands: str) -> dict[str, Any]:
    return {"checks": [{"name": f"c{number}", "command": command} for number, command in enumerate(commands)]}


KINDS = (
    Kind(
        "passes",
        RoundOutcome.VERIFIED,
        0,
        {"acceptance_criteria": [_exists("a.txt")], "verification": _checks("sleep 1; grep -q after a.txt", "true")},
    ),
    Kind(
        "fails", RoundOutcome.CHANGES_REQUESTED, 1, {"verification": _checks("sleep 1; grep -q before a.txt", "true")}
    ),
    Kind("is-there", RoundOutcome.VERIFIED, 0, {"acceptance_criteria": [_exists("a.txt")]}),
    Kind(
        "is-missing",
        RoundOutcome.CHANGES_REQUESTED,
        1,
        {"acceptance_criteria": [_exists("b.txt")], "verification": _checks("true")},
    ),
    Kind(
        "asks",
        RoundOutcome.NEEDS_HUMAN,
        4,
        {"acceptance_criteria": [{"id": "AC-1", "type": "subjective", "description": "reads well"}]},
    ),
)
BY_NAME = {kind.name: kind for kind in KINDS}


def kind_of(todo: str) -> Kind:
    """The kind of the round that this todo's name was made for."""
    return BY_NAME[todo.removeprefix("wo-").rpartition("-")[0]]


def orders(project: Project, count: int, chance: random.Random) -> list[str]:
    """`count` todos by id, their orders written: every kind, some of them more than once, at once or later."""
    todos = []
    for number in range(count):
        kind = KINDS[number % len(KINDS)]
        todos.append(f"wo-{kind.name}-{chance.randrange(max(2, count // 8))}")
    chance.shuffle(todos)
    for todo in set(todos):
        project.order(id=todo, **kind_of(todo).order)
    return todos


@dataclass
class Answer:
    """What became of one client. `attempt` and `outcome` are those of the report that it printed, if it did.

    `before`: the causes for which it could not start a round, and was run again as it had asked for.
    """

    todo: str
    code: int
    killed: bool
    attempt: int
    outcome: str
    out: str
    err: str
    before: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """The answer on a line, with what was said where nothing could be told."""
        said = self.err[-300:] if self.code == 3 else ""
        return f"{self.todo} {self.attempt} {self.outcome} {self.code} {self.before} {said}".rstrip()

    @property
    def acknowledged(self) -> bool:
        """Whether it told a verdict."""
        return self.code in (0, 1, 4) and not self.killed

    @property
    def cause(self) -> str:
        """The stable code of why it could not tell, or why the round that it tells of could not: "" when it could."""
        try:
            said = json.loads(self.out)
        except ValueError:
            return ""
        if self.outcome != RoundOutcome.INCONCLUSIVE:
            return str(said.get("code", ""))
        codes = {part["code"] for name in ("reasons", "criteria", "checks") for part in said[name]}
        texts = " ".join(reason["text"] for reason in said["reasons"])
        return next((code for code in TRANSIENT if code in codes or f"({code})" in texts), "inconclusive")


class Clients:
    """Runs `countersign verify` for every todo, `AT_ONCE` at a time, and knows which run now."""

    def __init__(self, project: Project, todos: Sequence[str]) -> None:
        self._project = project
        self._todos = todos
        self._lock = threading.Lock()
        self._killed: set[int] = set()
        self.running: dict[int, subprocess.Popen[str]] = {}
        self.begun = 0
        self.ended = threading.Event()

    def run(self, beside: Callable[[], None]) -> list[Answer]:
        """All of them to their end, with `beside` running in a thread of its own; what it raises is raised here."""
        with ThreadPoolExecutor(AT_ONCE + 1) as threads:
            other = threads.submit(beside)
            answers = list(threads.map(self._one, self._todos))
            self.ended.set()
            other.result()
        return answers

    def kill_one(self, chance: random.Random) -> int | None:
        """Kill -9 a client that runs; its process id, None when none runs."""
        with self._lock:
            alive = [process for process in self.running.values() if process.poll() is None]
            if not alive:
                return None
            victim = chance.choice(alive)
            self._killed.add(victim.pid)
            victim.kill()
            return victim.pid

    def _one(self, todo: str) -> Answer:
        """One round, and what a person does who is told that the database is away or the disk full: run it again."""
        before: tuple[str, ...] = ()
        deadline = time.monotonic() + CLIENT_SECONDS
        while True:
            answer = self._once(todo)
            if answer.cause not in TRANSIENT or answer.killed or time.monotonic() > deadline:
                return replace(answer, before=before)
            before += (answer.cause,)
            time.sleep(1)

    def _once(self, todo: str) -> Answer:
        with self._lock:
            process = self._project.start("verify", f"{todo}.yaml", "--again", "--json")
            self.running[process.pid] = process
            self.begun += 1  # again for one that is run again
        try:
            out, err = process.communicate(timeout=CLIENT_SECONDS)
        finally:
            process.kill()
            with self._lock:
                del self.running[process.pid]
        attempt, outcome = _reported(out) if process.returncode in (0, 1, 3, 4) else (0, "")
        killed = process.returncode < 0 and process.pid in self._killed
        return Answer(todo, process.returncode, killed, attempt, outcome, out, err)


def _reported(out: str) -> tuple[int, str]:
    try:
        report = json.loads(out)
    except ValueError:
        return 0, ""
    return int(report.get("attempt", 0)), str(report.get("outcome", ""))
