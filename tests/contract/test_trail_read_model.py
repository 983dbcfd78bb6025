"""What every `domain.ports.Trail` keeps of its rows for lists and pages: always what the rows make of it."""

from __future__ import annotations

from datetime import UTC

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from domain.events import RowFilter, TrailEntry
from domain.ports import Trail
from domain.read_model import fold
from tests.trails import NAMES, TEXTS, Place, entry

STATUSES = st.fixed_dictionaries(
    {},
    optional={
        "status": st.sampled_from(["pending", "in_progress", "claimed", "verified", "running", "stopped", "completed"]),
        "review_status": st.sampled_from(["auditing", "approved", "escalated"]),
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


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
