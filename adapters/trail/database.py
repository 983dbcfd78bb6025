"""What the trail asks of a database, and which database a URL means. Refuses URLs of any other kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Final, Protocol

from sqlalchemy import URL, Connection, Dialect, make_url
from sqlalchemy.exc import ArgumentError

from adapters.trail.adding import Cursor

EXPECTED: Final = "sqlite:////ABSOLUTE/PATH or postgresql://USER@HOST/DATABASE"

Fill = Callable[[Connection], None]
"""Writes what follows from the rows, after the tables have got a new form and in the same transaction."""


class Database(Protocol):
    """One database. Its driver's errors come out as they are; `failures.told` puts them into words."""

    place: str
    """How people are told of it; without a password."""

    dialect: Dialect
    """In which statements for `appending` are compiled; its parameters are named."""

    taken: type[Exception]
    """What the driver raises for a row whose place or key is taken."""

    guards: Mapping[str, str]
    """Each trigger that must be there, by name."""

    def prepare(self, fill: Fill) -> None:
        """Bring the tables to this version's form: one process and one thread at a time, all or nothing."""
        ...

    def appending(self) -> AbstractContextManager[Cursor]:
        """A transaction for one append, committed at the end of the block, on the driver's cursor; as `writing`."""
        ...

    def writing(self) -> AbstractContextManager[Connection]:
        """A transaction that writes, committed at the end of the block; what is committed survives a power failure."""
        ...

    def reading(self) -> AbstractContextManager[Connection]:
        """A transaction that sees the database as it is when it first reads, however long it lasts."""
        ...

    def alone(self) -> AbstractContextManager[Connection]:
        """A transaction that writes while no append runs; they wait, and fail after the time that they may wait."""
        ...

    def found_guards(self, connection: Connection) -> dict[str, str]:
        """Each trigger that is there, as `guards` writes them."""
        ...

    def excess_rights(self, connection: Connection) -> list[str]:
        """What the application may do to rows and should not be able to, such as "DELETE on events"."""
        ...

    def close(self) -> None:
        """Close the connections that are open."""
        ...


def place_of(url: URL) -> str:
    """The file, or the server and its database: how people are told of it, without user and password."""
    if url.get_backend_name() == "sqlite":
        return str(url.database)
    return f"postgresql://{url.host or ''}{f':{url.port}' if url.port else ''}/{url.database}"


def parsed(url: str) -> URL:
    """The URL of a database that can hold a trail. Raises `ValueError`, which names no password."""
    try:
        found = make_url(url)
    except (ArgumentError, ValueError):  # a port that is no number
        raise ValueError(f"it cannot be read as a URL, expected {EXPECTED}") from None
    kind = found.get_backend_name()
    if kind == "sqlite" and found.database not in (None, "", ":memory:") and "?" not in url:
        return found
    if kind == "postgresql" and found.database and not {"password", "sslpassword"} & found.query.keys():
        return found.set(drivername="postgresql+psycopg")
    shown = found.set(query={}).render_as_string(hide_password=True)
    raise ValueError(f"{shown!r} is no trail, expected {EXPECTED}")
