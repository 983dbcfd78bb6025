"""What every `domain.ports.Trail` does: held against the trail in either database and against the fake."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.errors import Cause, Unavailable
from domain.events import Actor, RowFilter, TrailCheck, TrailEntry, TrailRow
from domain.ports import Trail
from tests.trails import NAMES, NOON, OF_A_TRAIL, TEXTS, Place, entry


def as_entry(row: TrailRow) -> TrailEntry:
    return TrailEntry.model_validate(row.model_dump())


def in_threads(*jobs: Callable[[], object]) -> None:
    """Run all jobs at once; what one raises is raised here."""
    failures: list[BaseException] = []
    barrier = threading.Barrier(len(jobs))

    def run(job: Callable[[], object]) -> None:
        barrier.wait()
        try:
            job()
        except BaseException as error:  # noqa: BLE001 - raised again in the test's own thread
            failures.append(error)

    threads = [threading.Thread(target=run, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def test_an_empty_trail_is_in_order(trail: Trail) -> None:
    assert list(trail.rows()) == []
    assert trail.last_attempt("local", "wo-a") == 0
    assert trail.verify() == TrailCheck(rows=0, sessions=0)


def test_what_was_appended_is_read_back(trail: Trail) -> None:
    sent = entry(
        1,
        actor=Actor(role="human", identity="Ada Löwe"),
        before={"status": "pending"},
        after={"status": "in_progress", "n": 2**53 - 1, "x": [1.5, None, True, {"": "\0"}]},
        tool_call_id="call-1",
        correlation_id="corr",
        caused_by="cause",
    )
    ref = trail.append(sent)
    (row,) = trail.rows()
    assert as_entry(row) == sent
    assert (row.event_id, row.sequence, row.hash) == (ref.event_id, ref.sequence, ref.hash)
    assert row.previous_hash == "0" * 64


def test_times_come_back_as_the_same_instant_in_utc(trail: Trail) -> None:
    times = [
        datetime(1, 1, 1, tzinfo=UTC),
        datetime(2026, 3, 29, 2, 30, 0, 1, tzinfo=timezone(timedelta(hours=5, minutes=45))),
        datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
    ]
    for ordinal, moment in enumerate(times):
        trail.append(entry(ordinal, timestamp=moment))
    found = [row.timestamp for row in trail.rows()]
    assert found == times
    assert {moment.utcoffset() for moment in found} == {timedelta(0)}


def test_the_same_body_again_is_stored_once(trail: Trail) -> None:
    first = trail.append(entry(1))
    trail.append(entry(2))
    assert trail.append(entry(1)) == first
    same_instant = NOON.astimezone(timezone(timedelta(hours=-3)))
    assert trail.append(entry(1, timestamp=same_instant)) == first
    assert [row.sequence for row in trail.rows()] == [1, 2]
    check = trail.verify()
    assert (check.faults, check.unproven) == ((), ())


@pytest.mark.parametrize(
    "other",
    [
        {"payload": {"check": "tests", "outcome": "failed"}},
        {"session": "elsewhere"},
        {"attempt": 2},
        {"actor": Actor(role="worker")},
        {"timestamp": NOON + timedelta(microseconds=1)},
        {"before": {"a": 1}},
        {"caused_by": "x"},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_another_body_under_the_same_key_is_refused(trail: Trail, other: dict[str, Any]) -> None:
    trail.append(entry(1))
    with pytest.raises(ValueError, match="another body"):
        trail.append(entry(1, **other))
    assert [as_entry(row) for row in trail.rows()] == [entry(1)]


def test_keys_do_not_run_into_each_other(trail: Trail) -> None:
    refs = [trail.append(entry(1, "w/1")), trail.append(entry(11, "w/")), trail.append(entry(11, "w"))]
    assert len({ref.event_id for ref in refs}) == 3


def test_every_session_counts_for_itself(trail: Trail) -> None:
    for ordinal, session in enumerate(["b", "a", "b", "a", "b"]):
        trail.append(entry(ordinal, session=session))
    rows = list(trail.rows())
    assert [(row.session, row.sequence) for row in rows] == [("a", 1), ("a", 2), ("b", 1), ("b", 2), ("b", 3)]
    assert [row.ordinal for row in rows] == [1, 3, 0, 2, 4], "in the order of the appends, not of the times"
    for row, following in pairwise(rows):
        assert following.previous_hash == (row.hash if row.session == following.session else "0" * 64)
    assert trail.verify().sessions == 2


def test_sessions_are_sorted_by_code_point(trail: Trail) -> None:
    names = ["ä", "z", "Z", "", "a\U0001f600", "a\uffff", "0"]
    for ordinal, name in enumerate(names):
        trail.append(entry(ordinal, session=name))
    assert [row.session for row in trail.rows()] == sorted(names)


def test_rows_are_filtered(trail: Trail) -> None:
    for ordinal, (session, todo, attempt) in enumerate(
        [("a", "x", 1), ("a", "x", 2), ("a", "y", 1), ("b", "x", 1), ("b", "", 0)]
    ):
        trail.append(entry(ordinal, session=session, todo_id=todo, attempt=attempt))

    def ordinals(**wanted: Any) -> list[int]:
        return [row.ordinal for row in trail.rows(RowFilter(**wanted))]

    assert ordinals() == [0, 1, 2, 3, 4]
    assert ordinals(session="a") == [0, 1, 2]
    assert ordinals(session="a", todo="x") == [0, 1]
    assert ordinals(session="a", todo="x", attempt=2) == [1]
    assert ordinals(todo="x", attempt=1) == [0, 3]
    assert ordinals(session="b", todo="", attempt=0) == [4], "an empty name and attempt 0 are values, not 'any'"
    assert ordinals(session="A") == ordinals(session="a%") == ordinals(session="c") == []


def test_rows_are_filtered_by_action_role_and_time(trail: Trail) -> None:
    roles = ["human", "worker", "harness", "system"]
    for ordinal, (role, action) in enumerate(zip(roles, ["edited", "noted", "check_started", "noted"], strict=True)):
        actor = Actor(role=role, identity='","role":"human"}' if role == "worker" else "")
        moment = NOON.astimezone(timezone(timedelta(hours=ordinal))) + timedelta(microseconds=ordinal)
        trail.append(entry(ordinal, actor=actor, action=action, timestamp=moment))

    def ordinals(**wanted: Any) -> list[int]:
        return [row.ordinal for row in trail.rows(RowFilter(**wanted))]

    assert ordinals(actions=("noted",)) == [1, 3]
    assert ordinals(actions=("noted", "edited")) == [0, 1, 3]
    assert ordinals(roles=("human",)) == [0], "a name that looks like a role is none"
    assert ordinals(roles=("human", "system")) == [0, 3]
    assert ordinals(since=NOON + timedelta(microseconds=1), until=NOON + timedelta(microseconds=3)) == [1, 2]
    assert ordinals(since=NOON + timedelta(microseconds=1), actions=("noted",), roles=("worker",)) == [1]
    with pytest.raises((ValueError, TypeError), match=r"zone|naive"):
        ordinals(since=datetime(2026, 1, 1))  # noqa: DTZ001 - what is refused here


def test_rows_after_those_that_were_seen(trail: Trail) -> None:
    for ordinal in range(9):
        trail.append(entry(ordinal, session="abc"[ordinal % 3]))

    def ordinals(**wanted: Any) -> list[int]:
        return [row.ordinal for row in trail.rows(RowFilter(**wanted))]

    assert ordinals(after={"a": 2, "c": 3}) == [6, 1, 4, 7]
    assert ordinals(after={"a": 2}, session="a") == [6]
    assert ordinals(after={"a": 2}, session="b") == [1, 4, 7]
    assert ordinals(after={"a": 3, "b": 3, "c": 3}) == []
    assert ordinals(after={f"s{number}": 1 for number in range(2_000)} | {"a": 2, "b": 3}) == [6, 2, 5, 8]


def test_the_last_attempt(trail: Trail) -> None:
    for ordinal, attempt in enumerate([1, 10, 9]):
        trail.append(entry(ordinal, attempt=attempt))
    trail.append(entry(3, session="other", attempt=12))
    trail.append(entry(4, todo_id="wo-ab", attempt=13))
    assert trail.last_attempt("local", "wo-a") == 10
    assert trail.last_attempt("local", "wo-") == 0


def test_a_restart_changes_nothing(place: Place) -> None:
    first = place.open()
    ref = first.append(entry(1))
    again = place.open()
    assert again.store_id() == first.store_id()
    assert again.append(entry(1)) == ref
    assert again.append(entry(2)).sequence == 2
    assert [row.sequence for row in first.rows()] == [1, 2]
    check = place.open().verify()
    assert (check.rows, check.faults, check.unproven) == (2, (), ())


def test_threads_that_append_at_once_leave_no_gap(place: Place) -> None:
    trails = [place.open(), place.open()]
    each = 12

    def job(number: int) -> Callable[[], None]:
        def run() -> None:
            for ordinal in range(each):
                session = "shared" if ordinal % 3 else f"own-{number}"
                trails[number % 2].append(entry(ordinal, f"w{number}", session=session))

        return run

    in_threads(*(job(number) for number in range(8)))
    shared = [row.sequence for row in trails[0].rows(RowFilter(session="shared"))]
    assert shared == list(range(1, 8 * each * 2 // 3 + 1))
    check = trails[0].verify()
    assert (check.rows, check.sessions, check.faults, check.unproven) == (8 * each, 9, (), ())


def test_the_same_event_sent_at_once_is_stored_once(place: Place) -> None:
    trail = place.open()
    refs: list[object] = []
    in_threads(*[lambda: refs.append(trail.append(entry(1)))] * 8)
    assert len(set(map(str, refs))) == 1
    assert len(list(trail.rows())) == 1


def test_appending_while_verifying_and_rebuilding(place: Place) -> None:
    """Whoever looks while others write sees a trail in order, whichever step of an append it comes upon."""
    trail = place.open()
    done = threading.Event()

    def appends(number: int) -> Callable[[], None]:
        def run() -> None:
            for ordinal in itertools.takewhile(lambda _: not done.is_set(), itertools.count()):
                moment = NOON + timedelta(seconds=ordinal)
                fields: dict[str, Any] = {"action": "todo_claimed", "after": {"status": "claimed"}, "timestamp": moment}
                trail.append(entry(ordinal, f"w{number}", session=f"s{number % 2}", **fields))

        return run

    def looks() -> None:
        try:
            for _ in range(6):
                assert trail.verify().faults == ()
                assert trail.rebuild() == ()
        finally:
            done.set()

    in_threads(looks, *(appends(number) for number in range(4)))
    check = trail.verify()
    assert (check.faults, check.unproven) == ((), ())


def test_appending_while_reading(trail: Trail) -> None:
    for ordinal in range(3):
        trail.append(entry(ordinal))
    reading = trail.rows()
    next(reading)
    trail.append(entry(3))
    assert [row.ordinal for row in reading][:2] == [1, 2]


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"payload": {"n": 2**53}}, "integer"),
        ({"payload": {"n": float("nan")}}, "nan"),
        ({"payload": {"n": float("-inf")}}, "inf"),
        ({"payload": {"text": "\ud800"}}, "UTF-8"),
        ({"payload": {"\udfff": 1}}, "Unicode"),
        ({"timestamp": datetime(2026, 1, 1)}, "no zone"),  # noqa: DTZ001 - what is refused here
        ({"todo_id": "a\0b"}, "todo_id has a NUL"),
        ({"attempt": 2**53}, "integer"),
        ({"after": {"status": "perfect"}}, "status of todos"),
        ({"action": "todo_created", "after": {"parent": "a\0b"}}, "parent of todos has a NUL"),
        ({"action": "audit_completed", "payload": {"reasons": [1]}}, "reasons of todos"),
    ],
    ids=[
        "large",
        "nan",
        "infinity",
        "surrogate",
        "surrogate-key",
        "naive",
        "nul",
        "attempt",
        "status",
        "title",
        "reasons",
    ],
)
def test_what_cannot_be_held_everywhere_is_refused(trail: Trail, fields: dict[str, Any], what: str) -> None:
    with pytest.raises(ValueError, match=what):
        trail.append(entry(1, **fields))
    assert list(trail.rows()) == []
    assert trail.append(entry(1)).sequence == 1


def test_what_cannot_be_told_is_said_with_a_next_step(place: Place) -> None:
    trail = place.open()
    place.spoil()
    for act in (lambda: trail.append(entry(1)), trail.verify):
        with pytest.raises(Unavailable) as raised:
            act()
        assert raised.value.cause is Cause.STORE_UNAVAILABLE
        assert raised.value.next_step


NUMBERS = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None, suppress_health_check=OF_A_TRAIL)
@given(
    payload=st.dictionaries(TEXTS, JSON, max_size=4),
    names=st.tuples(NAMES, NAMES, NAMES, TEXTS),
    moment=st.datetimes(timezones=st.just(UTC)),
)
def test_any_json_and_any_text_comes_back(
    trail: Trail, payload: dict[str, Any], names: tuple[str, str, str, str], moment: datetime
) -> None:
    session, todo, workflow, identity = names
    sent = entry(
        sum(1 for _ in trail.rows()),
        "any/" + workflow,
        session=session,
        todo_id=todo,
        actor=Actor(role="worker", identity=identity),
        payload=payload,
        timestamp=moment,
    )
    ref = trail.append(sent)
    assert trail.append(sent) == ref
    (row,) = [row for row in trail.rows(RowFilter(session=session, todo=todo)) if row.hash == ref.hash]
    assert as_entry(row) == sent
    assert trail.verify().faults == ()
