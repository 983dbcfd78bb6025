"""What the session's word keeps a todo from, as refusals. What the word is, the session says (`sessions`)."""

from __future__ import annotations

from domain.requests import Refusal
from domain.status import SessionStatus
from domain.todo import Todo

_STANDS_STILL: dict[SessionStatus, tuple[str, str, str]] = {
    SessionStatus.PAUSED: (
        "session_paused",
        "the session is paused",
        "wait until somebody resumes it, or what it waits for is resolved",
    ),
    SessionStatus.STOPPED: (
        "session_stopped",
        "the session was stopped",
        "stop working: a human can create another session",
    ),
    SessionStatus.TIMED_OUT: (
        "session_timed_out",
        "the session's time is over",
        "stop working: humans can still act on what is open",
    ),
    SessionStatus.COMPLETED: (
        "session_completed",
        "the session is completed",
        "there is nothing left to be done in it",
    ),
}
SHOWN = 10
"""How many todos a refusal names."""


def session_refusal(todo: Todo) -> Refusal | None:
    """Why no worker may do anything now: the session does not run. DESIGN 3 "Pause is cooperative"."""
    found = _STANDS_STILL.get(todo.gate.status)
    return Refusal(code=found[0], reason=found[1], next_step=found[2]) if found else None


def dependencies_refusal(todo: Todo) -> Refusal | None:
    """Why the work may not start: what it depends on is not verified. DESIGN 3 "Parents"."""
    if not todo.gate.waits_for:
        return None
    return Refusal(
        code="dependencies_open",
        reason=f"not verified: {_named(todo.gate.waits_for)}",
        next_step="wait until all that it depends on is verified",
    )


def children_refusal(todo: Todo) -> Refusal | None:
    """Why it may not be claimed or verified: a subtask is open. Seed `auditor` 5.4."""
    if not todo.gate.open_children:
        return None
    return Refusal(
        code="open_children",
        reason=f"subtasks that are not verified: {_named(todo.gate.open_children)}",
        next_step="have the subtasks verified first, or a human delete them",
    )


def _named(ids: tuple[str, ...]) -> str:
    rest = len(ids) - SHOWN
    return ", ".join(ids[:SHOWN]) + (f" and {rest} more" if rest > 0 else "")
