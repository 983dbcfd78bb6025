"""Reads what a container writes off the engine's attach stream; of each of its two outputs it keeps head and tail."""

from __future__ import annotations

import socket
import struct
from contextlib import suppress
from typing import Any

import docker

KEPT_BYTES = 1024 * 1024
FLOOD_BYTES = 64 * 1024 * 1024
POLL_SECONDS = 0.25

_HEADER = struct.Struct(">BxxxL")
_STDERR = 2
_RECEIVE = 256 * 1024
_NOTE_BYTES = 64


class Kept:
    """The first and the last `KEPT_BYTES`/2 of a stream of any length."""

    def __init__(self) -> None:
        self.total = 0
        self._head = bytearray()
        self._tail = bytearray()

    def add(self, data: bytes) -> None:
        """Take in the next piece."""
        half = KEPT_BYTES // 2
        self.total += len(data)
        room = half - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 2 * half:
            del self._tail[:-half]

    def text(self, budget: int) -> str:
        """As text, cut to `budget` bytes from the middle; what is not UTF-8, and NUL, becomes U+FFFD."""
        if self.total <= budget:
            return _decode(bytes(self._head + self._tail))
        half = (budget - _NOTE_BYTES) // 2
        head, tail = bytes(self._head[:half]), bytes(self._tail[-half:])
        missing = self.total - len(head) - len(tail)
        return f"{_decode(head)}\n[... {missing} bytes left out ...]\n{_decode(tail)}"


class Output:
    """Both outputs of a container, from the frames of its attach stream.

    The container's script writes `mark` to standard output `marks` times, before anything else: `passed` counts
    them. Until the first nothing that comes can be the worker's. What it writes between two of them makes later ones
    part of the output, which only makes the command look as if it had not begun.
    """

    def __init__(self, mark: bytes = b"", marks: int = 0) -> None:
        self.stdout = Kept()
        self.stderr = Kept()
        self.passed = 0
        self._mark = mark
        self._marks = marks
        self._pending = bytearray()

    @property
    def flooded(self) -> bool:
        """Whether there is more than anybody may write."""
        return self.stdout.total + self.stderr.total > FLOOD_BYTES

    @property
    def truncated(self) -> bool:
        """Whether there is more than is kept."""
        return self.stdout.total + self.stderr.total > KEPT_BYTES

    def feed(self, data: bytes) -> None:
        """Take in the next bytes of the stream, which may end anywhere in a frame."""
        self._pending += data
        position = 0
        while len(self._pending) - position >= _HEADER.size:
            kind, length = _HEADER.unpack_from(self._pending, position)
            end = position + _HEADER.size + length
            if len(self._pending) < end:
                break
            self._frame(kind, bytes(self._pending[position + _HEADER.size : end]))
            position = end
        del self._pending[:position]

    def texts(self) -> tuple[str, str]:
        """Standard output and error, together at most `KEPT_BYTES`: each its half and what the other leaves of its."""
        half = KEPT_BYTES // 2
        return (
            self.stdout.text(max(half, KEPT_BYTES - self.stderr.total)),
            self.stderr.text(max(half, KEPT_BYTES - self.stdout.total)),
        )

    def _frame(self, kind: int, data: bytes) -> None:
        if kind == _STDERR:
            self.stderr.add(data)
            return
        while self.passed < self._marks and data.startswith(self._mark):
            self.passed += 1
            data = data[len(self._mark) :]
        self.stdout.add(data)


class Attachment:
    """The stream of a container that is not started yet, so that nothing it writes is missed."""

    def __init__(self, api: docker.APIClient, container: str) -> None:
        self._stream: Any = api.attach_socket(container, params={"stdout": 1, "stderr": 1, "stream": 1})
        self._socket: Any = getattr(self._stream, "_sock", self._stream)
        self._socket.settimeout(POLL_SECONDS)

    def receive(self) -> bytes | None:
        """What has come, None when nothing has for `POLL_SECONDS`, nothing (b"") at the end."""
        try:
            data: bytes = self._socket.recv(_RECEIVE)
        except TimeoutError:
            return None
        return data

    def close(self) -> None:
        """Stop reading. Has to come before a kill: the engine waits for a reader that does not read (DESIGN 7)."""
        with suppress(OSError):  # the engine has closed its side already
            self._socket.shutdown(socket.SHUT_RDWR)
        self._stream._response.close()
        self._stream.close()


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "replace").replace("\0", "\N{REPLACEMENT CHARACTER}")
