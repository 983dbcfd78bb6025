"""The life of two todos, as a worker and nobody else lives it, and what the trail has of it without what varies."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from adapters.config.settings import Settings
from domain.claims.claim import Claim, ClaimedEvidence
from domain.events import Actor
from domain.requests import Answer, MakeClaim, Request, Start
from domain.status import SessionStatus, TodoStatus
from entrypoints.lives import Lives, open_lives
from entrypoints.stores import build_trail
from tests.chaos.faults import Victim
from tests.integration.conftest import Project

WORKER = Actor(role="worker", identity="agent")
SECONDS = 240.0
"""How long one life may take, whatever is killed in it."""

VARIES = frozenset({"deadline", "time_left", "duration_ms", "evidence", "claim", "snapshot", "reason", "timeout"})
"""Fields of rows that name a time, or a digest of something that has one in it or the session's name."""

DIGESTS = frozenset({"record", "report", "retry_context", "order", "head", "base", "tree", "order_digest"})


@dataclass(frozen=True)
class Told:
    """A row without what varies: whose it is, which number, and what it says."""

    workflow: str
    ordinal: int
    said: str


@dataclass
class Life:
    """One session: `first` is claimed wrong, then right; `second` waits for it. Both share a workspace."""

    project: Project
    settings: Settings
    name: str
    workspace: Path = field(init=False)

    def __post_init__(self) -> None:
        self.workspace = self.project.root / self.name
        shutil.copytree(self.project.root / "base", self.workspace)
        criterion = {"id": "AC-1", "type": "file_contains"}
        first, second = ({**criterion, "params": {"path": path, "pattern": "right"}} for path in ("a.txt", "b.txt"))
        verification = {"objective_only": True}
        session = {
            "id": self.name,
            "defaults": {"workspace": self.name, "base": "base", "verification": verification},
            "todos": [
                {"id": "first", "content": "the first", "acceptance_criteria": [first]},
                {"id": "second", "content": "the second", "acceptance_criteria": [second], "depends_on": ["first"]},
            ],
        }
        (self.project.root / f"{self.name}.yaml").write_text(yaml.safe_dump(session))

    def create(self) -> None:
        """The session, by the command line."""
        created = self.project.run("session", "create", f"{self.name}.yaml")
        assert created.returncode == 0, created.stderr

    async def live(self) -> None:
        """Everything that the worker does, to the end of the session."""
        lives = await open_lives(self.settings)
        await self._ask(lives, "first", "start", Start(actor=WORKER))
        await self._claim(lives, "first", "a.txt", "wrong", TodoStatus.IN_PROGRESS)
        await self._claim(lives, "first", "a.txt", "right", TodoStatus.VERIFIED)
        await self._ask(lives, "second", "start", Start(actor=WORKER))
        await self._claim(lives, "second", "b.txt", "right", TodoStatus.VERIFIED)
        await self._until(lambda: self._session() is SessionStatus.COMPLETED)

    async def _claim(self, lives: Lives, todo: str, path: str, text: str, leads_to: TodoStatus) -> None:
        (self.workspace / path).write_text(f"{text}\n")
        evidence = ClaimedEvidence(label="file", type="file", data=f"{path}: {text}")
        explanation = f"Wrote the {text} line into {path}, see [file]."
        claim = Claim(explanation=explanation, evidence=[evidence], files_modified=[path])
        answer = await self._ask(lives, todo, "claim", MakeClaim(actor=WORKER, claim=claim))
        await self._until(lambda: self._stands(todo, answer.attempt) is leads_to)

    async def _ask(self, lives: Lives, todo: str, command: str, request: Request) -> Answer:
        answer = await lives.ask_todo(self.name, todo, command, request)
        assert answer.refused is None, f"{todo} {command}: {answer.refused}"
        return answer

    async def _until(self, what: Callable[[], bool]) -> None:
        deadline = time.monotonic() + SECONDS
        while not what():
            assert time.monotonic() < deadline, f"{self.name} never came to it: {self.rows()[-3:]}"
            await asyncio.sleep(0.1)

    def _stands(self, todo: str, attempt: int) -> TodoStatus | None:
        """Where the todo stands once that round was judged; None before."""
        with closing(build_trail(self.settings)) as trail:
            (view,) = trail.state(session=self.name, todo=todo).todos
        judged = view.attempt >= attempt and view.status is not TodoStatus.CLAIMED
        return view.status if judged else None

    def _session(self) -> SessionStatus:
        with closing(build_trail(self.settings)) as trail:
            return trail.state(session=self.name).sessions[0].status

    def rows(self) -> list[Told]:
        """What the trail has of the session, workflow by workflow."""
        with closing(build_trail(self.settings)) as trail:
            found = [row for row in trail.rows() if row.session == self.name]
        told = [
            Told(
                workflow=row.workflow_id.replace(self.name, "S"),
                ordinal=row.ordinal,
                said=json.dumps(
                    [row.action, str(row.actor), _kept(row.before), _kept(row.after), _kept(row.payload)],
                    sort_keys=True,
                ).replace(self.name, "S"),
            )
            for row in found
        ]
        return sorted(told, key=lambda one: (one.workflow, one.ordinal))


def _kept(values: dict[str, Any]) -> dict[str, Any]:
    return {name: bool(value) if name in DIGESTS else value for name, value in values.items() if name not in VARIES}


@contextmanager
def killed_at(life: Life, rows: int, kill: Callable[[], int | None]) -> Iterator[list[int]]:
    """While the body runs, `kill` is called once, as soon as the trail has so many rows of the life's session.

    Yields a list that has the process id of what was killed in it afterwards.
    """
    done: list[int] = []
    over = threading.Event()
    database = life.settings.state_dir / "trail.db"

    def watch() -> None:
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=60)) as connection:
            query = "SELECT count(*) FROM events WHERE session = ?"
            while not over.is_set():
                if connection.execute(query, (life.name,)).fetchone()[0] >= rows:
                    killed = kill()
                    done.extend([killed] if killed else [])
                    return
                time.sleep(0.002)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield done
    finally:
        over.set()
        watcher.join()


VICTIMS: tuple[Victim, ...] = ("worker", "server")
