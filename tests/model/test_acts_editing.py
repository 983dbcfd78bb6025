"""Editing a todo: what may change, of which version, and what becomes of a claim and a verdict of the old one."""

from __future__ import annotations

from typing import Any

import pytest

from domain.acts import people, system
from domain.acts.editing import EDITABLE
from domain.decision import RoundOutcome
from domain.events import Actor
from domain.order import Order
from domain.policy_floor import PolicyFloor
from domain.requests import Edit, Override
from domain.status import ReviewStatus, SessionStatus, TodoStatus
from domain.todo import Gate, OpenQuestion, Todo
from tests.model.todos import ALICE, NOON, WORKER, after, done, ended, order, rows, todo, told

S = TodoStatus


def edit(at: Todo, version: int = 1, /, **changes: Any) -> Any:
    return people.edit(at, Edit(actor=ALICE, expected_version=version, reason="Asked for", changes=changes), NOON)


def test_an_edit_makes_a_version_with_its_own_digest() -> None:
    at = todo()
    step = edit(at, content="Do it well", domain="security")
    now = done(at, step)
    assert rows(step) == ["edited"]
    assert step.events[0].payload == {"fields": ["content", "domain"], "version": 2, "reason": "Asked for"}
    assert (step.events[0].before["content"], step.events[0].after["content"]) == ("Do it", "Do it well")
    assert (now.order.content, now.order.domain, now.version) == ("Do it well", "security", 2)
    assert now.order_digest == now.order.digest != at.order_digest


@pytest.mark.parametrize("version", [0, 1, 3])
def test_an_edit_of_another_version_is_stale(version: int) -> None:
    refusal = told(edit(todo(version=2), version, content="Mine"))
    assert (refusal.code, "version 2" in refusal.reason) == ("stale_version", True)


FIELDS = sorted((set(Order.model_fields) | {"status", "version", "verified", "parent"}) - EDITABLE)


@pytest.mark.parametrize("field", FIELDS)
def test_the_rest_is_not_editable(field: str) -> None:
    refusal = told(edit(todo(), **{field: "x", "content": "Mine"}))
    assert (refusal.code, field in refusal.reason) == ("not_editable", True)


def test_no_gate_and_no_place_is_editable() -> None:
    assert {"id", "workspace", "base", "snapshot", "subtasks", "fix_loop", "status"} <= set(FIELDS)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"content": ""}, "content"),
        ({"domain": "cooking"}, "domain"),
        ({"verification": {"checks": [{"name": "x"}]}}, "verification.checks.0.command"),
        ({"safeguards": {"todo_timeout": "long"}}, "safeguards.todo_timeout"),
        ({"scope": {"nonsense": []}}, "scope.nonsense"),
        ({"scope": {"allow": ["[z-a]"]}}, "scope.allow.0"),
        ({}, "nothing"),
    ],
)
def test_what_no_order_can_have_is_said_in_words(changes: dict[str, Any], named: str) -> None:
    refusal = told(edit(todo(), **changes))
    assert (refusal.code, named in refusal.reason) == ("malformed_edit", True), refusal.reason


def test_of_an_object_only_what_is_named_changes() -> None:
    retry = {"max_attempts": 7, "timeout_factor": 2.0}
    checks = [{"name": name, "command": "true"} for name in "ab"]
    at = todo(
        order=order(
            safeguards={"audit_attempts": 9, "todo_timeout": 60.0},
            verification={"retry": retry, "checks": checks, "auditor": {"criteria": "be strict"}},
            worker={"command": "./work.sh", "timeout": 60.0},
        )
    )
    changes = {
        "safeguards": {"todo_timeout": 7200},
        "verification": {"retry": {"max_attempts": 8}, "checks": checks[1:], "verifier": {"enabled": False}},
        "worker": {"command": "./new.sh"},
    }
    now = done(at, edit(at, **changes)).order
    assert (now.safeguards.audit_attempts, now.safeguards.todo_timeout) == (9, 7200)
    assert (now.verification.retry.max_attempts, now.verification.retry.timeout_factor) == (8, 2.0)
    assert [check.name for check in now.verification.checks] == ["b"], "a list is another list"
    assert (now.verification.auditor.enabled, now.verification.auditor.criteria) == (False, "be strict")
    assert now.worker is not None
    assert (now.worker.command, now.worker.timeout) == ("./new.sh", 60.0)
    assert done(at, edit(at, worker=None)).order.worker is None


def test_the_override_policy_is_a_persons_to_edit_in_a_version_of_its_own_and_not_below_the_floor() -> None:
    at = todo(S.NEEDS_HUMAN, not_passed=("tests",), floor=PolicyFloor(signatures="required"))
    lower = told(edit(at, override_policy={"check_override_allowed": False}))
    assert (lower.code, "override_policy.signatures" in lower.reason) == ("below_floor", True)
    step = edit(at, override_policy={"check_override_allowed": False, "signatures": "required"})
    now = done(at, step)
    assert now.version == 2
    event = step.events[0]
    assert event.payload == {"fields": ["override_policy"], "version": 2, "reason": "Asked for"}
    policies = [side["override_policy"] for side in (event.before, event.after)]
    assert [(p["check_override_allowed"], p["signatures"]) for p in policies if isinstance(p, dict)] == [
        (True, "optional"),
        (False, "required"),
    ]
    assert now.order.override_policy.verifier_override_allowed, "what was not named is as it was"
    for back in ({"signatures": "optional"}, {"signatures": "off"}):
        assert told(edit(now, 2, override_policy=back)).code == "below_floor"
    anew = now.model_copy(update={"not_passed": ("tests",)})
    signed = Actor(role="human", identity="ann@example.org")
    over = Override(actor=signed, kind="check", reason="Known", acknowledged=("tests",))
    assert told(people.override(anew, over, NOON)).code == "override_not_allowed", "the edit binds who made it"


def test_auditor_and_its_alias_are_not_both_edited() -> None:
    refusal = told(edit(todo(), verification={"auditor": {}, "verifier": {}}))
    assert (refusal.code, "verifier" in refusal.reason) == ("malformed_edit", True)


def test_dependencies_may_go_and_not_come() -> None:
    at = todo(order=order(depends_on=["a", "b"]))
    assert done(at, edit(at, depends_on=["b"])).order.depends_on == ["b"]
    refusal = told(edit(at, depends_on=["a", "c"]))
    assert (refusal.code, "c" in refusal.reason) == ("not_editable", True)


def test_the_clock_follows_the_limit() -> None:
    at = todo(S.IN_PROGRESS)
    assert done(at, edit(at, safeguards={"todo_timeout": 60})).clock.deadline == after(60)


def test_the_worker_command_follows() -> None:
    at = todo(worker=order(worker={"command": "./other.sh"}).worker)
    kept = done(at, edit(at, content="Mine"))
    assert kept.worker == at.worker, "what a human gave back with stays until the order's own changes"
    changed = done(at, edit(at, worker={"command": "./new.sh"}))
    assert changed.worker is not None
    assert changed.worker.command == "./new.sh"


def test_a_criterion_is_an_agents_until_a_human_writes_it() -> None:
    criteria = [
        {"id": "A", "type": "file_exists", "params": {"path": "a"}},
        {"id": "B", "type": "file_exists", "params": {"path": "b"}},
    ]
    at = todo(order=order(acceptance_criteria=criteria), authored=frozenset({"A", "B"}))
    criteria[1] = {"id": "B", "type": "file_exists", "params": {"path": "c"}}
    assert done(at, edit(at, acceptance_criteria=criteria)).authored == {"A"}
    assert done(at, edit(at, content="Mine")).authored == {"A", "B"}


def test_content_that_a_human_rewrites_is_no_agents_any_more() -> None:
    at = todo(content_authored=True)
    assert done(at, edit(at, domain="docs")).content_authored
    assert not done(at, edit(at, content="Mine")).content_authored
    assert not done(todo(), edit(todo(), content="Mine")).content_authored


def test_a_claim_is_judged_anew_by_the_order_as_it_is_then() -> None:
    asked = OpenQuestion(question="Which?", round=1, of=3, timeout=300, deadline=after(300))
    at = todo(S.CLAIMED, question=asked, widen=2.0, inconclusive=2)
    step = edit(at, content="Mine")
    now = done(at, step)
    assert rows(step) == ["edited", "audit_started"]
    assert (now.status, now.review_status) == (S.CLAIMED, ReviewStatus.AUDITING)
    assert (now.attempt, now.round, now.audits, now.inconclusive, now.question) == (2, 2, 0, 0, None)
    assert (now.widen, now.admitted) == (1.0, at.admitted)
    late = system.round_ended(now, 1, ended(RoundOutcome.VERIFIED), NOON)
    assert rows(late) == ["round_ignored"]
    assert late.todo == now


def test_what_waited_to_be_tried_again_begins_again_too() -> None:
    at = todo(S.CLAIMED, round=0, retry_at=after(30))
    now = done(at, edit(at, content="Mine"))
    assert (now.attempt, now.round, now.retry_at) == (2, 2, None)


@pytest.mark.parametrize(
    ("status", "retry_at"),
    [(SessionStatus.PAUSED, NOON), (SessionStatus.STOPPED, None), (SessionStatus.TIMED_OUT, None)],
)
def test_no_round_begins_where_the_session_does_not_run(status: SessionStatus, retry_at: Any) -> None:
    at = todo(S.CLAIMED, gate=Gate(number=2, status=status)).model_copy(update={"clock": todo().clock})
    step = edit(at, content="Mine")
    now = done(at, step)
    assert (rows(step), now.round, now.retry_at) == (["edited"], 0, retry_at)


def test_an_edit_that_takes_the_audits_away_ends_the_claim() -> None:
    at = todo(S.CLAIMED, audits=1)
    step = edit(at, safeguards={"audit_attempts": 1})
    assert rows(step) == ["edited", "escalated"]
    assert done(at, step).trigger == "audit_cap_exceeded"


def test_a_verified_todo_stays_so_with_a_flag() -> None:
    at = todo(S.VERIFIED, passed=True, outcome="verified")
    step = edit(at, content="Mine")
    now = done(at, step)
    assert (rows(step), now.status, now.flag) == (["edited", "flagged"], S.VERIFIED, "edited after it was verified")


def test_a_verdict_by_the_old_order_counts_no_more() -> None:
    at = todo(S.NEEDS_HUMAN, passed=True, objected=True, not_passed=("x",), outcome="needs_human")
    now = done(at, edit(at, content="Mine"))
    assert (now.passed, now.objected, now.not_passed, now.outcome) == (False, False, (), "")
    assert now.waived, "the same tree may be claimed again, to be judged by the new order"


def test_what_a_blocked_worker_asked_stays_asked() -> None:
    asked = OpenQuestion(question="Which?")
    at = todo(S.BLOCKED, question=asked)
    assert done(at, edit(at, content="Mine")).question == asked


@pytest.mark.parametrize("status", TodoStatus)
def test_only_people_edit_and_nobody_what_was_deleted(status: TodoStatus) -> None:
    asked = Edit(actor=WORKER, expected_version=1, changes={"verification": {"checks": []}})
    assert told(people.edit(todo(status), asked, NOON)).code == "forbidden"
    if status is S.CANCELLED:
        assert told(edit(todo(status), content="Mine")).code == "illegal_transition"
    else:
        at = todo(status)
        assert done(at, edit(at, content="Mine")).status is status
