"""How much a worker takes at a time, and what the embedded server is told of turns."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapters.config.settings import load_settings
from entrypoints import spawning
from entrypoints.host_files import Files
from entrypoints.slots import WORKFLOW_TASKS, slots


def test_containers_are_counted_by_the_setting_alone() -> None:
    assert slots("sandbox", 3)["max_concurrent_activities"] == 3
    assert slots("workflows", 3)["max_concurrent_activities"] == slots("workflows", 30)["max_concurrent_activities"]


def test_worker_commands_that_run_for_hours_are_many() -> None:
    assert slots("agents", 3)["max_concurrent_activities"] == 16 > slots("workspace", 3)["max_concurrent_activities"]


def test_workflow_tasks_are_done_in_the_time_that_the_server_gives_them() -> None:
    assert slots("workflows", 3)["max_concurrent_workflow_tasks"] == WORKFLOW_TASKS <= 20


def test_the_embedded_server_lets_sessions_take_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COUNTERSIGN_STATE_DIR", str(tmp_path))
    monkeypatch.setattr(spawning, "server_binary", lambda _: "temporal")
    told = spawning._plan(load_settings(tmp_path), Files(tmp_path)).server
    assert "--dynamic-config-value=matching.enableFairness=true" in told
    for kind in ("Read", "Write"):
        assert f"--dynamic-config-value=matching.numTaskqueue{kind}Partitions=1" in told
