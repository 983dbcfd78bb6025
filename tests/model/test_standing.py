"""What a session knows after each report is what its entries say when they are read from the beginning, searched."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from domain import sessions
from domain.events import Actor
from domain.requests import Drive, Pause, Refusal, Resume
from domain.session import Entry, Session, TodoReport
from domain.sessions import SessionStep
from domain.standing import MOST_NAMED, open_children, said, standing_of
from domain.status import SessionStatus, TodoStatus
from domain.turns import turns

NOW = datetime(2026, 1, 15, 10, 5, 1, tzinfo=UTC)
ANN = Actor(role="unattributed", identity="ann")
SIZE = 8
STATUSES = (TodoStatus.VERIFIED,) * 4 + (TodoStatus.IN_PROGRESS,) * 2 + tuple(TodoStatus)


def forest(chance: random.Random) -> tuple[Entry, ...]:
    """Each below one before it or a root; some depend on one before them; two workspaces, and some of their own."""
    found: list[Entry] = []
    for number in range(SIZE):
        before = [entry.id for entry in found]
        found.append(
            Entry(
                id=f"t{number}",
                parent=chance.choice(["", *before]),
                depends_on=tuple(chance.sample(before, min(len(before), chance.choice((0, 0, 1, 2))))),
                order_index=chance.randrange(SIZE),
                workspace=chance.choice(("", "/a", "/b")),
                driven=chance.random() < 0.8,
                terms="t",
            )
        )
    return tuple(found)


def begun(entries: tuple[Entry, ...]) -> Session | None:
    new = Session(id="s", host="h", created_by=ANN, created_at=NOW, deadline=NOW, terms="t", driving=True)
    step = sessions.opened(new, ANN, entries, NOW)
    return None if isinstance(step, Refusal) else step.session


def report(session: Session, todo: str, status: TodoStatus, busy: bool, place: int | None) -> TodoReport:
    stood = session.todos[todo]
    return TodoReport(
        todo=todo,
        number=stood.report + 1,
        status=status,
        parent=stood.parent,
        depends_on=stood.depends_on,
        order_index=stood.order_index if place is None else place,
        workspace=stood.workspace,
        driven=stood.driven,
        busy=busy,
    )


def as_if_new(session: Session) -> Session:
    """The same, of which nothing is known yet."""
    return session.model_copy(update={"todos": dict(session.todos)})


@settings(max_examples=100, deadline=None)
@given(chance=st.randoms(use_true_random=True))
def test_what_moved_alone_is_looked_at_and_all_is_as_if_everything_was(chance: random.Random) -> None:
    while (opened := begun(forest(chance))) is None:
        continue  # these wait for one another
    driven = sessions.driven(opened, Drive(actor=ANN, on=True), NOW)
    assert isinstance(driven, SessionStep)
    session = driven.session
    for _ in range(20):
        reports = [
            any_report(session, todo, chance) for todo in chance.sample(sorted(session.todos), chance.choice((1, 1, 3)))
        ]
        step = sessions.heard_all(session, reports, NOW)
        again = sessions.heard_all(as_if_new(session), reports, NOW)
        assert (step.session, step.told, step.events) == (again.session, again.told, again.events)
        session, gates = said(step.session, sorted(step.told))
        assert gates == said(as_if_new(step.session), sorted(step.told))[1]
        assert standing_of(session.todos) == standing_of(as_if_new(session).todos)
        assert {entry.id for entry in session.todos.values() if entry.turn} == turns(as_if_new(session))
        if chance.random() < 0.1 and session.status in (SessionStatus.RUNNING, SessionStatus.PAUSED):
            session = _paused_and_resumed(session)


def any_report(session: Session, todo: str, chance: random.Random) -> TodoReport:
    place = chance.choice((None,) * 9 + (chance.randrange(SIZE),))
    return report(session, todo, chance.choice(STATUSES), chance.random() < 0.2, place)


def _paused_and_resumed(session: Session) -> Session:
    paused = sessions.paused(session, Pause(actor=ANN), NOW)
    assert isinstance(paused, SessionStep)
    resumed = sessions.resumed(paused.session, Resume(actor=ANN), NOW + timedelta(seconds=1))
    assert isinstance(resumed, SessionStep)
    return resumed.session


def test_of_very_many_open_subtasks_some_are_named_and_the_parent_is_not_told_of_each() -> None:
    below = [Entry(id=f"c{number:03}", parent="p", order_index=number) for number in range(MOST_NAMED + 10)]
    session = begun((Entry(id="p"), *below))
    assert session is not None
    assert len(open_children(session.todos["p"], standing_of(session.todos))) == MOST_NAMED
    last = sessions.heard(session, report(session, below[-1].id, TodoStatus.VERIFIED, False, None), NOW)
    assert "p" not in last.told
    first = sessions.heard(last.session, report(last.session, "c000", TodoStatus.VERIFIED, False, None), NOW)
    assert "p" in first.told
