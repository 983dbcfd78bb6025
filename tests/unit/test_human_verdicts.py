"""What people decided about standalone rounds: found by the trees and the order, and given to the next round."""

from __future__ import annotations

from typing import Any

import pytest

from domain.authority import Rejection
from domain.decision import Facts, Policy, RoundOutcome, decide
from domain.events import HARNESS, SYSTEM, Actor
from domain.messages import Frozen, RoundInput
from domain.read_model import standing
from domain.status import ReviewStatus, TodoStatus
from entrypoints.human_verdicts import ROWS, by_attempt, feedback_of, human_verdict, rejections
from tests.fakes.trail import MemoryTrail, local_entry
from tests.model.todos import order

ANN = Actor(role="human", identity="ann")
BOB = Actor(role="unattributed", identity="bob")
ORDER, HEAD, BASE = "1" * 64, "2" * 64, "3" * 64


class Local:
    """A trail with the todo `local/t`."""

    def __init__(self) -> None:
        self.trail = MemoryTrail()
        self._rows = 0

    def row(self, action: Any, actor: Actor, attempt: int, payload: dict[str, Any], **more: Any) -> None:
        self._rows += 1
        self.trail.append(local_entry("t", self._rows, action, actor, attempt, payload, **more))

    def round(self, attempt: int, head: str = HEAD, order_digest: str = ORDER, base: str = BASE) -> None:
        """A round on these trees that a person has to decide about."""
        started = {"attempt": attempt, "items": [], "order": order_digest, "title": "T", "domain": "unknown"}
        self.row("verification_started", BOB, attempt, started)
        self.row("snapshot_frozen", SYSTEM, attempt, {"head": head, "base": base})
        after = standing(TodoStatus.NEEDS_HUMAN, ReviewStatus.ESCALATED)
        verdict = {"result": "INCONCLUSIVE", "outcome": "needs_human", "criteria": [], "reasons": [], "trigger": "x"}
        self.row("audit_completed", HARNESS, attempt, {**verdict, "record": "", "report": ""}, after=after)

    def reject(self, attempt: int, feedback: str, actor: Actor = BOB) -> None:
        after = standing(TodoStatus.IN_PROGRESS, ReviewStatus.CHANGES_REQUESTED)
        self.row("changes_requested", actor, attempt, {"feedback": feedback, "revision": 1, "reason": ""}, after=after)

    def approve(self, attempt: int, reason: str = "fine", actor: Actor = ANN) -> None:
        after = standing(TodoStatus.VERIFIED, ReviewStatus.APPROVED)
        self.row("approved", actor, attempt, {"snapshot": HEAD, "reason": reason}, after=after)

    def rejections(self) -> tuple[Rejection, ...]:
        return rejections(self.trail.state("local", "t").rounds, tuple(self.trail.rows()), ORDER)


@pytest.fixture
def local() -> Local:
    return Local()


def test_a_decision_is_found_by_order_and_trees_alone(local: Local) -> None:
    local.round(1)
    assert human_verdict(local.trail, "t", ORDER, HEAD, BASE) is None
    local.approve(1, "looked at it")
    found = human_verdict(local.trail, "t", ORDER, HEAD, BASE)
    assert found is not None
    assert (found.kind, found.verified, found.by, found.words, found.attempt) == (
        "approved",
        True,
        ANN,
        "looked at it",
        1,
    )
    other = "9" * 64
    for changed in ((other, HEAD, BASE), (ORDER, other, BASE), (ORDER, HEAD, other)):
        assert human_verdict(local.trail, "t", *changed) is None
    assert human_verdict(local.trail, "u", ORDER, HEAD, BASE) is None


def test_of_several_decisions_on_the_same_trees_the_last_counts(local: Local) -> None:
    local.round(1)
    local.approve(1)
    local.round(2)
    local.reject(2, "no")
    found = human_verdict(local.trail, "t", ORDER, HEAD, BASE)
    assert found is not None
    assert (found.kind, found.verified, found.words) == ("rejected", False, "no")
    local.row("human_override", ANN, 2, {"kind": "check", "reason": "yes", "acknowledged": []})
    assert by_attempt(local.trail.rows())[2].kind == "overridden"
    found = human_verdict(local.trail, "t", ORDER, HEAD, BASE)
    assert found is not None
    assert (found.attempt, found.kind) == (2, "overridden")


def test_what_the_harness_approves_is_no_decision_of_a_person(local: Local) -> None:
    local.round(1)
    local.approve(1, actor=HARNESS)
    local.reject(1, "no", actor=HARNESS)
    assert human_verdict(local.trail, "t", ORDER, HEAD, BASE) is None
    assert local.rejections() == ()
    assert feedback_of(local.trail.rows()) == ""


def test_what_people_asked_for_holds_until_it_is_verified(local: Local) -> None:
    local.round(1)
    local.reject(1, "rename it")
    local.row("noted", BOB, 1, {"content": "see docs/api.md", "kind": "feedback"})
    local.row("noted", BOB, 1, {"content": "for the record", "kind": "clarification"})
    local.round(2)
    local.reject(2, "rename it")
    assert feedback_of(local.trail.rows()) == "rename it\n\nsee docs/api.md"
    local.approve(2)
    assert feedback_of(local.trail.rows()) == ""


def test_a_tree_that_was_sent_back_is_given_to_the_next_round_until_it_is_approved(local: Local) -> None:
    local.round(1)
    local.reject(1, "no")
    local.round(2, order_digest="8" * 64)
    local.reject(2, "another order")
    said = Rejection(attempt=1, head=HEAD, base=BASE, by="unattributed:bob", feedback="no")
    assert local.rejections() == (said,)
    local.approve(1)
    assert local.rejections() == ()
    assert {row.action for row in local.trail.rows()} <= {*ROWS, "verification_started", "snapshot_frozen"}


def test_no_round_of_a_tree_that_was_sent_back_passes() -> None:
    frozen = Frozen(head=HEAD, base=BASE, head_files=1, head_bytes=1, base_files=1, dropped="d" * 64)
    sent_back = Rejection(attempt=1, head=HEAD, base=BASE, by="human:ann", feedback="rename it")
    of = order()
    asked = RoundInput(
        session="local",
        todo="t",
        attempt=2,
        order=of,
        order_digest=of.digest,
        host="h",
        actor=BOB,
        rejections=(sent_back,),
    )
    why = asked.rejection(frozen)
    assert why == "human:ann sent this tree back in attempt 1: rename it"
    assert asked.rejection(frozen.model_copy(update={"head": "9" * 64})) == ""
    assert asked.rejection(frozen.model_copy(update={"base": "9" * 64})) == ""
    assert asked.rejection(None) == ""

    high_stakes = Facts(changed_inputs=("requirements.txt",))
    assert decide(high_stakes, Policy()).outcome is RoundOutcome.NEEDS_HUMAN
    decided = decide(high_stakes.model_copy(update={"rejected": why}), Policy())
    assert decided.outcome is RoundOutcome.CHANGES_REQUESTED
    assert [(reason.code, reason.text) for reason in decided.reasons] == [("rejected_by_person", why)]
