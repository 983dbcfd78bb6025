"""Whether new todos may join a session: their ids, parents and dependencies, and how far an agent's say goes.

It reads no order: `Entry.terms` stands for what is in one. Source: DESIGN 1.4 and 3, CONTRACT "An order".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from domain.events import Actor
from domain.lifecycle import PARTIES
from domain.requests import Refusal
from domain.session import Entry, Session
from domain.standing import standing_of
from domain.status import SessionStatus, TodoStatus

MAX_TODOS = 10_000
"""In one session, those that were deleted included."""

_CLOSED_TO_ALL = {
    SessionStatus.STOPPED: ("session_stopped", "the session was stopped"),
    SessionStatus.TIMED_OUT: ("session_timed_out", "the session's time is over"),
}
_CLOSED_TO_WORKERS = {
    SessionStatus.PAUSED: ("session_paused", "the session is paused"),
    SessionStatus.COMPLETED: ("session_completed", "the session is completed"),
}


def closed(status: SessionStatus, actor: Actor) -> Refusal | None:
    """Why nobody of that role adds to a session that stands there."""
    found = _CLOSED_TO_ALL.get(status)
    if found:
        return Refusal(code=found[0], reason=found[1], next_step="create another session for what is left to do")
    found = _CLOSED_TO_WORKERS.get(status) if PARTIES[actor.role] == "worker" else None
    if found:
        return Refusal(code=found[0], reason=found[1], next_step="wait until a human has let it go on")
    return None


def unfit(session: Session, actor: Actor, entries: tuple[Entry, ...]) -> Refusal | None:
    """What is wrong with `entries` as todos of `session`, in the order in which they come; None where nothing is."""
    if len(session.todos) + len(entries) > MAX_TODOS:
        return Refusal(
            code="too_many_todos",
            reason=f"the session would have {len(session.todos) + len(entries)} todos, at most {MAX_TODOS} fit in",
            next_step="create another session for the rest",
        )
    todos = dict(session.todos)
    for entry in entries:
        if entry.id in todos:
            return Refusal(
                code="id_taken",
                reason=f"the session has, or once had, a todo {entry.id!r}",
                next_step="choose another id: none is used twice",
            )
        found = _misplaced(entry, todos)
        if found is None and PARTIES[actor.role] == "worker":
            found = _overreaching(session, entry, todos)
        if found:
            return found
        todos[entry.id] = entry
    return _unknown_dependency(entries, todos) or _cyclic(todos, entries)


def _misplaced(entry: Entry, todos: Mapping[str, Entry]) -> Refusal | None:
    if not entry.parent:
        return None
    if entry.parent not in todos:
        return _unknown(entry.parent, f"{entry.id!r} would be a subtask of it; a parent comes before its subtasks")
    if todos[entry.parent].status is TodoStatus.CANCELLED:
        return Refusal(
            code="illegal_transition",
            reason=f"{entry.parent!r} was deleted, and gets no subtasks",
            next_step="create it below another todo, or below none",
        )
    return None


def _overreaching(session: Session, entry: Entry, todos: Mapping[str, Entry]) -> Refusal | None:
    """An agent's todo has its parent's gate, or the session's own."""
    terms = todos[entry.parent].terms if entry.parent else session.terms
    if not terms:
        return Refusal(
            code="no_template",
            reason=f"nothing says how {entry.id!r} is to be verified: the session has no defaults",
            next_step="create it as a subtask, or ask a human to create it",
        )
    if entry.terms == terms and not entry.driven:
        return None
    return Refusal(
        code="not_yours",
        reason=f"{entry.id!r} sets more than content, descriptions, further criteria, depends_on and subtasks",
        next_step="leave checks, policy, base, caps and commands to the project, or ask a human",
    )


def _unknown_dependency(entries: Iterable[Entry], todos: Mapping[str, Entry]) -> Refusal | None:
    for entry in entries:
        for needed in entry.depends_on:
            if needed not in todos:
                return _unknown(needed, f"{entry.id!r} depends on it")
    return None


def _unknown(todo: str, why: str) -> Refusal:
    return Refusal(
        code="unknown_todo", reason=f"there is no todo {todo!r}: {why}", next_step="name a todo of this session"
    )


def _cyclic(todos: Mapping[str, Entry], entries: Iterable[Entry]) -> Refusal | None:
    found = cycle_of(todos, (entry.id for entry in entries))
    if not found:
        return None
    return Refusal(
        code="dependency_cycle",
        reason=f"these wait for one another: {' -> '.join(found)}",
        next_step="take one dependency out of the circle; a todo also waits for its subtasks",
    )


def cycle_of(todos: Mapping[str, Entry], begin: Iterable[str]) -> tuple[str, ...]:
    """A circle of todos that wait for one another, its first at both ends, reached from `begin`; empty for none.

    A todo waits for its dependencies before it is started, and for its subtasks before it is verified.
    """
    children = standing_of(todos).children
    clear: set[str] = set()
    for start in begin:
        path: dict[str, list[str]] = {}
        following = [start]
        while following:
            here = following[-1]
            if here not in path and here not in clear:
                path[here] = [*todos[here].depends_on, *children.get(here, ())]
            ahead = path.get(here)
            if not ahead:
                path.pop(here, None)
                clear.add(here)
                following.pop()
                continue
            onwards = ahead.pop()
            if onwards in path:
                way = list(path)
                return (*way[way.index(onwards) :], onwards)
            if onwards in todos and onwards not in clear:
                following.append(onwards)
    return ()
