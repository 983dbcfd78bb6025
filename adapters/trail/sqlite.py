"""The trail's database in one SQLite file, shared by any number of processes of one machine."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

from filelock import FileLock
from sqlalchemy import URL, Connection, Dialect, create_engine, event, text
from sqlalchemy.engine.interfaces import DBAPIConnection

from adapters.trail.database import Fill, place_of
from adapters.trail.migrate import is_current, migrate
from adapters.trail.schema import SQLITE_GUARDS


class SqliteDatabase:
    """`Database` in a file; makes it and its folder (mode 0700). Waits `timeout` seconds for other writers."""

    def __init__(self, url: URL, timeout: float) -> None:
        self.place = place_of(url)
        self.taken: type[Exception] = sqlite3.IntegrityError
        self.guards: Mapping[str, str] = SQLITE_GUARDS
        self._timeout = timeout
        self._writer = threading.Lock()
        self._engine = create_engine(url, connect_args={"timeout": timeout}, pool_timeout=timeout, paramstyle="named")
        self.dialect: Dialect = self._engine.dialect
        event.listen(self._engine, "connect", _set_up)
        event.listen(self._engine, "begin", _begin)

    def prepare(self, fill: Fill) -> None:
        """Make or migrate the tables. With a lock of its own: SQLite does not wait for others to change the mode."""
        path = Path(self.place)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with FileLock(f"{path}.lock", timeout=self._timeout, mode=0o600), self.writing() as connection:
            if not is_current(connection):
                migrate(connection)
                fill(connection)

    @contextmanager
    def appending(self) -> Iterator[sqlite3.Cursor]:
        """`BEGIN IMMEDIATE` keeps all other writers out until the end of the block."""
        with self._turn(), closing(self._engine.raw_connection()) as pooled:
            connection = pooled.dbapi_connection
            assert isinstance(connection, sqlite3.Connection)
            cursor = connection.execute("BEGIN IMMEDIATE")
            try:
                yield cursor
                cursor.execute("COMMIT")
            except BaseException:
                connection.rollback()
                raise

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """`BEGIN IMMEDIATE` through SQLAlchemy."""
        with (
            self._turn(),
            self._engine.connect() as connection,
            connection.execution_options(writes=True).begin(),
        ):
            yield connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that keeps nobody from writing."""
        with self._engine.connect() as connection:
            yield connection

    alone = writing

    def found_guards(self, connection: Connection) -> dict[str, str]:
        """Name and text of every trigger in the database."""
        found = connection.execute(text("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"))
        return {str(name): str(sql) for name, sql in found}

    def excess_rights(self, connection: Connection) -> list[str]:  # noqa: ARG002 - a file has no roles
        """None: who may open the file may write it, and the triggers are all there is."""
        return []

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """One thread of this process after the other: SQLite's own way to wait is to sleep."""
        if not self._writer.acquire(timeout=self._timeout):
            raise TimeoutError("another thread keeps the database locked")
        try:
            yield
        finally:
            self._writer.release()

    def close(self) -> None:
        """Close the connections that are open."""
        self._engine.dispose()


def _set_up(connection: DBAPIConnection, _: object) -> None:
    """A new connection: transactions are ours to begin, commits survive a power failure.

    Text that is no UTF-8 is read all the same, so that `verify` can name the row.
    """
    assert isinstance(connection, sqlite3.Connection)
    connection.isolation_level = None
    connection.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
    if connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):  # only the first connection ever
        connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
