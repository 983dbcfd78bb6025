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
from sqlalchemy import create_engine, insert, make_url

from adapters import trail as package
from adapters.trail import SqlTrail, chain, migrations
from adapters.trail.migrate import HEAD
from adapters.trail.schema import EVENTS, HEADS
from domain.errors import Unavailable
from domain.events import TrailRow
from domain.read_model import State, fold
from tests.integration.test_trail_sqlite import entry
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


def first_revision(url: str, broken: bool) -> list[TrailRow]:
    """A store as the first revision left it, with a few rows; one of them may be unreadable."""
    engine = create_engine(make_url(url.replace("postgresql:", "postgresql+psycopg:")))
    config = Config()
    config.set_main_option("script_location", str(Path(package.__file__).parent / "migrations"))
    rows: list[TrailRow] = []
    for ordinal, action in enumerate(["verification_started", "check_completed", "audit_completed"]):
        sent = entry(ordinal).model_copy(
            update={"action": action, "after": {"status": "claimed"}, "payload": {"title": "A title", "result": "PASS"}}
        )
        rows.append(chain.seal(sent, ordinal + 1, rows[-1].hash if rows else chain.GENESIS))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        records = [chain.to_record(row) for row in rows]
        if broken:
            records[1]["payload"] = "{"
        connection.execute(insert(EVENTS), records)
        connection.execute(insert(HEADS), {"session": "local", "sequence": 3, "hash": rows[-1].hash})
    engine.dispose()
    return rows


def test_the_read_model_is_made_of_the_rows_that_are_there(url: str, tmp_path: Path) -> None:
    rows = first_revision(url, broken=False)
    with closing(SqlTrail(url, tmp_path / "heads.jsonl")) as trail:
        assert trail.state() == fold(rows) != State()
        assert trail.rebuild(repair=False) == ()
        assert list(trail.rows()) == rows
        assert trail.append(entry(4)).sequence == 4
        assert (trail.verify().faults, trail.verify().unproven) == ((), ())


def test_a_row_that_cannot_be_read_keeps_nobody_from_naming_it(url: str, tmp_path: Path) -> None:
    rows = first_revision(url, broken=True)
    with closing(SqlTrail(url, tmp_path / "heads.jsonl")) as trail:
        assert [(fault.session, fault.sequence) for fault in trail.verify().faults] == [("local", 2)]
        assert trail.state() == fold([rows[0], rows[2]])
        with pytest.raises(Unavailable, match="local/2"):
            trail.rebuild()


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
