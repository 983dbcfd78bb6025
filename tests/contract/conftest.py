"""The trails that the contract is held against: each test runs on every one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from domain.ports import Trail
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
