"""How far the fix loop of a todo is, as lists and pages say it: by the loop's rows, of the claim that there is now."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from rich.text import Text

from domain.events import Action, TrailRow
from domain.read_model import RoundView, SessionView, TodoView
from domain.status import TodoStatus
from entrypoints.cli.tree import line, nested
from entrypoints.fix_loops import fix_loop_of, fix_loops_in
from entrypoints.standings import Standing
from tests.fakes.trail import Memory, MemoryTrail
from tests.unit.test_events import row

NOW = datetime(2026, 1, 15, 10, 0, tzinfo=UTC)


def view(**fields: Any) -> TodoView:
    there = {"session": "s", "todo": "a", "status": "claimed", "attempt": 1, "created_at": NOW, "updated_at": NOW}
    return TodoView.model_validate({**there, **fields})


def round_of(attempt: int, status: str) -> RoundView:
    named = {"session": "s", "todo": "a", "attempt": attempt, "workflow_id": f"round/s/a/{attempt}"}
    return RoundView.model_validate({**named, "started_at": NOW, "status": status})


def rows(*told: tuple[Action, dict[str, Any]]) -> list[TrailRow]:
    return [
        row(session="s", todo_id="a", sequence=number, action=action, payload=payload)
        for number, (action, payload) in enumerate(told, 1)
    ]


BEGUN: tuple[Action, dict[str, Any]] = ("fix_loop_started", {"attempt": 1})
FIRST: tuple[Action, dict[str, Any]] = ("fix_iteration_started", {"loop": 1, "of": 3, "attempt": 1})
SECOND: tuple[Action, dict[str, Any]] = ("fix_iteration_started", {"loop": 2, "of": 3, "attempt": 2})
ENDED: tuple[Action, dict[str, Any]] = ("fix_loop_ended", {"ending": "aborted"})
AGAIN: tuple[Action, dict[str, Any]] = ("fix_loop_started", {"attempt": 5})


@pytest.mark.parametrize(
    ("told", "attempt", "said"),
    [
        ((), 1, ""),
        ((BEGUN,), 1, "fix loop of attempt 1"),
        ((BEGUN, FIRST), 1, "fix loop 1 of 3"),
        ((BEGUN, FIRST, SECOND), 1, "fix loop 2 of 3"),
        ((BEGUN, FIRST, ENDED), 1, ""),
        ((BEGUN, FIRST), 5, ""),
        ((BEGUN, FIRST, ENDED, AGAIN), 5, "fix loop of attempt 5"),
        ((BEGUN, FIRST, AGAIN), 5, "fix loop of attempt 5"),
    ],
)
def test_it_is_as_far_as_its_rows_say(told: tuple[tuple[Action, dict[str, Any]], ...], attempt: int, said: str) -> None:
    assert fix_loop_of(view(attempt=attempt), rows(*told)) == said


@pytest.mark.parametrize("status", [status for status in TodoStatus if status is not TodoStatus.CLAIMED])
def test_what_is_not_claimed_is_not_repaired(status: TodoStatus) -> None:
    assert fix_loop_of(view(status=status), rows(BEGUN, FIRST)) == ""


def trail(*told: tuple[Action, dict[str, Any]]) -> MemoryTrail:
    memory = Memory()
    memory.rows.update({("fix/s/a/1", number): row for number, row in enumerate(rows(*told), 1)})
    return MemoryTrail(memory)


def test_only_where_the_claims_round_has_decided_it_is_asked_for() -> None:
    there = trail(BEGUN, FIRST)
    decided = (round_of(1, "decided"), round_of(2, "running"))
    assert fix_loops_in(there, [view()], decided) == {"a": "fix loop 1 of 3"}
    assert fix_loops_in(there, [view()], (round_of(1, "running"),)) == {}
    assert fix_loops_in(there, [view(status="needs_human")], decided) == {}
    assert fix_loops_in(trail(BEGUN, FIRST, ENDED), [view()], decided) == {}


def test_lists_say_it() -> None:
    session = SessionView(session="s", created_at=NOW)
    standing = Standing(session, (view(),), NOW, nodes={"a": "tests"}, loops={"a": "fix loop 2 of 3"})
    shown = line(view(), standing)
    assert isinstance(shown, Text)
    assert "  fix loop 2 of 3  tests" in shown.plain
    assert nested(standing)["todos"][0]["fix_loop"] == "fix loop 2 of 3"
