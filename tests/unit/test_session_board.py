"""How a session is shown in the Web UI: what counts, briefly, and nothing that a name could forge."""

from __future__ import annotations

from datetime import UTC, datetime

from domain.events import Actor
from domain.session import Entry, Session
from domain.status import SessionStatus, TodoStatus
from workflows.session.board import SHOWN, details

NOW = datetime(2026, 1, 15, 10, 5, 1, tzinfo=UTC)


def session(*entries: Entry, **fields: object) -> Session:
    given = {"id": "s", "host": "h", "created_by": Actor(role="human"), "created_at": NOW, "deadline": NOW, **fields}
    return Session.model_validate({**given, "todos": {entry.id: entry for entry in entries}})


def test_counts_who_needs_a_human_and_who_waits() -> None:
    shown = details(
        session(
            Entry(id="a", status=TodoStatus.NEEDS_HUMAN, escalated=True),
            Entry(id="b", depends_on=("a",)),
            Entry(id="c", status=TodoStatus.VERIFIED, depends_on=("a",)),
            status=SessionStatus.PAUSED,
            paused_by_human=True,
        )
    )
    assert shown.splitlines() == [
        "**PAUSED** 3 todos",
        "",
        "- pending: 1",
        "- verified: 1",
        r"- needs\_human: 1",
        "- time until 2026-01-15T10:05:01+00:00",
        "- paused by a human",
        "- needs a human: a",
        "- waits: b for a",
    ]


def test_of_very_many_only_some_are_named() -> None:
    many = (Entry(id=f"t{n}", status=TodoStatus.NEEDS_HUMAN, escalated=True) for n in range(SHOWN + 5))
    lines = details(session(*many)).splitlines()
    assert len([line for line in lines if line.startswith("- needs a human: t")]) == SHOWN
    assert lines[-1] == "- needs a human: and more"


def test_what_has_ended_has_no_time_left() -> None:
    assert "time until" not in details(session(Entry(id="a"), status=SessionStatus.STOPPED))


def test_nobody_waits_for_what_is_done() -> None:
    done = Entry(id="a", status=TodoStatus.VERIFIED)
    assert "waits" not in details(session(done, Entry(id="b", depends_on=("a",))))
