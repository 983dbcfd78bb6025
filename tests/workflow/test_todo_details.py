"""What people read of a todo in the Web UI."""

from __future__ import annotations

from datetime import UTC, datetime

from domain.decision import Decision, RoundOutcome
from domain.events import Actor
from domain.fixing import Tally
from domain.messages import RoundResult
from domain.safeguards import Clock
from domain.status import ReviewStatus, SessionStatus, TodoStatus
from domain.todo import Fixing, Gate, OpenQuestion, Repairing, Todo
from tests.workflow.conftest import order_of
from workflows.todo.board import details


def todo_of(**fields: object) -> Todo:
    order = order_of("wo-1", content="write *it*")
    todo = Todo(
        session="s",
        id="wo-1",
        order=order,
        order_digest=order.digest,
        host="here",
        created_by=Actor(role="unattributed", identity="ann"),
        clock=Clock(limit=3600.0, spent=61.4),
    )
    return todo.model_copy(update=fields)


def test_where_it_stands_and_what_is_left() -> None:
    counted = {"attempt": 2, "audits": 1, "revisions": 1, "granted": 1, "trigger": "no_progress"}
    shown = details(todo_of(status=TodoStatus.NEEDS_HUMAN, review_status=ReviewStatus.ESCALATED, **counted))
    assert shown.splitlines() == [
        "**NEEDS HUMAN** write \\*it\\*",
        "",
        "- review: escalated (no\\_progress)",
        "- attempt 2: audits 1 of 4, revisions 1 of 3",
        "- time: 61 s of 3600 s until it last stood still",
    ]


def test_everything_that_it_waits_for() -> None:
    gate = Gate(status=SessionStatus.PAUSED, waits_for=("a",), open_children=("b",))
    question = OpenQuestion(question="which one?")
    at = datetime(2026, 1, 15, 10, 0, tzinfo=UTC)
    shown = details(todo_of(gate=gate, question=question, retry_at=at, feedback="not this way", flag="changed"))
    assert shown.splitlines()[5:] == [
        "- waits for its session, which is paused",
        "- waits for a to be verified",
        "- waits for its subtask b",
        "- waits for an answer: which one?",
        "- waits for another try at 2026-01-15T10:00:00+00:00",
        "- last feedback: not this way",
        "- look again: changed",
    ]


def test_that_a_fix_loop_runs_and_how_much_it_may() -> None:
    decision = Decision(outcome=RoundOutcome.CHANGES_REQUESTED, reasons=())
    repair = Repairing(attempt=2, result=RoundResult(decision=decision, report="r" * 64))
    fixing = Fixing(used=Tally(loops=1), granted=Tally(loops=3))
    shown = details(todo_of(status=TodoStatus.CLAIMED, attempt=2, repair=repair, fixing=fixing))
    assert "- fix loop of attempt 2: 1 of 6 loops used before" in shown.splitlines()
    assert "fix loop" not in details(todo_of(status=TodoStatus.CLAIMED, attempt=2, fixing=fixing))
