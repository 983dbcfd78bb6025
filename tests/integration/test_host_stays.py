"""A host ends when nothing goes on, and not before: not only commands ask something of it, nor only they take long."""

from __future__ import annotations

import asyncio
import time

import pytest
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter

from domain.events import Actor
from domain.requests import AddNote, Answer
from entrypoints.embedded import IDLE_CHECK_SECONDS
from tests.integration.conftest import Project, alive, wait_for
from tests.integration.test_session_commands import session_file

IDLE = "30"  # seconds: more than a machine stands still
LONG = IDLE_CHECK_SECONDS * 1.5 + float(IDLE)
ENDS = 150.0
ANN = Actor(role="human", identity="ann")


def paused(project: Project, **worker: object) -> int:
    """A session that nobody has to stay for by itself; the process of its host."""
    project.environment["COUNTERSIGN_IDLE_TIMEOUT"] = IDLE
    file = session_file(project, "s", {"id": "a", "content": "Some work", **worker})
    project.answer("session", "create", file, "--json")
    return int(project.status()["host_pid"])


@pytest.mark.slow
async def test_updates_of_a_client_that_is_no_command_keep_the_host(project: Project) -> None:
    host = paused(project)
    client = await Client.connect(project.status()["temporal_address"], data_converter=pydantic_data_converter)
    project.answer("session", "pause", "s", "--reason", "a look", "--json")
    todo = client.get_workflow_handle("todo/s/a")
    until = time.monotonic() + LONG
    while time.monotonic() < until:
        note = AddNote(actor=ANN, content=f"at {time.monotonic()}")
        answer = await todo.execute_update("note", note, result_type=Answer)
        assert answer.refused is None
        await asyncio.sleep(0.5)
    assert alive(host)
    wait_for(lambda: not alive(host), ENDS)


@pytest.mark.slow
def test_a_worker_command_that_a_pause_lets_finish_keeps_the_host(project: Project) -> None:
    command = f"touch began; sleep {LONG}; echo done > ended"
    host = paused(project, worker={"command": command, "timeout": 600})
    driver = project.start("run", "s")
    wait_for((project.root / "work/began").exists)
    driver.kill()
    driver.wait()
    project.answer("session", "pause", "s", "--reason", "a look", "--json")
    wait_for((project.root / "work/ended").exists, LONG + 60)
    wait_for(lambda: not alive(host), ENDS)
    assert [row["action"] for row in project.rows("s/a")].count("worker_started") == 1, "it was not begun anew"
