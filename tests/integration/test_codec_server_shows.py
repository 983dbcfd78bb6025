"""The codec server as people use it: `temporal` shows what the Temporal server itself cannot read."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import signal
import subprocess
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment

from adapters.config.settings import Settings
from entrypoints.client import connect
from entrypoints.temporal_binary import server_binary
from tests.integration.conftest import LIMIT_SECONDS, Project

WORDS = "hidden words"

pytestmark = pytest.mark.slow  # tests/unit/test_codec_server.py has who is answered what, over HTTP


@pytest_asyncio.fixture(loop_scope="session")
async def encrypted(project: Project) -> AsyncIterator[Client]:
    """A client that encrypts; the project has the key."""
    key = project.root / "payload.key"
    key.write_bytes(base64.b64encode(os.urandom(32)))
    key.chmod(0o600)
    project.environment["COUNTERSIGN_PAYLOAD_KEY_FILE"] = str(key)
    binary = server_binary(None)
    async with await WorkflowEnvironment.start_local(
        dev_server_existing_path=binary, dev_server_log_level="error"
    ) as server:
        address = server.client.service_client.config.target_host
        project.environment["TEMPORAL_ADDRESS"] = address
        settings = Settings(project=project.root, temporal_address=address, payload_key_file=key)
        yield await connect(settings)


async def test_what_is_hidden_is_shown_to_who_has_the_key(project: Project, encrypted: Client) -> None:
    await encrypted.start_workflow("Anything", WORDS, id="w", task_queue="nobody", static_summary=f"summary of {WORDS}")
    server = project.start("codec-server", "--port", "0", "--json")
    assert server.stdout is not None
    endpoint = json.loads("".join(iter(server.stdout.readline, "}\n")) + "}")["endpoint"]

    address = project.environment["TEMPORAL_ADDRESS"]
    assert WORDS not in await shown(address)
    said = await shown(address, "--codec-endpoint", endpoint)
    assert f"input[0]: {WORDS}" in said
    assert f"userMetadata.summary: summary of {WORDS}" in said

    server.send_signal(signal.SIGINT)
    assert server.wait(LIMIT_SECONDS) == 0


async def shown(address: str, *options: str) -> str:
    """The workflow's history as `temporal` shows it."""
    command = (server_binary(None), "workflow", "show", "--workflow-id", "w", "--detailed", "--address", address)
    asked = await asyncio.create_subprocess_exec(*command, *options, stdout=subprocess.PIPE)
    out, _ = await asked.communicate()
    assert asked.returncode == 0
    return out.decode()
