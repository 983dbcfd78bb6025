"""The trail on a PostgreSQL server in hostile hands: several processes, kill -9, rows changed behind its back."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from psycopg import sql
from psycopg.rows import dict_row

from adapters.trail import SqlTrail, chain
from adapters.trail.roles import name_of
from adapters.trail.schema import METADATA, POSTGRESQL_GUARDS
from domain.errors import Cause, Unavailable
from domain.events import TrailCheck
from tests.integration.test_trail_sqlite import PATIENT_SECONDS, ROOT, acknowledged, entry, start_at_once
from tests.postgres import PASSWORD, Cluster

NUMBERS = itertools.count(1)

APPENDER = """
import sys
from pathlib import Path
from adapters.trail import SqlTrail
from tests.integration.test_trail_sqlite import PATIENT_SECONDS, entry

url, heads, name, count = sys.argv[1], Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
sys.stdin.readline()
trail = SqlTrail(url, heads, PATIENT_SECONDS)
for ordinal in range(count):
    trail.append(entry(ordinal, workflow_id=name))
    print(ordinal, flush=True)
trail.close()
"""


@dataclass
class Store:
    """One database and its file of heads, and what somebody with a shell can do to them."""

    cluster: Cluster
    name: str
    heads: Path

    @contextmanager
    def opened(self, busy_timeout: float = PATIENT_SECONDS) -> Iterator[SqlTrail]:
        with closing(SqlTrail(self.cluster.url(self.name), self.heads, busy_timeout)) as trail:
            yield trail

    def verify(self) -> TrailCheck:
        with self.opened() as trail:
            return trail.verify()

    def faults(self) -> list[tuple[str, int, str]]:
        return [(fault.session, fault.sequence, fault.what) for fault in self.verify().faults]

    @contextmanager
    def connected(self) -> Iterator[psycopg.Connection[dict[str, Any]]]:
        """As the superuser."""
        with psycopg.connect(self.cluster.url(self.name), row_factory=dict_row) as connection:
            yield connection

    @contextmanager
    def unguarded(self) -> Iterator[psycopg.Connection[dict[str, Any]]]:
        """As the superuser, while the triggers are off; they are put back, so that nothing shows of it."""
        tables = {"events_append_only": "events", "heads_forward": "heads", "heads_no_delete": "heads"}
        assert tables.keys() == POSTGRESQL_GUARDS.keys()
        with self.connected() as connection:
            for name, table in tables.items():
                connection.execute(sql.SQL(f"ALTER TABLE {table} DISABLE TRIGGER {name}"))
            yield connection
            for name, table in tables.items():
                connection.execute(sql.SQL(f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER {name}"))

    def appender(self, name: str, count: int) -> subprocess.Popen[str]:
        arguments = [self.cluster.url(self.name), str(self.heads), name, str(count)]
        command = [sys.executable, "-c", APPENDER, *arguments]
        return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.fixture
def store(postgres_cluster: Cluster, tmp_path: Path) -> Iterator[Store]:
    name = f"trail_{next(NUMBERS)}"
    postgres_cluster.create_database(name)
    yield Store(postgres_cluster, name, tmp_path / "heads.jsonl")
    postgres_cluster.drop_database(name)


@pytest.fixture
def seven(store: Store) -> Store:
    """A trail of seven rows in the session `local`, and two in `other`."""
    return filled(store)


@pytest.fixture(scope="module")
def untouched(postgres_cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Store:
    """The same for tests that change nothing: a database a test is many files."""
    postgres_cluster.create_database("untouched")
    return filled(Store(postgres_cluster, "untouched", tmp_path_factory.mktemp("untouched") / "heads.jsonl"))


def filled(store: Store) -> Store:
    with store.opened() as trail:
        for session, count in (("local", 7), ("other", 2)):
            for ordinal in range(1, count + 1):
                trail.append(entry(ordinal, session))
    return store


def unavailable(act: Callable[[], object]) -> Unavailable:
    with pytest.raises(Unavailable) as raised:
        act()
    assert raised.value.next_step
    assert PASSWORD not in f"{raised.value} {raised.value.__cause__}"
    return raised.value


# --- processes ----------------------------------------------------------------------------------------------------


def test_eight_processes_make_the_tables_and_append_at_once(store: Store) -> None:
    processes = [store.appender(f"w{number}", 25) for number in range(8)]
    start_at_once(processes)
    assert [acknowledged(process) for process in processes] == [25] * 8
    assert [process.returncode for process in processes] == [0] * 8
    with store.opened() as trail:
        rows = list(trail.rows())
        check = trail.verify()
    assert [row.sequence for row in rows] == list(range(1, 201))
    assert len({row.workflow_id for row in rows[:100]}) > 1, "they did append at once"
    assert (check.rows, check.faults, check.unproven) == (200, (), ())
    assert len(store.heads.read_text().splitlines()) == 200


def test_kill_9_of_an_appender_loses_nothing_that_was_acknowledged(seven: Store) -> None:
    for attempt in range(3):
        process = seven.appender(f"killed-{attempt}", 100_000)
        start_at_once([process])
        assert process.stdout is not None
        assert os.read(process.stdout.fileno(), 1) == b"0", "past the buffer, which communicate() does not know"
        time.sleep(0.02 + attempt * 0.013)
        process.send_signal(signal.SIGKILL)
        seen = acknowledged(process)
        with seven.opened() as trail:
            written = sum(row.workflow_id == f"killed-{attempt}" for row in trail.rows())
            assert seen <= written <= seen + 1
            assert trail.verify().faults == ()
    with seven.opened() as trail:
        trail.append(entry(8))
        assert trail.verify().unproven == ()


def test_the_trail_comes_back_with_its_server(postgres_cluster: Cluster, seven: Store) -> None:
    with seven.opened() as trail:
        for end, ordinal in ((postgres_cluster.kill, 8), (postgres_cluster.stop, 9)):
            end()
            try:
                error = unavailable(lambda ordinal=ordinal: trail.append(entry(ordinal)))  # type: ignore[misc] # mypy: lambda with a default
                assert (error.cause, error.retryable) == (Cause.STORE_UNAVAILABLE, True)
                assert "cannot be reached" in error.reason
                assert "cannot be reached" in unavailable(trail.verify).reason
            finally:
                postgres_cluster.start()
            assert trail.append(entry(ordinal)).sequence == ordinal, "on the connections of before"
        check = trail.verify()
    assert (check.rows, check.faults, check.unproven) == (11, (), ())


# --- rows changed on the server -----------------------------------------------------------------------------------

Tamper = Callable[[psycopg.Connection[dict[str, Any]]], None]
WHERE_5 = "WHERE session = 'local' AND sequence = 5"
CUT = "DELETE FROM events WHERE session = 'local' AND sequence = 7"
HEAD_TO_6 = (
    "UPDATE heads SET (sequence, hash) = (SELECT sequence, hash FROM events WHERE session = 'local' AND sequence = 6) "
    "WHERE session = 'local'"
)
MOVE = "UPDATE events SET sequence = {} WHERE session = 'local' AND sequence = {}"
EDIT = 'UPDATE events SET payload = \'{{"check":"c5","outcome":"failed"}}\' {}'


def run(*statements: str) -> Tamper:
    def act(connection: psycopg.Connection[dict[str, Any]]) -> None:
        for statement in statements:
            connection.execute(sql.SQL(statement))

    return act


def inserted(connection: psycopg.Connection[dict[str, Any]]) -> None:
    """A well-formed row after the last one."""
    last = connection.execute("SELECT hash FROM events WHERE session = 'local' AND sequence = 7").fetchone()
    assert last is not None
    record = chain.to_record(chain.seal(entry(99), 8, last["hash"]))
    names = ", ".join(record)
    connection.execute(
        sql.SQL(f"INSERT INTO events ({names}) VALUES ({', '.join(f'%({n})s' for n in record)})"), record
    )


def rehashed(connection: psycopg.Connection[dict[str, Any]]) -> None:
    """Row 5 edited by somebody who knows how hashes are made."""
    run(EDIT.format(WHERE_5))(connection)
    record = connection.execute(sql.SQL(f"SELECT * FROM events {WHERE_5}")).fetchone()
    assert record is not None
    connection.execute(sql.SQL(f"UPDATE events SET hash = %s {WHERE_5}"), [chain.record_hash(record)])


TAMPERING: dict[str, tuple[Tamper, list[tuple[int, str]]]] = {
    "edit": (run(EDIT.format(WHERE_5)), [(5, "does not match its content")]),
    "edit with a new hash": (rehashed, [(5, "the row after it names another hash")]),
    "removal": (run(f"DELETE FROM events {WHERE_5}"), [(5, "row 5 is missing")]),
    "insertion": (inserted, [(8, "row 8 was inserted: the session's head row says that row 7")]),
    "swap": (
        run(MOVE.format(999, 5), MOVE.format(5, 6), MOVE.format(6, 999)),
        [(5, "it was written as row 6"), (6, "it was written as row 5")],
    ),
    "cut tail": (run(CUT), [(7, "row 7 is missing: the file of heads says that row 7 was written")]),
    "cut tail with a repaired head": (run(CUT, HEAD_TO_6), [(7, "row 7 is missing: the file of heads says")]),
    "head set back": (
        run("UPDATE heads SET sequence = 3 WHERE session = 'local'"),
        [(7, "the session's head row is wrong")],
    ),
    "head removed": (run("DELETE FROM heads WHERE session = 'local'"), [(7, "the session's head row is missing")]),
    "emptied": (run("TRUNCATE events, heads"), [(1, "rows 1 to 7 are missing"), (1, "rows 1 to 2 are missing")]),
}


@pytest.mark.parametrize("name", TAMPERING)
def test_tampering_is_named_by_exactly_the_rows_it_touched(seven: Store, name: str) -> None:
    tamper, expected = TAMPERING[name]
    with seven.unguarded() as connection:
        tamper(connection)
    found = seven.faults()
    assert [(session, sequence) for session, sequence, _ in found] == list(
        zip(["local", "other"] if name == "emptied" else ["local"] * 9, (row for row, _ in expected), strict=False)
    )
    for (_, _, what), (_, words) in zip(found, expected, strict=True):
        assert words in what


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("DROP TRIGGER events_append_only ON events", "events_append_only is missing"),
        ("ALTER TABLE events DISABLE TRIGGER events_append_only", "events_append_only is changed"),
        ("ALTER TABLE heads ENABLE TRIGGER heads_forward", "heads_forward is changed"),
        (
            "CREATE OR REPLACE FUNCTION countersign_refuse() RETURNS trigger LANGUAGE plpgsql "
            "AS 'BEGIN RETURN NEW; END'",
            "events_append_only is changed",
        ),
        ("CREATE RULE mine AS ON INSERT TO events DO INSTEAD NOTHING", "'mine' is none of Countersign's"),
    ],
)
def test_missing_changed_and_foreign_guards_are_named(seven: Store, statement: str, named: str) -> None:
    with seven.connected() as connection:
        connection.execute(sql.SQL(statement))
    found = seven.faults()
    assert named in " ".join(what for _, _, what in found)
    assert {session for session, _, _ in found} == {""}


def test_rights_that_were_added_are_named(seven: Store) -> None:
    with seven.connected() as connection:
        connection.execute(
            sql.SQL("GRANT DELETE, TRUNCATE ON events TO {}").format(sql.Identifier(name_of(seven.name)))
        )
    assert [what for _, _, what in seven.faults()] == [
        "the application's role has the right to DELETE on events",
        "the application's role has the right to TRUNCATE on events",
    ]


def test_a_row_that_a_rule_lets_vanish_is_not_acknowledged(seven: Store) -> None:
    with seven.opened() as trail:
        with seven.connected() as connection:
            connection.execute("CREATE RULE mine AS ON INSERT TO events DO INSTEAD NOTHING")
        assert "kept none" in unavailable(lambda: trail.append(entry(8))).reason


# --- what the database itself refuses -----------------------------------------------------------------------------

REFUSED = [
    "UPDATE events SET payload = '{}' WHERE sequence = 5",
    "DELETE FROM events WHERE sequence = 7",
    "DELETE FROM events WHERE false",
    "TRUNCATE events",
    "INSERT INTO events SELECT * FROM events ON CONFLICT (session, sequence) DO UPDATE SET hash = ''",
    "UPDATE heads SET sequence = 6 WHERE session = 'local'",
    "UPDATE heads SET sequence = 9 WHERE session = 'local'",
    "UPDATE heads SET hash = 'x' WHERE session = 'local'",
    "DELETE FROM heads",
    "TRUNCATE heads",
    "INSERT INTO heads VALUES ('new', 2, 'x')",
]


@pytest.mark.parametrize("replica", [False, True], ids=["plain", "replica"])
@pytest.mark.parametrize("statement", REFUSED)
def test_the_triggers_refuse_everybody(untouched: Store, statement: str, replica: bool) -> None:
    with untouched.connected() as connection:
        if replica:  # which switches ordinary triggers off
            connection.execute("SET session_replication_role = replica")
        with pytest.raises(psycopg.errors.RestrictViolation, match="the trail is append-only"):
            connection.execute(sql.SQL(statement))
    assert untouched.faults() == []


@pytest.mark.parametrize(
    "statement",
    [
        *REFUSED[:4],
        *("DELETE FROM heads", "TRUNCATE heads", "DROP TABLE events", "UPDATE store SET id = 'x'", "DELETE FROM store"),
        *("ALTER TABLE events DISABLE TRIGGER ALL", "DROP TRIGGER heads_forward ON heads", "TRUNCATE todos"),
        *(
            "CREATE TABLE mine (i integer)",
            "CREATE OR REPLACE FUNCTION countersign_refuse() RETURNS trigger AS '' LANGUAGE sql",
        ),
        *("SET session_replication_role = replica", "UPDATE alembic_version SET version_num = '1'"),
        *("DELETE FROM ledger", "TRUNCATE ledger"),
    ],
)
def test_the_application_s_role_has_no_right_to(untouched: Store, statement: str) -> None:
    refused = pytest.raises(psycopg.errors.InsufficientPrivilege)
    with untouched.opened() as trail, refused, trail._database.appending() as cursor:
        cursor.execute(statement)
    assert untouched.faults() == []


def test_migrations_make_the_tables_that_the_code_knows(seven: Store) -> None:
    with seven.opened() as trail, trail._database.reading() as connection:
        assert compare_metadata(MigrationContext.configure(connection), METADATA) == []
        assert trail._database.found_guards(connection) == POSTGRESQL_GUARDS


def test_a_commit_is_on_the_disk_whatever_the_server_is_set_to(seven: Store) -> None:
    with seven.connected() as connection:
        connection.execute(sql.SQL(f"ALTER DATABASE {seven.name} SET synchronous_commit = off"))
    with seven.opened() as trail, trail._database.reading() as reading:
        assert reading.exec_driver_sql("SHOW synchronous_commit").scalar() == "on"


# --- trouble ------------------------------------------------------------------------------------------------------


def test_a_head_that_another_process_keeps_locked(seven: Store) -> None:
    with seven.opened(busy_timeout=0.5) as hasty, seven.opened() as trail, seven.connected() as other:
        other.execute("SELECT * FROM heads WHERE session = 'local' FOR UPDATE")
        with hasty._database.reading() as connection:
            assert connection.exec_driver_sql("SHOW lock_timeout").scalar() == "500ms"
        error = unavailable(lambda: hasty.append(entry(8)))
        assert (error.cause, "locked" in error.reason) == (Cause.STORE_UNAVAILABLE, True)
        assert trail.append(entry(8, "other")).sequence == 3, "other sessions go on"
        other.rollback()
        assert trail.append(entry(8)).sequence == 8


def test_a_full_disk_under_the_database(seven: Store) -> None:
    """The server says so with this code; a real one is filled among the kills."""
    with seven.connected() as connection:
        connection.execute(
            "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS "
            "$$BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END$$"
        )
        connection.execute("CREATE TRIGGER full_disk BEFORE INSERT ON events EXECUTE FUNCTION full_disk()")
    with seven.opened() as trail:
        error = unavailable(lambda: trail.append(entry(8)))
        assert (error.cause, error.retryable) == (Cause.DISK_FULL, True)
        with seven.connected() as connection:
            connection.execute("DROP TRIGGER full_disk ON events")
        assert trail.append(entry(8)).sequence == 8
