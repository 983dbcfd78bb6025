"""Lives through one set-up's container: hands it its program, says how it goes on, keeps the last lines, all masked."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import docker

from adapters.sandbox.check import Abandoned
from adapters.sandbox.output import Attachment, Output
from adapters.sandbox.secrets import Secrets
from adapters.sandbox.setup_program import MARK
from domain.ports import Progress

_KEPT_LINES = 10
_LINE = 400
_COMMAND = 100
_LONGEST_LINE = 64 * 1024
_SAY_SECONDS = 2.0


@dataclass(frozen=True)
class Ended:
    """How a set-up ended: `wrong` is empty when all went well, `lines` are the last that its command wrote."""

    wrong: str
    lines: tuple[str, ...]


class Watch:
    """One container that is not started yet, to be started and watched once."""

    def __init__(
        self, api: docker.APIClient, container: str, commands: Sequence[str], secrets: Secrets, progress: Progress
    ) -> None:
        self._api = api
        self._container = container
        self._said = _Said(commands, secrets, progress)

    def to_the_end(self, program: bytes, limit: float, cancelled: threading.Event) -> Ended:
        """Start it, hand it `program`, and wait at most `limit` seconds. It may still run when this returns.

        Raises `Abandoned` soon after `cancelled` is set, and docker's own errors.
        """
        deadline = time.monotonic() + limit
        attachment = Attachment(self._api, self._container)
        try:
            self._api.start(self._container)
            self._hand_over(program)
            while (data := attachment.receive()) != b"":
                self._said.feed(data or b"")
                if _over(deadline, cancelled):
                    return self._said.ended(f"was not done after {limit:g} s")
        finally:
            attachment.close()  # before the container is removed: the engine waits for a reader that does not read
        self._said.finish()
        while (state := self._state())["Running"]:
            if _over(deadline, cancelled):
                return self._said.ended(f"was not done after {limit:g} s")
            time.sleep(0.1)
        if state["OOMKilled"] and state["ExitCode"]:
            return self._said.ended(f"ended with exit code {state['ExitCode']}, out of memory")
        return self._said.ended(f"ended with exit code {state['ExitCode']}" if state["ExitCode"] else "")

    def _hand_over(self, program: bytes) -> None:
        stream: Any = self._api.attach_socket(self._container, params={"stdin": 1, "stream": 1})
        connection: Any = getattr(stream, "_sock", stream)
        try:
            with suppress(ConnectionError):  # a container that has ended says why by its exit code
                connection.sendall(program)
                connection.shutdown(socket.SHUT_WR)
        finally:
            stream._response.close()
            stream.close()

    def _state(self) -> dict[str, Any]:
        state: dict[str, Any] = self._api.inspect_container(self._container)["State"]
        return state


class _Said(Output):
    """The output of a set-up, by lines: where it is, what it said last. Of no stream more than a line is kept."""

    def __init__(self, commands: Sequence[str], secrets: Secrets, progress: Progress) -> None:
        super().__init__()
        self._commands = [_short(secrets.mask(command), _COMMAND) for command in commands]
        self._masker = secrets.masker()
        self._progress = progress
        self._place = 0
        self._line = b""
        self._last: deque[str] = deque(maxlen=_KEPT_LINES)
        self._quiet_until = 0.0

    def finish(self) -> None:
        """Nothing more comes."""
        self._take(self._masker.rest() + b"\n")

    def ended(self, wrong: str) -> Ended:
        """How it ended, in words that begin with what was being done."""
        return Ended(f"{self._doing} {wrong}" if wrong else "", tuple(self._last))

    @property
    def _doing(self) -> str:
        if 1 <= self._place <= len(self._commands):
            return f"`{self._commands[self._place - 1]}`"
        return "what comes after the commands" if self._place else "what comes before the commands"

    def _frame(self, kind: int, data: bytes) -> None:  # noqa: ARG002 - both outputs are one here
        self._take(self._masker.feed(data))

    def _take(self, data: bytes) -> None:
        *lines, self._line = re.split(rb"[\r\n]", self._line + data)
        self._line = self._line[-_LONGEST_LINE:]
        for line in lines if MARK in data else lines[-2 * _KEPT_LINES :]:  # of a flood only the end counts
            if line.startswith(MARK) and line[1:].isdigit():
                self._go_on_to(int(line[1:]))
            elif line.strip():
                self._last.append(_short(line.decode("utf-8", "replace"), _LINE))
        if lines and self._last and time.monotonic() >= self._quiet_until:
            self._say(self._last[-1])

    def _go_on_to(self, place: int) -> None:
        self._place = place
        self._last.clear()
        if place <= len(self._commands):
            self._say(self._commands[place - 1])

    def _say(self, text: str) -> None:
        self._quiet_until = time.monotonic() + _SAY_SECONDS
        self._progress(f"setup {self._place}/{len(self._commands)}: {text}")


def _over(deadline: float, cancelled: threading.Event) -> bool:
    if cancelled.is_set():
        raise Abandoned
    return time.monotonic() > deadline


def _short(text: str, length: int) -> str:
    """On one line, without control characters, cut to `length`."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= length else f"{line[: length - 3]}..."
