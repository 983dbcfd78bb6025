"""Follows a session to where nothing goes on by itself, whatever dies on the way: what `countersign run` does.

The session is durable and judges alone; here it is watched, and told for how long worker commands are started.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime

from adapters.config.settings import Settings
from domain.errors import Cause, CountersignError, Unavailable
from domain.events import Actor
from domain.messages import Progress
from domain.ports import Trail
from domain.requests import Drive
from domain.session import Session
from entrypoints.clocks import halts_in
from entrypoints.fix_loops import fix_loops_in
from entrypoints.host_files import Files
from entrypoints.lives import Lives
from entrypoints.standings import OVER, Standing, at_rest, goes_on

LOOK_SECONDS = 0.3
LOOK_SHARE = 5
"""A look at ten thousand todos takes its time; so many times as long passes before the next."""

REST_SECONDS = 1.0
"""So long nothing moves before the session is asked whether that is all."""

HOST_SECONDS = 2.0
AWAY_SECONDS = 60.0
"""How long the trail may be away."""

ASKED_ROUNDS = 8
"""Of so many rounds it is asked what of them runs."""

OFF_SECONDS = 15.0

Told = Callable[[Standing, dict[str, Progress]], None]


class Driver:
    """One session that is driven. `told` is given each look at it, with the progress of its rounds by todo."""

    def __init__(self, settings: Settings, trail: Trail, lives: Lives, session: str, told: Told) -> None:
        self._settings = settings
        self._trail = trail
        self._lives = lives
        self._session = session
        self._told = told
        self._host_looked_at = time.monotonic()

    async def drive(self, actor: Actor, failed: Callable[[CountersignError], None]) -> Standing:
        """The session where it ended, or waits for a human; however this ends, no worker command is started then.

        Raises `Unavailable` when server, worker or trail do not come back. `failed` hears why the session could not be
        told that nobody drives it any more.
        """
        on = await self._lives.ask_session(self._session, "drive", Drive(actor=actor, on=True))
        try:
            if on.refused is None:
                return await self._to_its_end()
            return await self._look()  # a session that has ended is told of, and not driven
        finally:
            await asyncio.shield(asyncio.create_task(self._off(actor, failed)))

    async def _off(self, actor: Actor, failed: Callable[[CountersignError], None]) -> None:
        try:
            async with asyncio.timeout(OFF_SECONDS):
                await self._lives.ask_session(self._session, "drive", Drive(actor=actor, on=False))
        except TimeoutError:
            failed(_late())
        except CountersignError as error:
            failed(error)

    async def _to_its_end(self) -> Standing:
        moved, last = time.monotonic(), ""
        while True:
            began = time.monotonic()
            standing = await self._look()
            fingerprint = _fingerprint(standing)
            if fingerprint != last:
                moved, last = time.monotonic(), fingerprint
            if standing.session.status in OVER:
                return standing
            rested = time.monotonic() - moved > REST_SECONDS
            if rested and not goes_on(standing) and at_rest(await self._asked(), standing):
                return standing
            await self._keep_up()
            await asyncio.sleep(max(LOOK_SECONDS, LOOK_SHARE * (time.monotonic() - began)))

    async def _look(self) -> Standing:
        """How it stands; said to `told`. A trail that is away is asked again for a while."""
        deadline = time.monotonic() + AWAY_SECONDS
        while True:
            try:
                state = self._trail.state(self._session)
                halts = halts_in(self._session, self._trail)
                loops = fix_loops_in(self._trail, state.todos, state.rounds)
            except Unavailable as error:
                if not error.retryable or time.monotonic() > deadline:
                    raise
            else:
                if state.sessions:
                    break
            await asyncio.sleep(LOOK_SECONDS)
        standing = Standing(state.sessions[0], state.todos, datetime.now(UTC), state.rounds, halts=halts, loops=loops)
        self._told(standing, await self._progress(standing))
        return standing

    async def _progress(self, standing: Standing) -> dict[str, Progress]:
        rounds = standing.running_rounds[:ASKED_ROUNDS]
        found = await asyncio.gather(*(self._lives.progress(one.workflow_id) for one in rounds))
        return {one.todo: progress for one, progress in zip(rounds, found, strict=True) if progress is not None}

    async def _asked(self) -> Session:
        """The session's own word. A server that died is waited for."""
        try:
            return await self._lives.session(self._session)
        except Unavailable:
            await self._lives.revive()
            return await self._lives.session(self._session)

    async def _keep_up(self) -> None:
        """Nobody starts a server and a worker again where the host was killed, too; and it is in use all the time."""
        if self._settings.remote or time.monotonic() - self._host_looked_at < HOST_SECONDS:
            return
        files = Files(self._settings.state_dir)
        if files.alive() is None:
            await self._lives.revive()
        files.used.touch()
        self._host_looked_at = time.monotonic()


def _late() -> Unavailable:
    return Unavailable(
        Cause.NO_WORKER,
        f"the session has not answered for {OFF_SECONDS:g} s that nobody drives it any more",
        "see that a worker runs (countersign status); countersign session pause starts no worker command either",
    )


def _fingerprint(standing: Standing) -> str:
    todos = (f"{view.todo}:{view.updated_at}:{view.status}" for view in standing.todos)
    rounds = (f"{one.todo}:{one.attempt}:{one.status}" for one in standing.rounds)
    return "|".join((standing.session.model_dump_json(), *todos, *rounds))
