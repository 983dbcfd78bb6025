"""What tests of several folders share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]  # xdist has no types

from domain.actors import agent_marks
from entrypoints.cli import person
from tests import acting  # noqa: F401 - it reads the environment before the marks are taken out of it
from tests.examples import SEARCH
from tests.postgres import Cluster

# Tests act as people, also where an agent runs them: what is tested of agents' marks, a test sets.
for mark in agent_marks(os.environ):
    del os.environ[mark]

# How long an example takes by the clock is the machine's business: what has to be quick has a test that says so.
clockless: dict[str, Any] = {"deadline": None, "suppress_health_check": [hypothesis.HealthCheck.too_slow]}
hypothesis.settings.register_profile("same", derandomize=True, max_examples=25, **clockless)
hypothesis.settings.register_profile("search", **clockless)
# `make long` looks for new examples, a hundred each, `make test` has the same few each time
hypothesis.settings.load_profile("search" if SEARCH else "same")


@pytest.fixture(scope="session")
def postgres_cluster() -> Iterator[Cluster]:
    """A PostgreSQL server for the whole run, up; each test takes a database of its own."""
    cluster = Cluster()
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.remove()


@pytest.fixture(autouse=True)
def no_agent_above(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that was started before the tests marks what they call in their own process."""
    monkeypatch.setattr(person, "ancestors", lambda: iter(()))


ONE_AFTER_ANOTHER = dict.fromkeys(
    (
        *("test_environment.py", "test_setup.py", "test_real_projects.py", "test_init.py", "test_masked_rounds.py"),
        *("test_structured_pytest_plugins.py", "test_catalogue.py"),
    ),
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
