"""The file of heads: what each append left as its session's last row, kept outside the database.

One JSON object a line, only ever appended. A line without its newline was never a record: its writer died.
"""

from __future__ import annotations

import json
import os
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

from filelock import FileLock
from pydantic import ConfigDict, PositiveInt, ValidationError

from domain.base import Value

_POLL_SECONDS: Final = 0.002


class Head(Value):
    """The last row of a session of a store."""

    model_config = ConfigDict(strict=True)

    store: str
    session: str
    sequence: PositiveInt
    hash: str


class HeadsFile:
    """Appends to and reads one file of heads. Everything raises `OSError`."""

    def __init__(self, path: Path, timeout: float) -> None:
        self.path = path
        self._lock = FileLock(path.with_name(path.name + ".lock"), timeout=timeout, mode=0o600)

    def locked(self) -> AbstractContextManager[object]:
        """Keeps other threads and processes out. Raises `OSError` after the timeout; a process that dies lets go."""
        return self._lock.acquire(poll_interval=_POLL_SECONDS)

    def append(self, head: Head) -> None:
        """Add a line that survives a power failure. The caller holds the lock."""
        line = json.dumps(head.model_dump()).encode() + b"\n"
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            self._drop_torn_line(descriptor)
            written = os.write(descriptor, line)
            if written < len(line):  # the disk is nearly full: the second write says so
                os.write(descriptor, line[written:])
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def read(self) -> tuple[list[Head], list[int]]:
        """All heads in the order of their lines, and the numbers, from 1, of the lines that are none."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return [], []
        heads: list[Head] = []
        strange: list[int] = []
        for number, line in enumerate(content.split(b"\n")[:-1], start=1):
            try:
                heads.append(Head.model_validate_json(line))
            except ValidationError:
                strange.append(number)
        return heads, strange

    @staticmethod
    def _drop_torn_line(descriptor: int) -> None:
        """Cut off what a dead writer left half written, or the next line would be unreadable too."""
        end = os.lseek(descriptor, 0, os.SEEK_END)
        if end == 0:
            return
        if os.pread(descriptor, 1, end - 1) == b"\n":
            return
        content = os.pread(descriptor, end, 0)
        os.ftruncate(descriptor, content.rfind(b"\n") + 1)
