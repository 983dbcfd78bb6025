"""Where the contract of `domain.ports.Trail` is tested: both databases and the fake, each with what can spoil it."""

from __future__ import annotations

import itertools
import sqlite3
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from hypothesis import HealthCheck
from hypothesis import strategies as st

from adapters.trail import SqlTrail
from domain.errors import Cause, Unavailable
from domain.events import Actor, TrailEntry
from domain.ports import Trail
from domain.read_model import State
from domain.status import TodoStatus
from tests.fakes.trail import Memory, MemoryTrail
from tests.postgres import Cluster

BUSY_SECONDS = 120.0
"""How long an append may wait for others: one that is slow, or stands still with a lock, is no trouble of the trail."""

NOON = datetime(2026, 1, 15, 12, 0, 0, 123456, tzinfo=UTC)


class Place(Protocol):
    """Somewhere a trail can be opened, again and again."""

    def open(self) -> Trail: ...

    def spoil(self) -> None: ...

    def spoil_views(self) -> None: ...


CHANGED_VIEWS = (
    "UPDATE todos SET status = 'verified'",
    "DELETE FROM sessions",
    "INSERT INTO sessions (session, status, created_at) VALUES ('ghost', 'running', '2026-01-15T12:00:00.000000Z')",
)
"""What somebody with a shell does to the read model; nothing keeps them from it."""


class SqlitePlace:
    def __init__(self, folder: Path, closing: ExitStack) -> None:
        self.folder, self.closing = folder, closing

    def open(self) -> SqlTrail:
        trail = SqlTrail(f"sqlite:///{self.folder}/trail.db", self.folder / "heads.jsonl", BUSY_SECONDS)
        self.closing.callback(trail.close)
        return trail

    def spoil(self) -> None:
        (self.folder / "heads.jsonl").unlink(missing_ok=True)
        (self.folder / "heads.jsonl").mkdir()

    def spoil_views(self) -> None:
        with closing(sqlite3.connect(self.folder / "trail.db")) as connection, connection:
            for statement in CHANGED_VIEWS:
                connection.execute(statement)


NUMBERS_OF_DATABASES = itertools.count(1)


class PostgresqlPlace:
    def __init__(self, cluster: Cluster, folder: Path, closing: ExitStack) -> None:
        self.cluster, self.folder, self.closing = cluster, folder, closing
        self.name = f"contract_{next(NUMBERS_OF_DATABASES)}"
        self.url = cluster.create_database(self.name)
        closing.callback(cluster.drop_database, self.name)

    def open(self) -> SqlTrail:
        trail = SqlTrail(self.url, self.folder / "heads.jsonl", BUSY_SECONDS)
        self.closing.callback(trail.close)
        return trail

    def spoil(self) -> None:
        (self.folder / "heads.jsonl").unlink(missing_ok=True)
        (self.folder / "heads.jsonl").mkdir()

    def spoil_views(self) -> None:
        for statement in CHANGED_VIEWS:
            self.cluster.execute(statement, self.name)


class MemoryPlace:
    def __init__(self) -> None:
        self.memory = Memory()

    def open(self) -> MemoryTrail:
        return MemoryTrail(self.memory)

    def spoil(self) -> None:
        self.memory.trouble = Unavailable(Cause.STORE_UNAVAILABLE, "the memory is gone", "remember it")

    def spoil_views(self) -> None:
        kept = self.memory.state
        ghost = kept.sessions[0].model_copy(update={"session": "ghost"})
        todos = tuple(todo.model_copy(update={"status": TodoStatus.VERIFIED}) for todo in kept.todos)
        self.memory.state = State(sessions=(ghost,), todos=todos, rounds=kept.rounds)


def entry(ordinal: int, workflow_id: str = "round/local/wo-a/1", **fields: Any) -> TrailEntry:
    given_or_usual: dict[str, Any] = {
        "session": "local",
        "todo_id": "wo-a",
        "attempt": 1,
        "actor": Actor(role="harness"),
        "action": "check_completed",
        "payload": {"check": "tests", "outcome": "passed"},
        "timestamp": NOON,
        **fields,
    }
    return TrailEntry(workflow_id=workflow_id, ordinal=ordinal, **given_or_usual)


OF_A_TRAIL = (HealthCheck.function_scoped_fixture, HealthCheck.too_slow)
"""What Hypothesis is not to mind: one trail for all examples; and, as everywhere, how slow the machine is."""

NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
"""Text that a name may be, and text inside a payload."""
