"""Stores the trail with SQLAlchemy. Refuses a second body under one key; changes and removes nothing.

An append is one transaction, then one line in the file of heads. A process that dies between the two leaves the
database *ahead* of the file: `verify` then says "tail unproven" for that session, which is no fault, until the same
append is sent again (it writes the line that was missing) or the session's next one is. A database that is *behind* a
recorded head, or differs from it, is a fault.

What PostgreSQL will need is here but for its triggers: the append locks the session's head row `FOR UPDATE`, which
SQLite, locked as a whole by `BEGIN IMMEDIATE`, leaves out.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

from alembic import command
from alembic.config import Config
from sqlalchemy import (
    Connection,
    Select,
    create_engine,
    event,
    func,
    insert,
    make_url,
    select,
    text,
    update,
)
from sqlalchemy.engine.interfaces import DBAPIConnection

from adapters.trail import chain, proof
from adapters.trail.failures import told, unreadable
from adapters.trail.heads import Head, HeadsFile
from adapters.trail.schema import EVENTS, HEADS, SQLITE_TRIGGERS, STORE
from domain.events import TrailCheck, TrailEntry, TrailRef, TrailRow

BUSY_SECONDS: Final = 4.0
"""An append may wait this long twice, for the heads and for the database: less than its activity is given."""
_BATCH: Final = 500
_MIGRATING: Final = threading.Lock()
"""Alembic keeps what it is doing in module globals: one migration at a time in a process."""


class SqlTrail:
    """`domain.ports.Trail` in a database; `url` is `sqlite:///PATH`, `heads_file` lies outside the database.

    Makes folders (mode 0700), database and tables that are missing; any number of processes may do so at once.
    `busy_timeout` in seconds bounds the wait for other writers. Raises `ValueError` for another kind of database and
    for a path with a `?`, which a URL ends at; `Unavailable` for one that cannot be used.
    """

    def __init__(self, url: str, heads_file: Path, busy_timeout: float = BUSY_SECONDS) -> None:
        parsed = make_url(url)
        if parsed.get_backend_name() != "sqlite" or parsed.database in (None, "", ":memory:") or "?" in url:
            raise ValueError(f"{parsed.render_as_string()!r} is no trail, expected sqlite:///PATH")
        self._place = str(parsed.database)
        self._heads = HeadsFile(heads_file, busy_timeout)
        self._engine = create_engine(parsed, connect_args={"timeout": busy_timeout})
        event.listen(self._engine, "connect", _set_up)
        event.listen(self._engine, "begin", _begin)
        with told(self._place):
            for folder in {Path(self._place).parent, heads_file.parent}:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._migrate()
            self._store_id = self._read_store_id()

    def store_id(self) -> str:
        """The random id that the store got when it was made."""
        return self._store_id

    def append(self, entry: TrailEntry) -> TrailRef:
        """Store `entry` as its session's next row, once. Safe to send again after any failure.

        Raises `ValueError` for another body under a key that is taken and for what `chain.seal` cannot express,
        `Unavailable` (store_unavailable, disk_full) when the row or its head could not be stored.
        """
        with told(self._place), self._heads.locked():
            with self._writing() as connection:
                row = self._stored(connection, entry) or self._add(connection, entry)
            ref = chain.ref(row)
            self._heads.append(Head(store=self._store_id, session=row.session, sequence=ref.sequence, hash=ref.hash))
        return ref

    def rows(
        self, session: str | None = None, todo: str | None = None, attempt: int | None = None
    ) -> Iterator[TrailRow]:
        """The rows that match, by session and sequence. Hashes are not checked here: `verify` does."""
        query = select(EVENTS).order_by(EVENTS.c.session, EVENTS.c.sequence)
        for column, wanted in ((EVENTS.c.session, session), (EVENTS.c.todo_id, todo), (EVENTS.c.attempt, attempt)):
            if wanted is not None:
                query = query.where(column == wanted)
        with told(self._place), self._engine.connect() as connection:
            for record in _stream(connection, query):
                yield self._parsed(record)

    def last_attempt(self, session: str, todo: str) -> int:
        """The highest attempt that the trail knows of, 0 for none."""
        query = select(func.max(EVENTS.c.attempt)).where(EVENTS.c.session == session, EVENTS.c.todo_id == todo)
        with told(self._place), self._engine.connect() as connection:
            highest = connection.execute(query).scalar()
        if not isinstance(highest, int | None):
            raise unreadable(self._place, f"an attempt of {session}/{todo} is {highest!r}")
        return highest or 0

    def verify(self) -> TrailCheck:
        """Check every chain against the heads outside; what is found is in `proof`. Raises `Unavailable`."""
        query = select(EVENTS).order_by(EVENTS.c.session, EVENTS.c.sequence.desc())
        with told(self._place), self._engine.connect() as connection:
            with self._heads.locked():  # with the lock held, no commit is waiting for its line
                heads = [tuple(head) for head in connection.execute(select(HEADS))]
                recorded, strange = self._heads.read()
            faults = proof.file_faults(recorded, strange, self._store_id, str(self._heads.path))
            faults += proof.trigger_faults(_triggers(connection), SQLITE_TRIGGERS)
            own = [head for head in recorded if head.store == self._store_id]
            return proof.judge(_stream(connection, query), heads, own, faults)

    def close(self) -> None:
        """Close the connections that are open."""
        self._engine.dispose()

    def _stored(self, connection: Connection, entry: TrailEntry) -> TrailRow | None:
        """The row under the entry's key. Raises `ValueError` when it is another one."""
        query = select(EVENTS).where(EVENTS.c.workflow_id == entry.workflow_id, EVENTS.c.ordinal == entry.ordinal)
        found = connection.execute(query).mappings().first()
        if found is None:
            return None
        row = self._parsed(dict(found))
        if not chain.same_body(entry, row):
            raise ValueError(f"event {entry.ordinal} of {entry.workflow_id!r} is stored with another body")
        return row

    def _add(self, connection: Connection, entry: TrailEntry) -> TrailRow:
        """Insert the row after the session's last one, whose head row stays locked until the commit."""
        mine = HEADS.c.session == entry.session
        head = connection.execute(select(HEADS.c.sequence, HEADS.c.hash).where(mine).with_for_update()).first()
        sequence, previous_hash = (0, chain.GENESIS) if head is None else (head.sequence, head.hash)
        if type(sequence) is not int or not isinstance(previous_hash, str):
            raise unreadable(
                self._place, f"the head row of session {entry.session!r} is ({sequence!r}, {previous_hash!r})"
            )
        row = chain.seal(entry, sequence + 1, previous_hash)
        connection.execute(insert(EVENTS), chain.to_record(row))
        if head is None:
            connection.execute(insert(HEADS).values(session=row.session, sequence=row.sequence, hash=row.hash))
        else:
            connection.execute(update(HEADS).where(mine).values(sequence=row.sequence, hash=row.hash))
        return row

    def _parsed(self, record: Mapping[str, Any]) -> TrailRow:
        try:
            return chain.from_record(record)
        except ValueError as error:
            raise unreadable(self._place, f"row {record['session']}/{record['sequence']}: {error}") from error

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with self._engine.connect() as connection, connection.execution_options(writes=True).begin():
            yield connection

    def _migrate(self) -> None:
        """Bring the tables to this version's form: one process and one thread at a time, all or nothing."""
        config = Config()
        config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
        with _MIGRATING, self._heads.locked(), self._writing() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, "head")

    def _read_store_id(self) -> str:
        with self._engine.connect() as connection:
            ids = connection.execute(select(STORE.c.id)).scalars().all()
        if len(ids) != 1:
            raise unreadable(self._place, f"the store has {len(ids)} ids instead of one", "restore it from a copy")
        return str(ids[0])


def _set_up(connection: DBAPIConnection, _: object) -> None:
    """A new SQLite connection: transactions are ours to begin, commits survive a power failure.

    Text that is no UTF-8 is read all the same, so that `verify` can name the row.
    """
    assert isinstance(connection, sqlite3.Connection)
    connection.isolation_level = None
    connection.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
    # Only the first connection ever finds another mode; it is opened with the heads locked, since SQLite does not
    # wait for others when it changes the mode.
    if connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
        connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _stream(connection: Connection, query: Select[Any]) -> Iterator[dict[str, Any]]:
    for record in connection.execution_options(yield_per=_BATCH).execute(query).mappings():
        yield {str(name): value for name, value in record.items()}


def _triggers(connection: Connection) -> dict[str, str]:
    """Name and text of every trigger in the database."""
    found = connection.execute(text("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"))
    return {str(name): str(sql) for name, sql in found}
