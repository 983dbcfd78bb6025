"""Keeps the ledger in the trail's database: a row for each time that a request was reserved. It removes none.

A row is `open` while its request is under way, `lost` when the same request is reserved anew before it was settled, and
`settled` by what the provider said. All count against the caps: an open or lost row by its estimate. Whoever reserves
has the session to itself until the row is committed, so that two processes together pass no cap either. Which cap is
passed, `domain.roles.caps` says.
"""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import Connection, Row, case, func, insert, select, text, update

from adapters.trail.failures import told
from adapters.trail.schema import LEDGER
from adapters.trail.sql import BUSY_SECONDS, database_of, fill
from domain.roles.caps import Used, refusal
from domain.roles.spending import CapRefusal, CapsInMicros, Reservation, Settled, Spent

OPEN, LOST, SETTLED = "open", "lost", "settled"

_LEDGER: Final = 0x6C656467
"""The first half of PostgreSQL's advisory locks of ours; the second is the session's. Two that meet only wait."""
_TURN: Final = text("SELECT pg_advisory_xact_lock(CAST(:ledger AS integer), hashtext(:session))")
_FRESH: Final = text("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
"""Each statement sees what was committed before it, whatever a server is set to: also what was waited for."""
_IS_SETTLED: Final = LEDGER.c.state == SETTLED


class SqlLedger:
    """`domain.ports.Ledger` in the database of `url`, as `SqlTrail` is: tables that are missing are made.

    A request that was settled with no cost and no tokens, because its provider refused it, may be reserved again under
    its key. Raises `ValueError` for another kind of database and for negative amounts, `Unavailable`
    (store_unavailable, disk_full).
    """

    def __init__(self, url: str, busy_timeout: float = BUSY_SECONDS, owner_url: str | None = None) -> None:
        self._database = database_of(url, owner_url, busy_timeout)
        self._place = self._database.place
        with told(self._place):
            try:
                self._database.prepare(fill)
            except BaseException:
                self.close()
                raise

    def reserve(self, wanted: Reservation, caps: CapsInMicros) -> CapRefusal | None:
        """Reserve `wanted.micros`, or say which cap they would pass; nothing for a key that is settled and charged.

        A row of the same key that is open is lost from now on, whatever comes of this.
        """
        _demand_amounts(wanted.micros)
        with told(self._place), self._database.writing() as connection:
            _take_turn(connection, wanted.session)
            newest = _newest(connection, wanted.key)
            if newest is not None and newest.state == SETTLED and _is_charged(newest):
                return None
            if newest is not None and newest.state == OPEN:
                connection.execute(update(LEDGER).where(*_is(newest)).values(state=LOST))
            refused = refusal(wanted, caps, _used(connection, wanted))
            if refused is None:
                connection.execute(insert(LEDGER), _row(wanted, newest.number + 1 if newest else 1))
            return refused

    def settle(self, settled: Settled) -> None:
        """Put what the request came to in place of its estimate, more or less than that; twice is once.

        Nothing for a key that was never reserved here: a ledger that was restored from a backup may be older than
        what evidence remembers of a request, and what was done since is not in it.
        """
        amounts = settled.model_dump(exclude={"key"})
        _demand_amounts(*amounts.values())
        with told(self._place), self._database.writing() as connection:
            newest = _newest(connection, settled.key)
            if newest is not None and newest.state != SETTLED:
                connection.execute(update(LEDGER).where(*_is(newest)).values(state=SETTLED, **amounts))

    def spent(self, session: str, todo: str = "", attempt: int = 0, role: str = "") -> Spent:
        """The sum over what matches all that is named. `micros` is of settled requests, `lost` of all others."""
        named = ((LEDGER.c.todo, todo), (LEDGER.c.attempt, attempt), (LEDGER.c.role, role))
        query = select(
            func.count(),
            _sum(LEDGER.c.input_tokens),
            _sum(LEDGER.c.output_tokens),
            _sum(case((_IS_SETTLED, LEDGER.c.micros), else_=0)),
            _sum(case((_IS_SETTLED, 0), else_=LEDGER.c.micros)),
        ).where(LEDGER.c.session == session, *(column == value for column, value in named if value))
        with told(self._place), self._database.reading() as connection:
            requests, input_tokens, output_tokens, micros, lost = map(int, connection.execute(query).one())
        return Spent(
            requests=requests, input_tokens=input_tokens, output_tokens=output_tokens, micros=micros, lost=lost
        )

    def close(self) -> None:
        """Close the connections that are open."""
        self._database.close()


def _take_turn(connection: Connection, session: str) -> None:
    """Until the transaction ends, nobody else reserves in the session. SQLite has one writer at a time anyway."""
    if connection.dialect.name == "postgresql":
        connection.execute(_FRESH)
        connection.execute(_TURN, {"ledger": _LEDGER, "session": session})


def _newest(connection: Connection, key: str) -> Row[Any] | None:
    """The last row of a request, which nobody else changes until the transaction ends."""
    return connection.execute(
        select(LEDGER).where(LEDGER.c.key == key).order_by(LEDGER.c.number.desc()).limit(1).with_for_update()
    ).first()


def _is(row: Row[Any]) -> tuple[Any, ...]:
    return LEDGER.c.key == row.key, LEDGER.c.number == row.number


def _is_charged(row: Row[Any]) -> bool:
    return bool(row.micros or row.input_tokens or row.output_tokens)


def _row(wanted: Reservation, number: int) -> dict[str, Any]:
    amounts = {"estimate": wanted.micros, "input_tokens": 0, "output_tokens": 0}
    return {**wanted.model_dump(), **amounts, "number": number, "state": OPEN}


def _used(connection: Connection, wanted: Reservation) -> Used:
    """What counts against each cap: `micros` is the estimate until a row is settled."""
    of_todo = LEDGER.c.todo == wanted.todo
    of_role = of_todo & (LEDGER.c.attempt == wanted.attempt) & (LEDGER.c.role == wanted.role)
    query = select(
        _sum(case((of_role, LEDGER.c.micros), else_=0)),
        _sum(case((of_todo, LEDGER.c.micros), else_=0)),
        _sum(LEDGER.c.micros),
    ).where(LEDGER.c.session == wanted.session)
    role, todo, session = map(int, connection.execute(query).one())
    return Used(role=role, todo=todo, session=session)


def _sum(what: Any) -> Any:
    return func.coalesce(func.sum(what), 0)


def _demand_amounts(*amounts: int) -> None:
    if min(amounts) < 0:
        raise ValueError(f"an amount is negative: {amounts}")
