"""Says what the database and the file system could not do, as `Unavailable` with what a person can do about it."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from alembic.util.exc import CommandError
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from domain.errors import Cause, Unavailable

_FREE_SPACE = "free some space on that disk; nothing that was acknowledged is lost"
_VERIFY = "run `countersign log verify`, which names what is wrong"


@contextmanager
def told(place: str) -> Iterator[None]:
    """Turn failures of the store at `place` into `Unavailable` (store_unavailable, disk_full)."""
    try:
        yield
    except DBAPIError as error:
        raise _from_database(place, error.orig) from error
    except sqlite3.Error as error:  # raised while a row is fetched, which SQLAlchemy passes on as it is
        raise _from_database(place, error) from error
    except OSError as error:
        raise _from_system(place, error) from error
    except CommandError as error:
        raise _unavailable(
            f"the trail in {place} has a form that this version does not know: {error}",
            "use the version of Countersign that wrote it, or a newer one",
        ) from error
    except SQLAlchemyError as error:
        raise _unavailable(f"the trail in {place} could not be used: {error}", _VERIFY) from error


def unreadable(place: str, what: str, next_step: str = _VERIFY) -> Unavailable:
    """A row or table of the store at `place` is not what Countersign writes."""
    return _unavailable(f"the trail in {place} was changed by something else: {what}", next_step)


def _from_database(place: str, error: BaseException | None) -> Unavailable:
    name = getattr(error, "sqlite_errorname", "")
    if name == "SQLITE_FULL":
        return Unavailable(Cause.DISK_FULL, f"no space left to write the trail in {place}", _FREE_SPACE)
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return _unavailable(
            f"another process kept the trail in {place} locked", "end what holds it open (an SQL shell?), then retry"
        )
    if name == "SQLITE_NOTADB":
        return _unavailable(f"{place} is not a database", "move that file away, or name another database")
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return _unavailable(
            f"the trail in {place} cannot be opened for writing: {error}", "give your user the right to write there"
        )
    if name.startswith("SQLITE_CORRUPT"):
        return _unavailable(f"the trail in {place} is damaged: {error}", "restore it from a copy")
    if name.startswith("SQLITE_CONSTRAINT"):
        return unreadable(place, f"it refuses a row that should be new ({error})")
    return _unavailable(
        f"the trail in {place} could not be used: {error}",
        "see that the disk is there and the file is Countersign's, then retry",
    )


def _from_system(place: str, error: OSError) -> Unavailable:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return Unavailable(Cause.DISK_FULL, f"no space left to write the trail's heads beside {place}", _FREE_SPACE)
    if isinstance(error, TimeoutError):
        return _unavailable(
            f"another process kept the trail in {place} locked", "end the process that hangs, then retry"
        )
    return _unavailable(
        f"the files of the trail in {place} could not be used: {error}",
        "give your user the right to read and write there",
    )


def _unavailable(reason: str, next_step: str) -> Unavailable:
    return Unavailable(Cause.STORE_UNAVAILABLE, reason, next_step)
