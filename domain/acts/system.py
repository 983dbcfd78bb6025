"""What happens to a todo by itself: clocks that run out, the session's word, worker commands.

What rounds and fix loops do is in `rounds` and `fixing`. Source: DESIGN 3 "Timers", "Parents" and "Session statuses";
seed `auditor` 4.4.
"""

from __future__ import annotations

from datetime import datetime

from domain.acts.editing import flagged
from domain.acts.fixing import repair_broke, repair_ended
from domain.acts.rounds import ask, audit, give_up, round_broke, round_ended
from domain.acts.standing import NO_ROUND, escalated, reopened
from domain.acts.step import Step, cut, joined, stepped, ticking
from domain.events import SYSTEM
from domain.life import WorkResult
from domain.lifecycle import Command, transition
from domain.status import SessionStatus, TodoStatus
from domain.todo import Gate, Todo

__all__ = [
    "ask",
    "audit",
    "clock_over",
    "drive_ended",
    "drive_refused",
    "drive_started",
    "gated",
    "give_up",
    "repair_broke",
    "repair_ended",
    "round_broke",
    "round_ended",
]

TICK = 0.001
"""Seconds that a clock may have left when its timer is over: what counting in fractions loses."""

MOST_REFUSED_DRIVES = 3
"""Worker commands in a row whose claim is refused, and a human has to look."""


def clock_over(todo: Todo, now: datetime) -> Step:
    """The todo's time is used up: a human has to look. Nothing while there is some left, or it stands still."""
    if todo.clock.since is None or todo.clock.left(now) > TICK:
        return Step(todo=todo)
    return escalated(todo, "timeout", f"{todo.clock.limit:g} seconds of work are used up", now)


def gated(todo: Todo, gate: Gate, now: datetime) -> Step:
    """The session's word, and all that follows from it; one that is older than the last changes nothing."""
    if gate.number <= todo.gate.number:
        return Step(todo=todo)
    changed = gate.status is not todo.gate.status
    step = Step(todo=ticking(todo.model_copy(update={"gate": gate}), now))
    if gate.status is SessionStatus.STOPPED and changed:
        step = Step(todo=_halted(step.todo, now))
    if gate.open_children and transition(step.todo.status, Command.REOPEN, "system"):
        step = joined(step, reopened(step.todo, now))
        changed = True
    if gate.dependency_reopened not in ("", todo.gate.dependency_reopened):
        step = joined(step, _dependency_reopened(step.todo, gate.dependency_reopened))
    over = gate.status is SessionStatus.TIMED_OUT and changed
    if over and transition(step.todo.status, Command.ESCALATE, "system"):
        step = joined(step, escalated(step.todo, "timeout", "the session's time is over", now))
    return step


def drive_started(todo: Todo, now: datetime) -> Step:
    """Its worker command is started once more."""
    after = ticking(todo.model_copy(update={"drives": todo.drives + 1}), now)
    payload = {"drive": after.drives, "command": todo.worker.command if todo.worker else ""}
    return stepped(todo, after, "worker_started", SYSTEM, payload)


def drive_ended(todo: Todo, result: WorkResult, now: datetime) -> Step:
    """Its worker command has ended; what it claims, answers or asks is an act of its own."""
    payload = {
        "drive": todo.drives,
        "exit_code": result.exit_code,
        "timed_out": result.timed_out,
        "resumed": result.resumed,
        "output": result.output,
        "isolation": result.isolation,
        "problems": list(result.problems),
    }
    return stepped(todo, ticking(todo, now), "worker_ended", SYSTEM, payload)


def drive_refused(todo: Todo, why: str, now: datetime) -> Step:
    """What its worker command claimed was refused, or was no claim; the third time in a row a human has to look.

    Where it was to answer the auditor nobody has to: without an answer the auditor goes on by what there is.
    `why`: code and reason, for the next start to be told.
    """
    count = todo.refused_drives + 1
    counted = todo.model_copy(update={"refused_drives": count, "last_refusal": cut(why)})
    asked = todo.status is TodoStatus.CLAIMED
    if asked or count < MOST_REFUSED_DRIVES or not transition(todo.status, Command.ESCALATE, "system"):
        return Step(todo=ticking(counted, now))
    reason = f"{count} claims of its worker command in a row were refused, the last one: {why}"
    return escalated(counted, "no_progress", reason, now, refused_drives=0)


def _halted(todo: Todo, now: datetime) -> Todo:
    """Where it was, without a round and its question: a stopped session's todos keep their status."""
    cancelled = todo.round != 0 or todo.retry_at is not None
    kept = todo.question if todo.status is TodoStatus.BLOCKED else None
    changes = {**NO_ROUND, "question": kept, "waived": todo.waived or cancelled}
    return ticking(todo.model_copy(update=changes), now)


def _dependency_reopened(todo: Todo, dependency: str) -> Step:
    """The work began on what is not verified any more: told once, for somebody to look at."""
    reason = f"{dependency}, which it depends on, was reopened"
    if todo.status in (TodoStatus.PENDING, TodoStatus.CANCELLED) or todo.flag == reason:
        return Step(todo=todo)
    return flagged(todo, reason)
