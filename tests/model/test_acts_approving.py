"""Approving and overruling: what has to have passed, what has to be acknowledged, what the policy allows."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from domain.acts import people, system
from domain.acts.step import Step
from domain.decision import RoundOutcome
from domain.requests import Approve, Override
from domain.status import ReviewStatus, TodoStatus
from domain.todo import Gate, Todo
from tests.model.todos import ALICE, NOON, WORKER, done, ended, order, rows, todo, told

S = TodoStatus
R = RoundOutcome
PASSED: dict[str, Any] = {"passed": True, "outcome": "needs_human"}
FAILED: dict[str, Any] = {"not_passed": ("tests", "AC-1"), "outcome": "changes_requested"}
OBJECTED: dict[str, Any] = {**PASSED, "objected": True}


def approve(at: Todo) -> Any:
    return people.approve(at, Approve(actor=ALICE, reason="Seen"), NOON)


def override(
    at: Todo,
    kind: Literal["check", "verifier", "direct"],
    *acknowledged: str,
    reason: str = "Known",
) -> Any:
    return people.override(at, Override(actor=ALICE, kind=kind, reason=reason, acknowledged=acknowledged), NOON)


@pytest.mark.parametrize("status", [S.CLAIMED, S.NEEDS_HUMAN])
def test_what_passed_is_approved_plainly(status: TodoStatus) -> None:
    at = todo(status, **PASSED, flag="look", trigger="not_judged")
    step = approve(at)
    now = done(at, step)
    assert rows(step) == ["approved"]
    assert step.events[0].payload == {"snapshot": "e" * 64, "reason": "Seen"}
    assert (now.status, now.review_status) == (S.VERIFIED, ReviewStatus.APPROVED)
    assert (now.round, now.trigger, now.flag) == (0, "", "")


@pytest.mark.parametrize(
    ("known", "kind"), [(FAILED, "check"), (OBJECTED, "verifier"), ({}, "direct"), ({**FAILED, **OBJECTED}, "check")]
)
def test_what_did_not_pass_is_not_approved_and_the_refusal_names_the_override(known: Any, kind: str) -> None:
    refusal = told(approve(todo(S.NEEDS_HUMAN, **known)))
    assert refusal.code == "not_passed"
    assert f"an override of the kind {kind}" in refusal.next_step


@pytest.mark.parametrize("status", [S.CLAIMED, S.NEEDS_HUMAN, S.FAILED])
def test_failed_checks_are_overruled_by_name(status: TodoStatus) -> None:
    at = todo(status, **FAILED)
    missing = told(override(at, "check", "tests"))
    assert (missing.code, "AC-1" in missing.reason, "tests," in missing.reason) == ("not_acknowledged", True, False)
    typed = told(override(at, "check", "AC-1", "tests", "test"))
    assert (typed.code, "test" in typed.reason, "tests, AC-1" in typed.next_step) == ("unknown_check", True, True)
    step = override(at, "check", "AC-1", "tests")
    now = done(at, step)
    assert (rows(step), now.status, now.review_status) == (["human_override"], S.VERIFIED, ReviewStatus.OVERRIDDEN)
    assert step.events[0].payload["acknowledged"] == ["AC-1", "tests"]


def test_the_kind_is_the_one_that_is_needed() -> None:
    direct: dict[str, Any] = {"order": order(override_policy={"direct_approval_allowed": True})}
    for known, kind in ((FAILED, "check"), (OBJECTED, "verifier"), ({}, "direct")):
        at = todo(S.NEEDS_HUMAN, **known, **direct)
        for asked in ("check", "verifier", "direct"):
            outcome = override(at, asked, *at.not_passed)
            if asked == kind:
                assert done(at, outcome).status is S.VERIFIED
            else:
                refusal = told(outcome)
                assert (refusal.code, kind in refusal.next_step) == ("override_not_allowed", True)
    plain = told(override(todo(S.NEEDS_HUMAN, **PASSED), "check"))
    assert (plain.code, "approve it" in plain.next_step) == ("override_not_allowed", True)


@pytest.mark.parametrize(
    ("policy", "known", "kind"),
    [
        ({"check_override_allowed": False}, FAILED, "check"),
        ({"verifier_override_allowed": False}, OBJECTED, "verifier"),
        ({"verifier_override_allowed": False}, {**FAILED, "objected": True}, "check"),
        ({"direct_approval_allowed": False}, {}, "direct"),
        ({}, {}, "direct"),
    ],
)
def test_the_policy_has_the_last_word(policy: Any, known: Any, kind: Any) -> None:
    at = todo(S.NEEDS_HUMAN, order=order(override_policy=policy), **known)
    assert told(override(at, kind, *at.not_passed)).code == "override_not_allowed"


def test_a_reason_where_the_policy_asks_for_one() -> None:
    at = todo(S.NEEDS_HUMAN, **FAILED)
    assert told(override(at, "check", "tests", "AC-1", reason=" ")).code == "reason_required"
    lax = todo(S.NEEDS_HUMAN, order=order(override_policy={"check_override_requires_reason": False}), **FAILED)
    assert done(lax, override(lax, "check", "tests", "AC-1", reason="")).status is S.VERIFIED


def test_nobody_verifies_over_an_open_subtask() -> None:
    gate = Gate(number=2, open_children=("c",))
    assert told(approve(todo(S.NEEDS_HUMAN, gate=gate, **PASSED))).code == "open_children"
    assert told(override(todo(S.NEEDS_HUMAN, gate=gate, **FAILED), "check", "tests", "AC-1")).code == "open_children"


@pytest.mark.parametrize("status", TodoStatus)
def test_no_agent_does(status: TodoStatus) -> None:
    at = todo(status, **FAILED)
    assert told(people.approve(at, Approve(actor=WORKER), NOON)).code == "forbidden"
    mine = Override(actor=WORKER, kind="check", acknowledged=("tests", "AC-1"), reason="Trust me")
    assert told(people.override(at, mine, NOON)).code == "forbidden"


@pytest.mark.parametrize("status", TodoStatus)
def test_where_people_may_is_in_the_table(status: TodoStatus) -> None:
    approved = approve(todo(status, **PASSED))
    overridden = override(todo(status, **FAILED), "check", "tests", "AC-1")
    assert isinstance(approved, Step) is (status in (S.CLAIMED, S.NEEDS_HUMAN))
    assert isinstance(overridden, Step) is (status in (S.CLAIMED, S.NEEDS_HUMAN, S.FAILED))


@pytest.mark.parametrize(
    ("result", "needed"),
    [
        (ended(R.NEEDS_HUMAN, "not_judged", trigger="not_judged", passed=True), None),
        (ended(R.NEEDS_HUMAN, "nothing_to_check", trigger="nothing_to_check", passed=True), None),
        (ended(R.NEEDS_HUMAN, "auditor_blocked", trigger="auditor_blocked", passed=True), "verifier"),
        (ended(R.FAILED, "auditor_failed", trigger="hard_fail", passed=True), "verifier"),
        (ended(R.FAILED, "tests_failed", "auditor_failed", trigger="hard_fail", not_passed=("tests",)), "check"),
        (ended(R.NEEDS_HUMAN, "no_tree", trigger="checks_could_not_run"), "direct"),
        (ended(R.NEEDS_HUMAN, "system_error", trigger="system_error"), "direct"),
    ],
)
def test_what_a_round_came_to_says_which_way_is_open(result: Any, needed: str | None) -> None:
    at = todo(S.CLAIMED)
    now = done(at, system.round_ended(at, 1, result, NOON))
    if needed is None:
        assert done(now, approve(now)).status is S.VERIFIED
    else:
        outcome = approve(now) if now.status is S.NEEDS_HUMAN else override(now, "direct")
        assert told(outcome).code in ("not_passed", "override_not_allowed")
        assert needed in people.override(now, Override(actor=ALICE, kind="check", reason="x"), NOON).model_dump_json()


@pytest.mark.parametrize("code", ["scope_violation", "workspace_refused", "change_not_tested"])
def test_a_violation_is_acknowledged_by_its_code_though_every_check_passed(code: str) -> None:
    at = todo(S.CLAIMED, order=order(safeguards={"audit_attempts": 1}))
    now = done(at, system.round_ended(at, 1, ended(R.CHANGES_REQUESTED, code, passed=True), NOON))
    assert (now.status, now.not_passed) == (S.NEEDS_HUMAN, (code,))
    assert told(approve(now)).code == "not_passed"
    assert told(override(now, "check")).code == "not_acknowledged"
    assert done(now, override(now, "check", code)).status is S.VERIFIED


@pytest.mark.parametrize("code", ["verifier_unavailable", "uncited_approval", "auditor_changes_requested"])
def test_without_the_auditors_yes_it_is_the_auditor_who_is_overruled(code: str) -> None:
    at = todo(S.CLAIMED, order=order(safeguards={"audit_attempts": 1}))
    now = done(at, system.round_ended(at, 1, ended(R.CHANGES_REQUESTED, code, passed=True), NOON))
    assert told(approve(now)).code == "not_passed"
    assert done(now, override(now, "verifier")).status is S.VERIFIED


@pytest.mark.parametrize(("known", "kind"), [(OBJECTED, "verifier"), ({}, "direct")])
def test_what_has_no_checks_to_name_wants_a_reason_all_the_same(known: Any, kind: Any) -> None:
    lax = {"direct_approval_allowed": True, "check_override_requires_reason": False}
    at = todo(S.NEEDS_HUMAN, order=order(override_policy=lax), **known)
    assert told(override(at, kind, reason=" ")).code == "reason_required"
    assert told(override(at, kind, "tests")).code == "unknown_check"
    assert done(at, override(at, kind)).status is S.VERIFIED
