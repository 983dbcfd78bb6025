"""Appends to the trail against bare inserts of the same rows, and how fast `log verify` reads."""

from __future__ import annotations

import itertools
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, event, insert

from adapters.trail import SqlTrail, chain
from adapters.trail.schema import EVENTS
from bench.numbers import interleaved, ratio, seconds, summary
from bench.project import CannotMeasure
from domain.events import HARNESS, TrailEntry
from tests.postgres import Cluster, binaries

BATCH = 50
"""Rows a measurement, each in a transaction of its own."""

VERIFIED_ROWS = 5000
_SEQUENCE = itertools.count(1)
MOMENT = datetime(2026, 1, 15, 10, 5, 1, tzinfo=UTC)


def measure(folder: Path, runs: int, quick: bool) -> dict[str, Any]:
    """Rows a second of both, on each database."""
    rows = 500 if quick else VERIFIED_ROWS
    found = {"sqlite": _of(f"sqlite:///{folder}/trail.db", f"sqlite:///{folder}/bare.db", folder, runs, rows)}
    try:
        with _cluster() as cluster:
            urls = [cluster.create_database(name) for name in ("trail", "bare")]
            found["postgresql"] = _of(urls[0], urls[1], folder, runs, rows)
    except CannotMeasure as error:
        found["postgresql"] = {"skipped": str(error)}
    return found


@contextmanager
def _cluster() -> Iterator[Cluster]:
    try:
        binaries()
    except AssertionError as error:
        raise CannotMeasure("there is no PostgreSQL on this machine") from error
    cluster = Cluster()
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.remove()


def _of(trail_url: str, bare_url: str, folder: Path, runs: int, rows: int) -> dict[str, Any]:
    trail = SqlTrail(trail_url, folder / f"{uuid.uuid4().hex}.jsonl", busy_timeout=60)
    bare = _bare(bare_url)
    try:
        speeds = interleaved(
            runs,
            {
                "bare inserts": lambda: _inserted(bare, _entries(uuid.uuid4().hex, BATCH)),
                "appends": lambda: _appended(trail, _entries(uuid.uuid4().hex, BATCH)),
            },
        )
        for entry in _entries("verified", rows):
            trail.append(entry)
        total = trail.verify().rows
        read = [total / seconds(trail.verify) for _ in range(3)]
    finally:
        trail.close()
        bare.dispose()
    return {
        "appends/bare": ratio(speeds["appends"], speeds["bare inserts"]),
        **{f"{name}_per_second": summary(values, 0) for name, values in speeds.items()},
        "verified_per_second": {**summary(read, 0), "rows": total},
    }


def _appended(trail: SqlTrail, entries: list[TrailEntry]) -> float:
    return len(entries) / seconds(lambda: [trail.append(entry) for entry in entries])


def _inserted(engine: Engine, entries: list[TrailEntry]) -> float:
    """What a program that only stores the rows would do: each is sealed before the clock starts."""
    records = [chain.to_record(chain.seal(entry, next(_SEQUENCE), chain.GENESIS)) for entry in entries]
    return len(records) / seconds(lambda: _insert(engine, records))


def _insert(engine: Engine, records: list[dict[str, str | int]]) -> None:
    for record in records:
        with engine.begin() as connection:
            connection.execute(insert(EVENTS), record)


def _entries(name: str, number: int) -> list[TrailEntry]:
    """Rows as a round writes them for its checks."""
    payload = {"check": "tests", "outcome": "passed", "exit_code": 0, "duration_ms": 812, "evidence": "e" * 64}
    return [
        TrailEntry(
            workflow_id=f"round/local/{name}/1",
            ordinal=ordinal,
            session="local",
            todo_id=name,
            attempt=1,
            actor=HARNESS,
            action="check_completed",
            payload=dict(payload),
            correlation_id=f"round/local/{name}/1",
            timestamp=MOMENT,
        )
        for ordinal in range(1, number + 1)
    ]


def _bare(url: str) -> Engine:
    """An engine with nothing but the table of events, and with SQLite the trail's own pragmas."""
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _pragmas)
    EVENTS.create(engine)
    return engine


def _pragmas(connection: sqlite3.Connection, _: object) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
