"""A host whose worker was started with other secrets is told from one that fits, and makes way."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from adapters.config.settings import Settings, load_settings
from domain.errors import Unavailable
from domain.order import Order
from domain.roles.agents import Agents, ModelEntry, RoleTable
from entrypoints import host_state, rounds
from entrypoints.host_state import Files, HostState, Process, ensure_up, keys_lacking, other_secrets, shown
from entrypoints.rounds import variables_of
from tests.fakes.trail import MemoryTrail

SECRETS = {"TOKEN": "value", "KEY": "line\r\nline\rline\n", "RAW": "\udcff"}


@pytest.fixture
def worker() -> Iterator[Process]:
    """A process with these secrets in its environment."""
    with subprocess.Popen(
        [sys.executable, "-c", "input()"], env={**os.environ, **SECRETS}, stdin=subprocess.PIPE
    ) as process:
        while "TOKEN" not in psutil.Process(process.pid).environ():  # for a moment after it was started it has none
            time.sleep(0.001)
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


class Making:
    """A host that is at work or not, and whether it had to make way: then the next one has what is set here."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, gives: dict[str, str]) -> None:
        self.at_work: bool | None = False
        self.made = 0
        self._patch, self._gives = monkeypatch, gives
        monkeypatch.setattr(host_state, "_is_at_work", self._is_at_work)
        monkeypatch.setattr(host_state, "take_down", self._take_down)

    async def _is_at_work(self, settings: Settings, state: HostState) -> bool | None:
        return self.at_work

    async def _take_down(self, settings: Settings, state: HostState) -> None:
        self.made += 1
        for name, value in self._gives.items():
            self._patch.setenv(name, value)


async def test_a_host_with_other_secrets_makes_way(
    worker: Process, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    making = Making(monkeypatch, {"TOKEN": "value"})
    settings = load_settings().model_copy(update={"state_dir": tmp_path})
    state = HostState(host=worker, worker=worker, ready=True, settings=shown(settings))
    Files(tmp_path).write(state)
    monkeypatch.setenv("TOKEN", "another value")
    assert await ensure_up(settings) == state
    assert making.made == 0
    making.at_work = True
    with pytest.raises(Unavailable, match="another secret TOKEN, and it is at work"):
        await ensure_up(settings, ["TOKEN", "KEY"])
    making.at_work = False
    assert await ensure_up(settings, ["TOKEN", "KEY"]) == state
    assert making.made == 1


async def test_a_host_without_a_model_s_key_makes_way_unless_it_is_at_work(
    worker: Process, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    making = Making(monkeypatch, {"MODEL_KEY": ""})
    agents = Agents(model="mine", models={"mine": ModelEntry(provider="openai", model="m", api_key_env="MODEL_KEY")})
    settings = load_settings().model_copy(update={"state_dir": tmp_path, "agents": agents})
    state = HostState(host=worker, worker=worker, ready=True, settings=shown(settings))
    Files(tmp_path).write(state)
    monkeypatch.setenv("MODEL_KEY", "k-1")
    making.at_work = True
    assert await ensure_up(settings) == state
    assert making.made == 0
    making.at_work = False
    assert await ensure_up(settings) == state
    assert making.made == 1


@pytest.mark.parametrize(("here", "lacks"), [("k-1", ["TOKEN_2"]), (" ", []), (None, [])])
def test_a_key_that_the_host_has_in_any_way_is_not_taken_from_a_shell(
    worker: Process, monkeypatch: pytest.MonkeyPatch, here: str | None, lacks: list[str]
) -> None:
    entries = {name: ModelEntry(provider="openai", model="m", api_key_env=name) for name in ("TOKEN", "TOKEN_2")}
    agents = Agents(model="TOKEN", auditor=RoleTable(fallbacks=["TOKEN_2"]), models=entries)
    settings = load_settings().model_copy(update={"agents": agents})
    monkeypatch.setenv("TOKEN", "another key, which some agent has")
    if here is not None:
        monkeypatch.setenv("TOKEN_2", here)
    assert keys_lacking(HostState(host=worker, worker=worker), settings) == lacks


async def test_a_round_asks_for_its_order_s_secrets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Asked(Exception):
        pass

    async def up(settings: Settings, secrets: list[str], begun: object) -> HostState:
        raise Asked(*secrets)

    monkeypatch.setattr(rounds, "ensure_up", up)
    settings = load_settings().model_copy(update={"state_dir": tmp_path, "temporal_address": None})
    order = Order.model_validate({"content": "work", "environment": {"setup": ["true"], "secrets": ["TOKEN"]}})
    with pytest.raises(Asked, match="TOKEN"):
        await rounds.verify(settings, MemoryTrail(), rounds.Work(order), print, print)


def test_a_round_needs_its_secrets_and_github_s_token_only_where_it_asks_github() -> None:
    environment = {"setup": ["x"], "secrets": ["TOKEN"]}
    merged = {"type": "pr_merged", "params": {"repository": "owner/name", "number": 1}}
    order = Order.model_validate({"content": "x", "environment": environment})
    assert variables_of(order) == ["TOKEN"]
    order = Order.model_validate({"content": "x", "acceptance_criteria": [merged]})
    assert variables_of(order) == ["COUNTERSIGN_GITHUB_TOKEN", "GITHUB_TOKEN"]
