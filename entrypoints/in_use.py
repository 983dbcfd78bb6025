"""Notes that the embedded host is in use whenever its worker does something, whoever asked for it. It ends nothing.

Commands note it by themselves. Whoever else asks (an agent with Temporal's SDK, the Web UI), and timers, have the
worker run an activity: nothing that moves a session, a todo or a round goes without one.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import structlog
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor

NOTE_SECONDS = 5.0
"""How often, while an activity runs: a worker command may for hours."""

log = structlog.get_logger("entrypoints.in_use")


class InUse(Interceptor):
    """For the embedded host's workers. `used` is the file whose time the host looks at."""

    def __init__(self, used: Path) -> None:
        self._used = used
        self._running = 0

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        """See the base class."""
        return _Noted(next, self)

    def begins(self) -> None:
        """An activity does."""
        self._running += 1
        self._note()

    def ends(self) -> None:
        """It has ended, well or not."""
        self._running -= 1
        self._note()

    async def keep(self) -> None:
        """Note it for as long as something runs, for ever."""
        while True:
            await asyncio.sleep(NOTE_SECONDS)
            if self._running:
                self._note()

    def _note(self) -> None:
        try:
            self._used.touch()
        except OSError as error:  # what runs is worth more than that the host stays afterwards
            log.warning("not noted that the host is in use", reason=str(error))


class _Noted(ActivityInboundInterceptor):
    def __init__(self, next: ActivityInboundInterceptor, in_use: InUse) -> None:
        super().__init__(next)
        self._in_use = in_use

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        self._in_use.begins()
        try:
            return await super().execute_activity(input)
        finally:
            self._in_use.ends()
