"""A Temporal server that stands still for a while, as on a machine with too much to do, and goes on."""

from __future__ import annotations

import asyncio
import signal
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import psutil
import pytest

from adapters.config.order_file import load_order
from adapters.config.settings import Settings
from entrypoints import client
from entrypoints.client import connect, start_round
from entrypoints.stores import build_trail
from tests.integration.conftest import Project

STANDS_STILL_SECONDS = 8.0
"""Longer than an answer may take that can be asked for again."""

CRITERIA = [{"type": "file_exists", "params": {"path": "a.txt"}}]


async def test_a_round_is_begun_once(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever gave up could not tell whether it runs."""
    monkeypatch.setattr(client, "CONNECT_SECONDS", 120.0)
    assert timedelta(seconds=STANDS_STILL_SECONDS) > client.SOON
    order = project.root / project.order(id="wo-still", acceptance_criteria=CRITERIA)
    assert (await asyncio.to_thread(project.run, "up")).returncode == 0
    status = await asyncio.to_thread(project.status)
    state = Path(status["state_dir"])
    settings = Settings(project=project.root, state_dir=state, database_url=f"sqlite:///{state}/trail.db")
    with closing(build_trail(settings)) as trail:
        asks = await connect(settings, status["temporal_address"])
        server = psutil.Process(status["server_pid"])
        server.send_signal(signal.SIGSTOP)
        try:
            starting = asyncio.create_task(start_round(asks, trail, load_order(order), str(order)))
            await asyncio.sleep(STANDS_STILL_SECONDS)
        finally:
            server.send_signal(signal.SIGCONT)
        request, handle = await starting
        assert request.attempt == 1
        assert (await handle.result()).passed
        assert [row.action for row in trail.rows()].count("verification_started") == 1
