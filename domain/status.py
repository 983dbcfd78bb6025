"""Where a todo, a session and a round can stand: the names, and nothing that moves them (`lifecycle` does).

Source: DESIGN 3; seed `auditor` 2.2; CONTRACT "The report".
"""

from __future__ import annotations

from enum import StrEnum

from domain.decision import RoundOutcome


class TodoStatus(StrEnum):
    """A todo's status. Live is all but verified, failed and cancelled."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    CLAIMED = "claimed"
    VERIFIED = "verified"
    NEEDS_HUMAN = "needs_human"
    BLOCKED = "blocked"
    FAILED = "failed"
    CANCELLED = "cancelled"


LIVE = frozenset(TodoStatus) - {TodoStatus.VERIFIED, TodoStatus.FAILED, TodoStatus.CANCELLED}


class ReviewStatus(StrEnum):
    """Where the review of a todo's claim stands."""

    NOT_REQUESTED = "not_requested"
    AUDITING = "auditing"
    APPROVED = "approved"
    CHANGES_REQUESTED = "changes_requested"
    OVERRIDDEN = "overridden"
    ESCALATED = "escalated"


class SessionStatus(StrEnum):
    """Where a session stands."""

    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"
    TIMED_OUT = "timed_out"
    COMPLETED = "completed"


class RoundStatus(StrEnum):
    """Where a round stands: decided is any outcome."""

    RUNNING = "running"
    DECIDED = "decided"
    CANCELLED = "cancelled"


AFTER_A_ROUND: dict[RoundOutcome, tuple[TodoStatus, ReviewStatus]] = {
    RoundOutcome.VERIFIED: (TodoStatus.VERIFIED, ReviewStatus.APPROVED),
    RoundOutcome.CHANGES_REQUESTED: (TodoStatus.IN_PROGRESS, ReviewStatus.CHANGES_REQUESTED),
    RoundOutcome.FAILED: (TodoStatus.FAILED, ReviewStatus.ESCALATED),
    RoundOutcome.NEEDS_HUMAN: (TodoStatus.NEEDS_HUMAN, ReviewStatus.ESCALATED),
    RoundOutcome.INCONCLUSIVE: (TodoStatus.CLAIMED, ReviewStatus.NOT_REQUESTED),
}
"""Where each outcome leaves a claimed todo, DESIGN 3 "round completed"; an inconclusive one leaves it as it is."""
