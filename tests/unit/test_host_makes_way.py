"""A host that was started otherwise makes way for a command, unless it is at work; of several commands, for one."""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from adapters.config.settings import Settings, load_settings
from domain.errors import Cause, Unavailable
from entrypoints import host_state
from entrypoints.host_state import Files, HostState, Process, ensure_up, shown, take_down


@dataclass
class Counted:
    """A server on which so many rounds run."""

    count: int

    async def count_workflows(self, *_: Any, **__: Any) -> Counted:
        """As many as that."""
        return self


@pytest.fixture
def host(tmp_path: Path) -> Iterator[tuple[Settings, HostState]]:
    """A process that stands for the host, in its state directory; another stands for the worker."""
    with subprocess.Popen(["sleep", "600"]) as host, subprocess.Popen(["sleep", "600"]) as worker:
        settings = load_settings().model_copy(update={"state_dir": tmp_path, "drain_timeout": 1.0})
        state = HostState(host=Process.of(host.pid), worker=Process.of(worker.pid), ready=True)
        Files(tmp_path).write(state)
        yield settings, state
        host.kill()
        worker.kill()


def serve(monkeypatch: pytest.MonkeyPatch, answer: Counted | Exception) -> None:
    async def connect(*_: object) -> Counted:
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(host_state, "connect", connect)


async def test_an_idle_one_ends(host: tuple[Settings, HostState], monkeypatch: pytest.MonkeyPatch) -> None:
    serve(monkeypatch, Counted(0))
    await host_state._end_if_idle(*host, ["version"])
    assert not psutil.pid_exists(host[1].host.pid) or host[1].host.find() is None


async def test_one_with_a_round_stays(host: tuple[Settings, HostState], monkeypatch: pytest.MonkeyPatch) -> None:
    serve(monkeypatch, Counted(1))
    with pytest.raises(Unavailable, match="another version, and it is at work"):
        await host_state._end_if_idle(*host, ["version"])
    assert host[1].host.find()


@pytest.fixture
def busy() -> Iterator[Process]:
    """A worker that has started something."""
    with subprocess.Popen(["sh", "-c", "sleep 600 & wait"]) as worker:
        while not (commands := psutil.Process(worker.pid).children()):
            time.sleep(0.01)
        yield Process.of(worker.pid)
        for command in commands:
            command.kill()
        worker.kill()


async def test_one_with_a_worker_command_stays(
    host: tuple[Settings, HostState], busy: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(monkeypatch, Counted(0))
    settings, state = host
    state.worker = busy
    with pytest.raises(Unavailable, match="another version, and it is at work"):
        await host_state._end_if_idle(settings, state, ["version"])
    assert state.host.find()


async def test_one_that_another_command_ends_just_now_is_asked_again(
    host: tuple[Settings, HostState], monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(monkeypatch, Unavailable(Cause.SERVER_UNAVAILABLE, "it does not answer", "start it"))
    await host_state._end_if_idle(*host, ["version"])
    assert host[1].host.find()


async def test_the_next_one_is_left_alone(host: tuple[Settings, HostState]) -> None:
    settings, state = host
    before = HostState(host=Process(pid=state.host.pid, created=1.0))
    assert not await take_down(settings, before)
    assert state.host.find()
    assert await take_down(settings, state)
    assert state.host.find() is None


@contextmanager
def stubborn(does: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that does that when it is told to end, and is there to hear it."""
    loop = f"trap '{does}' TERM; echo; while :; do sleep 0.1; done"
    with subprocess.Popen(["sh", "-c", loop], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield process
        finally:
            process.kill()


async def test_one_that_takes_its_time_is_waited_for(host: tuple[Settings, HostState]) -> None:
    """As one does that still clears up what its worker left."""
    settings, state = host
    with stubborn("sleep 3; exit") as slow:
        one = replace(state, host=Process.of(slow.pid))
        Files(settings.state_dir).write(one)
        assert await take_down(settings.model_copy(update={"drain_timeout": -18.0}))
        assert one.host.find() is None


async def test_one_that_does_not_end_is_told_of(
    host: tuple[Settings, HostState], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_state, "ENDS_SECONDS", 0.1)
    settings, state = host
    with stubborn("") as stays:
        Files(settings.state_dir).write(replace(state, host=Process.of(stays.pid)))
        with pytest.raises(Unavailable, match=rf"process {stays.pid}, has not ended for 1\.1 s"):
            await take_down(settings)


async def test_one_that_comes_up_slowly_is_in_use_all_the_while(host: tuple[Settings, HostState]) -> None:
    settings, state = host
    files = Files(settings.state_dir)
    files.write(replace(state, ready=False, settings=shown(settings)))
    waiting = asyncio.create_task(ensure_up(settings))
    async with asyncio.timeout(240):
        while not files.used.exists():  # noqa: ASYNC110 - a file has no event
            await asyncio.sleep(0.01)
        os.utime(files.used, (0, 0))
        while files.used.stat().st_mtime == 0:  # noqa: ASYNC110 - as above
            await asyncio.sleep(0.01)
    files.write(replace(state, settings=shown(settings)))
    assert (await waiting).ready
