"""What a reviewer may do where, as the lifecycle has it, and what is asked for it: of nothing that was not shown."""

from __future__ import annotations

from typing import Any

import pytest

from domain.errors import Malformed
from domain.events import Actor
from domain.lifecycle import allowed
from domain.requests import AddNote, Approve, Edit, Override, Pause, Reject, Return, Unblock
from domain.status import SessionStatus, TodoStatus
from entrypoints.cli.asking import Sender
from entrypoints.review.acts import ACTS, Act, changes_of, request_of, why_not
from entrypoints.review.page import Needed, Page
from tests.reviews import some_page

ANN = Sender(Actor(role="unattributed", identity="ann"))


def act(name: str) -> Act:
    return next(one for one in ACTS if one.name == name)


@pytest.mark.parametrize("status", TodoStatus)
def test_the_lifecycle_says_which_keys_work(status: TodoStatus) -> None:
    page = some_page(status)
    possible = {one.name for one in ACTS if one.command is not None and not why_not(one, page)}
    assert possible == {one.name for one in ACTS if one.command in allowed(status, "unattributed")}
    for one in ACTS:
        if one.command is not None and one.name not in possible:
            assert f"not while the todo is {status.replace('_', ' ')}" in why_not(one, page)


def test_keys_are_all_different() -> None:
    keys = [one.key for one in ACTS]
    assert len(set(keys)) == len(keys)
    assert not {"f", "q", "y", "[", "]", "?"} & set(keys)


@pytest.mark.parametrize(
    ("status", "possible"),
    [(SessionStatus.RUNNING, ["pause"]), (SessionStatus.PAUSED, ["resume"]), (SessionStatus.STOPPED, [])],
)
def test_a_session_is_paused_while_it_runs(status: SessionStatus, possible: list[str]) -> None:
    page = some_page(session_status=status)
    assert [one.name for one in ACTS if one.command is None and not why_not(one, page)] == possible


@pytest.mark.parametrize(
    ("page", "name", "why"),
    [
        (some_page(standalone=True), "return", "standalone round"),
        (some_page(standalone=True), "pause", "standalone round"),
        (some_page(standalone=True), "approve", "no verdict is there yet"),
        (some_page(current=False), "approve", "not what is claimed now"),
        (some_page(current=False), "override", "not what is claimed now"),
        (some_page(current=False), "reject", "not what is claimed now"),
        (some_page(needed=Needed()), "override", "approve it"),
        (some_page(needed=Needed(unread="cannot be read")), "override", "cannot be read"),
    ],
)
def test_why_not_is_said(page: Page, name: str, why: str) -> None:
    assert why in why_not(act(name), page)


def test_what_does_not_look_at_a_tree_is_possible_on_an_earlier_attempt() -> None:
    assert [why_not(act(name), some_page(current=False)) for name in ("return", "note", "edit", "delete")] == [""] * 4


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("approve", {"reason": "fine"}, Approve(actor=ANN.actor, reason="fine", expected_version=3, snapshot="h" * 64)),
        (
            "override",
            {"acknowledged": ("tests",), "reason": "flaky"},
            Override(
                actor=ANN.actor,
                kind="check",
                acknowledged=("tests",),
                reason="flaky",
                expected_version=3,
                snapshot="h" * 64,
            ),
        ),
        (
            "reject",
            {"feedback": "no", "extra_attempts": "2"},
            Reject(actor=ANN.actor, feedback="no", extra_attempts=2, expected_version=3, snapshot="h" * 64),
        ),
        (
            "return",
            {"extra_attempts": "2", "cost_usd": "1.5", "reason": "again"},
            Return(actor=ANN.actor, extra_attempts=2, cost_usd=1.5, reason="again", expected_version=3),
        ),
        ("unblock", {"clarification": "yes"}, Unblock(actor=ANN.actor, clarification="yes", expected_version=3)),
        (
            "edit",
            {"changes": "content=New\nsafeguards.todo_timeout=5\n\nsafeguards.max_audits = 2"},
            Edit(
                actor=ANN.actor,
                changes={"content": "New", "safeguards": {"todo_timeout": 5, "max_audits": 2}},
                expected_version=3,
            ),
        ),
        ("note", {"content": "look"}, AddNote(actor=ANN.actor, content="look", expected_version=3)),
        ("pause", {"reason": "lunch"}, Pause(actor=ANN.actor, reason="lunch")),
    ],
)
def test_a_request_names_the_version_and_the_tree_that_were_shown(name: str, values: Any, expected: Any) -> None:
    assert request_of(act(name), some_page(), values, ANN) == expected


@pytest.mark.parametrize(
    ("name", "values", "field"),
    [
        ("reject", {"feedback": "no", "extra_attempts": "two"}, "extra_attempts"),
        ("return", {"extra_attempts": "0"}, "extra_attempts"),
        ("return", {"cost_usd": "nan"}, "cost_usd"),
        ("edit", {"changes": ""}, "changes"),
        ("edit", {"changes": "content"}, "changes"),
        ("edit", {"changes": "content=[1"}, "file"),
        ("approve", {"reason": "x" * 70_000}, "reason"),
    ],
)
def test_nonsense_is_not_asked(name: str, values: Any, field: str) -> None:
    with pytest.raises(Malformed) as wrong:
        request_of(act(name), some_page(), values, ANN)
    assert wrong.value.problems[0].field == field


def test_changes_of_one_object_are_joined() -> None:
    assert changes_of("a.b.c=1\na.b.d=[x]") == {"a": {"b": {"c": 1, "d": ["x"]}}}
