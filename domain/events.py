"""The trail's rows: who did what to which todo, what it changed. They are stored and chained by `adapters/trail`.

Source: seed `auditor` 6, seed `guardrails` 1, seed `authority` 8, DESIGN 5.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Literal

from pydantic import JsonValue

from domain.base import Message

Role = Literal["worker", "auditor", "harness", "human", "system", "unattributed"]
Action = Literal[
    "verification_started",
    "snapshot_frozen",
    "scope_assessed",
    "environment_ready",
    "environment_set_up",
    "check_started",
    "check_completed",
    "base_compared",
    "audit_completed",
    "verification_cancelled",
]

LABELS: dict[Action, tuple[str, tuple[str, ...]]] = {
    "verification_started": ("VERIFY_START", ("attempt", "items")),
    "snapshot_frozen": ("SNAPSHOT", ("head", "base", "error")),
    "scope_assessed": ("SCOPE", ("tree", "changed", "restored", "dropped", "violations")),
    "environment_ready": ("ENVIRONMENT", ("image", "error")),
    "environment_set_up": ("SETUP", ("image", "error")),
    "check_started": ("CHECK_START", ("check",)),
    "check_completed": ("CHECK", ("check", "outcome", "code", "exit_code", "duration_ms")),
    "base_compared": ("BASE_RUN", ("check", "outcome", "base_outcome", "code")),
    "audit_completed": ("TODO_VERIFY", ("result", "outcome", "criteria", "reasons")),
    "verification_cancelled": ("VERIFY_CANCEL", ("reason",)),
}
"""For each action, the word in `log show` (seed `guardrails` "Audit Log Example") and the payload fields after it."""


_SPECIAL = frozenset(" ,=[]'\"\\")
"""What separates and quotes in a line, and is quoted itself."""


class Actor(Message):
    """Who acted. `identity` is a name for people; a role says what it may do."""

    role: Role
    identity: str = ""

    def __str__(self) -> str:
        return f"{self.role}:{self.identity}" if self.identity else self.role


HARNESS = Actor(role="harness")
SYSTEM = Actor(role="system")


class TrailEntry(Message):
    """One event as its writer knows it. (`workflow_id`, `ordinal`) is its key: sent twice it is stored once."""

    workflow_id: str
    ordinal: int
    session: str
    todo_id: str
    attempt: int = 0
    actor: Actor
    action: Action
    before: dict[str, JsonValue] = {}
    after: dict[str, JsonValue] = {}
    payload: dict[str, JsonValue] = {}
    tool_call_id: str = ""
    correlation_id: str = ""
    caused_by: str = ""
    timestamp: datetime


class TrailRow(TrailEntry):
    """One event as it is stored. `sequence` counts from 1 in its session, in commit order; `hash` covers the rest."""

    event_id: str
    sequence: int
    previous_hash: str
    hash: str


class TrailRef(Message):
    """Where an event was stored."""

    event_id: str
    sequence: int
    hash: str


class TrailFault(Message):
    """Something `log verify` found: the row, by session and sequence (0: the whole session), and what is wrong."""

    session: str
    sequence: int
    what: str


class TrailCheck(Message):
    """What `log verify` came to. `unproven`: sessions whose end no head outside the database confirms."""

    rows: int
    sessions: int
    faults: tuple[TrailFault, ...] = ()
    unproven: tuple[str, ...] = ()


def line(row: TrailRow) -> str:
    """The row as one line for people, in the shape of seed `guardrails` "Audit Log Example".

    Nothing in it breaks the line, steers a terminal or passes for another field: such values are quoted.
    """
    label, fields = LABELS[row.action]
    shown = [f"{name}={plain(row.payload[name])}" for name in fields if row.payload.get(name) not in (None, "", [])]
    when = row.timestamp.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return " ".join([when, label, f"id={plain(row.todo_id)}", *shown, f"actor={plain(str(row.actor))}"])


def plain(value: JsonValue) -> str:
    """`value` on one line, for a terminal: as it is where that is safe, quoted and escaped where not."""
    if isinstance(value, list):
        return "[" + ", ".join(plain(item) for item in value) + "]"
    text = value if isinstance(value, str) else json.dumps(value)
    return text if all(c.isprintable() and c not in _SPECIAL for c in text) else repr(text)
