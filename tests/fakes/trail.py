"""A trail in memory: the same chain, the same judgement and the same errors as the one in a database."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from adapters.trail import chain, proof, views
from adapters.trail.heads import Head
from domain.errors import Unavailable
from domain.events import EVERYTHING, Action, Actor, RowFilter, TrailCheck, TrailEntry, TrailRef, TrailRow
from domain.read_model import TABLES, Difference, State, Table, View, differences, fold


@dataclass
class Memory:
    """What outlives the trail's object, as a file would. While `trouble` is set, everything raises it."""

    store_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    rows: dict[tuple[str, int], TrailRow] = field(default_factory=dict)
    recorded: list[Head] = field(default_factory=list)
    state: State = field(default_factory=State)
    trouble: Unavailable | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)


class MemoryTrail:
    """`domain.ports.Trail` in a dictionary by workflow id and ordinal."""

    def __init__(self, memory: Memory | None = None) -> None:
        self.memory = memory or Memory()

    def store_id(self) -> str:
        self._trouble()
        return self.memory.store_id

    def append(self, entry: TrailEntry) -> TrailRef:
        self._trouble()
        key = (entry.workflow_id, entry.ordinal)
        with self.memory.lock:
            stored = self.memory.rows.get(key)
            if stored and not chain.same_body(entry, stored):
                raise ValueError(f"event {entry.ordinal} of {entry.workflow_id!r} is stored with another body")
            row = stored or self._add(entry)
            head = Head(store=self.memory.store_id, session=row.session, sequence=row.sequence, hash=row.hash)
            self.memory.recorded.append(head)
        return chain.ref(row)

    def rows(self, wanted: RowFilter = EVERYTHING) -> Iterator[TrailRow]:
        self._trouble()
        with self.memory.lock:
            found = self._sorted()
        yield from (row for row in found if _is_wanted(row, wanted))

    def last_attempt(self, session: str, todo: str) -> int:
        return max((row.attempt for row in self.rows(RowFilter(session=session, todo=todo))), default=0)

    def verify(self) -> TrailCheck:
        self._trouble()
        with self.memory.lock:
            rows, recorded = self._sorted(), list(self.memory.recorded)
        ends = {row.session: (row.session, row.sequence, row.hash) for row in rows}
        records = [chain.to_record(row) for row in rows]
        records.sort(key=lambda record: (record["session"], -int(record["sequence"])))
        return proof.judge(records, list(ends.values()), recorded, ())

    def state(self, session: str | None = None, todo: str | None = None, tables: Collection[Table] = TABLES) -> State:
        self._trouble()
        kept = self.memory.state
        found: dict[Table, tuple[View, ...]] = {
            "sessions": tuple(view for view in kept.sessions if session in (None, view.session)),
            "todos": tuple(v for v in kept.todos if session in (None, v.session) and todo in (None, v.todo)),
            "rounds": tuple(v for v in kept.rounds if session in (None, v.session) and todo in (None, v.todo)),
        }
        return State.model_validate({name: views for name, views in found.items() if name in tables})

    def rebuild(self, repair: bool = True) -> tuple[Difference, ...]:
        self._trouble()
        with self.memory.lock:
            derived = fold(self._sorted())
            found = differences(self.memory.state, derived)
            if repair:
                self.memory.state = derived
        return found

    def _add(self, entry: TrailEntry) -> TrailRow:
        before = [row for row in self._sorted() if row.session == entry.session]
        row = chain.seal(entry, len(before) + 1, before[-1].hash if before else chain.GENESIS)
        views.writes(entry)
        self.memory.rows[entry.workflow_id, entry.ordinal] = row
        self.memory.state = fold(self._sorted())
        return row

    def _sorted(self) -> list[TrailRow]:
        return sorted(self.memory.rows.values(), key=lambda row: (row.session, row.sequence))

    def _trouble(self) -> None:
        if self.memory.trouble:
            raise self.memory.trouble


NOON = datetime(2026, 1, 15, 12, tzinfo=UTC)


def local_entry(
    todo: str, ordinal: int, action: Action, actor: Actor, attempt: int, payload: dict[str, Any], **more: Any
) -> TrailEntry:
    """The row `ordinal` of `local/TODO`, so many seconds after `NOON`."""
    return TrailEntry(
        workflow_id="w",
        ordinal=ordinal,
        session="local",
        todo_id=todo,
        attempt=attempt,
        actor=actor,
        action=action,
        payload=payload,
        timestamp=NOON + timedelta(seconds=ordinal),
        **more,
    )


def _is_wanted(row: TrailRow, wanted: RowFilter) -> bool:
    return (
        wanted.session in (None, row.session)
        and wanted.todo in (None, row.todo_id)
        and wanted.attempt in (None, row.attempt)
        and (not wanted.actions or row.action in wanted.actions)
        and (not wanted.roles or row.actor.role in wanted.roles)
        and (wanted.since is None or row.timestamp >= wanted.since)
        and (wanted.until is None or row.timestamp < wanted.until)
        and row.sequence > wanted.after.get(row.session, 0)
    )
