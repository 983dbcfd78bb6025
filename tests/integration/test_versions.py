"""A new version of the workers with work open: rounds end on the one that began them, todos go on with the new one."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import pytest_asyncio
from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment

from entrypoints.temporal_binary import server_binary
from tests.integration.conftest import Project, until_it_polls, wait_for
from tests.integration.test_session_commands import session_file

WORKER = Path(__file__).parents[2] / "worker.py"
ENTERS = {"id": "AC-1", "type": "file_exists", "params": {"path": "a.txt"}}
CLAIM = {
    "explanation": "Changed the line in a.txt, see [diff]",
    "evidence": [{"label": "diff", "type": "text", "data": "after"}],
    "files_modified": ["a.txt"],
}


@pytest_asyncio.fixture(loop_scope="session")
async def server() -> AsyncIterator[Client]:
    """A server of one's own, without workers."""
    async with await WorkflowEnvironment.start_local(
        dev_server_existing_path=server_binary(None), dev_server_log_level="error"
    ) as environment:
        yield environment.client


@contextmanager
def worker(project: Project, build_id: str, queues: str) -> Iterator[subprocess.Popen[str]]:
    """A worker of that version, which ends well when it is told to."""
    version = ("--deployment", "countersign", "--build-id", build_id)
    command = [sys.executable, str(WORKER), "--queues", queues, *version]
    with subprocess.Popen(
        command, cwd=project.root, env=project.environment, stderr=subprocess.PIPE, text=True
    ) as started:
        assert started.stderr is not None
        try:
            until_it_polls(started.stderr)
            yield started
        finally:
            started.terminate()
            _, said = started.communicate(timeout=150)
    assert (started.returncode, "Traceback" in said) == (0, False), said


def make_current(address: str, build_id: str) -> None:
    """As the guide says. The server learns of a version when its first worker polls."""
    command = [server_binary(None), "worker", "deployment", "set-current-version", "--yes", "--address", address]
    command += ["--deployment-name", "countersign", "--build-id", build_id]
    wait_for(lambda: subprocess.run(command, capture_output=True, check=False).returncode == 0)


async def versions(server: Client, workflow: str) -> list[str]:
    """The version that each workflow task was done by, in their order."""
    found = []
    async for event in server.get_workflow_handle(workflow).fetch_history_events():
        if event.HasField("workflow_task_completed_event_attributes"):
            done = event.workflow_task_completed_event_attributes
            found.append(done.deployment_version.build_id or done.worker_deployment_version.rpartition(".")[2])
    return found


@pytest.mark.slow  # tests/unit/test_worker_options.py has what a worker says of its version
async def test_a_new_version_with_a_round_and_todos_open(project: Project, server: Client) -> None:
    address = server.service_client.config.target_host
    project.environment["TEMPORAL_ADDRESS"] = address
    (project.root / "claim.json").write_text(json.dumps(CLAIM))
    todos = [{"id": name, "content": "Some work", "acceptance_criteria": [ENTERS]} for name in ("begun", "later")]
    with worker(project, "1.0.0", "workflows,workspace,roles") as first:
        make_current(address, "1.0.0")
        project.answer("session", "create", session_file(project, "s", *todos), "--json")
        project.answer("todo", "start", "s/begun", "--json")
        project.answer("todo", "claim", "s/begun", "--claim", "claim.json", "--json")
        waits = status_of(project, "begun")
        assert waits() == "claimed", "nobody polls for its check"
        with worker(project, "2.0.0", "workflows,workspace,sandbox,roles"):
            make_current(address, "2.0.0")
            wait_for(lambda: waits() == "verified")
            project.answer("todo", "start", "s/later", "--json")
            first.terminate()
            assert first.wait(150) == 0
            project.answer("todo", "claim", "s/later", "--claim", "claim.json", "--json")
            wait_for(lambda: status_of(project, "later")() == "verified")
    assert set(await versions(server, "round/s/begun/1")) == {"1.0.0"}
    assert set(await versions(server, "round/s/later/1")) == {"2.0.0"}
    for workflow in ("todo/s/begun", "todo/s/later", "session/s"):
        done = await versions(server, workflow)
        assert (done[0], done[-1]) == ("1.0.0", "2.0.0")
        assert done == sorted(done), "none went back"


def status_of(project: Project, todo: str) -> Callable[[], str]:
    return lambda: str(project.answer("todo", "show", f"s/{todo}", "--json")["status"])
