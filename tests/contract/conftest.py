"""The trails and the bucket that the contracts are held against: each test runs on every one."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import pytest

from adapters.evidence import bucket
from adapters.evidence.bucket import Bucket
from adapters.evidence.s3 import S3Store
from domain.ports import Trail
from tests.s3 import S3Server
from tests.trails import MemoryPlace, Place, PostgresqlPlace, SqlitePlace


@pytest.fixture(params=["sqlite", "postgresql", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    with ExitStack() as closing:
        if request.param == "sqlite":
            yield SqlitePlace(tmp_path, closing)
        elif request.param == "postgresql":
            yield PostgresqlPlace(request.getfixturevalue("postgres_cluster"), tmp_path, closing)
        else:
            yield MemoryPlace()


@pytest.fixture
def trail(place: Place) -> Trail:
    return place.open()


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """One for the run; each test takes a prefix of its own."""
    server = S3Server(tmp_path_factory.mktemp("s3"))
    server.start()
    yield server
    server.stop()


@pytest.fixture
def s3_store(s3_server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> S3Store:
    """Its server is there, so that no request may fail for being slow: how soon one does has a test of its own."""
    for limit in ("connect_timeout", "read_timeout"):
        monkeypatch.setitem(bucket._CLIENT, limit, timedelta(seconds=120))
    monkeypatch.setitem(bucket._RETRIES, "retry_timeout", timedelta(seconds=120))
    for name, value in s3_server.environment.items():
        monkeypatch.setenv(name, value)
    return S3Store(Bucket(f"s3://evidence/{uuid.uuid4().hex}", s3_server.url), tmp_path / "staging")
