"""What keeps a todo from going round for ever: its clock, its caps, the escalations. It starts no timer.

Source: DESIGN 3 "Caps", "Timers" and "Escalation triggers", seed `auditor` 4. All durations are seconds.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal

from domain.base import Message
from domain.order import Order

Trigger = Literal[
    "audit_cap_exceeded",
    "revision_cap_exceeded",
    "auditor_blocked",
    "timeout",
    "no_progress",
    "hard_fail",
    "checks_could_not_run",
    "nothing_to_check",
    "not_judged",
    "cost_cap_exceeded",
    "high_stakes",
    "could_not_apply",
    "system_error",
]


class Clock(Message):
    """Time that is used up only while it runs: `spent` until `since`, and on from there; None: it stands still."""

    limit: float
    spent: float = 0.0
    since: datetime | None = None

    def used(self, now: datetime) -> float:
        """Seconds used until `now`."""
        return self.spent + ((now - self.since).total_seconds() if self.since else 0.0)

    def left(self, now: datetime) -> float:
        """Seconds left at `now`, 0 when it is over."""
        return max(0.0, self.limit - self.used(now))

    def run(self, now: datetime) -> Clock:
        """The same, running from `now` on unless it does already."""
        return self if self.since else self.model_copy(update={"since": now})

    def stop(self, now: datetime) -> Clock:
        """The same, standing still from `now` on."""
        return self.model_copy(update={"spent": self.used(now), "since": None})

    @property
    def deadline(self) -> datetime | None:
        """When it will be over if it goes on running; None while it stands still."""
        return self.since + timedelta(seconds=max(0.0, self.limit - self.spent)) if self.since else None


class Caps(Message):
    """At most so many audits and revisions, what a human granted included."""

    audits: int
    revisions: int


def caps_of(order: Order, granted: int = 0) -> Caps:
    """The caps of `order`; `retry.max_attempts` is the same cap as audits, and the smaller counts (DESIGN 3)."""
    audits = min(order.safeguards.audit_attempts, order.verification.retry.max_attempts)
    return Caps(audits=audits + granted, revisions=order.safeguards.revisions + granted)
