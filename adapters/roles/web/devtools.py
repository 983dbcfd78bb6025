"""Speaks the DevTools protocol with a browser over its two pipes: commands and their answers, and what it tells.

One message is JSON and ends with a NUL. It judges nothing, and starts nothing.
Source: the protocol's "Using the pipe transport", chromium's `--remote-debugging-pipe`.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import IO, Any

ANSWER_SECONDS = 10.0
MESSAGE_BYTES = 64 * 1024 * 1024

Told = Callable[[str, dict[str, Any]], None]
"""Hears of events: their names and parameters. It must not wait."""


class BrowserGone(Exception):
    """The browser has ended, or does not answer; nothing more can be asked of it."""


class CommandFailed(Exception):
    """The browser says that a command cannot be done, and why."""


class DevTools:
    """A conversation; `session` in `send` is that of a page, empty for the browser's own."""

    def __init__(self, commands: asyncio.WriteTransport, told: Told) -> None:
        self._commands = commands
        self._told = told
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._over = False

    async def send(self, method: str, /, session: str = "", seconds: float = 0.0, **parameters: Any) -> dict[str, Any]:
        """What it answers. Raises `CommandFailed`, and `BrowserGone` where no answer comes in `seconds` (0: 10)."""
        seconds = seconds or ANSWER_SECONDS
        if self._over:
            raise BrowserGone("the browser has ended")
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters, **({"sessionId": session} if session else {})}
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        self._commands.write(json.dumps(message).encode() + b"\0")
        try:
            async with asyncio.timeout(seconds):
                return await answer
        except TimeoutError as error:
            raise BrowserGone(f"the browser did not answer within {seconds:g} s") from error
        finally:
            self._waiting.pop(number, None)

    async def listen(self, events: asyncio.StreamReader) -> None:
        """Hear what it says, until it has ended."""
        try:
            while True:
                self._hear(json.loads((await events.readuntil(b"\0"))[:-1]))
        except (EOFError, OSError, asyncio.LimitOverrunError):
            pass  # whoever waits for an answer is told below
        finally:
            self._over = True
            for answer in self._waiting.values():
                if not answer.done():
                    answer.set_exception(BrowserGone("the browser has ended"))

    def _hear(self, message: dict[str, Any]) -> None:
        answer = self._waiting.get(message.get("id", 0))
        if "method" in message:
            self._told(message["method"], message["params"])
        elif answer is None or answer.done():
            return
        elif "error" in message:
            answer.set_exception(CommandFailed(str(message["error"].get("message"))))
        else:
            answer.set_result(message["result"])


@asynccontextmanager
async def devtools(commands: IO[bytes], events: IO[bytes], told: Told) -> AsyncIterator[DevTools]:
    """Talk over the two pipes, which are closed in the end."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=MESSAGE_BYTES)
    hears, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), events)
    says, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, commands)
    tools = DevTools(says, told)
    listening = asyncio.create_task(tools.listen(reader))
    try:
        yield tools
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
        hears.close()
        if not says.is_closing():
            says.abort()
