"""What every `domain.ports.Trail` keeps of its rows for lists and pages: always what the rows make of it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.events import RowFilter, TrailEntry
from domain.ports import Trail
from domain.read_model import fold
from tests.trails import NAMES, OF_A_TRAIL, TEXTS, Place, entry

STATUSES = st.fixed_dictionaries(
    {},
    optional={
        "status": st.sampled_from(["pending", "in_progress", "claimed", "verified", "running", "stopped", "completed"]),
        "review_status": st.sampled_from(["auditing", "approved", "escalated"]),
        "trigger": NAMES,
        "question": TEXTS,
        "content": TEXTS,
        "depends_on": st.lists(NAMES, max_size=2),
        "time_left": st.floats(0, 1e6),
        "deadline": st.none() | st.just("2026-01-15T13:00:00+00:00"),
        "version": st.integers(1, 2**53 - 1),
    },
)
PAYLOADS = st.fixed_dictionaries(
    {},
    optional={
        "title": NAMES,
        "domain": NAMES,
        "parent": NAMES,
        "trigger": NAMES,
        "order": NAMES,
        "result": st.sampled_from(["PASS", "FAIL", "INCONCLUSIVE"]),
        "outcome": NAMES,
        "reasons": st.lists(TEXTS, max_size=3),
        "record": NAMES,
    },
)
ACTIONS = st.sampled_from(
    [
        *("session_created", "todo_created", "todo_claimed", "verification_started", "snapshot_frozen", "paused"),
        *("scope_assessed", "check_completed", "audit_completed", "verification_cancelled", "environment_ready"),
    ]
)
ENTRIES = st.builds(
    entry,
    st.integers(0, 40),
    session=st.sampled_from(["local", "Z", "ä"]),
    todo_id=st.sampled_from(["", "wo-a", "wo-b"]),
    attempt=st.sampled_from([0, 1, 2, 10]),
    action=ACTIONS,
    after=STATUSES,
    payload=PAYLOADS,
    timestamp=st.datetimes(timezones=st.just(UTC)),
)


@settings(max_examples=40, deadline=None, suppress_health_check=OF_A_TRAIL)
@given(entries=st.lists(ENTRIES, max_size=12), run=st.uuids())
def test_the_read_model_is_what_the_rows_make_of_it(trail: Trail, entries: list[TrailEntry], run: object) -> None:
    for sent in entries:
        mine = sent.model_copy(update={"workflow_id": str(run), "session": f"{run} {sent.session}"})
        try:
            trail.append(mine)
        except ValueError as error:  # a status that a todo has and a session has not, or a key sent twice
            assert "status of" in str(error) or "another body" in str(error)
    for session in {f"{run} {sent.session}" for sent in entries}:
        assert trail.state(session) == fold(trail.rows(RowFilter(session=session)))


def filled(trail: Trail) -> None:
    for ordinal, (session, todo) in enumerate([("a", "x"), ("a", "y"), ("b", "x")]):
        status = {"status": "claimed", "review_status": "auditing"}
        trail.append(
            entry(ordinal, session=session, todo_id=todo, action="verification_started", after=status, attempt=2)
        )


def test_the_read_model_of_one_session_or_todo(trail: Trail) -> None:
    filled(trail)

    def names(session: str | None, todo: str | None) -> list[list[tuple[str, ...]]]:
        state = trail.state(session, todo)
        todos = [(view.session, view.todo) for view in state.todos]
        assert [(view.session, view.todo) for view in state.rounds] == todos
        return [[(view.session,) for view in state.sessions], list(todos)]

    assert names(None, None) == [[("a",), ("b",)], [("a", "x"), ("a", "y"), ("b", "x")]]
    assert names("a", None) == [[("a",)], [("a", "x"), ("a", "y")]]
    assert names("a", "y") == [[("a",)], [("a", "y")]]
    assert names(None, "x") == [[("a",), ("b",)], [("a", "x"), ("b", "x")]]
    assert names("c", None) == [[], []]


def test_only_the_tables_that_are_wanted_are_read(trail: Trail) -> None:
    filled(trail)
    whole = trail.state()
    assert trail.state(tables=["todos"]) == whole.model_copy(update={"sessions": (), "rounds": ()})
    assert trail.state("a", "y", ["sessions", "rounds"]).model_dump(exclude={"todos"}) == trail.state(
        "a", "y"
    ).model_dump(exclude={"todos"})
    assert trail.state("a", "y", ["sessions", "rounds"]).todos == ()


def test_a_session_counts_each_todo_once(trail: Trail) -> None:
    created = [entry(number, todo_id=f"t{number}", action="todo_created") for number in range(3)]
    for sent in (*created, created[0]):
        trail.append(sent)
    assert trail.state().sessions[0].todos == 3
    assert trail.rebuild(repair=False) == ()


def test_a_session_has_the_version_of_its_last_row_that_says_one(trail: Trail) -> None:
    def version() -> int:
        return trail.state().sessions[0].version

    trail.append(entry(1, action="todo_created", after={"version": 9}))
    assert version() == 1, "a todo's is its own"
    trail.append(entry(2, todo_id="", action="session_created", after={"status": "running"}))
    assert version() == 1, "rows of an older program say none"
    trail.append(entry(3, todo_id="", action="paused", after={"status": "paused", "version": 2}))
    trail.append(entry(4, todo_id="", action="refused"))
    assert version() == 2
    assert trail.rebuild(repair=False) == ()


def test_every_value_of_a_todo_is_kept_as_it_was_said(trail: Trail) -> None:
    said = {
        "status": "blocked",
        "depends_on": ["ü", ""],
        "evidence": ["ev-1"],
        "order_index": 2**53 - 1,
        "time_left": 0.001,
        "deadline": "2026-01-15T13:00:00.000001+01:00",
        "feedback": "two\nlines",
        "question": "a\0b",
    }
    trail.append(entry(1, action="todo_created", after=said, payload={"content": "Do it"}))
    (view,) = trail.state().todos
    assert (view.depends_on, view.evidence, view.order_index) == (("ü", ""), ("ev-1",), 2**53 - 1)
    assert (view.time_left, view.feedback, view.title) == (0.001, "two\nlines", "Do it")
    assert view.deadline == datetime(2026, 1, 15, 12, 0, 0, 1, tzinfo=UTC)
    assert trail.state() == fold(trail.rows())


def test_a_refused_append_leaves_the_read_model_alone(trail: Trail) -> None:
    filled(trail)
    before = trail.state()
    with pytest.raises(ValueError, match="another body"):
        trail.append(entry(0, session="a", todo_id="x", action="todo_created", after={"status": "pending"}))
    assert trail.state() == before


def test_rebuild_names_what_was_changed_and_puts_it_right(place: Place) -> None:
    trail = place.open()
    filled(trail)
    right = trail.state()
    assert trail.rebuild() == ()
    place.spoil_views()
    spoilt = trail.state()
    assert spoilt != right
    found = trail.rebuild(repair=False)
    assert trail.state() == spoilt, "only looked"
    assert {(each.table, each.key, each.stored is None, each.derived is None) for each in found} == {
        ("sessions", ("a",), True, False),
        ("sessions", ("b",), True, False),
        ("sessions", ("ghost",), False, True),
        ("todos", ("a", "x"), False, False),
        ("todos", ("a", "y"), False, False),
        ("todos", ("b", "x"), False, False),
    }
    assert trail.rebuild() == found
    assert trail.state() == right == place.open().state()
    assert trail.rebuild() == ()
