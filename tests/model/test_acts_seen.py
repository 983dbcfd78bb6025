"""Every act of a person: of which version and which tree it is asked, and that its row says why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from domain.acts import people
from domain.acts.step import Outcome, Step, shown
from domain.requests import (
    AddNote,
    Approve,
    Delete,
    Edit,
    HumanRequest,
    Override,
    Reject,
    Reorder,
    Return,
    Unblock,
)
from domain.status import TodoStatus
from domain.todo import OpenQuestion, Todo
from tests.model.todos import ALICE, NOON, WORKER, admitted, done, repaired, todo, told

S = TodoStatus
TREE = "e" * 64
QUESTION = OpenQuestion(question="Which?")
Act = Callable[[Todo, Any, Any], Outcome]

ACTS: list[tuple[Act, type[HumanRequest], dict[str, Any], Todo]] = [
    (people.unblock, Unblock, {"clarification": "So"}, todo(S.BLOCKED, question=QUESTION, admitted=admitted())),
    (people.approve, Approve, {}, todo(S.NEEDS_HUMAN, passed=True)),
    (people.override, Override, {"kind": "verifier"}, todo(S.NEEDS_HUMAN, passed=True, objected=True)),
    (people.reject, Reject, {"feedback": "No"}, todo(S.CLAIMED)),
    (people.reject, Reject, {"feedback": "No"}, todo(S.CLAIMED, revisions=9)),
    (people.give_back, Return, {}, todo(S.NEEDS_HUMAN)),
    (people.edit, Edit, {"changes": {"content": "Mine"}}, todo(S.NEEDS_HUMAN)),
    (people.note, AddNote, {"content": "Hm"}, todo(S.NEEDS_HUMAN)),
    (people.reorder, Reorder, {"order_index": 3}, todo(S.NEEDS_HUMAN)),
    (people.delete, Delete, {}, todo(S.NEEDS_HUMAN)),
]
NAMES = [f"{kind.__name__}-{at.revisions}" for _, kind, _, at in ACTS]


@pytest.mark.parametrize(("act", "kind", "fields", "at"), ACTS, ids=NAMES)
class TestEveryAct:
    def test_is_of_the_version_that_it_says(
        self, act: Act, kind: type[HumanRequest], fields: dict[str, Any], at: Todo
    ) -> None:
        at = at.model_copy(update={"version": 4})
        for version in (0, 3, 5):
            refusal = told(act(at, kind(actor=ALICE, reason="x", expected_version=version, **fields), NOON))
            assert (refusal.code, "version 4" in refusal.reason) == ("stale_version", True)
        done(at, act(at, kind(actor=ALICE, reason="x", expected_version=4, **fields), NOON))

    def test_is_of_the_tree_that_it_says(
        self, act: Act, kind: type[HumanRequest], fields: dict[str, Any], at: Todo
    ) -> None:
        asked = {"actor": ALICE, "reason": "x", "expected_version": 1, **fields}
        refusal = told(act(at, kind(snapshot="f" * 64, **asked), NOON))
        assert (refusal.code, TREE in refusal.reason, "f" * 64 in refusal.reason) == ("stale_snapshot", True, True)
        assert told(act(at, kind(snapshot=TREE[:12], **asked), NOON)).code == "stale_snapshot", "a digest is whole"
        nothing = at.model_copy(update={"admitted": None})
        assert told(act(nothing, kind(snapshot=TREE, **asked), NOON)).code == "stale_snapshot"
        done(at, act(at, kind(snapshot=TREE, **asked), NOON))

    def test_says_why_in_its_row(self, act: Act, kind: type[HumanRequest], fields: dict[str, Any], at: Todo) -> None:
        step = act(at, kind(actor=ALICE, reason="Because it is so", expected_version=1, **fields), NOON)
        assert isinstance(step, Step), step
        assert step.events[0].payload["reason"] == "Because it is so"

    def test_is_no_workers_whatever_they_have_seen(
        self, act: Act, kind: type[HumanRequest], fields: dict[str, Any], at: Todo
    ) -> None:
        asked = kind(actor=WORKER, expected_version=9, snapshot="f" * 64, **fields)
        assert told(act(at, asked, NOON)).code == "forbidden"


@pytest.mark.parametrize(
    ("act", "request_"),
    [
        (people.edit, Edit(actor=ALICE, changes={"content": "Mine"})),
        (people.reorder, Reorder(actor=ALICE, order_index=3)),
    ],
    ids=["edit", "reorder"],
)
def test_a_change_says_which_version_it_is_made_of(act: Act, request_: HumanRequest) -> None:
    refusal = told(act(todo(version=2), request_, NOON))
    assert (refusal.code, "version 2" in refusal.reason) == ("stale_version", True)
    assert "expected_version" in refusal.next_step


def test_what_was_repaired_is_the_tree_that_is_looked_at() -> None:
    at = todo(S.NEEDS_HUMAN, passed=True, admitted=admitted().model_copy(update={"frozen": repaired()}))
    assert shown(at)["snapshot"] == "8" * 64
    assert told(people.approve(at, Approve(actor=ALICE, snapshot=TREE), NOON)).code == "stale_snapshot"
    done(at, people.approve(at, Approve(actor=ALICE, snapshot="8" * 64), NOON))


def test_what_is_not_there_is_told_before_what_was_not_seen() -> None:
    asked = Approve(actor=ALICE, expected_version=9, snapshot="f" * 64)
    assert told(people.approve(todo(S.PENDING), asked, NOON)).code == "illegal_transition"
