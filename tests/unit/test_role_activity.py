"""The activity of a pass: what its heartbeats say, and what a further try goes by."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities import roles
from activities.roles import RoleActivities
from domain.errors import Cause, Unavailable
from domain.ports import Progress
from domain.roles.passes import PassInput
from domain.roles.results import PassResult
from tests.fakes.role_desk import Desk


@dataclass
class FakeRoles:
    """Takes so long for a pass, and until so many heartbeats came, or fails; `used` is what it was told."""

    seconds: float = 0.0
    error: Exception | None = None
    beats: int = 0
    heard: list[Any] = field(default_factory=list)
    used: list[float] = field(default_factory=list)
    begun: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self, request: PassInput, progress: Progress, used: float) -> PassResult:
        self.used.append(used)
        self.begun.set()
        progress("asking")
        await asyncio.sleep(self.seconds)
        while len(self.heard) < self.beats:  # noqa: ASYNC110 - they are called back with, in whatever thread
            await asyncio.sleep(0.01)
        if self.error:
            raise self.error
        return PassResult(outcome="answered", seconds=used + self.seconds)


@pytest.fixture
def request_(monkeypatch: pytest.MonkeyPatch) -> PassInput:
    return Desk(monkeypatch).pass_of()


async def run(fake: FakeRoles, request: PassInput, details: Sequence[Any] = ()) -> tuple[PassResult, list[Any]]:
    """One try, whose earlier ones left these details; and what its heartbeats said."""
    environment, beats = ActivityEnvironment(), fake.heard
    environment.info = replace(environment.info, heartbeat_details=details)
    environment.on_heartbeat = lambda *said: beats.append(said)
    try:
        return await environment.run(RoleActivities(fake).run, request), beats
    except ApplicationError as error:
        return PassResult(outcome="unavailable", why=str(error.type)), beats


async def test_heartbeats_say_how_long_it_took(request_: PassInput, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roles, "BEAT_SECONDS", 0.02)
    result, beats = await run(FakeRoles(seconds=0.1, beats=3), request_)
    assert result.outcome == "answered"
    assert len(beats) >= 3
    assert [seconds for seconds, _ in beats] == sorted(seconds for seconds, _ in beats)
    assert beats[-1][0] >= 0.1
    assert beats[-1][1] == "asking"


async def test_a_further_try_goes_on_counting(request_: PassInput) -> None:
    fake = FakeRoles()
    _, beats = await run(fake, request_, (41.5, "asking"))
    assert fake.used == [41.5]
    assert beats[-1][0] >= 41.5


@pytest.mark.parametrize("details", [(), ("odd",), (None, 3)], ids=["none", "words", "nothing first"])
async def test_details_of_none_of_ours_count_for_nothing(request_: PassInput, details: Sequence[Any]) -> None:
    fake = FakeRoles()
    await run(fake, request_, details)
    assert fake.used == [0.0]


async def test_a_try_that_fails_leaves_its_time_behind(request_: PassInput) -> None:
    away = Unavailable(Cause.STORE_UNAVAILABLE, "gone", "wait")
    result, beats = await run(FakeRoles(seconds=0.05, error=away), request_)
    assert result.why == "unavailable"
    assert beats[-1][0] >= 0.05


async def test_cancelled_it_ends(request_: PassInput) -> None:
    environment, fake = ActivityEnvironment(), FakeRoles(seconds=3600)
    running = asyncio.ensure_future(environment.run(RoleActivities(fake).run, request_))
    await fake.begun.wait()
    environment.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
