"""Rows that are read without SQLAlchemy are the rows that it reads; a database that is none is told."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from adapters.trail import SqlTrail
from adapters.trail.reading import SqliteRows
from domain.errors import Unavailable
from domain.events import Actor, RowFilter, TrailEntry

SLOW = {"sqlalchemy", "docker", "temporalio", "httpx"}
NOW = datetime(2026, 1, 15, 10, 0, tzinfo=UTC)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "a place" / "trail.db"


@pytest.fixture
def trail(file: Path) -> SqlTrail:
    made = SqlTrail(f"sqlite:///{file}", file.parent / "heads.jsonl")
    for number in range(1, 17):
        made.append(
            TrailEntry(
                workflow_id=f"w{number}",
                ordinal=number,
                session="local" if number % 2 else "other",
                todo_id="t" if number % 3 else "u",
                attempt=number % 4,
                actor=Actor(role="human", identity="änn"),
                action="noted" if number % 5 else "snapshot_frozen",
                payload={"content": "x", "kind": "feedback"} if number % 5 else {"error": "none"},
                timestamp=NOW,
            )
        )
    return made


@pytest.mark.parametrize(
    "wanted",
    [
        RowFilter(),
        RowFilter(session="local"),
        RowFilter(session="local", todo="t"),
        RowFilter(session="local", todo="t", attempt=1),
        RowFilter(session="other", todo="t", actions=("snapshot_frozen", "noted")),
        RowFilter(todo="u", actions=("snapshot_frozen",)),
        RowFilter(session="no' OR '1"),
    ],
)
def test_the_rows_are_those_of_the_trail(trail: SqlTrail, file: Path, wanted: RowFilter) -> None:
    found = list(SqliteRows(file).rows(wanted))
    assert found == list(trail.rows(wanted))
    assert bool(found) is (wanted.session != "no' OR '1")


def test_no_filter_is_left_out_in_silence(trail: SqlTrail, file: Path) -> None:
    for wanted in (RowFilter(roles=("human",)), RowFilter(since=NOW), RowFilter(until=NOW), RowFilter(after={"a": 1})):
        assert list(trail.rows(wanted)) is not None
        with pytest.raises(ValueError, match="only session, todo, attempt and actions"):
            list(SqliteRows(file).rows(wanted))


def test_a_database_that_is_gone_damaged_or_altered_is_told(trail: SqlTrail, file: Path, tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="cannot be read"):
        list(SqliteRows(tmp_path / "none.db").rows(RowFilter()))
    assert not (tmp_path / "none.db").exists(), "reading makes none"
    (tmp_path / "text.db").write_text("this is no database at all, and long enough to be looked at " * 20)
    with pytest.raises(Unavailable, match="cannot be read"):
        list(SqliteRows(tmp_path / "text.db").rows(RowFilter()))
    trail.close()
    with sqlite3.connect(file) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("UPDATE events SET timestamp = 'yesterday'")
    with pytest.raises(Unavailable, match="cannot be read"):
        list(SqliteRows(file).rows(RowFilter()))


def test_reading_loads_no_sqlalchemy() -> None:
    """What it is there for: loading takes longer than everything else that a remembered verdict needs."""
    code = "import sys, entrypoints.cli.answering; print(*({SLOW} & set(sys.modules)))".replace("{SLOW}", repr(SLOW))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
