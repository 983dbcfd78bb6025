"""What may go on in a session: who is paused, whose turn it is, when it is over. Pure; the todos' moves are `acts`'.

Each rule takes the session as it stands and answers with a `SessionStep`, or with a `Refusal`. Source: DESIGN 3
"Session statuses", "Parents", "Pause". Who waits for whom is `standing`'s, what may be created is `new_todos`'.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from typing import TypeVar

from pydantic import JsonValue

from domain.actors import Established
from domain.acts.step import Event, refusal
from domain.base import Message
from domain.events import SYSTEM, Action, Actor
from domain.lifecycle import PARTIES
from domain.new_todos import closed, unfit
from domain.requests import Drive, Pause, Refusal, Request, Resume, Stop
from domain.session import Entry, Session, TodoReport
from domain.session_versions import changed, moved_to, shown, stale, stale_parent
from domain.signatures import Signers
from domain.signing import established_of
from domain.standing import ENDED, Standing, gate_of, open_children, standing_after, standing_of, waits_for
from domain.status import LIVE, SessionStatus, TodoStatus
from domain.turns import trees_about, turns

__all__ = [
    "SessionStep",
    "changed",
    "closed",
    "created",
    "driven",
    "gate_of",
    "heard",
    "heard_all",
    "opened",
    "paused",
    "refused",
    "resumed",
    "stopped",
    "timed_out",
    "turns",
]

RETIRES_AFTER = timedelta(days=30)
"""How long after its end, if nothing happens, the workflows of a session go on."""

_BEGUN = frozenset(TodoStatus) - {TodoStatus.PENDING, TodoStatus.CANCELLED}


class SessionStep(Message):
    """`events` in the order in which they are stored, then `session`; `told`: the todos that are owed its new word."""

    session: Session
    events: tuple[Event, ...] = ()
    told: frozenset[str] = frozenset()


SessionOutcome = SessionStep | Refusal
R = TypeVar("R", bound=Request)


def opened(
    session: Session,
    actor: Actor,
    entries: tuple[Entry, ...],
    now: datetime,
    signers: Signers | None = None,
    established: Established | None = None,
) -> SessionOutcome:
    """A session begins, with its first todos. They are owed no word: their first gates come with their start.

    `signers`, those of the session's blob, are in its first row: what they sign can be checked again from the rows.
    """
    refusal = unfit(session, actor, entries)
    if refusal:
        return refusal
    begun = session.model_copy(
        update={
            "created_at": now,
            "touched_at": now,
            "deadline": now + timedelta(seconds=session.timeout),
            "todos": {entry.id: entry for entry in entries},
        }
    )
    payload: dict[str, JsonValue] = {"todos": len(entries), "timeout": session.timeout, "order": session.order}
    if signers is not None:
        payload |= {"signers": signers.model_dump(mode="json"), "signers_digest": session.signers}
    payload |= {"established": established} if established else {}
    event = Event(action="session_created", actor=actor, after=shown(begun), payload=payload)
    return SessionStep(session=begun, events=(event,))


def created(
    session: Session, actor: Actor, entries: tuple[Entry, ...], now: datetime, expected_version: int | None = None
) -> SessionOutcome:
    """New todos join, and ancestors of theirs that are claimed or verified open again, through their gates.

    `expected_version`: of the todo that the first of them is a subtask of, else of the session.
    """
    refusal = closed(session.status, actor) or unfit(session, actor, entries)
    refusal = refusal or stale_parent(session, entries, expected_version)
    if refusal:
        return refusal
    new = {entry.id for entry in entries}
    after = session.model_copy(update={"todos": {**session.todos, **{entry.id: entry for entry in entries}}})
    step = _settled(session, after, new, now, f"{entries[0].id} was created" if entries else "")
    return step.model_copy(update={"told": step.told - new})


def heard(session: Session, report: TodoReport, now: datetime) -> SessionStep:
    """`heard_all` of one report."""
    return heard_all(session, (report,), now)


def heard_all(session: Session, reports: Iterable[TodoReport], now: datetime) -> SessionStep:
    """Where todos say they stand, and what follows for all the others. A report that is older than another is nothing.

    Whoever asks, or lives again, is owed a word, for what befell the session meanwhile was told to those alone who
    lived; who asks also where a later report of its was heard before.
    """
    todos, answered, moved = dict(session.todos), set(), set()
    why = ""
    for report in reports:
        before = todos.get(report.todo)
        if before is None:
            continue
        if report.asks:
            answered.add(report.todo)
        if report.number < before.report:
            continue
        after = _reported(before, report)
        todos[report.todo] = after
        moved.add(report.todo)
        if report.number == before.report or (after.status in LIVE and before.status not in LIVE):
            answered.add(report.todo)
        if after.status is not before.status:
            why = f"{report.todo} is {after.status}"
    over = frozenset(todo for todo in session.resumed_over if todos[todo].escalated)
    after_all = session.model_copy(update={"todos": todos, "resumed_over": over})
    step = _settled(session, after_all, moved, now, why)
    return step.model_copy(update={"told": step.told | answered})


def _reported(entry: Entry, report: TodoReport) -> Entry:
    failed_hard = report.status is TodoStatus.FAILED and report.trigger == "hard_fail"
    fields = (
        "status",
        "depends_on",
        "order_index",
        "workspace",
        "driven",
        "pauses",
        "busy",
        "asked",
        "word",
        "version",
    )
    return entry.model_copy(
        update={
            **{name: getattr(report, name) for name in fields},
            "report": report.number,
            "escalated": report.status is TodoStatus.NEEDS_HUMAN or failed_hard,
            "terms": report.terms or entry.terms,
        }
    )


def paused(session: Session, request: Pause, now: datetime) -> SessionOutcome:
    """A human pauses it; paused already by one, it stays as it is."""
    refusal = _not_for_workers("pause", request) or stale(session, request) or _over(session)
    if refusal:
        return refusal
    if session.paused_by_human:
        return SessionStep(session=session)
    payload: dict[str, JsonValue] = {"reason": request.reason, "escalation": "", "established": established_of(request)}
    after = moved_to(session, SessionStatus.PAUSED, paused_by_human=True)
    return _acted(session, after, Event(action="paused", actor=request.actor, payload=payload), now)


def resumed(session: Session, request: Resume, now: datetime) -> SessionOutcome:
    """A human lets it go on, in spite of escalations that are open."""
    refusal = _not_for_workers("resume", request) or stale(session, request) or _over(session)
    if refusal:
        return refusal
    if session.status is SessionStatus.RUNNING:
        return SessionStep(session=session)
    waiting = frozenset(entry.id for entry in session.todos.values() if entry.escalated)
    after = moved_to(session, SessionStatus.RUNNING, paused_by_human=False, resumed_over=waiting)
    payload: dict[str, JsonValue] = {"reason": request.reason, "established": established_of(request)}
    event = Event(action="resumed", actor=request.actor, payload=payload)
    return _acted(session, after, event, now)


def stopped(session: Session, request: Stop, now: datetime) -> SessionOutcome:
    """A human ends it where it stands."""
    refusal = _not_for_workers("stop", request) or stale(session, request)
    if session.status is SessionStatus.STOPPED and not refusal:
        return SessionStep(session=session)
    refusal = refusal or _over(session)
    if refusal:
        return refusal
    after = moved_to(session, SessionStatus.STOPPED)
    payload: dict[str, JsonValue] = {"reason": request.reason, "established": established_of(request)}
    event = Event(action="stopped", actor=request.actor, payload=payload)
    return _acted(session, after, event, now)


def driven(session: Session, request: Drive, now: datetime) -> SessionOutcome:
    """Worker commands are started from now on, or are no more."""
    refusal = _not_for_workers("drive", request) or (_over(session) if request.on else None)
    if refusal:
        return refusal
    return _settled(session, session.model_copy(update={"driving": request.on}), (), now, "")


def timed_out(session: Session, now: datetime) -> SessionStep:
    """Its time is over: what is not finished needs a human. One that has ended already has no time to run out."""
    if session.status in ENDED or now < session.deadline:
        return SessionStep(session=session)
    unfinished: list[JsonValue] = [entry.id for entry in session.todos.values() if entry.status in LIVE]
    after = moved_to(session, SessionStatus.TIMED_OUT)
    payload: dict[str, JsonValue] = {"timeout": session.timeout, "unfinished": unfinished}
    return _acted(session, after, Event(action="session_timed_out", actor=SYSTEM, payload=payload), now)


def retired(session: Session, now: datetime) -> SessionStep:
    """Nothing has happened for long since it ended: every todo is told, and ends with it."""
    if session.status not in ENDED or now < (session.touched_at or now) + RETIRES_AFTER:
        return SessionStep(session=session)
    return SessionStep(session=session.model_copy(update={"retired": True}), told=frozenset(session.todos))


def refused(session: Session, command: str, request: Request, why: Refusal) -> SessionStep:
    """The refusal as it is recorded, as in `acts.step`: repeats are told of at each power of ten."""
    refusals, event = refusal(session.refusals, command, request.actor, why, request.tool_call_id)
    if event and request.marks:
        event = event.model_copy(update={"payload": {**event.payload, "marks": list(request.marks)}})
    return SessionStep(session=session.model_copy(update={"refusals": refusals}), events=(event,) if event else ())


def forbidden(command: str, request: Request) -> Refusal:
    """What a worker is told that asks for what it may never do."""
    return Refusal(
        code="forbidden",
        reason=f"{command} is not for a {request.actor.role} to ask",
        next_step="ask a human to do it",
    )


def _not_for_workers(command: str, request: Request) -> Refusal | None:
    return forbidden(command, request) if PARTIES[request.actor.role] == "worker" else None


def _over(session: Session) -> Refusal | None:
    if session.status not in ENDED:
        return None
    return Refusal(
        code=f"session_{session.status}",
        reason=f"the session is {session.status.replace('_', ' ')}",
        next_step="people can still act on its todos; create another session for what is left to do",
    )


def _acted(before: Session, after: Session, event: Event, now: datetime) -> SessionStep:
    """One row for what somebody did, then what follows from it."""
    told = event.model_copy(update={"before": shown(before), "after": shown(after)})
    status_told = _live(after) if after.status is not before.status else frozenset()
    step = _settled(after, after, (), now, "")
    return step.model_copy(update={"events": (told, *step.events), "told": step.told | status_told})


def _settled(before: Session, after: Session, moved: Collection[str], now: datetime, why: str) -> SessionStep:
    """`after` with what follows of it by itself: reopened dependencies, the status, the turns; and who has to know.

    `moved`: the entries that are not as they were.
    """
    old = standing_of(before.todos)
    new = standing_after(before.todos, after.todos, moved)
    after, told = _related(before, after.model_copy(update={"touched_at": now}), (old, new), moved)
    after, events = _with_its_status(after, now, why)
    if after.status is not before.status:
        told |= _live(after)
    if not (before.driving or after.driving):
        return SessionStep(session=after, events=events, told=frozenset(told))
    everywhere = not moved or after.status is not before.status
    after, turned = _with_turns(after, None if everywhere else trees_about(after.todos, old, new, moved))
    return SessionStep(session=after, events=events, told=frozenset(told | turned))


def _with_turns(session: Session, trees: Collection[str] | None) -> tuple[Session, frozenset[str]]:
    """Who has the turn now in `trees`, and whose that is news to. None: in all of them."""
    going, known = turns(session, trees), standing_of(session.todos).trees
    entries = (session.todos[todo] for tree in (known if trees is None else trees) for todo in known[tree])
    moved = {e.id: e.model_copy(update={"turn": not e.turn}) for e in entries if e.turn != (e.id in going)}
    return _with(session, moved), frozenset(moved)


def _with(session: Session, entries: dict[str, Entry]) -> Session:
    """With `entries`, which wait for nobody else than they did, and stand where they stood."""
    if not entries:
        return session
    todos = {**session.todos, **entries}
    standing_after(session.todos, todos)
    return session.model_copy(update={"todos": todos})


def _related(
    before: Session, after: Session, standings: tuple[Standing, Standing], moved: Collection[str]
) -> tuple[Session, set[str]]:
    """What the entries that moved mean to those that wait for them, or are above them."""
    if all(_counts_as(before, todo) == _counts_as(after, todo) for todo in moved):
        return after, set()
    old, new = standings
    told = {after.todos[todo].parent for todo in old.open ^ new.open} - {""}
    told |= {by for todo in old.done ^ new.done for by in new.dependants.get(todo, ())}
    told |= {todo for todo in moved if todo in before.todos}
    flags = dict(_reopened(after, old, new))
    entries = {todo: after.todos[todo].model_copy(update={"reopened": flag}) for todo, flag in flags.items()}
    told = {todo for todo in told if _word(before, todo, old) != _word(after, todo, new)} | flags.keys()
    return _with(after, entries), told


def _counts_as(session: Session, todo: str) -> tuple[bool, bool, tuple[str, ...]] | None:
    """What of an entry matters to others."""
    entry = session.todos.get(todo)
    if entry is None:
        return None
    return entry.status is TodoStatus.VERIFIED, entry.status is TodoStatus.CANCELLED, entry.depends_on


def _word(session: Session, todo: str, standing: Standing) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    entry = session.todos.get(todo)
    return (waits_for(entry, standing), open_children(entry, standing)) if entry else None


def _reopened(session: Session, old: Standing, new: Standing) -> Iterable[tuple[str, str]]:
    """Who began after a dependency that is open again, and for whom that is over.

    Of several that are, the last by name: a set has another order in every process, and a replay comes to the same.
    """
    for todo in sorted(old.done - new.done):
        for by in new.dependants.get(todo, ()):
            if session.todos[by].status in _BEGUN:
                yield by, todo
    for todo in sorted(new.done - old.done):
        for by in new.dependants.get(todo, ()):
            if session.todos[by].reopened == todo:
                yield by, ""


def _with_its_status(session: Session, now: datetime, why: str) -> tuple[Session, tuple[Event, ...]]:
    """Completed when every todo has ended, paused while it has a reason to be, and running else."""
    if session.status in ENDED - {SessionStatus.COMPLETED}:
        return session, ()
    standing = standing_of(session.todos)
    if session.todos and not any(standing.counts.get(status) for status in LIVE):
        return _into(session, SessionStatus.COMPLETED, "session_completed", _ends(standing))
    waiting = sorted(id for id in standing.escalated - session.resumed_over if session.todos[id].pauses)
    if session.status is SessionStatus.COMPLETED and now >= session.deadline:
        session = session.model_copy(update={"deadline": now + timedelta(seconds=session.timeout)})
    if session.paused_by_human or waiting:
        escalation = "" if session.paused_by_human else waiting[0]
        return _into(session, SessionStatus.PAUSED, "paused", {"reason": why, "escalation": escalation})
    return _into(session, SessionStatus.RUNNING, "resumed", {"reason": why})


def _into(
    session: Session, status: SessionStatus, action: Action, payload: dict[str, JsonValue]
) -> tuple[Session, tuple[Event, ...]]:
    if session.status is status:
        return session, ()
    after = moved_to(session, status)
    event = Event(action=action, actor=SYSTEM, before=shown(session), after=shown(after), payload=payload)
    return after, (event,)


def _ends(standing: Standing) -> dict[str, JsonValue]:
    ends = (TodoStatus.VERIFIED, TodoStatus.FAILED, TodoStatus.CANCELLED)
    return {status.value: standing.counts.get(status, 0) for status in ends}


def _live(session: Session) -> frozenset[str]:
    return frozenset(entry.id for entry in session.todos.values() if entry.status in LIVE)
