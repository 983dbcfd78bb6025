"""The lifecycle of a todo, as one table: what who may do where, and what becomes of it. A missing key IS the refusal.

Source: DESIGN 3; seed `auditor` 2.2, 5.2 and 6.2. What a move asks for beyond its place in the table (caps, evidence,
policy, the session's word) is `acts`'; the docs' state diagram, the events and the tests come from this table.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from domain.events import Action, Role
from domain.status import LIVE, ReviewStatus, TodoStatus

Party = Literal["worker", "human", "system"]
"""Who a command is from, as far as the lifecycle cares."""

PARTIES: dict[Role, Party] = {
    "worker": "worker",
    "human": "human",
    "unattributed": "human",
    "system": "system",
    "harness": "system",
    "auditor": "system",
}
"""Without a signature a human's act is unattributed, DESIGN 5; how much that may do is the override policy's."""


class Command(StrEnum):
    """What can be asked of a todo. Those of the system are no messages: rounds, timers and the session ask them.

    `exhaust` is what becomes of a human's reject when the caps allow no further attempt.
    """

    START = "start"
    ADD_EVIDENCE = "add_evidence"
    CLAIM = "claim"
    RESPOND = "respond"
    BLOCK = "block"
    UNBLOCK = "unblock"
    APPROVE = "approve"
    OVERRIDE = "override"
    REJECT = "reject"
    RETURN = "return"
    EDIT = "edit"
    NOTE = "note"
    REORDER = "reorder"
    SUBTASK = "subtask"
    DELETE = "delete"
    AUDIT = "audit"
    REPAIR = "repair"
    ASK = "ask"
    GIVE_UP = "give_up"
    VERIFY = "verify"
    REVISE = "revise"
    FAIL = "fail"
    ESCALATE = "escalate"
    EXHAUST = "exhaust"
    REOPEN = "reopen"


@dataclass(frozen=True)
class Transition:
    """Where a command leads, None for as it was, and the event that says so."""

    event: Action
    status: TodoStatus | None = None
    review: ReviewStatus | None = None


_S, _R, _C = TodoStatus, ReviewStatus, Command
_LIVE = tuple(status for status in TodoStatus if status in LIVE)
_KEPT = tuple(status for status in TodoStatus if status is not TodoStatus.CANCELLED)

_ROWS: tuple[tuple[Party, Command, tuple[TodoStatus, ...], Transition], ...] = (
    ("worker", _C.START, (_S.PENDING,), Transition("todo_started", _S.IN_PROGRESS)),
    ("worker", _C.ADD_EVIDENCE, (_S.IN_PROGRESS, _S.CLAIMED), Transition("evidence_added")),
    ("worker", _C.CLAIM, (_S.IN_PROGRESS,), Transition("todo_claimed", _S.CLAIMED, _R.AUDITING)),
    ("worker", _C.RESPOND, (_S.CLAIMED,), Transition("follow_up_answered")),
    ("worker", _C.BLOCK, (_S.IN_PROGRESS,), Transition("todo_blocked", _S.BLOCKED)),
    ("human", _C.UNBLOCK, (_S.BLOCKED,), Transition("todo_unblocked", _S.IN_PROGRESS)),
    ("human", _C.APPROVE, (_S.CLAIMED, _S.NEEDS_HUMAN), Transition("approved", _S.VERIFIED, _R.APPROVED)),
    (
        "human",
        _C.OVERRIDE,
        (_S.CLAIMED, _S.NEEDS_HUMAN, _S.FAILED),
        Transition("human_override", _S.VERIFIED, _R.OVERRIDDEN),
    ),
    (
        "human",
        _C.REJECT,
        (_S.CLAIMED, _S.NEEDS_HUMAN, _S.VERIFIED),
        Transition("changes_requested", _S.IN_PROGRESS, _R.CHANGES_REQUESTED),
    ),
    ("human", _C.RETURN, (_S.NEEDS_HUMAN, _S.FAILED), Transition("returned", _S.IN_PROGRESS, _R.NOT_REQUESTED)),
    ("human", _C.EDIT, _KEPT, Transition("edited")),
    ("human", _C.NOTE, _KEPT, Transition("noted")),
    ("human", _C.REORDER, _KEPT, Transition("reordered")),
    ("human", _C.SUBTASK, _KEPT, Transition("todo_created")),
    ("human", _C.DELETE, _KEPT, Transition("deleted", _S.CANCELLED, _R.NOT_REQUESTED)),
    ("system", _C.AUDIT, (_S.CLAIMED,), Transition("audit_started", None, _R.AUDITING)),
    ("system", _C.REPAIR, (_S.CLAIMED,), Transition("fix_loop_started", None, _R.AUDITING)),
    ("system", _C.ASK, (_S.CLAIMED,), Transition("follow_up_asked")),
    ("system", _C.GIVE_UP, (_S.CLAIMED,), Transition("follow_up_expired")),
    ("system", _C.VERIFY, (_S.CLAIMED,), Transition("approved", _S.VERIFIED, _R.APPROVED)),
    ("system", _C.REVISE, (_S.CLAIMED,), Transition("changes_requested", _S.IN_PROGRESS, _R.CHANGES_REQUESTED)),
    ("system", _C.FAIL, (_S.CLAIMED,), Transition("failed", _S.FAILED, _R.ESCALATED)),
    (
        "system",
        _C.ESCALATE,
        tuple(status for status in _LIVE if status is not _S.NEEDS_HUMAN),
        Transition("escalated", _S.NEEDS_HUMAN, _R.ESCALATED),
    ),
    (
        "system",
        _C.EXHAUST,
        (_S.CLAIMED, _S.NEEDS_HUMAN, _S.VERIFIED),
        Transition("escalated", _S.NEEDS_HUMAN, _R.ESCALATED),
    ),
    ("system", _C.REOPEN, (_S.CLAIMED, _S.VERIFIED), Transition("reopened", _S.IN_PROGRESS, _R.NOT_REQUESTED)),
)

TRANSITIONS: dict[tuple[TodoStatus, Command, Party], Transition] = {
    (status, command, party): transition for party, command, statuses, transition in _ROWS for status in statuses
}


def transition(status: TodoStatus, command: Command, role: Role) -> Transition | None:
    """What `command` of somebody of that role does to a todo that stands there; None where it is refused."""
    return TRANSITIONS.get((status, command, PARTIES[role]))


def ever(command: Command, role: Role) -> bool:
    """Whether there is any status in which somebody of that role may ask that."""
    return any((status, command, PARTIES[role]) in TRANSITIONS for status in TodoStatus)


def allowed(status: TodoStatus, role: Role) -> tuple[Command, ...]:
    """What somebody of that role may ask of a todo that stands there: the next step of a refusal."""
    return tuple(command for command in Command if (status, command, PARTIES[role]) in TRANSITIONS)
