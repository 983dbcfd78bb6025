"""What lists and pages read: sessions, todos and rounds as the trail's rows leave them. Pure; it stores nothing.

Source: DESIGN 5 "read model". A row says itself what it changes (`changes`), whatever stood there before, so that the
trail's append can write it in its own transaction without reading, and `fold` builds the same again from the rows
alone. What a row does not change is not in it: checks that start and end change no table.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Literal

from pydantic import JsonValue

from domain.base import Message
from domain.events import TrailEntry
from domain.todo import ReviewStatus, RoundStatus, SessionStatus, TodoStatus

Table = Literal["sessions", "todos", "rounds"]


class SessionView(Message):
    """One session, by `session`. Times are UTC; `ended_at` is None while it can go on."""

    session: str
    status: SessionStatus = SessionStatus.RUNNING
    created_at: datetime
    ended_at: datetime | None = None


class TodoView(Message):
    """One todo, by (`session`, `todo`). `attempt`: of its last round; `trigger`: why a human is needed, if one is."""

    session: str
    todo: str
    status: TodoStatus = TodoStatus.PENDING
    review_status: ReviewStatus = ReviewStatus.NOT_REQUESTED
    title: str = ""
    domain: str = ""
    parent: str = ""
    attempt: int = 0
    trigger: str = ""
    created_at: datetime
    updated_at: datetime


class RoundView(Message):
    """One round, by (`session`, `todo`, `attempt`). Trees, order, record and report are digests of blobs."""

    session: str
    todo: str
    attempt: int
    workflow_id: str
    status: RoundStatus = RoundStatus.RUNNING
    order: str = ""
    head: str = ""
    base: str = ""
    tree: str = ""
    image: str = ""
    verdict: str = ""
    outcome: str = ""
    trigger: str = ""
    reasons: tuple[str, ...] = ()
    record: str = ""
    report: str = ""
    started_at: datetime
    ended_at: datetime | None = None


View = SessionView | TodoView | RoundView
VIEWS: dict[Table, type[SessionView] | type[TodoView] | type[RoundView]] = {
    "sessions": SessionView,
    "todos": TodoView,
    "rounds": RoundView,
}
KEYS: dict[Table, tuple[str, ...]] = {
    "sessions": ("session",),
    "todos": ("session", "todo"),
    "rounds": ("session", "todo", "attempt"),
}
"""The fields of a view that name it."""


class Change(Message):
    """What one row does to one view: `values` are set, `initial` only where there is no such view yet."""

    table: Table
    key: tuple[str | int, ...]
    initial: dict[str, JsonValue | datetime] = {}
    values: dict[str, JsonValue | datetime] = {}


class State(Message):
    """Everything the read model holds, each by its key and sorted by it."""

    sessions: tuple[SessionView, ...] = ()
    todos: tuple[TodoView, ...] = ()
    rounds: tuple[RoundView, ...] = ()


class Difference(Message):
    """One view that is not what the rows make of it: `stored` or `derived` is None where there is none."""

    table: Table
    key: tuple[str | int, ...]
    stored: dict[str, JsonValue] | None
    derived: dict[str, JsonValue] | None


_OPENS_A_SESSION = frozenset({"session_created", "todo_created", "verification_started"})
_DESCRIBES_A_TODO = {"title": "title", "domain": "domain", "parent": "parent"}
_ROUND_FIELDS: dict[str, dict[str, str]] = {
    "verification_started": {"order": "order"},
    "snapshot_frozen": {"head": "head", "base": "base"},
    "scope_assessed": {"tree": "tree"},
    "environment_ready": {"id": "image"},
    "environment_set_up": {"id": "image"},
    "audit_completed": {
        "result": "verdict",
        "outcome": "outcome",
        "trigger": "trigger",
        "reasons": "reasons",
        "record": "record",
        "report": "report",
    },
    "verification_cancelled": {},
}
"""For each event of a round that the read model shows: which field of its payload becomes which of the view."""

_ROUND_ENDS = {"audit_completed": RoundStatus.DECIDED, "verification_cancelled": RoundStatus.CANCELLED}
_SESSION_ENDS = frozenset({SessionStatus.STOPPED, SessionStatus.TIMED_OUT, SessionStatus.COMPLETED})


def standing(status: TodoStatus, review_status: ReviewStatus) -> dict[str, JsonValue]:
    """A row's `before` or `after` that says where a todo stands."""
    return {"status": status.value, "review_status": review_status.value}


def changes(entry: TrailEntry) -> tuple[Change, ...]:
    """What storing `entry` changes, at most one change for each table."""
    found = (_session_change(entry), _todo_change(entry), _round_change(entry))
    return tuple(change for change in found if change is not None)


def fold(entries: Iterable[TrailEntry]) -> State:
    """The read model as `entries`, in their order, leave it."""
    views: dict[Table, dict[tuple[str | int, ...], View]] = {"sessions": {}, "todos": {}, "rounds": {}}
    for entry in entries:
        for change in changes(entry):
            table = views[change.table]
            stood = table.get(change.key)
            before = stood.model_dump() if stood else {**dict(zip(KEYS[change.table], change.key, strict=True))}
            fields = {**({} if stood else change.initial), **change.values}
            table[change.key] = VIEWS[change.table].model_validate({**before, **fields})
    return State.model_validate({name: [table[key] for key in sorted(table)] for name, table in views.items()})


def differences(stored: State, derived: State) -> tuple[Difference, ...]:
    """The views in which two states differ."""
    found = []
    for table, key in KEYS.items():
        sides = [{_key(view, key): view for view in getattr(state, table)} for state in (stored, derived)]
        for name in sorted({*sides[0], *sides[1]}):
            pair = [side.get(name) for side in sides]
            if pair[0] != pair[1]:
                shown = [view.model_dump(mode="json") if view else None for view in pair]
                found.append(Difference(table=table, key=name, stored=shown[0], derived=shown[1]))
    return tuple(found)


def _key(view: View, fields: tuple[str, ...]) -> tuple[str | int, ...]:
    return tuple(getattr(view, field) for field in fields)


def _session_change(entry: TrailEntry) -> Change | None:
    initial: dict[str, JsonValue | datetime] = {"created_at": entry.timestamp}
    if entry.todo_id == "" and "status" in entry.after:
        status = entry.after["status"]
        ended_at = entry.timestamp if status in _SESSION_ENDS else None
        values = {"status": status, "ended_at": ended_at}
        return Change(table="sessions", key=(entry.session,), initial=initial, values=values)
    if entry.action in _OPENS_A_SESSION:
        return Change(table="sessions", key=(entry.session,), initial=initial)
    return None


def _todo_change(entry: TrailEntry) -> Change | None:
    if not entry.todo_id or not entry.after:
        return None
    values: dict[str, JsonValue | datetime] = {"updated_at": entry.timestamp}
    values |= {name: entry.after[name] for name in ("status", "review_status") if name in entry.after}
    values |= {field: entry.payload[name] for name, field in _DESCRIBES_A_TODO.items() if name in entry.payload}
    values["trigger"] = entry.payload.get("trigger", "")
    if entry.attempt:
        values["attempt"] = entry.attempt
    initial: dict[str, JsonValue | datetime] = {"created_at": entry.timestamp}
    return Change(table="todos", key=(entry.session, entry.todo_id), initial=initial, values=values)


def _round_change(entry: TrailEntry) -> Change | None:
    fields = _ROUND_FIELDS.get(entry.action)
    if fields is None or not entry.attempt:
        return None
    values: dict[str, JsonValue | datetime] = {
        field: entry.payload[name] for name, field in fields.items() if name in entry.payload
    }
    if entry.action in _ROUND_ENDS:
        values |= {"status": _ROUND_ENDS[entry.action], "ended_at": entry.timestamp}
    initial: dict[str, JsonValue | datetime] = {"workflow_id": entry.workflow_id, "started_at": entry.timestamp}
    return Change(table="rounds", key=(entry.session, entry.todo_id, entry.attempt), initial=initial, values=values)
