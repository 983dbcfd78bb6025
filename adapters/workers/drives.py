"""The record of a drive, one start of a worker command: who runs it, and what came of it. Nothing is run here.

With it a command is not run again whose result only got lost, and one that still runs is ended before it is. Its file
is locked as long as somebody sees to the drive; a lock goes with the process that has it.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

import psutil
from pydantic import ValidationError

from adapters.processes import living
from domain.base import Message
from domain.life import WorkInput, WorkResult

ENDS_BY_ITSELF = 7.0
"""Seconds: a supervisor that nobody waits for asks its command to end, and kills it 5 seconds later."""

ENDS_AT_ONCE = 6.0
GONE_SECONDS = 60.0
"""How long one that was killed may take to be gone, on a machine with much to do."""

POLL_SECONDS = 0.02


class Record(Message):
    """The supervisor's process, when that was started (seconds since the epoch), its private folder, the result."""

    process: int
    created: float
    folder: str
    started_at: datetime
    result: WorkResult | None = None


class Drive:
    """One drive's file, `SESSION/TODO/DRIVE.json` below `root`. Everything raises `OSError`."""

    def __init__(self, root: Path, request: WorkInput) -> None:
        names = (quote(name, safe="") for name in (request.todo.session, request.todo.id))
        self._path = root.joinpath(*names, f"{request.drive}.json")

    @contextmanager
    def seen_to(self) -> Iterator[None]:
        """Nobody else sees to this drive meanwhile: who still does, has its command ended."""
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._path.with_suffix(".lock").open("ab") as lock:
            while not _locked(lock.fileno()):
                if (record := self.read()) is not None:
                    end(record)
                time.sleep(POLL_SECONDS)
            yield

    def read(self) -> Record | None:
        """What is known of it; None before its first start."""
        try:
            return Record.model_validate_json(self._path.read_bytes())
        except (FileNotFoundError, ValidationError):  # written whole or not at all, so this is no record of ours
            return None

    def write(self, record: Record) -> None:
        """Store it, whole or not at all."""
        partial = self._path.with_suffix(".tmp")
        with partial.open("wb") as file:
            file.write(record.model_dump_json().encode())
            file.flush()
            os.fsync(file.fileno())
        partial.replace(self._path)

    def finish(self, result: WorkResult) -> None:
        """Keep what came of it, whatever happens to the answer."""
        record = self.read()
        assert record is not None, "it was started"
        self.write(record.model_copy(update={"result": result}))


def record_of(process: int, folder: Path, started_at: datetime) -> Record:
    """The record of a supervisor that was started just now; one that has died already is nobody's process."""
    created = 0.0
    with suppress(psutil.NoSuchProcess):
        created = psutil.Process(process).create_time()
    return Record(process=process, created=created, folder=str(folder), started_at=started_at)


def end(record: Record) -> None:
    """See that the supervisor has ended, and with it its command: by itself, on request, or killed."""
    process = living(record.process, record.created)
    if process is None:
        return
    for seconds, then in ((ENDS_BY_ITSELF, process.terminate), (ENDS_AT_ONCE, process.kill), (GONE_SECONDS, None)):
        with suppress(psutil.TimeoutExpired):
            process.wait(seconds)
            return
        if then is not None:
            with suppress(psutil.NoSuchProcess):
                then()
    raise TimeoutError(f"process {record.process}, which runs a worker command, cannot be ended")


def _locked(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
