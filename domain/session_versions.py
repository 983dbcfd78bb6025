"""A session's versions: which one a person has seen, what an act makes of it, what its rows show of it. Pure.

A version is one more thing that befell its status: a pause, a resumption, its end, whoever's. Rules are `sessions`'.
"""

from __future__ import annotations

from pydantic import JsonValue

from domain.requests import Changed, HumanRequest, Refusal
from domain.session import Entry, Session
from domain.status import SessionStatus


def moved_to(session: Session, status: SessionStatus, **changes: object) -> Session:
    """The same there, one version on; that a person pauses what an escalation has paused is one, too."""
    return session.model_copy(update={"status": status, "version": session.version + 1, **changes})


def stale(session: Session, request: HumanRequest) -> Refusal | None:
    """Why it is refused that was asked of another version of the session."""
    return _of_another("the session", session.version, request.expected_version)


def stale_parent(session: Session, entries: tuple[Entry, ...], said: int | None) -> Refusal | None:
    """The same for new todos: `said` is of the todo that the first is a subtask of; of the session, if of none."""
    parent = session.todos.get(entries[0].parent) if entries else None
    if parent is None:
        return _of_another("the session", session.version, said)
    return _of_another(f"the todo {parent.id}", parent.version, said)


def shown(session: Session) -> dict[str, JsonValue]:
    """What of a session its rows show."""
    return {"status": session.status.value, "deadline": session.deadline.isoformat(), "version": session.version}


def changed(before: Session, after: Session) -> dict[str, Changed]:
    """What a person is told of an act: the same, whether a person paused it, and how many todos it has."""
    old, new = _told(before), _told(after)
    return {name: Changed(before=old[name], after=new[name]) for name in new if old[name] != new[name]}


def _told(session: Session) -> dict[str, JsonValue]:
    return {**shown(session), "paused_by_human": session.paused_by_human, "todos": len(session.todos)}


def _of_another(what: str, version: int, said: int | None) -> Refusal | None:
    if said is None or said == version:
        return None
    return Refusal(
        code="stale_version",
        reason=f"{what} is at version {version}, and it was asked of version {said}",
        next_step="look at it as it is now, and ask again",
    )
