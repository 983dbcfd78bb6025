"""The trail's database file in hostile hands: several processes, kill -9, full disks, rows changed behind its back."""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Engine, create_engine, event

from adapters.trail import SqlTrail, chain
from adapters.trail.schema import METADATA, SQLITE_GUARDS
from domain.errors import Cause, Unavailable
from domain.events import HARNESS, TrailCheck, TrailEntry

ROOT = Path(__file__).resolve().parents[2]
NOON = datetime(2026, 1, 15, 12, 0, 0, tzinfo=UTC)
PATIENT_SECONDS = 100.0
"""What a trail waits for others here: one of them may stand still for a while, and that is no fault of it."""

APPENDER = """
import sys
from pathlib import Path
from adapters.trail import SqlTrail
from tests.integration.test_trail_sqlite import PATIENT_SECONDS, entry

folder, name, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
sys.stdin.readline()
trail = SqlTrail(f"sqlite:///{folder}/trail.db", folder / "heads.jsonl", PATIENT_SECONDS)
for ordinal in range(count):
    trail.append(entry(ordinal, workflow_id=name))
    print(ordinal, flush=True)
trail.close()
"""
"""A process that opens the trail at a signal from its parent and appends, saying so after each."""


def entry(ordinal: int, session: str = "local", workflow_id: str = "") -> TrailEntry:
    return TrailEntry(
        workflow_id=workflow_id or f"round/{session}/wo/1",
        ordinal=ordinal,
        session=session,
        todo_id="wo",
        attempt=1,
        actor=HARNESS,
        action="check_completed",
        payload={"check": f"c{ordinal}", "outcome": "passed"},
        timestamp=NOON + timedelta(seconds=ordinal),
    )


class Files:
    """The files of one trail, and what somebody with an editor can do to them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.database = folder / "trail.db"
        self.heads = folder / "heads.jsonl"

    @contextmanager
    def opened(self, busy_timeout: float = PATIENT_SECONDS) -> Iterator[SqlTrail]:
        with closing(SqlTrail(f"sqlite:///{self.database}", self.heads, busy_timeout)) as trail:
            yield trail

    def filled(self, rows: int, session: str = "local") -> None:
        with self.opened() as trail:
            for ordinal in range(1, rows + 1):
                trail.append(entry(ordinal, session))

    def verify(self) -> TrailCheck:
        with self.opened() as trail:
            return trail.verify()

    def faults(self) -> list[tuple[str, int, str]]:
        return [(fault.session, fault.sequence, fault.what) for fault in self.verify().faults]

    @contextmanager
    def connected(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self.database)) as connection, connection:
            yield connection

    @contextmanager
    def unguarded(self) -> Iterator[sqlite3.Connection]:
        """A connection while the triggers are gone; they are put back, so that nothing shows of it."""
        with self.connected() as connection:
            for name in SQLITE_GUARDS:
                connection.execute(f"DROP TRIGGER {name}")
            yield connection
            for text in SQLITE_GUARDS.values():
                connection.execute(text)

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.heads.read_text().splitlines()]

    def write_lines(self, lines: list[dict[str, Any]]) -> None:
        self.heads.write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    files = Files(tmp_path_factory.mktemp("template"))
    files.filled(7)
    files.filled(2, "other")
    return files.folder


@pytest.fixture
def seven(template: Path, tmp_path: Path) -> Files:
    """A trail of seven rows in the session `local`, and two in `other`."""
    return Files(shutil.copytree(template, tmp_path / "trail"))


# --- processes ---------------------------------------------------------------------------------------------------


def appender(files: Files, name: str, count: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", APPENDER, str(files.folder), name, str(count)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def start_at_once(processes: list[subprocess.Popen[str]]) -> None:
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()


def acknowledged(process: subprocess.Popen[str]) -> int:
    """How many rows the process, ended by now, had been told are stored."""
    output, _ = process.communicate(timeout=240)
    return output.count("\n")


def test_eight_processes_make_the_database_and_append_at_once(files: Files) -> None:
    processes = [appender(files, f"w{number}", 25) for number in range(8)]
    start_at_once(processes)
    assert [acknowledged(process) for process in processes] == [25] * 8
    assert [process.returncode for process in processes] == [0] * 8
    with files.opened() as trail:
        assert [row.sequence for row in trail.rows()] == list(range(1, 201))
        check = trail.verify()
    assert (check.rows, check.faults, check.unproven) == (200, (), ())
    assert sorted(line["sequence"] for line in files.lines()) == list(range(1, 201)), "a line a row, in any order"


def test_kill_9_while_appending_loses_nothing_that_was_acknowledged(files: Files) -> None:
    files.filled(1)
    stored = 1
    for attempt in range(4):
        process = appender(files, f"killed-{attempt}", 100_000)
        start_at_once([process])
        assert process.stdout is not None
        assert os.read(process.stdout.fileno(), 1) == b"0", "past the buffer, which communicate() does not know"
        time.sleep(0.02 + attempt * 0.013)
        process.send_signal(signal.SIGKILL)
        seen = acknowledged(process)
        with files.opened() as trail:
            rows = list(trail.rows())
            written = len(rows) - stored
            assert seen <= written <= seen + 1
            assert trail.verify().faults == ()
            stored = len(rows)
    with files.opened() as trail:
        trail.append(entry(2))
        check = trail.verify()
    assert (check.faults, check.unproven) == ((), ())


def test_two_threads_open_two_new_trails_at_once(tmp_path: Path) -> None:
    """Alembic keeps its state in globals: migrations of different files must not meet."""
    opened: list[str] = []

    def make(name: str) -> None:
        with Files(tmp_path / name).opened() as trail:
            opened.append(trail.store_id())

    threads = [threading.Thread(target=make, args=(str(number),)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(opened)) == 6


def test_the_database_alone_keeps_appends_apart(files: Files) -> None:
    """Two trails that share the database but not the file of heads, and so not its lock."""
    beside = SqlTrail(f"sqlite:///{files.database}", files.folder / "more.jsonl", PATIENT_SECONDS)
    with closing(beside) as other, files.opened() as one:
        refused: list[Exception] = []

        def run(trail: SqlTrail, name: str) -> None:
            try:
                for ordinal in range(40):
                    trail.append(entry(ordinal, workflow_id=name))
            except Unavailable as error:
                refused.append(error)

        threads = [threading.Thread(target=run, args=(trail, str(index))) for index, trail in enumerate((one, other))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert refused == []
        assert [row.sequence for row in one.rows()] == list(range(1, 81))


# --- between the commit and the file of heads ---------------------------------------------------------------------


def test_a_database_ahead_of_its_heads_is_unproven_until_the_append_is_sent_again(seven: Files) -> None:
    seven.write_lines([line for line in seven.lines() if (line["session"], line["sequence"]) != ("local", 7)])
    check = seven.verify()
    assert (check.faults, check.unproven) == ((), ("local",))
    with seven.opened() as trail:
        trail.append(entry(7))
        assert trail.verify().unproven == ()


def test_a_database_ahead_of_its_heads_is_proven_by_the_next_append(seven: Files) -> None:
    seven.write_lines(seven.lines()[:5])
    with seven.opened() as trail:
        trail.append(entry(8))
        check = trail.verify()
    assert (check.faults, check.unproven) == ((), ("other",))


def test_a_line_that_was_half_written_is_no_fault_and_makes_none(seven: Files) -> None:
    content = seven.heads.read_bytes()
    seven.heads.write_bytes(content[:-20])
    check = seven.verify()
    assert (check.faults, check.unproven) == ((), ("other",))
    with seven.opened() as trail:
        trail.append(entry(3, "other"))
        check = trail.verify()
    assert (check.faults, check.unproven) == ((), ())


def test_a_full_disk_at_the_heads_is_said_and_the_append_can_be_sent_again(seven: Files) -> None:
    kept = seven.folder / "kept"
    seven.heads.rename(kept)
    seven.heads.symlink_to("/dev/full")
    with seven.opened() as trail:
        with pytest.raises(Unavailable) as raised:
            trail.append(entry(8))
        assert raised.value.cause is Cause.DISK_FULL
        kept.rename(seven.heads)
        assert trail.verify().unproven == ("local",)
        assert trail.append(entry(8)).sequence == 8
        check = trail.verify()
    assert (check.faults, check.unproven) == ((), ())


# --- rows changed in the database file ----------------------------------------------------------------------------


def sql(*statements: str) -> Callable[[sqlite3.Connection], None]:
    def run(connection: sqlite3.Connection) -> None:
        for statement in statements:
            connection.execute(statement)

    return run


def rewrite(sequence: int, *, with_head: bool = False, **changes: Any) -> Callable[[sqlite3.Connection], None]:
    """Change a row of `local` as somebody would who knows how hashes are made."""

    def run(connection: sqlite3.Connection) -> None:
        connection.row_factory = sqlite3.Row
        where = "WHERE session = 'local' AND sequence = ?"
        record = dict(connection.execute(f"SELECT * FROM events {where}", [sequence]).fetchone())
        row = chain.from_record({**record, **changes})
        forged = chain.to_record(row.model_copy(update={"hash": chain.content_hash(row)}))
        assignments = ", ".join(f"{name} = :{name}" for name in forged)
        connection.execute(f"UPDATE events SET {assignments} WHERE session = 'local' AND sequence = {sequence}", forged)
        if with_head:
            connection.execute("UPDATE heads SET hash = ? WHERE session = 'local'", [forged["hash"]])

    return run


def inserted(sequence: int, ordinal: int) -> Callable[[sqlite3.Connection], None]:
    """Insert a well-formed row that follows from the one before it."""

    def run(connection: sqlite3.Connection) -> None:
        (previous,) = connection.execute(
            "SELECT hash FROM events WHERE session = 'local' AND sequence = ?", [sequence - 1]
        ).fetchone()
        record = chain.to_record(chain.seal(entry(ordinal), sequence, previous))
        names = ", ".join(record)
        connection.execute(f"INSERT INTO events ({names}) VALUES ({', '.join(':' + n for n in record)})", record)

    return run


def all_of(*steps: Callable[[sqlite3.Connection], None]) -> Callable[[sqlite3.Connection], None]:
    def run(connection: sqlite3.Connection) -> None:
        for step in steps:
            step(connection)

    return run


def shift(first: int, by: int) -> Callable[[sqlite3.Connection], None]:
    where = f"WHERE session = 'local' AND sequence {{}} {first}"
    return sql(
        f"UPDATE events SET sequence = -sequence {where.format('>=')}",
        f"UPDATE events SET sequence = -sequence + {by} WHERE session = 'local' AND sequence < 0",
    )


def swapped(one: int, other: int) -> Callable[[sqlite3.Connection], None]:
    move = "UPDATE events SET sequence = {} WHERE session = 'local' AND sequence = {}"
    return sql(move.format(999, one), move.format(one, other), move.format(other, 999))


WHERE_5 = "WHERE session = 'local' AND sequence = 5"
FORGED = '{"check":"c5","outcome":"failed"}'
COPY = (
    "INSERT OR REPLACE INTO events SELECT session, {}, event_id, {}, {}, todo_id, attempt, actor, action, before, "
    "after, payload, tool_call_id, correlation_id, caused_by, timestamp, previous_hash, hash "
    "FROM events WHERE sequence = "
)
EDITED = "does not match its content"

TAMPERING: dict[str, tuple[Callable[[sqlite3.Connection], None], list[tuple[int, str]]]] = {
    "edited payload": (sql(f"UPDATE events SET payload = '{FORGED}' {WHERE_5}"), [(5, EDITED)]),
    "edited time": (
        sql(f"UPDATE events SET timestamp = '2026-01-15T12:00:06.000000Z' {WHERE_5}"),
        [(5, EDITED)],
    ),
    "edited actor": (
        sql(f"""UPDATE events SET actor = '{{"identity":"","role":"human"}}' {WHERE_5}"""),
        [(5, EDITED)],
    ),
    "edited todo": (sql(f"UPDATE events SET todo_id = 'other' {WHERE_5}"), [(5, EDITED)]),
    "edited event id": (sql(f"UPDATE events SET event_id = 'x' {WHERE_5}"), [(5, EDITED)]),
    "edited first": (sql("UPDATE events SET attempt = 2 WHERE session = 'local' AND sequence = 1"), [(1, EDITED)]),
    "edited last": (sql("UPDATE events SET attempt = 2 WHERE session = 'local' AND sequence = 7"), [(7, EDITED)]),
    "edited hash": (sql(f"UPDATE events SET hash = '{'f' * 64}' {WHERE_5}"), [(5, "its hash was changed")]),
    "edited link": (sql(f"UPDATE events SET previous_hash = '{'f' * 64}' {WHERE_5}"), [(5, EDITED)]),
    "edited two neighbours": (
        sql("UPDATE events SET attempt = 2 WHERE session = 'local' AND sequence IN (4, 5)"),
        [(4, EDITED), (5, EDITED)],
    ),
    "edited with a new hash": (rewrite(5, payload=FORGED), [(5, "the row after it names another hash")]),
    "edited first with a new hash": (rewrite(1, payload=FORGED), [(1, "the row after it names another hash")]),
    "edited last with a new hash": (rewrite(7, payload=FORGED), [(7, "the file of heads names another hash")]),
    "edited last with its head row": (
        rewrite(7, payload=FORGED, with_head=True),
        [(7, "the file of heads names another hash")],
    ),
    "removed middle": (sql(f"DELETE FROM events {WHERE_5}"), [(5, "row 5 is missing")]),
    "removed several": (
        sql("DELETE FROM events WHERE session = 'local' AND sequence BETWEEN 3 AND 5"),
        [(3, "rows 3 to 5 are missing")],
    ),
    "removed first": (sql("DELETE FROM events WHERE session = 'local' AND sequence = 1"), [(1, "row 1 is missing")]),
    "removed last": (
        sql("DELETE FROM events WHERE session = 'local' AND sequence = 7"),
        [(7, "row 7 is missing: the file of heads says that row 7 was written")],
    ),
    "removed last with its head row": (
        all_of(
            sql("DELETE FROM events WHERE session = 'local' AND sequence = 7"),
            sql(
                "UPDATE heads SET (sequence, hash) = (SELECT sequence, hash FROM events WHERE session = 'local' "
                "AND sequence = 6) WHERE session = 'local'"
            ),
        ),
        [(7, "row 7 is missing")],
    ),
    "removed session": (
        sql("DELETE FROM events WHERE session = 'local'", "DELETE FROM heads WHERE session = 'local'"),
        [(1, "rows 1 to 7 are missing")],
    ),
    "removed and closed up": (
        all_of(sql(f"DELETE FROM events {WHERE_5}"), shift(6, -1)),
        [(5, "rows 5 to 6 were renumbered: they were written as rows 6 to 7"), (7, "row 7 is missing")],
    ),
    "inserted at the end": (inserted(8, 99), [(8, "row 8 was inserted: the session's head row says that row 7")]),
    "inserted in the middle": (
        all_of(shift(5, 1), inserted(5, 99)),
        [
            (5, "the file of heads names another hash"),
            (6, "rows 6 to 8 were renumbered: they were written as rows 5 to 7"),
        ],
    ),
    "inserted before the first": (
        sql(COPY.format("0", "'w'", "99") + "1 AND session = 'local'"),
        [(0, "a row with the sequence 0 was inserted")],
    ),
    "swapped neighbours": (swapped(5, 6), [(5, "it was written as row 6"), (6, "it was written as row 5")]),
    "swapped far apart": (swapped(2, 6), [(2, "it was written as row 6"), (6, "it was written as row 2")]),
    "swapped ends": (swapped(1, 7), [(1, "it was written as row 7"), (7, "it was written as row 1")]),
    "wrong head row": (
        sql(f"UPDATE heads SET hash = '{'f' * 64}' WHERE session = 'local'"),
        [(7, "the session's head row is wrong")],
    ),
    "head row set back": (
        sql("UPDATE heads SET sequence = 3 WHERE session = 'local'"),
        [(7, "the session's head row is wrong")],
    ),
    "head row set forward": (
        sql("UPDATE heads SET sequence = 8 WHERE session = 'local'"),
        [(8, "row 8 is missing: the session's head row says that row 8 was written")],
    ),
    "head row removed": (
        sql("DELETE FROM heads WHERE session = 'local'"),
        [(7, "the session's head row is missing")],
    ),
    "head row unreadable": (
        sql("UPDATE heads SET sequence = 'x' WHERE session = 'local'"),
        [(0, "the session's head row cannot be read")],
    ),
    "not JSON": (sql(f"UPDATE events SET payload = '{{' {WHERE_5}"), [(5, "payload is no JSON")]),
    "JSON spelled otherwise": (sql(f"UPDATE events SET before = '{{ }}' {WHERE_5}"), [(5, "not in the form")]),
    "JSON of another kind": (sql(f"UPDATE events SET payload = '[]' {WHERE_5}"), [(5, "cannot be read")]),
    "deep JSON": (sql(f"UPDATE events SET payload = '{'[' * 200_000}' {WHERE_5}"), [(5, "payload is no JSON")]),
    "not a date": (sql(f"UPDATE events SET timestamp = 'noon' {WHERE_5}"), [(5, "cannot be read")]),
    "date in another zone": (
        sql(f"UPDATE events SET timestamp = '2026-01-15T13:00:05.000000+01:00' {WHERE_5}"),
        [(5, "cannot be read: timestamp is")],
    ),
    "date beyond the calendar": (
        sql(f"UPDATE events SET timestamp = '9999-12-31T23:59:59.000000-10:00' {WHERE_5}"),
        [(5, "cannot be read")],
    ),
    "sequence beyond exact numbers": (
        sql("UPDATE events SET sequence = 9007199254740991 WHERE session = 'local' AND sequence = 7"),
        [(7, "rows 7 to 9007199254740990 are missing"), (9007199254740991, "cannot be read")],
    ),
    "no text at all": (sql(f"UPDATE events SET todo_id = x'ff00' {WHERE_5}"), [(5, "todo_id is b'\\xff\\x00'")]),
    "not UTF-8": (sql(f"UPDATE events SET todo_id = CAST(x'77ff' AS TEXT) {WHERE_5}"), [(5, "cannot be read")]),
    "not a number": (sql(f"UPDATE events SET attempt = 'one' {WHERE_5}"), [(5, "attempt is 'one'")]),
    "unknown action": (sql(f"UPDATE events SET action = 'approved_by_me' {WHERE_5}"), [(5, EDITED)]),
    "sequence that is none": (
        sql(f"UPDATE events SET sequence = 'five' {WHERE_5}"),
        [(0, "a row with the sequence 'five' was inserted"), (5, "row 5 is missing")],
    ),
}


@pytest.mark.parametrize("name", TAMPERING)
def test_tampering_is_named_by_exactly_the_rows_it_touched(seven: Files, name: str) -> None:
    tamper, expected = TAMPERING[name]
    with seven.unguarded() as connection:
        tamper(connection)
    found = seven.faults()
    assert [(session, sequence) for session, sequence, _ in found] == [("local", row) for row, _ in expected]
    for (_, _, what), (_, words) in zip(found, expected, strict=True):
        assert words in what
        assert len(what) < 400
        assert what.isprintable()


NEEDS_THE_FILE = {
    "edited last with its head row",
    "removed last with its head row",
    "removed session",
    "swapped far apart",
    "swapped ends",
    "head row set back",
    "inserted in the middle",
}


@pytest.mark.parametrize("name", [name for name in TAMPERING if name not in NEEDS_THE_FILE])
def test_most_tampering_is_seen_without_the_file_of_heads_too(seven: Files, name: str) -> None:
    tamper, expected = TAMPERING[name]
    with seven.unguarded() as connection:
        tamper(connection)
    seven.heads.unlink()
    check = seven.verify()
    assert [fault.sequence for fault in check.faults] == [row for row, _ in expected]
    assert check.unproven == ("local", "other")


def test_an_edit_hidden_by_rewriting_all_that_follows_is_seen_from_outside(seven: Files) -> None:
    with seven.unguarded() as connection:
        rewrite(5, payload=FORGED)(connection)
        for sequence in (6, 7):
            (previous,) = connection.execute(
                f"SELECT hash FROM events WHERE session = 'local' AND sequence = {sequence - 1}"
            ).fetchone()
            rewrite(sequence, previous_hash=previous, with_head=True)(connection)
    assert [sequence for _, sequence, _ in seven.faults()] == [5, 6, 7]


def test_every_row_of_a_second_session_is_judged_by_its_own_chain(seven: Files) -> None:
    with seven.unguarded() as connection:
        connection.execute("UPDATE events SET session = 'other', sequence = 3 WHERE session = 'local' AND sequence = 7")
    found = seven.faults()
    assert [(session, sequence) for session, sequence, _ in found] == [("local", 7), ("other", 3)]


def test_missing_changed_and_foreign_triggers_are_named(seven: Files) -> None:
    with seven.connected() as connection:
        connection.execute("DROP TRIGGER events_no_update")
        connection.execute("DROP TRIGGER events_no_delete")
        connection.execute("CREATE TRIGGER events_no_delete BEFORE DELETE ON events BEGIN SELECT 1; END")
        connection.execute("CREATE TRIGGER mine AFTER INSERT ON events BEGIN DELETE FROM heads; END")
    assert [(session, sequence) for session, sequence, _ in seven.faults()] == [("", 0)] * 3
    said = " ".join(what for _, _, what in seven.faults())
    assert "events_no_update is missing" in said
    assert "events_no_delete is changed" in said
    assert "'mine' is none of Countersign's" in said


# --- the file of heads changed ------------------------------------------------------------------------------------


def test_a_missing_file_of_heads_leaves_every_end_unproven(seven: Files) -> None:
    seven.heads.unlink()
    check = seven.verify()
    assert (check.faults, check.unproven) == ((), ("local", "other"))


def edited(lines: list[dict[str, Any]], number: int, **changes: Any) -> list[dict[str, Any]]:
    return [{**line, **(changes if index == number - 1 else {})} for index, line in enumerate(lines)]


@pytest.mark.parametrize(
    ("number", "changes", "expected"),
    [
        (5, {"hash": "f" * 64}, ("local", 5, "that line was changed")),
        (7, {"hash": "f" * 64}, ("local", 7, "the file of heads names another hash")),
        (7, {"sequence": 9}, ("local", 8, "rows 8 to 9 are missing")),
        (3, {"sequence": 4}, ("local", 4, "names two hashes for row 4")),
        (3, {"sequence": "3"}, ("", 0, "1 of its lines are no heads")),
        (3, {"more": 1}, ("", 0, "the first is line 3")),
        (3, {"store": "another"}, ("", 0, "belong to the store 'another'")),
        (3, {"session": "ghost"}, ("ghost", 1, "rows 1 to 3 are missing")),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_an_edited_line_is_named(
    seven: Files, number: int, changes: dict[str, Any], expected: tuple[str, int, str]
) -> None:
    seven.write_lines(edited(seven.lines(), number, **changes))
    ((session, sequence, what),) = seven.faults()
    assert (session, sequence) == expected[:2]
    assert expected[2] in what


def test_garbage_in_the_file_of_heads_is_one_fault(seven: Files) -> None:
    with seven.heads.open("ab") as file:
        file.write(b"\xff\xfe\n{}\n\n[1]\n")
    ((session, sequence, what),) = seven.faults()
    assert (session, sequence) == ("", 0)
    assert "4 of its lines are no heads that an append writes, the first is line 10" in what


def test_a_database_that_was_begun_anew_is_behind_its_heads(seven: Files) -> None:
    for path in seven.folder.glob("trail.db*"):
        path.unlink()
    seven.filled(7)
    ((_, _, what),) = seven.faults()
    assert "9 of its lines belong to the store" in what


def test_a_database_put_back_from_an_older_copy_is_behind_its_heads(seven: Files) -> None:
    copy = seven.folder / "copy"
    with seven.connected() as connection:
        connection.execute(f"VACUUM INTO '{copy}'")
    with seven.opened() as trail:
        trail.append(entry(8))
        trail.append(entry(9))
    for path in seven.folder.glob("trail.db*"):
        path.unlink()
    copy.rename(seven.database)
    ((_, sequence, what),) = seven.faults()
    assert (sequence, "rows 8 to 9 are missing" in what) == (8, True)


# --- what the database itself refuses -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET payload = '{}' WHERE sequence = 5",
        "UPDATE OR REPLACE events SET sequence = 6 WHERE sequence = 5",
        "DELETE FROM events WHERE sequence = 7",
        "DELETE FROM events",
        "INSERT OR REPLACE INTO events SELECT * FROM events WHERE sequence = 5",
        COPY.format("sequence + 90", "workflow_id", "ordinal") + "5",
        "UPDATE heads SET sequence = 6 WHERE session = 'local'",
        "UPDATE heads SET sequence = 9 WHERE session = 'local'",
        "UPDATE heads SET hash = 'x' WHERE session = 'local'",
        "UPDATE heads SET session = 'x', sequence = 8 WHERE session = 'local'",
        "DELETE FROM heads",
        "INSERT INTO heads VALUES ('new', 2, 'x')",
        "INSERT OR REPLACE INTO heads VALUES ('local', 1, 'x')",
    ],
)
def test_the_database_refuses_to_change_rows(seven: Files, statement: str) -> None:
    with seven.connected() as connection, pytest.raises(sqlite3.IntegrityError, match="the trail is append-only"):
        connection.execute(statement)
    assert seven.faults() == []


def test_migrations_make_the_tables_that_the_code_knows(seven: Files) -> None:
    engine = create_engine(f"sqlite:///{seven.database}")
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), METADATA) == []
    engine.dispose()


def test_every_commit_reaches_the_disk(files: Files) -> None:
    with files.opened() as trail, trail._database.reading() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2


# --- trouble ------------------------------------------------------------------------------------------------------


def unavailable(act: Callable[[], object]) -> Unavailable:
    with pytest.raises(Unavailable) as raised:
        act()
    assert raised.value.next_step
    return raised.value


def opening(files: Files) -> Unavailable:
    def act() -> None:
        with files.opened(busy_timeout=0.2):
            pass

    return unavailable(act)


def test_missing_folders_are_made_for_their_owner_only(tmp_path: Path) -> None:
    with Files(tmp_path / "state" / "project").opened():
        assert stat.S_IMODE((tmp_path / "state" / "project").stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "url",
    [
        *("sqlite://", "sqlite:///:memory:", "sqlite:////a?b", "mysql://h/trail", "postgresql://h", "postgresql:pw@h"),
        *("mysql://me:pw@h/trail", "postgresql://h/trail?password=pw", "postgresql://me:pw@h:port/trail", "pw"),
    ],
)
def test_what_can_be_no_trail_is_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(ValueError, match="expected sqlite:////ABSOLUTE/PATH or postgresql://") as raised:
        SqlTrail(url, tmp_path / "heads.jsonl")
    assert "pw" not in str(raised.value)


def test_a_file_that_is_no_database(files: Files) -> None:
    files.database.write_bytes(b"These are not the rows you are looking for. " * 50)
    error = opening(files)
    assert error.cause is Cause.STORE_UNAVAILABLE
    assert error.reason == f"{files.database} is not a database"
    assert "move that file away" in error.next_step


def test_a_folder_where_the_database_should_be(files: Files) -> None:
    files.database.mkdir()
    assert "cannot be opened" in opening(files).reason


def test_a_file_where_the_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("")
    assert opening(Files(tmp_path / "state")).cause is Cause.STORE_UNAVAILABLE


def test_a_trail_of_a_newer_version(seven: Files) -> None:
    with seven.connected() as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    error = opening(seven)
    assert "a form that this version does not know" in error.reason
    assert "newer" in error.next_step


def test_a_store_without_its_id(seven: Files) -> None:
    with seven.connected() as connection:
        connection.execute("DELETE FROM store")
    assert "0 ids" in opening(seven).reason


def test_a_database_that_another_process_keeps_locked(seven: Files) -> None:
    with seven.opened(busy_timeout=0.2) as trail, closing(sqlite3.connect(seven.database)) as other:
        other.execute("BEGIN IMMEDIATE")
        error = unavailable(lambda: trail.append(entry(8)))
        assert error.cause is Cause.STORE_UNAVAILABLE
        assert "locked" in error.reason
        assert len(list(trail.rows())) == 9, "reading goes on"
        other.rollback()
        assert trail.append(entry(8)).sequence == 8


def test_a_process_that_hangs_with_the_heads_locked(seven: Files) -> None:
    with seven.opened(busy_timeout=0.1) as trail, seven.heads.open("ab") as hanging:
        fcntl.flock(hanging, fcntl.LOCK_EX)
        assert "locked" in unavailable(lambda: trail.append(entry(8))).reason
        fcntl.flock(hanging, fcntl.LOCK_UN)
        assert trail.append(entry(8)).sequence == 8


def test_a_full_disk_under_the_database(seven: Files) -> None:
    def nearly_full(dbapi: sqlite3.Connection, _: object) -> None:
        (pages,) = dbapi.execute("PRAGMA page_count").fetchone()
        dbapi.execute(f"PRAGMA max_page_count = {pages}")

    event.listen(Engine, "connect", nearly_full)
    try:
        with seven.opened() as trail:
            large = entry(8).model_copy(update={"payload": {"text": "x" * 100_000}})
            error = unavailable(lambda: trail.append(large))
            assert error.cause is Cause.DISK_FULL
            assert "free some space" in error.next_step
            assert trail.verify().faults == ()
    finally:
        event.remove(Engine, "connect", nearly_full)
    with seven.opened() as trail:
        assert trail.append(large).sequence == 8


def test_a_head_row_that_was_changed_stops_appends(seven: Files) -> None:
    with seven.unguarded() as connection:
        connection.execute("UPDATE heads SET sequence = 3 WHERE session = 'local'")
        connection.execute("UPDATE heads SET sequence = 'x' WHERE session = 'other'")
    with seven.opened() as trail:
        for session in ("local", "other"):
            new = entry(50, session)
            error = unavailable(lambda new=new: trail.append(new))  # type: ignore[misc] # mypy: lambda with a default
            assert "changed by something else" in error.reason
            assert "log verify" in error.next_step


def test_reading_a_row_that_cannot_be_read_is_not_guessed_at(seven: Files) -> None:
    with seven.unguarded() as connection:
        connection.execute(f"UPDATE events SET payload = 'x', attempt = 'y' {WHERE_5}")
    with seven.opened() as trail:
        assert "row local/5" in unavailable(lambda: list(trail.rows())).reason
        assert "'y'" in unavailable(lambda: trail.last_attempt("local", "wo")).reason


def test_a_damaged_file(files: Files) -> None:
    files.filled(200)
    with files.connected() as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with files.database.open("r+b") as file:
        for page in itertools.islice(itertools.count(3), 20):
            file.seek(page * 4096)
            file.write(os.urandom(4096))
    with pytest.raises(Unavailable, match="damaged"):
        files.verify()
