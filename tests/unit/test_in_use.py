"""The embedded host is in use while its worker does something, also where no command was given for it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput

from entrypoints import in_use
from entrypoints.in_use import InUse

LONG_AGO = 1_000_000_000.0


class Inner(ActivityInboundInterceptor):
    """What the activity itself does."""

    def __init__(self, does: Callable[[], Any]) -> None:
        self._does = does

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        return await self._does()


@pytest.fixture
def used(tmp_path: Path) -> Path:
    file = tmp_path / "last-used"
    file.touch()
    _forget(file)
    return file


def _forget(file: Path) -> None:
    os.utime(file, (LONG_AGO, LONG_AGO))


def _noted(file: Path) -> bool:
    return file.stat().st_mtime > LONG_AGO


def _run(noting: InUse, does: Callable[[], Any]) -> Any:
    given = ExecuteActivityInput(fn=does, args=(), executor=None, headers={})
    return noting.intercept_activity(Inner(does)).execute_activity(given)


async def test_an_activity_is_use_when_it_begins_and_when_it_ends(used: Path) -> None:
    async def does() -> str:
        assert _noted(used)
        _forget(used)
        return "done"

    assert await _run(InUse(used), does) == "done"
    assert _noted(used)


async def test_one_that_fails_is_use_all_the_same(used: Path) -> None:
    async def does() -> None:
        _forget(used)
        raise ValueError("as it is")

    with pytest.raises(ValueError, match="as it is"):
        await _run(InUse(used), does)
    assert _noted(used)


async def test_one_that_runs_for_long_keeps_the_host_and_nothing_else_does(
    used: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_use, "NOTE_SECONDS", 0.01)
    noting = InUse(used)
    keeping = asyncio.create_task(noting.keep())

    async def does() -> None:
        _forget(used)
        while not _noted(used):  # noqa: ASYNC110 - a file has no event
            await asyncio.sleep(0.01)

    await asyncio.wait_for(_run(noting, does), 60)
    _forget(used)
    await asyncio.sleep(0.1)
    assert not _noted(used), "nothing runs any more"
    keeping.cancel()


async def test_an_activity_goes_on_where_nothing_can_be_noted(tmp_path: Path) -> None:
    async def does() -> str:
        return "done"

    assert await _run(InUse(tmp_path / "away" / "last-used"), does) == "done"
