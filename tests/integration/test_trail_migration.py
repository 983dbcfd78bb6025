"""A trail that an older version made: it gets the read model of its rows when it is opened, whatever is among them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, insert, make_url, text, update

from adapters import trail as package
from adapters.trail import SqlTrail, chain, migrations
from adapters.trail.migrate import HEAD
from adapters.trail.schema import EVENTS, HEADS
from domain.errors import Unavailable
from domain.events import TrailRow
from domain.read_model import State, fold
from tests.integration.test_trail_sqlite import PATIENT_SECONDS, entry
from tests.postgres import Cluster


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/trail.db"
    else:
        cluster: Cluster = request.getfixturevalue("postgres_cluster")
        name = f"migration_{tmp_path.name}"
        yield cluster.create_database(name)
        cluster.drop_database(name)


PAYLOAD = {"title": "A title", "result": "PASS", "reasons": ["check_failed"]}
OLD_VIEWS = (
    "INSERT INTO sessions VALUES ('local', 'running', '2026-01-15T12:00:00.000000Z', NULL)",
    *(
        f"INSERT INTO todos VALUES ('local', '{todo}', 'claimed', 'auditing', 'A title', '', '', 1, '', "
        "'2026-01-15T12:00:00.000000Z', '2026-01-15T12:00:00.000000Z')"
        for todo in ("wo", "ghost")
    ),
)
"""What the second revision had made of the rows, and what no row says."""


def stored_by(url: str, revision: str, broken: bool = False) -> list[TrailRow]:
    """A store as that revision left it, with a few rows; one of them may be unreadable."""
    engine = create_engine(make_url(url.replace("postgresql:", "postgresql+psycopg:")))
    config = Config()
    config.set_main_option("script_location", str(Path(package.__file__).parent / "migrations"))
    rows: list[TrailRow] = []
    for ordinal, action in enumerate(["verification_started", "check_completed", "audit_completed"]):
        sent = entry(ordinal).model_copy(update={"action": action, "after": {"status": "claimed"}, "payload": PAYLOAD})
        rows.append(chain.seal(sent, ordinal + 1, rows[-1].hash if rows else chain.GENESIS))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
        records = [chain.to_record(row) for row in rows]
        if broken:
            records[1]["payload"] = "{"
        connection.execute(insert(EVENTS), records)
        connection.execute(insert(HEADS), {"session": "local", "sequence": 1, "hash": rows[0].hash})
        for row in rows[1:]:
            connection.execute(update(HEADS).values(sequence=row.sequence, hash=row.hash))
        for statement in OLD_VIEWS if revision == "0002" else ():
            connection.execute(text(statement))
    engine.dispose()
    return rows


@pytest.mark.parametrize("revision", ["0001", "0002", "0004"])
def test_the_read_model_is_made_of_the_rows_that_are_there(url: str, tmp_path: Path, revision: str) -> None:
    rows = stored_by(url, revision)
    with closing(SqlTrail(url, tmp_path / "heads.jsonl", PATIENT_SECONDS)) as trail:
        assert trail.state() == fold(rows) != State()
        assert trail.state().todos[0].reasons == ("check_failed",), "what the older version had no column for"
        assert trail.rebuild(repair=False) == ()
        assert list(trail.rows()) == rows
        assert trail.append(entry(4)).sequence == 4
        assert (trail.verify().faults, trail.verify().unproven) == ((), ())


def test_a_row_that_cannot_be_read_keeps_nobody_from_naming_it(url: str, tmp_path: Path) -> None:
    rows = stored_by(url, "0001", broken=True)
    with closing(SqlTrail(url, tmp_path / "heads.jsonl", PATIENT_SECONDS)) as trail:
        assert [(fault.session, fault.sequence) for fault in trail.verify().faults] == [("local", 2)]
        assert trail.state() == fold([rows[0], rows[2]])
        with pytest.raises(Unavailable, match="local/2"):
            trail.rebuild()


def test_a_process_of_the_last_version_goes_on_beside_this_one(url: str, tmp_path: Path) -> None:
    """Its statements do not name the new columns."""
    SqlTrail(url, tmp_path / "heads.jsonl", PATIENT_SECONDS).close()
    engine = create_engine(make_url(url.replace("postgresql:", "postgresql+psycopg:")))
    columns = {
        "sessions": "session, status, created_at, ended_at",
        "todos": "session, todo, status, review_status, title, domain, parent, attempt, trigger, "
        "created_at, updated_at",
    }
    with engine.begin() as connection:
        for statement in OLD_VIEWS:
            table = statement.split()[2]
            connection.execute(text(statement.replace(f"{table} VALUES", f"{table} ({columns[table]}) VALUES")))
    engine.dispose()
    with closing(SqlTrail(url, tmp_path / "heads.jsonl", PATIENT_SECONDS)) as trail:
        (session,), (_, todo) = trail.state().sessions, trail.state().todos
        assert (session.todos, session.created_by, session.deadline, session.version) == (0, "", None, 1)
        assert (todo.version, todo.depends_on, todo.time_left, todo.waiting_since) == (1, (), 0.0, None)


def test_the_last_step_is_the_one_that_is_expected() -> None:
    steps = ScriptDirectory(str(Path(migrations.__file__).parent))
    assert steps.get_current_head() == HEAD


def test_a_trail_that_is_as_it_should_be_is_opened_without_what_migrates_it(tmp_path: Path) -> None:
    SqlTrail(f"sqlite:///{tmp_path}/trail.db", tmp_path / "heads.jsonl").close()
    code = (
        "import sys; from pathlib import Path; from adapters.trail import SqlTrail\n"
        f"SqlTrail('sqlite:///{tmp_path}/trail.db', Path('{tmp_path}/heads.jsonl')).close()\n"
        "print(sorted({'alembic', 'psycopg'} & sys.modules.keys()))"
    )
    opened = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert opened.stdout == "[]\n"
