"""What tests of several folders share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

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


@pytest.hookimpl(tryfirst=True)  # before xdist looks for the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of one file stay in one process, in their order: they share servers and folders."""
    for item in items:
        item.add_marker(pytest.mark.xdist_group(ONE_AFTER_ANOTHER.get(item.path.name, str(item.path))))
