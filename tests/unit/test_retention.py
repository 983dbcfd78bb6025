"""What has to stay: which rows hold on to evidence, how old is old, and what counts as a digest."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from domain.events import SYSTEM, TrailRow
from domain.read_model import RoundView, State, TodoView
from domain.retention import GRACE, OPEN_FOR, cutoff, digests_in, holds, is_manifest, let_go, named_in, seconds_of
from domain.status import LIVE, RoundStatus, TodoStatus
from domain.tree import Entry, Manifest

NOW = datetime(2026, 1, 15, 10, 0, tzinfo=UTC)
DAY = timedelta(days=1)


def round_of(status: RoundStatus, age: timedelta, attempt: int = 1) -> RoundView:
    place = {"session": "s", "todo": "t", "attempt": attempt, "workflow_id": "w"}
    return RoundView.model_validate({**place, "status": status, "started_at": NOW - age})


def todo_of(status: TodoStatus) -> TodoView:
    return TodoView(session="s", todo="t", status=status, created_at=NOW, updated_at=NOW)


@pytest.mark.parametrize(
    ("text", "seconds"), [("0s", 0), ("90m", 5400), ("12h", 43200), ("30d", 2592000), ("2w", 1209600), (" 1s ", 1)]
)
def test_durations(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "30", "d", "-1d", "1.5h", "30 d", "1y", "9999999999s", "٣d x"])
def test_what_is_no_duration_says_what_was_expected(text: str) -> None:
    with pytest.raises(ValueError, match="expected a number and one of"):
        seconds_of(text)


@pytest.mark.parametrize(
    ("older_than", "rounds", "expected"),
    [
        (30 * 86400, (), NOW - 30 * DAY),
        (0, (), NOW - GRACE),
        (0, (round_of(RoundStatus.RUNNING, DAY),), NOW - DAY - GRACE),
        (0, (round_of(RoundStatus.RUNNING, OPEN_FOR + DAY),), NOW - GRACE),
        (0, (round_of(RoundStatus.DECIDED, DAY), round_of(RoundStatus.CANCELLED, DAY, 2)), NOW - GRACE),
        (2 * 86400, (round_of(RoundStatus.RUNNING, DAY),), NOW - 2 * DAY),
    ],
)
def test_old_is_never_what_an_open_round_may_use(
    older_than: float, rounds: tuple[RoundView, ...], expected: datetime
) -> None:
    assert cutoff(NOW, older_than, State(rounds=rounds)) == expected


@pytest.mark.parametrize("todo", TodoStatus)
@pytest.mark.parametrize("status", RoundStatus)
@pytest.mark.parametrize("age", [DAY, OPEN_FOR + DAY])
def test_only_a_round_without_a_verdict_of_a_todo_that_is_over_lets_go(
    todo: TodoStatus, status: RoundStatus, age: timedelta
) -> None:
    state = State(todos=(todo_of(todo),), rounds=(round_of(status, age),))
    ended = status is RoundStatus.CANCELLED or (status is RoundStatus.RUNNING and age > OPEN_FOR)
    assert let_go(state, NOW) == ({("s", "t", 1)} if ended and todo not in LIVE else set())


def row(attempt: int = 1, **payload: str) -> TrailRow:
    place = {"session": "s", "todo_id": "t", "attempt": attempt, "workflow_id": "w", "ordinal": 1, "actor": SYSTEM}
    chain = {"event_id": "e", "sequence": 1, "previous_hash": "0" * 64, "hash": "f" * 64}
    return TrailRow.model_validate(
        {**place, **chain, "action": "snapshot_frozen", "payload": payload, "timestamp": NOW}
    )


def test_rows_of_other_attempts_and_of_no_round_hold() -> None:
    released = frozenset({("s", "t", 1)})
    assert [holds(row(attempt), released) for attempt in (0, 1, 2)] == [True, False, True]


def test_every_digest_in_a_row_is_named_and_its_hashes_are_not() -> None:
    assert named_in(row(head="a" * 64, image="sha256:" + "b" * 64, other="c" * 63)) == {"a" * 64}


def test_a_manifest_is_told_from_other_documents() -> None:
    entry = Entry(path='we"ird', size=1, digest="a" * 64)
    manifest = Manifest.of([entry]).encode()
    assert is_manifest(manifest)
    assert list(digests_in(manifest)) == ["a" * 64]
    assert not any(map(is_manifest, (b'[{"path":"x"}]', b'{"a":[["b"]]}', Manifest.of([]).encode())))
