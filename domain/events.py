"""The trail's rows: who did what to which todo, what it changed. They are stored and chained by `adapters/trail`.

What each action means, who may do it and what its payload holds is in `event_kinds`.

Source: seed `auditor` 6, seed `guardrails` 1, seed `authority` 8, DESIGN 5.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import JsonValue

from domain.base import Message

Role = Literal["worker", "auditor", "harness", "human", "system", "unattributed"]
Action = Literal[
    "session_created",
    "paused",
    "resumed",
    "stopped",
    "session_timed_out",
    "session_completed",
    "todo_created",
    "todo_started",
    "evidence_added",
    "todo_claimed",
    "audit_started",
    "follow_up_asked",
    "follow_up_answered",
    "follow_up_expired",
    "todo_blocked",
    "todo_unblocked",
    "approved",
    "changes_requested",
    "escalated",
    "failed",
    "human_override",
    "returned",
    "edited",
    "noted",
    "reordered",
    "deleted",
    "reopened",
    "flagged",
    "refused",
    "worker_started",
    "worker_ended",
    "round_ignored",
    "verification_started",
    "snapshot_frozen",
    "scope_assessed",
    "environment_ready",
    "environment_set_up",
    "check_started",
    "check_completed",
    "base_compared",
    "probe_completed",
    "claim_contradicted",
    "spec_created",
    "tests_generated",
    "check_rejected",
    "criterion_audited",
    "criterion_judged",
    "role_pass_completed",
    "tool_refused",
    "scope_violation_detected",
    "retry_context_assembled",
    "audit_completed",
    "verification_cancelled",
    "fix_loop_started",
    "fix_iteration_started",
    "fix_iteration_completed",
    "patch_applied",
    "patch_offered",
    "fix_loop_ended",
    "reminded",
    "notified",
    "notification_failed",
    "evidence_pruned",
    "order_trusted",
    "order_trust_revoked",
]


class Actor(Message):
    """Who acted. `identity` is a name for people; a role says what it may do."""

    role: Role
    identity: str = ""

    def __str__(self) -> str:
        return f"{self.role}:{self.identity}" if self.identity else self.role


AUDITOR = Actor(role="auditor")
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
    """One event as it is stored. `sequence` counts from 1 in its session, in commit order; `hash` covers the rest.

    A newer version may have stored an action that this one does not know: it is read, shown and checked all the same.
    """

    action: str  # type: ignore[assignment] # wider than what may be appended; rows are frozen, so nothing is assigned
    event_id: str
    sequence: int
    previous_hash: str
    hash: str


class TrailRef(Message):
    """Where an event was stored."""

    event_id: str
    sequence: int
    hash: str


class RowFilter(Message):
    """Which rows are wanted: those that are all of what is set. Empty: all.

    `since` is included and `until` not; `after`: for each session named, only rows with a higher sequence.
    """

    session: str | None = None
    todo: str | None = None
    attempt: int | None = None
    actions: tuple[Action, ...] = ()
    roles: tuple[Role, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    after: dict[str, int] = {}


EVERYTHING = RowFilter()


class TrailFault(Message):
    """Something `log verify` found: the row, by session and sequence (0: the whole session), and what is wrong."""

    session: str
    sequence: int
    what: str


class TrailCheck(Message):
    """What `log verify` came to. `unproven`: sessions whose end no head outside the database confirms.

    `signatures` were checked again, `unchecked` could not be.
    """

    rows: int
    sessions: int
    faults: tuple[TrailFault, ...] = ()
    unproven: tuple[str, ...] = ()
    signatures: int = 0
    unchecked: int = 0
