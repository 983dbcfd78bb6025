"""What tests of several folders share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]  # xdist has no types

from tests.postgres import Cluster


@pytest.fixture(scope="session")
def postgres_cluster() -> Iterator[Cluster]:
    """A PostgreSQL server for the whole run, up; each test takes a database of its own."""
    cluster = Cluster()
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.remove()


ONE_AFTER_ANOTHER = dict.fromkeys(
    ("test_environment.py", "test_setup.py", "test_real_projects.py", "test_init.py", "test_masked_rounds.py"),
    "set-up images",
)
"""Files that look at the same images of the engine, so that no two of them may run at once."""


class ByFile(LoadFileScheduling):  # type: ignore[misc]  # as above
    """Tests of one file stay in one process, in their order: they share servers and folders."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return ONE_AFTER_ANOTHER.get(Path(file).name, file)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile:
    """How `scripts/test` spreads the files over its processes."""
    return ByFile(config, log)
