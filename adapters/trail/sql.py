"""Stores the trail with SQLAlchemy. Refuses a second body under one key; changes and removes nothing.

An append is one transaction, then one line in the file of heads. It takes the session's head row first, so that the
rows of a session are numbered in the order of their commits, and finds out from the database itself that a key is
taken. A process that dies between commit and line leaves the database *ahead* of the file: `verify` then says "tail
unproven" for that session, which is no fault, until the same append is sent again (it writes the line that was missing)
or the session's next one is. A database that is *behind* a recorded head, or differs from it, is a fault.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, Select, func, select

from adapters.trail import chain, filters, proof, views
from adapters.trail.adding import Adder
from adapters.trail.database import Database, parsed
from adapters.trail.failures import told, unreadable
from adapters.trail.heads import Head, HeadsFile
from adapters.trail.schema import EVENTS, HEADS, STORE
from adapters.trail.sqlite import SqliteDatabase
from domain.events import EVERYTHING, RowFilter, TrailCheck, TrailEntry, TrailRef, TrailRow
from domain.read_model import TABLES, Difference, State, Table, differences, fold

BUSY_SECONDS: Final = 3.0
"""An append may wait this long for each of three: a connection or thread, the database, the file of heads."""
_BATCH: Final = 500
_ALL: Final = select(EVENTS).order_by(EVENTS.c.session, EVENTS.c.sequence)
_LINE_SECONDS: Final = 0.2
"""How long after its commit a line may come."""


class SqlTrail:
    """`domain.ports.Trail` in a database; `url` is `sqlite:///PATH` or `postgresql://USER@HOST/DATABASE`.

    `heads_file` lies outside the database. Makes folders (mode 0700) and tables that are missing; any number of
    processes may do so at once. `owner_url` names the owner of the tables in PostgreSQL, where that is not the user of
    `url`. `busy_timeout` in seconds bounds each wait for others. Raises `ValueError` for another kind of database and
    for a path with a `?`, which a URL ends at; `Unavailable` for one that cannot be used.
    """

    def __init__(
        self, url: str, heads_file: Path, busy_timeout: float = BUSY_SECONDS, owner_url: str | None = None
    ) -> None:
        self._database = database_of(url, owner_url, busy_timeout)
        self._place = self._database.place
        self._adder = Adder(self._database.dialect, self._place)
        self._heads = HeadsFile(heads_file, busy_timeout)
        with told(self._place):
            heads_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                self._database.prepare(fill)
                self._store_id = self._read_store_id()
            except BaseException:
                self.close()
                raise

    def store_id(self) -> str:
        """The random id that the store got when it was made."""
        return self._store_id

    def append(self, entry: TrailEntry) -> TrailRef:
        """Store `entry` as its session's next row, once. Safe to send again after any failure.

        Raises `ValueError` for another body under a key that is taken and for what `chain.seal` or the read model
        cannot express, `Unavailable` (store_unavailable, disk_full) when the row or its head could not be stored.
        """
        with told(self._place):
            ref = self._added(entry) or self._stored(entry) or self._added(entry, last_try=True)
            assert ref is not None
            self._heads.append(store=self._store_id, session=entry.session, sequence=ref.sequence, hash=ref.hash)
        return ref

    def rows(self, wanted: RowFilter = EVERYTHING) -> Iterator[TrailRow]:
        """The rows that match, by session and sequence. Hashes are not checked here: `verify` does."""
        query = filters.matching(wanted)
        with told(self._place), self._database.reading() as connection, _streamed(connection, query) as records:
            for record in records:
                yield self._parsed(record)

    def last_attempt(self, session: str, todo: str) -> int:
        """The highest attempt that the trail knows of, 0 for none."""
        query = select(func.max(EVENTS.c.attempt)).where(EVENTS.c.session == session, EVENTS.c.todo_id == todo)
        with told(self._place), self._database.reading() as connection:
            highest = connection.execute(query).scalar()
        if not isinstance(highest, int | None):
            raise unreadable(self._place, f"an attempt of {session}/{todo} is {highest!r}")
        return highest or 0

    def verify(self) -> TrailCheck:
        """Check every chain against the heads outside; what is found is in `proof`. Raises `Unavailable`."""
        query = select(EVENTS).order_by(EVENTS.c.session, EVENTS.c.sequence.desc())
        with told(self._place):
            recorded, strange = self._heads.read()  # before the rows: a line comes after its row
            with self._database.reading() as connection:
                heads = [tuple(head) for head in connection.execute(select(HEADS))]
                recorded = self._with_late_lines(recorded, heads)
                faults = proof.file_faults(recorded, strange, self._store_id, str(self._heads.path))
                faults += proof.trigger_faults(self._database.found_guards(connection), self._database.guards)
                faults += proof.right_faults(self._database.excess_rights(connection))
                own = [head for head in recorded if head.store == self._store_id]
                with _streamed(connection, query) as records:
                    return proof.judge(records, heads, own, faults)

    def state(self, session: str | None = None, todo: str | None = None, tables: Collection[Table] = TABLES) -> State:
        """The read model: `session` narrows all of it, `todo` its todos and rounds. Raises `Unavailable`."""
        with told(self._place), self._database.reading() as connection:
            try:
                return views.read(connection, session, todo, tables)
            except ValueError as error:
                raise unreadable(self._place, f"the read model: {error}", "run `countersign log rebuild`") from error

    def rebuild(self, repair: bool = True) -> tuple[Difference, ...]:
        """Derive the read model from the rows; what was otherwise, put right in one transaction if `repair`.

        Raises `Unavailable`, also for a row that cannot be read: nothing is guessed at.
        """
        with told(self._place), self._database.alone() if repair else self._database.reading() as connection:
            derived = self._derived(connection)
            try:
                found = differences(views.read(connection), derived)
            except ValueError:  # what nobody can read, nobody can compare: it is made anew
                found = differences(State(), derived)
                if repair:
                    views.clear(connection)
            if repair:
                views.repair(connection, found)
        return found

    def close(self) -> None:
        """Close the connections that are open."""
        self._database.close()

    def _added(self, entry: TrailEntry, *, last_try: bool = False) -> TrailRef | None:
        """The row as it was added; None when it could not be: the key or the session's first place is taken."""
        try:
            with self._database.appending() as cursor:
                return self._adder.add(cursor, entry)
        except self._database.taken:
            if last_try:
                raise
            return None

    def _stored(self, entry: TrailEntry) -> TrailRef | None:
        """Where the row under the entry's key is. Raises `ValueError` when it is another one."""
        query = select(EVENTS).where(EVENTS.c.workflow_id == entry.workflow_id, EVENTS.c.ordinal == entry.ordinal)
        with self._database.reading() as connection:
            found = connection.execute(query).mappings().first()
        if found is None:
            return None
        row = self._parsed(dict(found))
        if not chain.same_body(entry, row):
            raise ValueError(f"event {entry.ordinal} of {entry.workflow_id!r} is stored with another body")
        return chain.ref(row)

    def _derived(self, connection: Connection) -> State:
        try:
            with _streamed(connection, _ALL) as records:
                return fold(map(self._parsed, records))
        except ValueError as error:
            raise unreadable(self._place, f"its rows make no read model: {error}") from error

    def _with_late_lines(self, recorded: list[Head], heads: list[Any]) -> list[Head]:
        """The file's lines, with those that rows of `heads` got since it was read: commit and line are two steps."""
        ends = {session: sequence for session, sequence, _ in heads if type(sequence) is int}
        deadline = time.monotonic() + _LINE_SECONDS
        while ends.items() - {(head.session, head.sequence) for head in recorded} and time.monotonic() < deadline:
            time.sleep(_LINE_SECONDS / 10)
            now, _ = self._heads.read()
            known = set(recorded)
            recorded = recorded + [
                head for head in now if head not in known and head.sequence <= ends.get(head.session, 0)
            ]
        return recorded

    def _parsed(self, record: Mapping[str, Any]) -> TrailRow:
        try:
            return chain.from_record(record)
        except ValueError as error:
            raise unreadable(self._place, f"row {record['session']}/{record['sequence']}: {error}") from error

    def _read_store_id(self) -> str:
        with self._database.reading() as connection:
            ids = connection.execute(select(STORE.c.id)).scalars().all()
        if len(ids) != 1:
            raise unreadable(self._place, f"the store has {len(ids)} ids instead of one", "restore it from a copy")
        return str(ids[0])


def fill(connection: Connection) -> None:
    """Make the read model of the rows that are there; one that nobody can read is for `verify` to name."""
    with _streamed(connection, _ALL) as records:
        derived = fold(filter(None, map(_readable, records)))
    views.clear(connection)
    views.repair(connection, differences(State(), derived))


def database_of(url: str, owner_url: str | None, timeout: float) -> Database:
    """The database that `url` names, not yet prepared. Raises `ValueError` for another kind."""
    found = parsed(url)
    if found.get_backend_name() == "sqlite":
        return SqliteDatabase(found, timeout)
    from adapters.trail.postgresql import PostgresqlDatabase  # noqa: PLC0415 - a trail in SQLite does without its driver

    return PostgresqlDatabase(found, parsed(owner_url) if owner_url else None, timeout)


@contextmanager
def _streamed(connection: Connection, query: Select[Any]) -> Iterator[Iterator[dict[str, Any]]]:
    """The records, of which only a few are held; the server's cursor is closed with the block."""
    with connection.execute(query.execution_options(yield_per=_BATCH)) as result:
        yield ({str(name): value for name, value in record.items()} for record in result.mappings())


def _readable(record: Mapping[str, Any]) -> TrailRow | None:
    try:
        row = chain.from_record(record)
        views.writes(row)
    except ValueError:
        return None
    return row
