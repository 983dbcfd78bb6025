"""Copies a trail in SQLite, its file of heads and other databases as they were at one moment, beside those who write.

The moment: while no append can run, each database's snapshot is opened, which takes milliseconds; what is written
afterwards is in no copy. So no row is copied whose consequences are not, or could still come, and none is missing that
somebody was told of. A database that is no trail is copied as a server that is killed would leave it, if it keeps its
promises (WAL). Refuses nothing: whether a copy is whole, `verify` says of the copy.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from adapters.trail.heads import Head
from adapters.trail.sql import BUSY_SECONDS
from domain.errors import Cause, Unavailable

LOCK_SECONDS: Final = 15.0
"""How long to wait for those that append; each takes milliseconds."""

LATE_SECONDS: Final = BUSY_SECONDS + 1.0
"""How long after its row a line of the file of heads may come: its writer may have to wait for the file."""

_ENDS: Final = "SELECT session, sequence FROM heads WHERE typeof(session) = 'text' AND typeof(sequence) = 'integer'"


def copy_together(trail: Path, heads: Path, others: Sequence[Path], into: Path) -> None:
    """Copy `trail`, `heads` and `others` into the folder `into`, under their own names.

    Raises `Unavailable` (store_unavailable, disk_full) for a database that cannot be read, kept locked or damaged, and
    `OSError`.
    """
    with ExitStack() as stack:
        snapshots = {}
        with _nobody_appends(trail):
            for path in (trail, *others):
                with _told(path):
                    snapshots[path] = stack.enter_context(_snapshot(path))
            before = _content(heads)
        for path, snapshot in snapshots.items():
            with _told(path):
                _copy(snapshot, into / path.name)
        with _told(trail):
            ends = dict(snapshots[trail].execute(_ENDS))
        (into / heads.name).write_bytes(_lines(heads, before, ends))


@contextmanager
def _nobody_appends(trail: Path) -> Iterator[None]:
    """Whoever appends waits: it tries for seconds, and then again."""
    with _told(trail):
        locked = _open(trail)
    with closing(locked) as connection:
        with _told(trail):
            connection.execute("BEGIN IMMEDIATE")
        yield


@contextmanager
def _snapshot(path: Path) -> Iterator[sqlite3.Connection]:
    """The database as it is now, however long the block lasts."""
    with closing(_open(path)) as connection:
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()  # a snapshot is taken at the first read
        yield connection


def _open(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, timeout=LOCK_SECONDS, isolation_level=None)
    connection.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")  # as `sqlite` reads it
    return connection


def _copy(snapshot: sqlite3.Connection, target: Path) -> None:
    """In one step: between two of them SQLite would begin anew for every write of others."""
    with closing(sqlite3.connect(target, isolation_level=None)) as copy:
        snapshot.backup(copy)
        (found,) = copy.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise sqlite3.DatabaseError(found)


def _lines(heads: Path, before: bytes, ends: dict[str, int]) -> bytes:
    """What was in the file `before`, and what rows up to `ends` got a line for since.

    What was in it stays whatever it says: a line without its row is what a removed row leaves.
    """
    deadline = time.monotonic() + LATE_SECONDS
    while True:
        late = [line for line in _content(heads)[len(before) :].splitlines(keepends=True) if _is_of(line, ends)]
        known = {(head.session, head.sequence) for head in map(_head, [*before.splitlines(), *late]) if head}
        if not ends.items() - known or time.monotonic() > deadline:
            return before + b"".join(late)
        time.sleep(LATE_SECONDS / 50)


def _content(heads: Path) -> bytes:
    """The whole lines of the file; a torn one at its end is being written, or never was."""
    try:
        content = heads.read_bytes()
    except FileNotFoundError:
        return b""
    return content[: content.rfind(b"\n") + 1]


def _is_of(line: bytes, ends: dict[str, int]) -> bool:
    head = _head(line)
    return head is not None and head.sequence <= ends.get(head.session, 0)


def _head(line: bytes) -> Head | None:
    try:
        return Head.model_validate_json(line)
    except ValidationError:
        return None


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """What SQLite could not do, as `Unavailable`."""
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "")
        if name == "SQLITE_FULL":
            raise Unavailable(
                Cause.DISK_FULL, f"no space left for a copy of {path}", "name a FILE on a disk with more room"
            ) from error
        next_step = "restore an earlier backup"
        if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            next_step = "end what holds it open (an SQL shell?), then run it again"
        elif name.startswith(("SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_READONLY")):
            next_step = "see that it is there and that this user may read and write it"
        raise Unavailable(Cause.STORE_UNAVAILABLE, f"{path} cannot be copied: {error}", next_step) from error
