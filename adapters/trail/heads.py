"""The file of heads: what each append left as its session's last row, kept outside the database.

One JSON object a line, only ever appended, while the file itself is locked. A line is written after its row's commit
and is not forced to the disk by itself: a killed process loses none, and a power failure at most those of the last
seconds, which leaves sessions "tail unproven" until their next append and never accuses anybody. A line without its
newline was never a record: its writer died. Appends of one session that meet may leave their lines in any order.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from pathlib import Path
from typing import Final

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
    """Appends to and reads one file of heads; waits `timeout` seconds for others. Everything raises `OSError`."""

    def __init__(self, path: Path, timeout: float) -> None:
        self.path = path
        self._timeout = timeout

    def append(self, *, store: str, session: str, sequence: int, hash: str) -> None:
        """Add the line of one `Head`; a torn line at the end goes. Raises `TimeoutError` while another holds the file.

        Opened each time, so that a file that was moved away is begun anew and not written where nobody looks.
        """
        record = {"store": store, "session": session, "sequence": sequence, "hash": hash}
        line = json.dumps(record).encode() + b"\n"
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            self._lock(descriptor)
            self._drop_torn_line(descriptor)
            written = os.write(descriptor, line)
            if written < len(line):  # the disk is nearly full: the second write says so
                os.write(descriptor, line[written:])
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

    def _lock(self, descriptor: int) -> None:
        """Keep other threads and processes out until the descriptor is closed, by us or by our death."""
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise TimeoutError(f"{self.path} is locked by another process") from None
                time.sleep(_POLL_SECONDS)
            else:
                return

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
