"""Where acts of several parties lead alike: a new audit, a verdict, an escalation, the caps' end, a reopening.

Source: DESIGN 3 "Caps", "Escalation triggers" and "Parents"; seed `auditor` 4.
"""

from __future__ import annotations

from datetime import datetime

from domain.acts.step import Step, cut, placed, stepped
from domain.decision import Decision
from domain.events import HARNESS, SYSTEM
from domain.feedback import OF_THE_WHOLE_ROUND, is_objection
from domain.lifecycle import Command, Transition, transition
from domain.messages import RoundResult
from domain.safeguards import Trigger
from domain.status import TodoStatus
from domain.todo import Todo

NO_ROUND: dict[str, object] = {"round": 0, "repair": None, "retry_at": None, "question": None, "refused_drives": 0}
"""What a todo has when no round of it and no fix loop runs, waits to run, or asks: the change that cancels one."""

UNJUDGED: dict[str, object] = {"not_passed": (), "passed": False, "objected": False, "outcome": "", "inconclusive": 0}
"""What is known of a tree, by this order, that no round has come to a result on."""

MOST_PRIOR = 20
"""Earlier attempts that the next one is told of."""


def of_the_system(todo: Todo, command: Command) -> Transition:
    """The table's row for what the system does; the caller has seen that there is one.

    Raises KeyError where there is none: a defect, for no message leads here.
    """
    found = transition(todo.status, command, "system")
    if found is None:
        raise KeyError((todo.status, command))
    return found


def escalated(
    todo: Todo, trigger: Trigger, reason: str, now: datetime, command: Command = Command.ESCALATE, **changes: object
) -> Step:
    """A human has to look. A claim whose round is cancelled by that was not judged: the next need bring nothing new."""
    cancelled = todo.round != 0 or todo.retry_at is not None
    changes = {**NO_ROUND, "waived": todo.waived or cancelled, "trigger": trigger, **changes}
    after = placed(todo, of_the_system(todo, command), now, **changes)
    return stepped(todo, after, "escalated", SYSTEM, {"trigger": trigger, "reason": cut(reason)})


def exhausted(todo: Todo, trigger: Trigger, reason: str, now: datetime) -> Step:
    """No cap allows another attempt: escalated, or failed where the order wants that (`on_exhausted`)."""
    if todo.order.safeguards.on_exhausted == "escalate":
        return escalated(todo, trigger, reason, now)
    after = placed(todo, of_the_system(todo, Command.FAIL), now, **NO_ROUND, trigger=trigger)
    return stepped(todo, after, "failed", SYSTEM, {"reasons": [trigger], "trigger": trigger})


def audit_begun(todo: Todo, now: datetime) -> Step:
    """The next round of what is claimed, which nobody has to ask for; none where the caps are used up."""
    if todo.audits >= todo.caps.audits:
        reason = f"{todo.audits} audits of at most {todo.caps.audits} came to a verdict"
        return exhausted(todo, "audit_cap_exceeded", reason, now)
    attempt = todo.next_attempt
    changes = {**NO_ROUND, "attempt": attempt, "round": attempt}
    after = placed(todo, of_the_system(todo, Command.AUDIT), now, **changes)
    return stepped(todo, after, "audit_started", SYSTEM, {"attempt": attempt})


def told(decision: Decision) -> str:
    """Why a round came to what it did, in words."""
    return cut("; ".join(reason.text for reason in decision.reasons))


def learned(result: RoundResult) -> dict[str, object]:
    """What is known of the tree that a round came to a result on: the other side of `UNJUDGED`."""
    codes = [reason.code for reason in result.decision.reasons]
    not_passed = (*result.not_passed, *(code for code in OF_THE_WHOLE_ROUND if code in codes))
    return {
        "not_passed": not_passed,
        "passed": result.passed and not not_passed,
        "objected": any(map(is_objection, codes)),
        "outcome": str(result.decision.outcome),
    }


def with_prior(todo: Todo, prior: str) -> tuple[str, ...]:
    """The earlier attempts that the next one is told of, with one more."""
    return (*todo.prior_attempts, cut(prior, 500))[-MOST_PRIOR:]


def verified(todo: Todo, reason: str, now: datetime, flag: str = "") -> Step:
    """Only where no subtask is open: the session's word on that is asked for before (seed `auditor` 5.4).

    `flag`: why somebody should look at it all the same.
    """
    if todo.gate.open_children:
        return reopened(todo, now)
    moved = of_the_system(todo, Command.VERIFY)
    snapshot = todo.admitted.frozen.head if todo.admitted else ""
    after = placed(todo, moved, now, trigger="", flag=flag)
    return stepped(todo, after, moved.event, HARNESS, {"snapshot": snapshot, "reason": reason})


def reopened(todo: Todo, now: datetime) -> Step:
    """A subtask is open, so what was claimed or verified is neither (DESIGN 3 "Parents").

    That is not this todo's failure: its next claim need bring nothing new, and where it was verified with the last
    audit that the caps allow, it is allowed one more.
    """
    child = todo.gate.open_children[0]
    spare = todo.status is TodoStatus.VERIFIED and todo.audits >= todo.caps.audits
    changes = {**NO_ROUND, **UNJUDGED, "waived": True, "granted": todo.granted + spare, "trigger": ""}
    after = placed(todo, of_the_system(todo, Command.REOPEN), now, **changes)
    return stepped(todo, after, "reopened", SYSTEM, {"child": child, "reason": "a subtask is open"})
