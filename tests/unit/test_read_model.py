"""The read model from rows alone: what each row changes, and that the order of attempts and sessions is kept."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest
from pydantic import JsonValue

from domain.events import SYSTEM, Action, TrailEntry
from domain.read_model import KEYS, VIEWS, State, changes, differences, fold, standing
from domain.status import LIVE, ReviewStatus, RoundStatus, SessionStatus, TodoStatus

NOON = datetime(2026, 1, 15, 12, tzinfo=UTC)
ORDINALS = count(1)


def entry(action: Action, attempt: int = 1, **fields: Any) -> TrailEntry:
    usual: dict[str, Any] = {
        "workflow_id": f"round/local/wo-a/{attempt}",
        "ordinal": next(ORDINALS),
        "session": "local",
        "todo_id": "wo-a",
        "actor": SYSTEM,
        "timestamp": NOON,
        **fields,
    }
    return TrailEntry(action=action, attempt=attempt, **usual)


STARTED = entry(
    "verification_started",
    payload={"attempt": 1, "items": ["tests"], "order": "o" * 64, "title": "do it", "domain": "docs"},
    after=standing(TodoStatus.CLAIMED, ReviewStatus.AUDITING),
)
DECIDED = entry(
    "audit_completed",
    timestamp=NOON + timedelta(seconds=5),
    payload={
        "result": "INCONCLUSIVE",
        "outcome": "needs_human",
        "trigger": "hard_fail",
        "reasons": ["a", "b"],
        "record": "1" * 64,
        "report": "2" * 64,
    },
    after=standing(TodoStatus.NEEDS_HUMAN, ReviewStatus.ESCALATED),
)


def test_a_round_from_its_rows() -> None:
    state = fold(
        [
            STARTED,
            entry("snapshot_frozen", payload={"head": "h", "base": "b"}),
            entry("environment_ready", payload={"image": "python", "id": "sha256:1"}),
            entry("environment_set_up", payload={"image": "set-up", "id": "sha256:2"}),
            entry("scope_assessed", payload={"tree": "t", "changed": 3}),
            DECIDED,
        ]
    )
    (round_,) = state.rounds
    assert round_.model_dump() == {
        "session": "local",
        "todo": "wo-a",
        "attempt": 1,
        "workflow_id": "round/local/wo-a/1",
        "status": RoundStatus.DECIDED,
        "order": "o" * 64,
        "head": "h",
        "base": "b",
        "tree": "t",
        "image": "sha256:2",
        "verdict": "INCONCLUSIVE",
        "outcome": "needs_human",
        "trigger": "hard_fail",
        "reasons": ("a", "b"),
        "record": "1" * 64,
        "report": "2" * 64,
        "started_at": NOON,
        "ended_at": NOON + timedelta(seconds=5),
    }
    (todo,) = state.todos
    assert (todo.status, todo.review_status, todo.trigger) == ("needs_human", "escalated", "hard_fail")
    assert (todo.title, todo.domain, todo.attempt) == ("do it", "docs", 1)
    assert (todo.created_at, todo.updated_at) == (NOON, NOON + timedelta(seconds=5))
    (session,) = state.sessions
    assert (session.status, session.created_at, session.ended_at) == (SessionStatus.RUNNING, NOON, None)


def test_a_later_attempt_takes_the_todo_over_and_leaves_the_earlier_round_alone() -> None:
    second = STARTED.model_copy(update={"attempt": 2, "workflow_id": "round/local/wo-a/2"})
    state = fold([STARTED, DECIDED, second])
    assert [round_.status for round_ in state.rounds] == [RoundStatus.DECIDED, RoundStatus.RUNNING]
    assert (state.todos[0].attempt, state.todos[0].trigger) == (2, "")
    assert state.todos[0].status is TodoStatus.CLAIMED


def test_what_could_not_be_frozen_or_set_up_leaves_its_fields_as_they_were() -> None:
    state = fold(
        [
            STARTED,
            entry("environment_ready", payload={"image": "python", "id": "sha256:1"}),
            entry("snapshot_frozen", payload={"error": "no such folder"}),
            entry("environment_set_up", payload={"error": "pip failed"}),
        ]
    )
    assert (state.rounds[0].head, state.rounds[0].image) == ("", "sha256:1")


@pytest.mark.parametrize("action", ["check_started", "check_completed", "base_compared", "retry_context_assembled"])
def test_rows_that_no_list_shows_change_nothing(action: Action) -> None:
    assert changes(entry(action, payload={"check": "tests"})) == ()


@pytest.mark.parametrize(
    ("status", "ended"), [("paused", False), ("running", False), ("stopped", True), ("timed_out", True)]
)
def test_a_sessions_own_rows_say_where_it_stands(status: str, ended: bool) -> None:
    after: dict[str, JsonValue] = {"status": status}
    state = fold([STARTED, entry("paused", 0, todo_id="", after=after, timestamp=NOON + timedelta(hours=1))])
    (session,) = state.sessions
    assert (session.status, session.ended_at is not None) == (SessionStatus(status), ended)
    assert session.created_at == NOON
    assert len(state.todos) == 1


def test_a_session_that_goes_on_has_not_ended() -> None:
    rows = [entry("stopped", 0, todo_id="", after={"status": status}) for status in ("timed_out", "running")]
    assert fold(rows).sessions[0].ended_at is None


def test_views_are_sorted_by_their_keys_whatever_came_first() -> None:
    rows = [
        STARTED.model_copy(update={"session": session, "todo_id": todo, "attempt": attempt})
        for session, todo, attempt in [("z", "b", 1), ("a", "b", 10), ("a", "b", 9), ("a", "a", 1)]
    ]
    state = fold(rows)
    assert [view.session for view in state.sessions] == ["a", "z"]
    assert [(view.session, view.todo, view.attempt) for view in state.rounds] == [
        ("a", "a", 1),
        ("a", "b", 9),
        ("a", "b", 10),
        ("z", "b", 1),
    ]


def test_differences_name_what_is_missing_what_is_too_much_and_what_differs() -> None:
    derived = fold([STARTED, DECIDED])
    stored = State(
        sessions=derived.sessions,
        todos=(derived.todos[0].model_copy(update={"status": TodoStatus.VERIFIED}),),
        rounds=(derived.rounds[0].model_copy(update={"attempt": 7}),),
    )
    assert differences(derived, derived) == ()
    found = differences(stored, derived)
    assert [(each.table, each.key, each.stored is None, each.derived is None) for each in found] == [
        ("todos", ("local", "wo-a"), False, False),
        ("rounds", ("local", "wo-a", 1), True, False),
        ("rounds", ("local", "wo-a", 7), False, True),
    ]
    assert found[0].stored is not None
    assert found[0].stored["status"] == "verified"


def test_keys_are_fields_of_their_views() -> None:
    for table, key in KEYS.items():
        assert tuple(VIEWS[table].model_fields)[: len(key)] == key


def test_live_is_all_but_three() -> None:
    assert set(TodoStatus) - LIVE == {"verified", "failed", "cancelled"}
