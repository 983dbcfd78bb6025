"""A client that stays connected: it starts rounds on a running host and waits for each, as an agent's session does."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager

from adapters.config.order_file import load_order
from adapters.config.settings import load_settings
from bench.project import CannotMeasure, Project
from domain.decision import RoundOutcome
from entrypoints.client import connect, start_round
from entrypoints.stores import build_trail


class Held:
    """Rounds of one project's orders. Its host has to run."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._loop = asyncio.new_event_loop()
        with environment(project.environment()):
            settings = load_settings(project.root)
        self._trail = build_trail(settings)
        self._client = self._loop.run_until_complete(connect(settings, project.status()["temporal_address"]))

    def round(self, checks: int) -> None:
        """One round of that many trivial checks, from the request to the verdict, which has to be that it passed."""
        self._loop.run_until_complete(self._round(checks))

    async def _round(self, checks: int) -> None:
        order = load_order(self._project.root / self._project.order(checks))
        _, handle = await start_round(self._client, self._trail, order)
        result = await handle.result()
        if result.decision.outcome is not RoundOutcome.VERIFIED:
            raise CannotMeasure(f"a round ended as {result.decision.outcome}: {result.decision.reasons}")

    def close(self) -> None:
        """Let the trail and the loop go."""
        self._trail.close()
        self._loop.close()


@contextmanager
def environment(wanted: dict[str, str]) -> Iterator[None]:
    """While the body runs, this process has these variables alone: settings are read as a project's commands do."""
    kept = dict(os.environ)
    os.environ.clear()
    os.environ.update(wanted)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(kept)
