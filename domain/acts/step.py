"""What an act comes to: the todo as it stands after it, and the rows that say so; or a refusal. It has no rules."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from pydantic import JsonValue

from domain.base import Message, sha256_hex
from domain.events import Action, Actor, Role
from domain.lifecycle import PARTIES, Command, Transition, allowed, ever, transition
from domain.requests import Refusal
from domain.status import SessionStatus, TodoStatus
from domain.todo import OpenQuestion, Todo


class Event(Message):
    """A row of the trail before it is numbered. `before` and `after`: what of the todo it changed, by field."""

    action: Action
    actor: Actor
    before: dict[str, JsonValue] = {}
    after: dict[str, JsonValue] = {}
    payload: dict[str, JsonValue] = {}
    tool_call_id: str = ""


class Step(Message):
    """`events` in the order in which they are stored, then `todo`; no event: nothing happened that is worth a row."""

    todo: Todo
    events: tuple[Event, ...] = ()


Outcome = Step | Refusal


class Declined(Message):
    """A refusal that changes the todo, too: `step` has its row, `refusal` is what is answered."""

    step: Step
    refusal: Refusal


GATE_CODES = frozenset(
    {
        "session_paused",
        "session_stopped",
        "session_timed_out",
        "session_completed",
        "dependencies_open",
        "open_children",
    }
)
"""Refusals that come from the session's word, which may be an old one: worth asking it again before they are told."""

SHOWN_FIELDS = (
    "status",
    "review_status",
    "trigger",
    "version",
    "parent",
    "order_index",
    "attempt",
    "audits",
    "revisions",
    "granted",
    "flag",
    "feedback",
    "retry_context",
    "order_digest",
)
"""What of a todo the rows' `before` and `after` show where it changed, and so what the read model has."""

_ALWAYS = frozenset({"status", "review_status", "question", "deadline", "time_left", "retry_context"})
"""The standing; and what also changes where there is no row (a pause, a round that learned nothing)."""


def shown(todo: Todo) -> dict[str, JsonValue]:
    """The fields of `SHOWN_FIELDS` with `question` (its text), `deadline` (ISO 8601, or null), `time_left`, the caps,
    the tree that is claimed and the ids of the evidence that the last claim had or that was brought since, as rows show
    them.
    """
    values = todo.model_dump(mode="json", include=set(SHOWN_FIELDS))
    deadline = todo.clock.deadline
    brought = (*(todo.admitted.evidence if todo.admitted else ()), *todo.evidence)
    return {
        **values,
        "audit_cap": todo.caps.audits,
        "revision_cap": todo.caps.revisions,
        "question": todo.question.question if todo.question else "",
        "snapshot": todo.admitted.frozen.head if todo.admitted else "",
        "deadline": deadline.isoformat() if deadline else None,
        "time_left": round(todo.clock.limit - todo.clock.spent, 3),
        "evidence": list(dict.fromkeys(piece.id for piece in brought)),
    }


def changed(before: Todo, after: Todo) -> tuple[dict[str, JsonValue], dict[str, JsonValue]]:
    """A row's `before` and `after`: of both what is told always, of the rest what is different."""
    old, new = shown(before), shown(after)
    names = {name for name in old if old[name] != new[name]} | _ALWAYS
    return {name: old[name] for name in old if name in names}, {name: new[name] for name in new if name in names}


def _party(role: Role) -> str:
    """`a worker`, `a human`: who has not signed is a human all the same."""
    return f"a {PARTIES[role]}"


def move(todo: Todo, command: Command, role: Role) -> Transition | Refusal:
    """The table's word on `command`, as a refusal that says what could be asked instead.

    `forbidden` is what a role never has, wherever the todo stands; `illegal_transition` what it does not have there.
    """
    found = transition(todo.status, command, role)
    if found is not None:
        return found
    can = ", ".join(command for command in allowed(todo.status, role) if PARTIES[role] != "system")
    if not ever(command, role):
        return Refusal(
            code="forbidden",
            reason=f"{command} is never for {_party(role)}",
            next_step=f"what {_party(role)} can do now: {can}"
            if can
            else f"there is nothing for {_party(role)} to do now",
        )
    return Refusal(
        code="illegal_transition",
        reason=f"{command} is not for {_party(role)} where a todo is {todo.status}",
        next_step=f"what {_party(role)} can do there: {can}"
        if can
        else f"nothing is left for {_party(role)} to do there",
    )


MOST_REFUSALS = 200
"""Kinds of refusals that are counted by who asked and why; beyond, by role: names are the asker's own choice."""


def refused(todo: Todo, command: str, actor: Actor, why: Refusal, tool_call_id: str = "", told: bool = False) -> Step:
    """The refusal as it is recorded: repeats are counted, and told of again only at each power of ten, or if `told`."""
    refusals, event = refusal(todo.refusals, command, actor, why, tool_call_id, told)
    return Step(todo=todo.model_copy(update={"refusals": refusals}), events=(event,) if event else ())


def refusal(
    before: Mapping[str, int], command: str, actor: Actor, why: Refusal, tool_call_id: str = "", told: bool = False
) -> tuple[dict[str, int], Event | None]:
    """The counts of refusals with this one, and its row if it has one. The same for another reason is no repeat."""
    key = f"{actor}|{command}|{why.code}|{sha256_hex(why.reason.encode())[:16]}"
    if key not in before and len(before) >= MOST_REFUSALS:
        key = f"{actor.role}|{command}|{why.code}"
    count = before.get(key, 0) + 1
    event = None
    if told or str(count).rstrip("0") == "1":
        payload: dict[str, JsonValue] = {"command": command, "code": why.code, "reason": why.reason, "count": count}
        event = Event(action="refused", actor=actor, payload=payload, tool_call_id=tool_call_id)
    return {**before, key: count}, event


def stepped(
    before: Todo,
    after: Todo,
    action: Action,
    actor: Actor,
    payload: Mapping[str, Any],
    tool_call_id: str = "",
) -> Step:
    """One row, and what it changed. Raises ValidationError for a payload that is no JSON: a defect."""
    old, new = changed(before, after)
    event = Event(action=action, actor=actor, before=old, after=new, payload=dict(payload), tool_call_id=tool_call_id)
    return Step(todo=after, events=(event,))


def with_values(step: Step, before: Mapping[str, JsonValue], after: Mapping[str, JsonValue]) -> Step:
    """A step of one row, which says these values, too: as they were, and as they are."""
    (event,) = step.events
    said = event.model_copy(update={"before": {**event.before, **before}, "after": {**event.after, **after}})
    return step.model_copy(update={"events": (said,)})


def placed(todo: Todo, moved: Transition, now: datetime, **changes: object) -> Todo:
    """The same where the table leads it, with further `changes`; its clocks run or stand still, as they must there."""
    where = {"status": moved.status or todo.status, "review_status": moved.review or todo.review_status}
    return ticking(todo.model_copy(update={**where, **changes}), now)


def joined(first: Step, *others: Step) -> Step:
    """One step after another: each was made of the todo of the one before it."""
    steps = (first, *others)
    return Step(todo=steps[-1].todo, events=tuple(event for step in steps for event in step.events))


def cut(text: str, characters: int = 2000) -> str:
    """`text` as a row shows it: its begin, with a word about what was cut."""
    if len(text) <= characters:
        return text
    return f"{text[:characters]} [... {len(text) - characters} characters more]"


def ticking(todo: Todo, now: datetime) -> Todo:
    """The same with its clocks running or standing still, as its status and its session's have it (DESIGN 3 "Timers").

    Its own runs from the start on, and stands still while the session is paused and while the todo waits for a human.
    That of the auditor's question stands still with the session, since nobody may answer then.
    """
    going = todo.gate.status is SessionStatus.RUNNING
    runs = going and todo.status in (TodoStatus.IN_PROGRESS, TodoStatus.CLAIMED)
    clock = todo.clock.run(now) if runs else todo.clock.stop(now)
    return todo.model_copy(update={"clock": clock, "question": _timed(todo.question, going, now)})


def _timed(question: OpenQuestion | None, going: bool, now: datetime) -> OpenQuestion | None:
    if question is None or going is (question.left is None):
        return question
    if question.left is not None:
        deadline = now + timedelta(seconds=question.left)
        return question.model_copy(update={"deadline": deadline, "left": None})
    if question.deadline is None:
        return question
    left = max(0.0, (question.deadline - now).total_seconds())
    return question.model_copy(update={"deadline": None, "left": left})
