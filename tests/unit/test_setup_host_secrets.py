"""A host whose worker was started with other secrets is told from one that fits, and makes way."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.config.settings import Settings, load_settings
from domain.order import Order
from entrypoints import host_state, rounds
from entrypoints.host_state import Files, HostState, Process, ensure_up, other_secrets, shown
from entrypoints.rounds import variables_of
from tests.fakes.trail import MemoryTrail

SECRETS = {"TOKEN": "value", "KEY": "line\r\nline\rline\n", "RAW": "\udcff"}


@pytest.fixture
def worker() -> Iterator[Process]:
    """A process with these secrets in its environment."""
    with subprocess.Popen(
        [sys.executable, "-c", "input()"], env={**os.environ, **SECRETS}, stdin=subprocess.PIPE
    ) as process:
        yield Process.of(process.pid)
        process.communicate(b"\n")


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)


def test_the_same_values_are_no_difference(worker: Process) -> None:
    assert other_secrets(HostState(host=Process.of(os.getpid()), worker=worker), list(SECRETS)) == []


def test_another_value_or_a_new_name_is_one(worker: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "another")
    monkeypatch.setenv("ADDED", "new")
    state = HostState(host=Process.of(os.getpid()), worker=worker)
    assert other_secrets(state, ["TOKEN", "KEY", "ADDED"]) == ["TOKEN", "ADDED"]


def test_what_is_not_set_here_is_not_asked_for(worker: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TOKEN")
    assert other_secrets(HostState(host=worker, worker=worker), ["TOKEN"]) == []


def test_without_a_worker_the_host_s_environment_counts(worker: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = Process(pid=worker.pid, created=1.0)
    assert other_secrets(HostState(host=worker, worker=gone), ["TOKEN"]) == []
    assert other_secrets(HostState(host=gone, worker=gone), ["TOKEN"]) == ["TOKEN"]


async def test_a_host_with_other_secrets_makes_way(
    worker: Process, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[list[str]] = []

    async def end(settings: Settings, state: HostState, differing: list[str]) -> None:
        asked.append(differing)
        monkeypatch.setenv("TOKEN", "value")  # as if the next host had it

    monkeypatch.setattr(host_state, "_end_if_idle", end)
    settings = load_settings().model_copy(update={"state_dir": tmp_path})
    state = HostState(host=worker, worker=worker, ready=True, settings=shown(settings))
    Files(tmp_path).write(state)
    monkeypatch.setenv("TOKEN", "another value")
    assert await ensure_up(settings) == state
    assert asked == []
    assert await ensure_up(settings, ["TOKEN", "KEY"]) == state
    assert asked == [["secret TOKEN"]]


async def test_a_round_asks_for_its_order_s_secrets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Asked(Exception):
        pass

    async def up(settings: Settings, secrets: list[str], begun: object) -> HostState:
        raise Asked(*secrets)

    monkeypatch.setattr(rounds, "ensure_up", up)
    settings = load_settings().model_copy(update={"state_dir": tmp_path, "temporal_address": None})
    order = Order.model_validate({"content": "work", "environment": {"setup": ["true"], "secrets": ["TOKEN"]}})
    with pytest.raises(Asked, match="TOKEN"):
        await rounds.verify(settings, MemoryTrail(), order, print, print)


def test_a_round_needs_its_secrets_and_github_s_token_only_where_it_asks_github() -> None:
    environment = {"setup": ["x"], "secrets": ["TOKEN"]}
    merged = {"type": "pr_merged", "params": {"repository": "owner/name", "number": 1}}
    order = Order.model_validate({"content": "x", "environment": environment})
    assert variables_of(order) == ["TOKEN"]
    order = Order.model_validate({"content": "x", "acceptance_criteria": [merged]})
    assert variables_of(order) == ["COUNTERSIGN_GITHUB_TOKEN", "GITHUB_TOKEN"]
