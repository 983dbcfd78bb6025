"""What lists and pages read: sessions, todos and rounds as the trail's rows leave them. Pure; it stores nothing.

Source: DESIGN 5 "read model". A row says itself what it changes (`changes`), whatever stood there before, so that the
trail's append can write it in its own transaction without reading, and `fold` builds the same again from the rows
alone. What a row does not change is not in it: checks that start and end change no table.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Literal, get_args

from pydantic import JsonValue

from domain.base import Message
from domain.events import TrailEntry
from domain.order import title_of
from domain.status import ReviewStatus, RoundStatus, SessionStatus, TodoStatus

Table = Literal["sessions", "todos", "rounds"]


class SessionView(Message):
    """One session, by `session`. Times are UTC; `ended_at` is None while it can go on, `deadline` where there is none.

    `todos`: how many were ever created in it. `paused_for`: the todo whose escalation paused it, or "human". `version`
    as in `domain.session.Session`.
    """

    session: str
    status: SessionStatus = SessionStatus.RUNNING
    created_at: datetime
    ended_at: datetime | None = None
    deadline: datetime | None = None
    todos: int = 0
    paused_for: str = ""
    created_by: str = ""
    version: int = 1


class TodoView(Message):
    """One todo, by (`session`, `todo`). `attempt`: of its last round; `trigger`: why a human is needed, if one is.

    `question` is open; `deadline`: when the todo's time is over, None while it stands still with `time_left` seconds.
    `feedback`: what a human or the last round said; `retry_context`, `claim` and `order_digest` name blobs, `snapshot`
    the tree claimed last, `evidence` what came with it or since. `outcome` and `reasons`: of the last round that came
    to one. `waiting_since`: when it came to need a human, or its question to be open. `flag`: why to look at it again.
    Of a todo whose rounds stand alone there is no order, and no more than its rounds say.
    """

    session: str
    todo: str
    status: TodoStatus = TodoStatus.PENDING
    review_status: ReviewStatus = ReviewStatus.NOT_REQUESTED
    title: str = ""
    content: str = ""
    domain: str = ""
    parent: str = ""
    depends_on: tuple[str, ...] = ()
    order_index: int = 0
    version: int = 1
    attempt: int = 0
    audits: int = 0
    audit_cap: int = 0
    revisions: int = 0
    revision_cap: int = 0
    granted: int = 0
    trigger: str = ""
    question: str = ""
    deadline: datetime | None = None
    time_left: float = 0.0
    flag: str = ""
    feedback: str = ""
    retry_context: str = ""
    order_digest: str = ""
    claim: str = ""
    snapshot: str = ""
    evidence: tuple[str, ...] = ()
    outcome: str = ""
    reasons: tuple[str, ...] = ()
    created_by: str = ""
    created_at: datetime
    updated_at: datetime
    waiting_since: datetime | None = None


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
TABLES: tuple[Table, ...] = get_args(Table)
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
    """What one row does to one view: `values` are set, `initial` only where there is no such view yet.

    `counted`: a number of the view that grows by one.
    """

    table: Table
    key: tuple[str | int, ...]
    counted: str = ""
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
_OF_THE_ROW = frozenset({"session", "todo", "outcome", "reasons", "created_by", "created_at", "updated_at"})
_SHOWN = frozenset(TodoView.model_fields) - _OF_THE_ROW - {"waiting_since"}
"""What of a todo a row's `after` may say, by the same names (`domain.acts.step.shown`)."""

_TODO_FIELDS: dict[str, dict[str, str]] = {
    "todo_created": {
        **{name: name for name in ("content", "title", "domain", "parent", "depends_on")},
        "order": "order_digest",
    },
    "todo_claimed": {"claim": "claim", "snapshot": "snapshot"},
    "verification_started": {"title": "title", "domain": "domain"},
    "audit_completed": {"outcome": "outcome", "reasons": "reasons"},
}
"""For each event of a todo that says more in its payload: which field of it becomes which of the view."""

_STANDS_FOR_ITS_TODO = frozenset({"verification_started", "audit_completed", "verification_cancelled"})
"""A round that stands alone moves its todo itself, and says its trigger in the payload."""

_FREE_TEXT = frozenset({"content", "title", "question", "feedback", "flag"})
_NEEDS_HUMAN = frozenset({TodoStatus.NEEDS_HUMAN, TodoStatus.BLOCKED, TodoStatus.FAILED})
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
            if change.counted:
                fields[change.counted] = (getattr(stood, change.counted) if stood else 0) + 1
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
    values: dict[str, JsonValue | datetime] = {}
    if not entry.todo_id and "status" in entry.after:
        status = entry.after["status"]
        values = {"status": status, "ended_at": entry.timestamp if str(status) in _SESSION_ENDS else None}
        if status != SessionStatus.PAUSED:
            values["paused_for"] = ""
        elif entry.action == "paused":
            values["paused_for"] = entry.payload.get("escalation") or "human"
    if not entry.todo_id and "deadline" in entry.after:
        values["deadline"] = entry.after["deadline"]
    elif entry.action == "session_created":
        values["deadline"] = _later(entry.timestamp, entry.payload.get("timeout"))
    if not entry.todo_id and "version" in entry.after:
        values["version"] = entry.after["version"]
    if not values and entry.action not in _OPENS_A_SESSION:
        return None
    initial: dict[str, JsonValue | datetime] = {"created_at": entry.timestamp, "created_by": str(entry.actor)}
    counted = "todos" if entry.action == "todo_created" else ""
    return Change(table="sessions", key=(entry.session,), initial=initial, values=values, counted=counted)


def _later(moment: datetime, seconds: JsonValue) -> datetime | None:
    """None for what is no duration, and for one that ends after the calendar does."""
    if not isinstance(seconds, int | float):
        return None
    try:
        return moment.astimezone(UTC) + timedelta(seconds=seconds)
    except OverflowError:
        return None


def _todo_change(entry: TrailEntry) -> Change | None:
    managed = entry.action == "audit_completed" and not entry.after
    if not entry.todo_id or not (entry.after or managed):
        return None
    values: dict[str, JsonValue | datetime] = {"updated_at": entry.timestamp}
    fields = _TODO_FIELDS.get(entry.action, {})
    values |= {field: entry.payload[name] for name, field in fields.items() if name in entry.payload}
    if not managed:
        values |= _trigger(entry) | _attempt(entry) | _waiting(entry)
        values |= {name: value for name, value in entry.after.items() if name in _SHOWN}
    for name in _FREE_TEXT & values.keys():  # a database may not hold a NUL, and whoever wrote the text may have
        values[name] = str(values[name]).replace("\0", "\N{REPLACEMENT CHARACTER}")
    if "content" in values and "title" not in values:
        values["title"] = title_of(str(values["content"]))
    initial: dict[str, JsonValue | datetime] = {"created_at": entry.timestamp, "created_by": str(entry.actor)}
    return Change(table="todos", key=(entry.session, entry.todo_id), initial=initial, values=values)


def _attempt(entry: TrailEntry) -> dict[str, JsonValue | datetime]:
    """A round that ended too late is none that the todo is at."""
    late = entry.action == "round_ignored"
    return {"attempt": entry.attempt} if entry.attempt and not late else {}


def _trigger(entry: TrailEntry) -> dict[str, JsonValue | datetime]:
    """What `after` says of it is stronger; a row that says nothing leaves it as it was."""
    if "trigger" in entry.payload or entry.action in _STANDS_FOR_ITS_TODO:
        return {"trigger": entry.payload.get("trigger", "")}
    return {}


def _waiting(entry: TrailEntry) -> dict[str, JsonValue | datetime]:
    """A wait begins with the row that brings the status or the question, and ends with one that brings another."""
    status, asked = str(entry.after.get("status", "")), entry.after.get("question")
    if status != str(entry.before.get("status", "")):
        return {"waiting_since": entry.timestamp if asked or status in _NEEDS_HUMAN else None}
    if asked is None or status in _NEEDS_HUMAN or (asked and asked == entry.before.get("question")):
        return {}
    return {"waiting_since": entry.timestamp if asked else None}


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
