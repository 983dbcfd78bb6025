"""What fix loops do to a todo: they begin, verify, escalate, break, and are cancelled by what people do meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from domain.acts import people, system, workers
from domain.acts.step import Outcome, Step
from domain.confidence import Confidence
from domain.decision import RoundOutcome
from domain.events import SYSTEM
from domain.fix_messages import FixLoopResult
from domain.fix_summary import escalation_reason
from domain.fixing import Tally
from domain.requests import Approve, Delete, Edit, Override, Reject, Return
from domain.status import ReviewStatus, SessionStatus, TodoStatus
from domain.todo import Fixing, Gate, Todo
from tests.model.todos import (
    ALICE,
    NOON,
    admitted,
    after,
    claiming,
    done,
    ended,
    feedback,
    looped,
    order,
    repaired,
    rows,
    todo,
    told,
)

S = TodoStatus
R = RoundOutcome
LOOPED = order(domain="refactor", fix_loop={"enabled": True})
RISKY = order(domain="security", fix_loop={"enabled": True})
PARTIAL = ended(R.VERIFIED, "all_required_passed", confidence=Confidence.PARTIAL)


def claimed(**fields: Any) -> Todo:
    return todo(S.CLAIMED, **{"order": LOOPED, **fields})


def begun(**fields: Any) -> Todo:
    """A todo whose first round asked for changes, and whose fix loop runs."""
    at = claimed(**fields)
    now = done(at, system.round_ended(at, 1, feedback(), NOON))
    assert now.repair is not None
    return now


def end(at: Todo, result: FixLoopResult) -> Todo:
    return done(at, system.repair_ended(at, 1, result, NOON))


def test_a_round_that_asks_for_changes_begins_the_loop_and_no_revision() -> None:
    at = claimed()
    step = system.round_ended(at, 1, feedback(), NOON)
    now = done(at, step)
    assert rows(step) == ["fix_loop_started"]
    assert (step.events[0].actor, step.events[0].after["audits"]) == (SYSTEM, 1)
    assert step.events[0].payload == {
        "attempt": 1,
        "domain": "refactor",
        "confidence": "FEEDBACK",
        "loops": 0,
        "max_loops": 3,
        "spent_usd": 0.0,
        "max_cost_usd": 5.0,
    }
    assert (now.status, now.review_status) == (S.CLAIMED, ReviewStatus.AUDITING)
    assert (now.audits, now.revisions, now.round, now.attempt, now.reserved) == (1, 0, 0, 1, 4)
    assert (now.not_passed, now.outcome, now.waived) == (("tests",), "changes_requested", False)
    assert now.repair is not None
    assert (now.repair.attempt, now.repair.result) == (1, feedback())


def test_the_loop_is_before_the_caps() -> None:
    at = claimed(audits=2, revisions=2)
    assert rows(system.round_ended(at, 1, feedback(), NOON)) == ["fix_loop_started"]


@pytest.mark.parametrize("of", [order(domain="refactor"), order(domain="security")])
def test_without_a_loop_it_is_sent_back(of: Any) -> None:
    at = claimed(order=of)
    assert rows(system.round_ended(at, 1, feedback(), NOON)) == ["changes_requested"]
    assert rows(system.round_ended(at, 1, PARTIAL, NOON)) == ["approved"]


@pytest.mark.parametrize(
    ("of", "result", "row"),
    [
        (LOOPED, PARTIAL, "approved"),
        (RISKY, PARTIAL, "fix_loop_started"),
        (RISKY, feedback(), "fix_loop_started"),
        (LOOPED, ended(R.FAILED, "auditor_failed", trigger="hard_fail"), "failed"),
        (LOOPED, ended(R.NEEDS_HUMAN, trigger="auditor_blocked"), "escalated"),
    ],
)
def test_only_what_is_the_loops_goes_there(of: Any, result: Any, row: str) -> None:
    assert rows(system.round_ended(claimed(order=of), 1, result, NOON)) == [row]


def test_a_closed_loop_leaves_it_to_the_worker_and_high_stakes_to_a_person() -> None:
    closed = Fixing(closed=True)
    assert rows(system.round_ended(claimed(fixing=closed), 1, feedback(), NOON)) == ["changes_requested"]
    risky = claimed(order=RISKY, fixing=closed)
    assert rows(system.round_ended(risky, 1, feedback(), NOON)) == ["fix_loop_started"]


def test_a_success_verifies_the_repaired_tree() -> None:
    at = begun(flag="look")
    step = system.repair_ended(at, 1, looped("success", loops=2, attempt=3), NOON)
    now = done(at, step)
    assert rows(step) == ["approved"]
    assert str(step.events[0].actor) == "harness"
    assert step.events[0].payload == {
        "snapshot": "8" * 64,
        "reason": "repaired in 2 of 3 loops: because all_required_passed",
    }
    assert (step.events[0].before["attempt"], step.events[0].after["attempt"]) == (1, 3)
    assert (now.status, now.review_status, now.repair) == (S.VERIFIED, ReviewStatus.APPROVED, None)
    assert (now.attempt, now.reserved, now.next_attempt) == (3, 0, 4)
    assert (now.audits, now.revisions) == (1, 0), "its rounds count as neither"
    assert (now.passed, now.not_passed, now.outcome, now.flag) == (True, (), "verified", "")
    assert now.admitted is not None
    assert now.admitted.frozen == repaired()
    assert now.fixing == Fixing(used=Tally(loops=2, micros=2000))
    assert now.prior_attempts[-1] == "fix loop of attempt 1: because all_required_passed"


def test_notes_go_into_the_reason() -> None:
    at = begun()
    step = system.repair_ended(at, 1, looped("success_with_notes", notes=("style is off", "slow")), NOON)
    assert done(at, step).status is S.VERIFIED
    assert str(step.events[0].payload["reason"]).endswith("; note: style is off; note: slow")


def test_a_patch_that_was_only_offered_is_flagged() -> None:
    now = end(begun(), looped("success", placed="offered", why_offered="src/a.py has changed"))
    assert now.status is S.VERIFIED
    assert now.flag == (
        "the verified repair is not in the workspace (src/a.py has changed): "
        "it is evidence/s1/t1/1/fix_loop/repair.patch"
    )


def test_with_a_subtask_open_a_success_verifies_nothing() -> None:
    at = begun()
    asked = at.model_copy(update={"gate": Gate(number=2, open_children=("c",))})
    step = system.repair_ended(asked, 1, looped("success"), NOON)
    now = done(asked, step)
    assert (rows(step), now.status, now.passed, now.waived) == (["reopened"], S.IN_PROGRESS, False, True)
    assert now.next_attempt == 3, "the loop's round has its number"


@pytest.mark.parametrize(
    "fields", [{"result": None}, {"frozen": None}, {"result": ended(R.CHANGES_REQUESTED)}, {"result": ended(R.FAILED)}]
)
def test_a_success_that_names_no_verified_round_is_our_defect(fields: dict[str, Any]) -> None:
    now = end(begun(), looped("success", **fields))
    assert (now.status, now.trigger, now.passed) == (S.NEEDS_HUMAN, "system_error", False)


@pytest.mark.parametrize(
    "trigger", ["revision_cap_exceeded", "cost_cap_exceeded", "could_not_apply", "high_stakes", "checks_could_not_run"]
)
def test_an_escalation_leaves_what_is_known_of_the_workers_tree(trigger: str) -> None:
    at = begun()
    result = looped("escalated", 3, trigger=trigger, reason="3 of 3 loops used", attempt=4, result=ended(R.VERIFIED))
    step = system.repair_ended(at, 1, result, NOON)
    now = done(at, step)
    assert rows(step) == ["escalated"]
    assert step.events[0].payload == {"trigger": trigger, "reason": escalation_reason(result)}
    assert (now.status, now.review_status, now.trigger) == (S.NEEDS_HUMAN, ReviewStatus.ESCALATED, trigger)
    assert (now.not_passed, now.passed, now.outcome, now.admitted) == (
        ("tests",),
        False,
        "changes_requested",
        at.admitted,
    )
    assert (now.attempt, now.next_attempt, now.audits, now.revisions) == (1, 5, 1, 0)
    assert (now.flag, now.waived) == (escalation_reason(result), False)
    assert now.fixing == Fixing(used=Tally(loops=3, micros=3000), closed=True)
    assert now.prior_attempts[-1] == f"fix loop of attempt 1: {trigger}: 3 of 3 loops used"
    acknowledged = Override(actor=ALICE, kind="check", reason="Known", acknowledged=("tests",))
    assert done(now, people.override(now, acknowledged, NOON)).status is S.VERIFIED
    assert told(people.approve(now, Approve(actor=ALICE), NOON)).code == "not_passed"


def test_an_escalated_pass_of_high_stakes_can_be_approved() -> None:
    at = claimed(order=RISKY)
    now = end(done(at, system.round_ended(at, 1, PARTIAL, NOON)), looped("escalated", 0, trigger="high_stakes"))
    assert (now.status, now.trigger, now.passed) == (S.NEEDS_HUMAN, "high_stakes", True)
    assert done(now, people.approve(now, Approve(actor=ALICE), NOON)).status is S.VERIFIED


def test_a_hard_fail_of_a_repair_is_the_end_of_it() -> None:
    at = begun()
    last = ended(R.FAILED, "auditor_failed", trigger="hard_fail")
    step = system.repair_ended(at, 1, looped("escalated", trigger="hard_fail", reason="cheated", result=last), NOON)
    now = done(at, step)
    assert (rows(step), now.status, now.trigger) == (["failed"], S.FAILED, "hard_fail")
    assert step.events[0].payload == {"reasons": ["auditor_failed"], "trigger": "hard_fail"}
    assert (now.review_status, now.not_passed, now.fixing.closed) == (ReviewStatus.ESCALATED, ("tests",), True)


def test_an_escalation_without_a_trigger_is_our_defect() -> None:
    assert end(begun(), looped("escalated")).trigger == "system_error"


def test_a_loop_that_broke_or_was_ended_from_outside_needs_a_human() -> None:
    at = begun()
    broke = system.repair_broke(at, 1, "its workflow failed", NOON)
    now = done(at, broke)
    assert (rows(broke), now.status, now.trigger) == (["escalated"], S.NEEDS_HUMAN, "system_error")
    assert (now.fixing.closed, now.not_passed) == (True, ("tests",))
    outside = end(at, looped("aborted", reason="cancelled"))
    assert (outside.status, outside.trigger) == (S.NEEDS_HUMAN, "system_error")


def edited(at: Todo) -> Outcome:
    return people.edit(at, Edit(actor=ALICE, expected_version=1, changes={"content": "Other work"}), NOON)


MEANWHILE: dict[str, tuple[Callable[[Todo], Any], TodoStatus, int]] = {
    "override": (
        lambda at: people.override(
            at, Override(actor=ALICE, kind="check", reason="Known", acknowledged=("tests",)), NOON
        ),
        S.VERIFIED,
        0,
    ),
    "reject": (lambda at: people.reject(at, Reject(actor=ALICE, feedback="No"), NOON), S.IN_PROGRESS, 0),
    "edit": (edited, S.CLAIMED, 5),
    "delete": (lambda at: people.delete(at, Delete(actor=ALICE), NOON), S.CANCELLED, 0),
    "stop": (lambda at: system.gated(at, Gate(number=2, status=SessionStatus.STOPPED), NOON), S.CLAIMED, 0),
    "session's time": (
        lambda at: system.gated(at, Gate(number=2, status=SessionStatus.TIMED_OUT), NOON),
        S.NEEDS_HUMAN,
        0,
    ),
    "todo's time": (lambda at: system.clock_over(at, after(3600)), S.NEEDS_HUMAN, 0),
    "subtask": (lambda at: system.gated(at, Gate(number=2, open_children=("c",)), NOON), S.IN_PROGRESS, 0),
}


@pytest.mark.parametrize("act", MEANWHILE)
@pytest.mark.parametrize("ending", ["success", "escalated", "aborted"])
def test_what_happens_meanwhile_cancels_the_loop_and_its_end_moves_nothing(act: str, ending: Any) -> None:
    does, status, round = MEANWHILE[act]
    now = done(at := begun(), does(at))
    assert (now.status, now.repair, now.round) == (status, None, round)
    step = system.repair_ended(now, 1, looped(ending, trigger="could_not_apply"), NOON)
    assert rows(step) == []
    used = now.fixing.model_copy(update={"used": Tally(loops=1, micros=1000)})
    assert done(now, step) == now.model_copy(update={"fixing": used}), "what it spent is spent all the same"
    broke = system.repair_broke(now, 1, "it was cancelled", NOON)
    assert (rows(broke), broke.todo) == ([], now)


def test_a_pause_leaves_the_loop_to_go_on() -> None:
    at = begun()
    paused = done(at, system.gated(at, Gate(number=2, status=SessionStatus.PAUSED), NOON))
    assert (paused.repair, paused.clock.since) == (at.repair, None)
    assert end(paused, looped("success")).status is S.VERIFIED


def test_no_number_is_used_twice() -> None:
    at = begun()
    rejected = done(at, people.reject(at, Reject(actor=ALICE, feedback="No"), NOON))
    again = done(rejected, workers.claim(rejected, claiming(), admitted("other"), NOON))
    assert (again.round, again.attempt) == (5, 5), "the loop may have had 2, 3 and 4"
    second = done(again, system.round_ended(again, 5, feedback(), NOON))
    assert (second.repair and second.repair.attempt, second.reserved) == (5, 8)


def test_less_was_not_used_because_a_late_loop_says_so() -> None:
    at = begun(fixing=Fixing(used=Tally(loops=2, micros=9000)))
    assert end(at, looped("success", loops=1)).fixing.used == Tally(loops=2, micros=9000)


def test_what_was_used_before_is_told() -> None:
    at = claimed(fixing=Fixing(used=Tally(loops=2, micros=1_500_000), granted=Tally(loops=3, micros=2_000_000)))
    step = system.round_ended(at, 1, feedback(), NOON)
    payload = step.events[0].payload
    assert (payload["loops"], payload["max_loops"]) == (2, 6)
    assert (payload["spent_usd"], payload["max_cost_usd"]) == (1.5, 7.0)
    assert step.todo.reserved == 7


def test_a_budget_opens_the_loop_again_and_only_that_does() -> None:
    at = end(begun(), looped("escalated", 3, trigger="revision_cap_exceeded", reason="3 of 3"))
    without = done(at, people.give_back(at, Return(actor=ALICE), NOON))
    assert (without.fixing, without.waived) == (at.fixing, False)
    step = people.give_back(at, Return(actor=ALICE, cost_usd=2.5), NOON)
    now = done(at, step)
    assert isinstance(step, Step)
    assert step.events[0].payload["cost_usd"] == 2.5
    assert now.fixing == Fixing(used=Tally(loops=3, micros=3000), granted=Tally(loops=3, micros=2_500_000))
    assert (now.flag, now.waived) == ("", True)
    same = done(now, workers.claim(now, claiming(), admitted(), NOON))
    loop = done(same, system.round_ended(same, same.round, feedback(), NOON))
    assert loop.repair is not None
    assert loop.reserved == 11, "six loops in all, after round 5"
    more = done(
        at, people.give_back(at.model_copy(update={"fixing": now.fixing}), Return(actor=ALICE, cost_usd=1), NOON)
    )
    assert more.fixing.granted == Tally(loops=6, micros=3_500_000)


def test_no_budget_for_what_has_no_loop() -> None:
    at = todo(S.NEEDS_HUMAN)
    refusal = told(people.give_back(at, Return(actor=ALICE, cost_usd=1.0), NOON))
    assert (refusal.code, "no fix loop" in refusal.reason) == ("no_fix_loop", True)


@pytest.mark.parametrize("cost_usd", [-1.0, float("nan"), float("inf"), 1e300])
def test_a_budget_is_an_amount_of_money(cost_usd: float) -> None:
    with pytest.raises(ValueError, match="cost_usd"):
        Return(actor=ALICE, cost_usd=cost_usd)


def test_a_loop_for_want_of_an_auditor_asks_for_nothing_new() -> None:
    at = claimed()
    now = done(at, system.round_ended(at, 1, feedback("verifier_unavailable"), NOON))
    assert end(now, looped("escalated", trigger="could_not_apply")).waived
