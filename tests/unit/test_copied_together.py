"""Trail, heads and a further database are copied as they were at one moment, while others write to all of them."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from adapters.ledger import SqlLedger
from adapters.trail import SqlTrail, together
from adapters.trail.sql import BUSY_SECONDS
from adapters.trail.together import copy_together
from domain.errors import Unavailable
from domain.events import Actor, TrailCheck, TrailEntry
from domain.roles.spending import CapRefusal, CapsInMicros, Reservation, Spent

NOON = datetime(2026, 1, 15, 12, 0, tzinfo=UTC)
WRITERS = 3
PATIENT_SECONDS = 120.0
"""Nobody is locked out for so long, however long one that has a lock stands still."""


def entry(ordinal: int, session: str = "s") -> TrailEntry:
    return TrailEntry(
        workflow_id=f"todo/{session}/t",
        ordinal=ordinal,
        session=session,
        todo_id="t",
        actor=Actor(role="system"),
        action="noted",
        payload={"text": "x", "by": "ann"},
        timestamp=NOON,
    )


class Source:
    """A trail with its heads, and a server's database beside it."""

    def __init__(self, root: Path) -> None:
        self.root, self.copies = root, 0
        self.trail, self.heads, self.server = root / "trail.db", root / "heads.jsonl", root / "temporal.db"
        with closing(sqlite3.connect(self.server)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("CREATE TABLE steps (writer TEXT, step TEXT, ordinal INTEGER)")
            connection.execute("CREATE TABLE filler AS SELECT zeroblob(4000000) AS bytes")
            connection.commit()

    @contextmanager
    def opened(self) -> Iterator[SqlTrail]:
        trail = SqlTrail(f"sqlite:///{self.trail}", self.heads, PATIENT_SECONDS)
        try:
            yield trail
        finally:
            trail.close()

    def copy(self) -> Path:
        self.copies += 1
        target = self.root / f"copy-{self.copies}"
        target.mkdir()
        copy_together(self.trail, self.heads, [self.server], target)
        return target


def verified(folder: Path) -> TrailCheck:
    trail = SqlTrail(f"sqlite:///{folder}/trail.db", folder / "heads.jsonl")
    try:
        return trail.verify()
    finally:
        trail.close()


def steps(folder: Path) -> dict[tuple[str, str], int]:
    """How far each writer was by the server's database, and by the trail."""
    with (
        closing(sqlite3.connect(folder / "temporal.db")) as server,
        closing(sqlite3.connect(folder / "trail.db")) as db,
    ):
        said = server.execute("SELECT writer, step, max(ordinal) FROM steps GROUP BY writer, step").fetchall()
        rows = db.execute("SELECT session, 'row', max(ordinal) FROM events GROUP BY session").fetchall()
    return {(writer, step): ordinal for writer, step, ordinal in (*said, *rows)}


@pytest.fixture
def source(tmp_path: Path) -> Source:
    made = Source(tmp_path)
    with made.opened() as trail:
        trail.append(entry(1))
    return made


def test_a_copy_is_of_one_moment_while_rows_are_scheduled_stored_and_recorded(
    source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a server has it: what it has recorded is in the trail, and what is in the trail it has at least scheduled."""
    begun, ended = threading.Barrier(WRITERS + 1), threading.Event()
    at_once = together._snapshot

    @contextmanager
    def slowly(path: Path) -> Iterator[sqlite3.Connection]:
        time.sleep(0.03)  # others go on, if they may
        with at_once(path) as snapshot:
            yield snapshot

    monkeypatch.setattr(together, "_snapshot", slowly)
    monkeypatch.setattr(together, "LOCK_SECONDS", PATIENT_SECONDS)
    monkeypatch.setattr(together, "LATE_SECONDS", PATIENT_SECONDS / 2)
    written = dict.fromkeys((f"w-{number}" for number in range(WRITERS)), 0)

    def write(name: str, trail: SqlTrail) -> None:
        with closing(sqlite3.connect(source.server, timeout=PATIENT_SECONDS, isolation_level=None)) as server:
            server.execute("PRAGMA synchronous = OFF")
            ordinal = 0
            while not ended.is_set():
                ordinal += 1
                server.execute("INSERT INTO steps VALUES (?, 'scheduled', ?)", (name, ordinal))
                trail.append(entry(ordinal, name))
                written[name] = ordinal
                server.execute("INSERT INTO steps VALUES (?, 'recorded', ?)", (name, ordinal))
                if ordinal == 1:
                    begun.wait()

    with source.opened() as trail:
        writers = [threading.Thread(target=write, args=(name, trail)) for name in written]
        for writer in writers:
            writer.start()
        try:
            begun.wait(PATIENT_SECONDS)
            copies = [source.copy() for _ in range(3)]
            deadline = time.monotonic() + PATIENT_SECONDS
            while written["w-0"] <= steps(copies[0])["w-0", "row"] and time.monotonic() < deadline:
                time.sleep(0.01)
            copies.append(source.copy())
        finally:
            ended.set()
            for writer in writers:
                writer.join()
    for copy in copies:
        found, check = steps(copy), verified(copy)
        for name in written:
            assert found[name, "recorded"] <= found[name, "row"] <= found[name, "scheduled"]
        assert (check.faults, check.unproven) == ((), ())
    assert found["w-0", "row"] > steps(copies[0])["w-0", "row"], "they wrote meanwhile"


def test_what_was_spent_is_in_the_copy(source: Source) -> None:
    """A restored project goes on with what it had left."""
    wanted = Reservation(key="k", session="s", todo="t", attempt=1, role="auditor", model="m", micros=70)
    spent = []
    for folder in (source.root, None):
        ledger = SqlLedger(f"sqlite:///{folder or source.copy()}/trail.db")
        if folder:
            assert ledger.reserve(wanted, CapsInMicros()) is None
        spent.append(ledger.spent("s"))
        refused = ledger.reserve(wanted.model_copy(update={"key": "next"}), CapsInMicros(session=100))
        assert refused == CapRefusal(cap="session", limit=100, used=70, wanted=70)
        ledger.close()
    assert spent[0] == spent[1] == Spent(requests=1, lost=70)


def test_a_line_that_comes_after_its_row_is_waited_for(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    content = source.heads.read_bytes()
    source.heads.write_bytes(content[: len(content) // 2])  # its writer is about to write the rest

    def finish(seconds: float) -> None:
        source.heads.write_bytes(content)

    monkeypatch.setattr(time, "sleep", finish)
    monkeypatch.setattr(together, "LATE_SECONDS", PATIENT_SECONDS)
    copy = source.copy()
    assert (copy / "heads.jsonl").read_bytes() == content
    assert verified(copy).unproven == ()


def test_a_line_may_come_as_late_as_its_writer_may_wait_to_write_it(
    source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    content, passed = source.heads.read_bytes(), [0.0]
    source.heads.write_bytes(b"")  # its writer waits for the file

    def sleep(seconds: float) -> None:
        passed[0] += seconds
        if passed[0] > BUSY_SECONDS:
            source.heads.write_bytes(content)

    monkeypatch.setattr(time, "sleep", sleep)
    monkeypatch.setattr(time, "monotonic", lambda: passed[0])
    assert verified(source.copy()).unproven == ()


def test_a_line_that_never_comes_leaves_the_tail_unproven(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(together, "LATE_SECONDS", 0.1)
    source.heads.write_bytes(b"")
    check = verified(source.copy())
    assert (check.faults, check.unproven) == ((), ("s",))


def test_what_speaks_of_removed_rows_is_copied_too(source: Source) -> None:
    """A backup proves nothing away."""
    with source.opened() as trail:
        trail.append(entry(2))
    with closing(sqlite3.connect(source.trail)) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("DELETE FROM events WHERE sequence = 2")
        connection.execute("UPDATE heads SET sequence = 1, hash = (SELECT hash FROM events)")
        connection.commit()
    told = [fault.what for fault in verified(source.copy()).faults]
    assert any("row 2 is missing" in what for what in told), told


def test_a_database_that_is_none_is_named(source: Source) -> None:
    source.server.write_bytes(b"no database" * 1000)
    with pytest.raises(Unavailable) as caught:
        source.copy()
    assert str(source.server) in caught.value.reason


def test_a_damaged_database_is_not_copied_as_if_it_were_whole(source: Source) -> None:
    with closing(sqlite3.connect(source.server, isolation_level=None)) as connection:
        connection.execute("BEGIN")
        connection.executemany("INSERT INTO steps VALUES ('w', 'scheduled', ?)", [(n,) for n in range(2000)])
        connection.execute("CREATE INDEX at ON steps (ordinal)")
        connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    data = bytearray(source.server.read_bytes())
    data[-4096:] = b"\xff" * 4096
    source.server.write_bytes(data)
    with pytest.raises(Unavailable, match="cannot be copied"):
        source.copy()
