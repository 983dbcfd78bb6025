"""How one row is added: the few statements of an append, in the order that keeps rows and heads together.

They are compiled once for the driver and run on its own cursor: SQLAlchemy's way to each would cost more than SQLite's
work and Python's together. What opens and ends the transaction is the database's, `Database.appending`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, Protocol

from sqlalchemy import ClauseElement, Dialect, bindparam, insert, select, update

from adapters.trail import chain, views
from adapters.trail.failures import unreadable
from adapters.trail.schema import EVENTS, HEADS
from domain.events import TrailEntry, TrailRef

_MINE: Final = HEADS.c.session == bindparam("of_session")
_HEAD: Final = select(HEADS.c.sequence, HEADS.c.hash).where(_MINE).with_for_update()
_BEGIN: Final = insert(HEADS)
_FORWARD: Final = (
    update(HEADS).where(_MINE).values(sequence=bindparam("to_sequence"), hash=bindparam("to_hash"))
)  # not the columns' own names, which SQLAlchemy keeps for itself
_ADD: Final = insert(EVENTS)


class Cursor(Protocol):
    """What is used of a driver's cursor."""

    @property
    def rowcount(self) -> int:
        """How many rows the last statement wrote."""
        ...

    def execute(self, statement: Any, values: Any = ..., /) -> object:
        """Run one statement; its parameters are named."""
        ...

    def fetchone(self) -> Any:
        """The next row, or None."""
        ...


class Adder:
    """Adds rows to the trail at `place`, in the SQL of `dialect`, whose parameters are named."""

    def __init__(self, dialect: Dialect, place: str) -> None:
        self._place = place

        @lru_cache
        def compiled(statement: ClauseElement) -> str:
            return str(statement.compile(dialect=dialect))

        self._sql = compiled

    def add(self, cursor: Cursor, entry: TrailEntry) -> TrailRef:
        """Add the row after the session's last one, whose head row stays locked until the transaction ends.

        Raises the driver's `IntegrityError` when the key is taken, or the session was begun at the same time;
        `ValueError` as `chain.seal` and `views.writes` do; `Unavailable` for a head that was not written here.
        """
        sequence, previous_hash = self._lock_head(cursor, entry.session)
        record = chain.sealed_record(entry, sequence + 1, previous_hash)
        changed = views.writes(entry)
        end = {"sequence": sequence + 1, "hash": record["hash"]}
        if sequence:
            moved = {"to_sequence": sequence + 1, "to_hash": record["hash"], "of_session": entry.session}
            self._write(cursor, _FORWARD, moved)
        else:
            self._write(cursor, _BEGIN, {"session": entry.session, **end})
        self._write(cursor, _ADD, record)
        for statement, values in changed:
            cursor.execute(self._sql(statement), values)
        return TrailRef(event_id=str(record["event_id"]), sequence=sequence + 1, hash=str(record["hash"]))

    def _lock_head(self, cursor: Cursor, session: str) -> tuple[int, str]:
        cursor.execute(self._sql(_HEAD), {"of_session": session})
        sequence, last_hash = cursor.fetchone() or (0, chain.GENESIS)
        if type(sequence) is not int or not isinstance(last_hash, str):
            raise unreadable(self._place, f"the head row of session {session!r} is ({sequence!r}, {last_hash!r})")
        return sequence, last_hash

    def _write(self, cursor: Cursor, statement: ClauseElement, values: Mapping[str, Any]) -> None:
        cursor.execute(self._sql(statement), values)
        if cursor.rowcount != 1:  # a rule or trigger of somebody else's lets it vanish
            raise unreadable(self._place, "it took a row and kept none")
