"""The logins that deploy/postgresql makes: the owner makes the trail, the other one only adds rows to it."""

from __future__ import annotations

import subprocess
from pathlib import Path

from adapters.trail import SqlTrail
from tests.postgres import PASSWORD, SUPERUSER, Cluster, binaries

SCRIPT = Path(__file__).parents[2] / "deploy/postgresql/trail.sh"


def test_the_migration_makes_tables_and_the_workers_use_them(postgres_cluster: Cluster, tmp_path: Path) -> None:
    environment = {
        "PATH": f"{binaries()}:/usr/local/bin:/usr/bin:/bin",
        "PGHOST": "127.0.0.1",
        "PGPORT": str(postgres_cluster.port),
        "PGPASSWORD": PASSWORD,
        "PGDATABASE": "postgres",
        "POSTGRES_USER": SUPERUSER,
        "TRAIL_PASSWORD": PASSWORD,
        "TRAIL_OWNER_PASSWORD": PASSWORD,
    }
    subprocess.run(["sh", SCRIPT], env=environment, check=True, capture_output=True)
    url, owner = (postgres_cluster.url("countersign", user) for user in ("countersign", "countersign_owner"))
    heads = tmp_path / "heads.jsonl"
    SqlTrail(url, heads, busy_timeout=60, owner_url=owner).close()
    worker = SqlTrail(url, heads, busy_timeout=60)
    try:
        assert worker.verify().rows == 0
        may = postgres_cluster.execute("SELECT has_table_privilege('countersign', 'events', 'UPDATE')", "countersign")
        assert may == [(False,)]
    finally:
        worker.close()
