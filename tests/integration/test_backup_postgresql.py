"""A trail in PostgreSQL is restored on another server with the commands of docs/deploying.md, and goes on there."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from psycopg.errors import InsufficientPrivilege

from adapters.trail import SqlTrail
from domain.events import TrailEntry
from tests.integration.test_trail_sqlite import entry
from tests.postgres import PASSWORD, SUPERUSER, Cluster, binaries

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "deploying.md"
BETWEEN = re.compile(r"<!-- (dump|load) -->\n+```\n(.*?)```", re.S)
DATABASE, LOGIN, OWNER = "countersign", "countersign", "countersign_owner"


@pytest.fixture(scope="module")
def clusters() -> Iterator[tuple[Cluster, Cluster]]:
    """Two servers, with nothing on the second but what every server has."""
    made = Cluster(), Cluster()
    try:
        for cluster in made:
            cluster.start()
        yield made
    finally:
        for cluster in made:
            cluster.remove()


def follow(part: str, cluster: Cluster, folder: Path) -> None:
    """Run the guide's commands of one part, as they stand there, on `cluster`."""
    commands = dict(BETWEEN.findall(GUIDE.read_text()))[part]
    variables = {"PGHOST": "127.0.0.1", "PGPORT": str(cluster.port), "PGUSER": SUPERUSER, "PGPASSWORD": PASSWORD}
    path = f"{binaries()}:{os.environ['PATH']}"
    ended = subprocess.run(
        ["sh", "-e", "-c", commands],
        cwd=folder,
        env=os.environ | variables | {"PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr


def opened(cluster: Cluster, heads: Path) -> SqlTrail:
    return SqlTrail(cluster.url(DATABASE, LOGIN), heads, busy_timeout=60, owner_url=cluster.url(DATABASE, OWNER))


@pytest.mark.slow  # two servers of PostgreSQL, whose programs and not our code do the work
def test_a_dump_is_a_whole_trail_on_another_server(clusters: tuple[Cluster, Cluster], tmp_path: Path) -> None:
    first, second = clusters
    first.create_role(OWNER, "LOGIN CREATEROLE")  # the two logins of deploy/postgresql/trail.sh
    first.create_role(LOGIN)
    first.create_database(DATABASE, OWNER)
    heads = tmp_path / "heads.jsonl"
    entries: list[TrailEntry] = [entry(ordinal, workflow_id=f"w-{ordinal % 2}") for ordinal in range(20)]
    trail = opened(first, heads)
    for one in entries:
        trail.append(one)
    rows = list(trail.rows())
    trail.close()
    for database in ("temporal", "temporal_visibility"):
        first.create_database(database)
    follow("dump", first, tmp_path)
    follow("load", second, tmp_path)
    restored = opened(second, heads)
    check = restored.verify()
    assert (check.rows, check.faults, check.unproven) == (len(entries), (), ())
    assert list(restored.rows()) == rows
    assert restored.rebuild(repair=False) == ()
    assert restored.append(entries[-1]).hash in {row.hash for row in rows}, "what was stored is known again"
    restored.append(entry(20, workflow_id="w-0"))
    assert restored.verify().faults == ()
    with pytest.raises(Exception, match="append-only"):  # guards and rights came along
        second.execute("DELETE FROM events", DATABASE, OWNER)
    with pytest.raises(InsufficientPrivilege):
        second.execute("DROP TABLE events", DATABASE, LOGIN)
    restored.close()
