"""What follows from a session's lists: whether it goes on without a human, its order, what a run of it ends with."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from domain.events import Action, Actor, TrailRow
from domain.read_model import RoundView, SessionView, TodoView
from domain.session import Entry, Session
from domain.status import SessionStatus, TodoStatus
from entrypoints.cli.run import exit_code
from entrypoints.standings import Halts, Standing, at_rest, clock_runs, goes_on, halts_of, in_tree_order, time_left

NOW = datetime(2026, 1, 15, 10, 0, tzinfo=UTC)
S = TodoStatus


def todo(name: str, status: TodoStatus = S.PENDING, **fields: Any) -> TodoView:
    times = {"created_at": NOW, "updated_at": NOW}
    return TodoView.model_validate({"session": "s", "todo": name, "status": status, **times, **fields})


def standing(
    *todos: TodoView, status: SessionStatus = SessionStatus.RUNNING, rounds: tuple[RoundView, ...] = ()
) -> Standing:
    return Standing(SessionView(session="s", status=status, created_at=NOW), todos, NOW, rounds)


def round_of(name: str, attempt: int, status: str = "running") -> RoundView:
    workflow_id = f"round/s/{name}/{attempt}"
    fields = {"session": "s", "todo": name, "attempt": attempt, "workflow_id": workflow_id, "started_at": NOW}
    return RoundView.model_validate({**fields, "status": status})


def test_rounds_of_its_fix_loop_judge_a_claim_too() -> None:
    rounds = (round_of("a", 1), round_of("a", 2, "decided"), round_of("a", 3), round_of("a", 4), round_of("b", 3))
    claimed = standing(todo("a", S.CLAIMED, attempt=2), todo("b", attempt=2), rounds=rounds)
    assert [one.workflow_id for one in claimed.running_rounds] == ["round/s/a/3", "round/s/a/4"]


@pytest.mark.parametrize("status", [S.PENDING, S.IN_PROGRESS, S.CLAIMED])
def test_a_todo_that_is_free_goes_on(status: TodoStatus) -> None:
    assert goes_on(standing(todo("a", status), todo("b", S.NEEDS_HUMAN)))


@pytest.mark.parametrize("status", [S.NEEDS_HUMAN, S.BLOCKED, S.FAILED, S.VERIFIED, S.CANCELLED])
def test_a_todo_that_is_done_or_waits_for_a_human_does_not(status: TodoStatus) -> None:
    assert not goes_on(standing(todo("a", status)))


@pytest.mark.parametrize("status", [S.NEEDS_HUMAN, S.BLOCKED, S.FAILED, S.CANCELLED])
def test_who_depends_on_one_that_waits_does_not_go_on_nor_who_depends_on_that(status: TodoStatus) -> None:
    chain = (todo("a", status), todo("b", depends_on=("a",)), todo("c", depends_on=("b",)))
    assert not goes_on(standing(*chain))
    assert goes_on(standing(*chain, todo("d")))


def test_a_parent_waits_for_a_subtask_and_not_for_a_deleted_one() -> None:
    assert not goes_on(standing(todo("p"), todo("c", S.FAILED, parent="p")))
    assert goes_on(standing(todo("p"), todo("c", S.CANCELLED, parent="p")))


def test_who_depends_on_a_verified_parent_waits_for_its_open_subtask() -> None:
    views = (todo("p", S.VERIFIED), todo("c", S.BLOCKED, parent="p"), todo("d", depends_on=("p",)))
    assert not goes_on(standing(*views))


def test_a_claim_is_judged_whoever_waits_for_a_human() -> None:
    assert goes_on(standing(todo("p", S.CLAIMED), todo("c", S.FAILED, parent="p")))


def test_a_paused_session_goes_on_only_while_a_round_of_a_claim_runs() -> None:
    paused = SessionStatus.PAUSED
    claimed = todo("a", S.CLAIMED, attempt=2)
    assert not goes_on(standing(claimed, todo("b"), status=paused))
    assert goes_on(standing(claimed, status=paused, rounds=(round_of("a", 2),)))
    assert not goes_on(standing(claimed, status=paused, rounds=(round_of("a", 1), round_of("a", 2, "decided"))))
    assert not goes_on(standing(todo("a", S.IN_PROGRESS, attempt=2), status=paused, rounds=(round_of("a", 2),)))


@pytest.mark.parametrize("status", [SessionStatus.COMPLETED, SessionStatus.STOPPED, SessionStatus.TIMED_OUT])
def test_a_session_that_is_over_does_not_go_on(status: SessionStatus) -> None:
    assert not goes_on(standing(todo("a"), todo("b", S.CLAIMED), status=status))


def test_ten_thousand_that_wait_for_one_another_are_no_matter() -> None:
    chain = [todo("t0", S.NEEDS_HUMAN), *(todo(f"t{n}", depends_on=(f"t{n - 1}",)) for n in range(1, 10_000))]
    assert not goes_on(standing(*chain))


def test_todos_are_told_below_their_parents_in_their_order() -> None:
    views = (
        *(todo("c2", parent="b", order_index=1), todo("b", order_index=1), todo("a", order_index=2)),
        *(todo("c1", parent="b", order_index=0), todo("d", parent="c1"), todo("z", order_index=0)),
    )
    told = [(depth, view.todo) for depth, view in in_tree_order(views)]
    assert told == [(0, "z"), (0, "b"), (1, "c1"), (2, "d"), (1, "c2"), (0, "a")]


def test_a_todo_whose_parent_is_not_listed_is_told_all_the_same() -> None:
    assert [view.todo for _, view in in_tree_order([todo("a", parent="gone")])] == ["a"]


def test_time_that_is_left_runs_only_towards_a_deadline() -> None:
    later = NOW + timedelta(seconds=10)
    assert time_left(todo("a", time_left=90.0), later) == 90.0
    assert time_left(todo("a", deadline=NOW + timedelta(seconds=60), time_left=90.0), later) == 50.0
    assert time_left(todo("a", deadline=NOW), later) == 0.0


def halted(*events: tuple[str, SessionStatus, float]) -> Halts:
    """Of a session's rows, each so many seconds after `NOW`."""
    rows = (
        TrailRow(
            session="s",
            sequence=n + 1,
            todo_id="",
            event_id=str(n),
            workflow_id="session/s",
            ordinal=n,
            actor=Actor(role="human"),
            action=cast(Action, action),
            after={"status": status},
            timestamp=NOW + timedelta(seconds=at),
            previous_hash="",
            hash="",
        )
        for n, (action, status, at) in enumerate(events)
    )
    return halts_of(rows)


PAUSED, RESUMED = ("paused", SessionStatus.PAUSED, 20.0), ("resumed", SessionStatus.RUNNING, 50.0)


def test_time_that_is_left_stands_still_while_the_session_does() -> None:
    """Sixty seconds at `NOW`, which is when its last row was written."""
    view = todo("a", S.IN_PROGRESS, deadline=NOW + timedelta(seconds=60), time_left=60.0)
    at = {seconds: NOW + timedelta(seconds=seconds) for seconds in (10, 40, 55)}
    assert time_left(view, at[10], halted()) == 50.0
    assert (time_left(view, at[40], halted(PAUSED)), clock_runs(view, halted(PAUSED))) == (40.0, False)
    both = halted(PAUSED, RESUMED)
    assert (time_left(view, at[55], both), clock_runs(view, both)) == (35.0, True)
    again = halted(PAUSED, RESUMED, ("stopped", SessionStatus.STOPPED, 52.0), ("stopped", SessionStatus.STOPPED, 54.0))
    assert (time_left(view, at[55], again), clock_runs(view, again)) == (38.0, False)


def test_a_row_of_a_pause_says_what_is_left_when_the_session_goes_on() -> None:
    updated = NOW + timedelta(seconds=30)
    view = todo("a", S.IN_PROGRESS, time_left=40.0, updated_at=updated)
    assert time_left(view, NOW + timedelta(seconds=45), halted(PAUSED)) == 40.0
    assert time_left(view, NOW + timedelta(seconds=55), halted(PAUSED, RESUMED)) == 35.0
    waits = todo("a", S.NEEDS_HUMAN, time_left=40.0, updated_at=updated)
    assert time_left(waits, NOW + timedelta(seconds=55), halted(PAUSED, RESUMED)) == 40.0, "its own clock stands still"
    assert not clock_runs(waits, halted(PAUSED, RESUMED))


def session(*entries: Entry, status: SessionStatus = SessionStatus.RUNNING) -> Session:
    by_id = {entry.id: entry for entry in entries}
    return Session(
        id="s", host="h", created_by=Actor(role="human"), created_at=NOW, deadline=NOW, status=status, todos=by_id
    )


def test_at_rest_is_what_the_session_itself_says() -> None:
    seen = standing(todo("a", S.NEEDS_HUMAN))
    waits = Entry(id="a", status=S.NEEDS_HUMAN)
    assert at_rest(session(waits), seen)
    assert not at_rest(session(waits.model_copy(update={"busy": True})), seen), "its command still runs"
    assert not at_rest(session(waits, Entry(id="b")), seen), "a todo that is not in the list yet"
    assert not at_rest(session(waits.model_copy(update={"status": S.IN_PROGRESS})), seen), "not heard yet"
    assert not at_rest(session(waits, status=SessionStatus.PAUSED), seen)


DONE = SessionStatus.COMPLETED


@pytest.mark.parametrize(
    ("status", "todos", "code"),
    [
        (DONE, (todo("a", S.VERIFIED),), 0),
        (DONE, (todo("a", S.VERIFIED), todo("b", S.CANCELLED)), 0),
        (DONE, (todo("a", S.CANCELLED),), 1),
        (DONE, (todo("a", S.VERIFIED), todo("b", S.FAILED)), 1),
        (SessionStatus.STOPPED, (todo("a", S.VERIFIED), todo("b")), 1),
        (SessionStatus.STOPPED, (todo("a", S.FAILED), todo("b", S.BLOCKED)), 4),
        (SessionStatus.PAUSED, (todo("a", S.VERIFIED), todo("b", S.NEEDS_HUMAN, trigger="audit_cap_exceeded")), 4),
        (SessionStatus.PAUSED, (todo("a", S.VERIFIED), todo("b")), 4),
        (SessionStatus.RUNNING, (todo("a", S.FAILED), todo("b", depends_on=("a",))), 4),
        (SessionStatus.TIMED_OUT, (todo("a", S.NEEDS_HUMAN, trigger="timeout"),), 4),
        (
            SessionStatus.PAUSED,
            (todo("a", S.NEEDS_HUMAN, trigger="checks_could_not_run"), todo("b", S.NEEDS_HUMAN)),
            3,
        ),
    ],
)
def test_a_run_ends_with_the_first_code_that_applies(
    status: SessionStatus, todos: tuple[TodoView, ...], code: int
) -> None:
    assert exit_code(standing(*todos, status=status)) == code
