"""Says what the database and the file system could not do, as `Unavailable` with what a person can do about it."""

from __future__ import annotations

import errno
import logging
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TypeGuard

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from domain.errors import Cause, Unavailable

if TYPE_CHECKING:  # a trail in SQLite does without
    import psycopg

# At ERROR a pool logs, with a traceback, that it could not tidy up after a connection that is lost. Whoever used that
# connection is told so in words, from here.
logging.getLogger("sqlalchemy.pool").setLevel(logging.CRITICAL)

_FREE_SPACE = "free some space on that disk; nothing that was acknowledged is lost"
_VERIFY = "run `countersign log verify`, which names what is wrong"
_REACHABLE = (
    "see that the server runs, that the database is there and that this user may log in; nothing acknowledged is lost"
)
_LET_GO = "end what holds it open (an SQL shell?), then retry"

_SQLSTATES: Final = {
    "53300": ("lets no more connections in", "end some of them, or raise max_connections"),
    "55P03": ("is kept locked by another process", _LET_GO),
    "57014": ("did not answer in time", "see what keeps the server busy; it is retried"),
    "40": ("was written by another process at the same time", "retry"),
    "57P": ("is shutting down or starting", "wait for the server; it is retried"),
    "08": ("lost its connection", _REACHABLE),
    "25006": ("can only be read: it is a standby, or set so", "name the server that takes writes"),
    "42501": ("does not let this user in", "let the database's owner open it once: COUNTERSIGN_DATABASE_OWNER_URL"),
    "XX": ("is damaged", "restore it from a copy"),
}
"""What PostgreSQL's error codes, or their beginnings, mean for a trail and what to do."""


class StrangeForm(Exception):
    """The tables have a form that this version does not know."""


@contextmanager
def told(place: str) -> Iterator[None]:
    """Turn failures of the store at `place` into `Unavailable` (store_unavailable, disk_full)."""
    try:
        yield
    except DBAPIError as error:
        raise _from_database(place, error.orig) from error
    except OSError as error:
        raise _from_system(place, error) from error
    except StrangeForm as error:
        raise _unavailable(
            f"the trail in {place} has a form that this version does not know: {error}",
            "use the version of Countersign that wrote it, or a newer one",
        ) from error
    except SQLAlchemyError as error:
        raise _unavailable(f"the trail in {place} could not be used: {error}", _VERIFY) from error
    except Exception as error:  # not all of a driver's come through SQLAlchemy: fetching, connecting
        if not _is_a_drivers(error):
            raise
        raise _from_database(place, error) from error


def unreadable(place: str, what: str, next_step: str = _VERIFY) -> Unavailable:
    """A row or table of the store at `place` is not what Countersign writes."""
    return _unavailable(f"the trail in {place} was changed by something else: {what}", next_step)


def unusable(reason: str, next_step: str) -> Unavailable:
    """The store is not set up so that a trail can be kept there."""
    return _unavailable(reason, next_step)


def _is_a_drivers(error: BaseException) -> bool:
    return isinstance(error, sqlite3.Error) or _is_postgresqls(error)


def _is_postgresqls(error: BaseException | None) -> TypeGuard[psycopg.Error]:
    """Whether it is the driver's, which is not loaded for the question."""
    driver = sys.modules.get("psycopg")
    return driver is not None and isinstance(error, driver.Error)


def _from_database(place: str, error: BaseException | None) -> Unavailable:
    if _is_postgresqls(error):
        return _from_postgresql(place, error)
    return _from_sqlite(place, error)


def _from_postgresql(place: str, error: psycopg.Error) -> Unavailable:
    said = " ".join(str(error).split())
    code = error.sqlstate or ""
    if code == "53100":
        return Unavailable(Cause.DISK_FULL, f"no space left to write the trail in {place}", _FREE_SPACE)
    if code.startswith("23"):
        return unreadable(place, f"it refuses a row that should be new ({said})")
    for beginning, (what, next_step) in _SQLSTATES.items():
        if code.startswith(beginning):
            return _unavailable(f"the trail in {place} {what} ({said})", next_step)
    if not code and "does not exist" in said and "database" in said:  # libpq gives no code while it connects
        name = place.rpartition("/")[2]
        return _unavailable(
            f"there is no database {place}", f"as an administrator, run: CREATE DATABASE \"{name}\" ENCODING 'UTF8'"
        )
    if isinstance(error, sys.modules["psycopg"].OperationalError):
        return _unavailable(f"the trail in {place} cannot be reached: {said}", _REACHABLE)
    return _unavailable(f"the trail in {place} could not be used: {said}", "see the server's log, then retry")


def _from_sqlite(place: str, error: BaseException | None) -> Unavailable:
    name = getattr(error, "sqlite_errorname", "")
    if name == "SQLITE_FULL":
        return Unavailable(Cause.DISK_FULL, f"no space left to write the trail in {place}", _FREE_SPACE)
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return _unavailable(f"another process kept the trail in {place} locked", _LET_GO)
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
