"""When people are told that a todo waits for them, and what the message says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from domain.acts.step import Event
from domain.events import Actor
from domain.notifications import Notice, begun, ended, heading, plain, session_over, shown, text_of
from domain.order import Order
from domain.safeguards import Clock
from domain.status import SessionStatus, TodoStatus
from domain.todo import Gate, OpenQuestion, Todo
from workflows import options

AT = datetime(2026, 1, 15, 10, 0, tzinfo=UTC)
ANN = Actor(role="human", identity="ann")


def todo(status: str, trigger: str = "", question: str = "", **fields: object) -> Todo:
    order = Order(id="wo-1", content="Write the parser", workspace="/w", base="/b")
    made = Todo(
        session="s", id="wo-1", order=order, order_digest="0" * 64, host="h", created_by=ANN, clock=Clock(limit=9)
    )
    asked = OpenQuestion(question=question) if question else None
    return made.model_copy(update={"status": TodoStatus(status), "trigger": trigger, "question": asked, **fields})


def row(action: str, **payload: object) -> Event:
    return Event.model_validate({"action": action, "actor": ANN, "payload": payload})


WORKS = todo("in_progress")
WAITS = (
    (todo("needs_human", "no_progress"), "escalated"),
    (todo("failed", "hard_fail"), "escalated"),
    (todo("blocked", question="which one?"), "question"),
)


@pytest.mark.parametrize(("after", "kind"), WAITS)
def test_people_are_told_when_it_begins_to_wait_for_them(after: Todo, kind: str) -> None:
    found = begun(WORKS, after, [row("escalated", reason="a reason")], AT)
    assert found is not None
    assert (found.kind, found.status, found.since, found.session, found.todo) == (kind, after.status, AT, "s", "wo-1")
    assert found.reason == ("which one?" if kind == "question" else "a reason")
    assert ended(WORKS, after, [], AT) is None


@pytest.mark.parametrize("status", ["pending", "in_progress", "claimed", "verified", "cancelled"])
def test_and_when_it_does_no_more(status: str) -> None:
    after = todo(status)
    assert begun(WAITS[0][0], after, [], AT) is None
    found = ended(WAITS[0][0], after, [row("human_override", reason="looked at it")], AT)
    assert found is not None
    assert (found.kind, found.by, found.how, found.reason) == (
        "resolved",
        "human:ann",
        "human_override",
        "looked at it",
    )


@pytest.mark.parametrize(("after", "kind"), WAITS)
def test_what_changes_nothing_of_a_wait_is_not_told(after: Todo, kind: str) -> None:
    noted = after.model_copy(update={"version": 2, "feedback": "a note"})
    assert begun(after, noted, [row("noted")], AT) is None
    assert ended(after, noted, [row("noted")], AT) is None


def test_another_cause_or_question_is_another_wait() -> None:
    one, other = todo("needs_human", "no_progress"), todo("needs_human", "revision_cap_exceeded")
    assert begun(one, other, [], AT) is not None
    assert begun(todo("blocked", question="a?"), todo("blocked", question="b?"), [], AT) is not None
    assert begun(one, todo("failed", "hard_fail"), [], AT) is not None
    assert ended(one, other, [], AT) is None, "nobody has resolved anything"


def test_todos_of_a_session_that_is_over_are_told_of_together() -> None:
    over = Gate(status=SessionStatus.TIMED_OUT)
    assert begun(WORKS, todo("needs_human", "timeout", gate=over), [], AT) is None
    assert begun(WORKS, todo("needs_human", "timeout"), [], AT) is not None, "its own time is its own"
    assert begun(WORKS, todo("needs_human", "no_progress", gate=over), [], AT) is not None
    found = session_over("s", 3, AT)
    assert (found.place, found.next_step) == ("s", "countersign inbox")
    assert "3 of its todos" in text_of(found)


HOSTILE = "<!channel> @everyone <@U1> [click](http://x) [a][b]\nsecond\x1b[31m line\u202e"


def test_what_others_wrote_means_nothing_to_a_chat() -> None:
    found = plain(HOSTILE)
    for mark in ("<!", "<@", "@e", "@U", "](", "]["):
        assert mark not in found
    assert "\n" not in found
    assert "\x1b" not in found
    assert "\u202e" not in found
    assert found.replace("\u200b", "").startswith("<!channel> @everyone <@U1> [click](http://x) [a][b] second")


def test_the_message_has_the_facts_a_line_each_and_the_command_to_give() -> None:
    notice = Notice(kind="escalated", session="s", todo="a", status="needs_human", trigger="no_progress", since=AT)
    notice = notice.model_copy(update={"reason": HOSTILE, "title": "A title\nnext: rm -rf /", "attempt": 2})
    lines = text_of(shown(notice)).split("\n")
    assert lines[0] == heading(notice) == "s/a waits for a person"
    assert lines[1] == "todo: A title next: rm -rf /"
    assert lines[2] == "status: needs_human (no_progress)"
    assert lines[4:] == ["attempt: 2", "since: 2026-01-15T10:00:00+00:00", "next: countersign review s/a"]
    assert len(lines) == 7


def test_reminders_and_ends_are_told_apart() -> None:
    notice = Notice(kind="reminder", session="s", todo="a", number=2, since=AT)
    assert heading(notice) == "s/a still waits for a person (reminder 2)"
    over = Notice(kind="resolved", session="s", todo="a", status="verified", by="human:ann", how="approved", since=AT)
    assert text_of(over).split("\n")[-2:] == ["by: human:ann, approved", "at: 2026-01-15T10:00:00+00:00"]


def test_a_long_text_is_cut_once_it_was_masked() -> None:
    raw = begun(WORKS, todo("blocked", question="x" * 5000), [], AT)
    assert raw is not None
    assert len(raw.reason) == 5000, "half a secret would not be found"
    assert len(shown(raw).reason) == 1000


def test_a_message_is_tried_for_a_week_at_most_every_minute() -> None:
    given = options.NOTIFY
    assert given["schedule_to_close_timeout"] == timedelta(days=7)
    assert given["start_to_close_timeout"] == timedelta(minutes=1)
    retries = given["retry_policy"]
    assert (retries.maximum_interval, retries.maximum_attempts) == (timedelta(minutes=1), 0)
    assert given["task_queue"] == "notifications" != options.TRAIL["task_queue"]
