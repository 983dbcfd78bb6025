"""What happens to a todo by itself: verdicts, caps, retries, questions, clocks, the session's word, worker commands."""

from __future__ import annotations

from typing import Any

import pytest

from domain.acts import people, system, workers
from domain.decision import RoundOutcome
from domain.life import FollowUp, WorkResult
from domain.requests import Reject, Return
from domain.safeguards import Clock
from domain.status import ReviewStatus, SessionStatus, TodoStatus
from domain.todo import Gate, OpenQuestion, Todo
from tests.model.todos import ALICE, NOON, admitted, after, claiming, done, ended, order, rows, todo, told

S = TodoStatus
R = RoundOutcome
BAD = ended(R.CHANGES_REQUESTED)


def end(at: Todo, result: Any) -> Todo:
    return done(at, system.round_ended(at, at.round, result, NOON))


def claim(at: Todo, tree: str) -> Todo:
    return done(at, workers.claim(at, claiming(), admitted(tree), NOON))


def test_a_verified_round_verifies() -> None:
    at = todo(S.CLAIMED, flag="look")
    step = system.round_ended(at, 1, ended(R.VERIFIED, "all_required_passed"), NOON)
    now = done(at, step)
    assert rows(step) == ["approved"]
    assert str(step.events[0].actor) == "harness"
    assert step.events[0].payload == {"snapshot": "e" * 64, "reason": "because all_required_passed"}
    assert (now.status, now.review_status, now.audits) == (S.VERIFIED, ReviewStatus.APPROVED, 1)
    assert (now.passed, now.not_passed, now.outcome, now.flag) == (True, (), "verified", "")


def test_with_a_subtask_open_it_does_not() -> None:
    at = todo(S.CLAIMED, gate=Gate(number=2, open_children=("c",)), audits=2)
    step = system.round_ended(at, 1, ended(R.VERIFIED), NOON)
    now = done(at, step)
    assert rows(step) == ["reopened"]
    assert (now.status, now.review_status, now.waived) == (S.IN_PROGRESS, ReviewStatus.NOT_REQUESTED, True)


def test_changes_requested_goes_back_as_a_revision() -> None:
    at = todo(S.CLAIMED, retry_context="old")
    result = BAD.model_copy(update={"retry_context": "new", "timed_out": True})
    step = system.round_ended(at, 1, result, NOON)
    now = done(at, step)
    assert rows(step) == ["changes_requested"]
    assert step.events[0].payload == {"feedback": "because tests_failed", "revision": 1}
    assert (step.events[0].before["audits"], step.events[0].after["audits"]) == (0, 1)
    assert (now.status, now.review_status) == (S.IN_PROGRESS, ReviewStatus.CHANGES_REQUESTED)
    assert (now.audits, now.revisions, now.retry_context, now.waived) == (1, 1, "new", False)
    assert now.prior_attempts == ("attempt 1: changes_requested: because tests_failed",)


def test_a_check_that_ran_out_of_time_gets_more_of_it() -> None:
    of = order(verification={"retry": {"timeout_factor": 3.0, "max_attempts": 9}}, safeguards={"audit_attempts": 9})
    late, fine = BAD.model_copy(update={"timed_out": True}), BAD
    at = todo(S.CLAIMED, order=of)
    now = end(at, late)
    assert now.widen == 3.0
    assert end(claim(now, "2"), late).widen == 9.0
    assert end(claim(now, "2"), fine).widen == 3.0


def test_three_audits_two_revisions_and_a_human_has_to_look() -> None:
    at, seen = todo(S.IN_PROGRESS), []
    for number in range(3):
        at = claim(at, f"tree{number}")
        step = system.round_ended(at, at.round, BAD, NOON)
        at = done(at, step)
        seen += rows(step)
    assert seen == ["changes_requested", "changes_requested", "escalated"]
    assert (at.audits, at.revisions, at.attempt) == (3, 2, 3)
    assert (at.status, at.trigger, at.review_status) == (S.NEEDS_HUMAN, "audit_cap_exceeded", ReviewStatus.ESCALATED)
    back = done(at, people.give_back(at, Return(actor=ALICE, extra_attempts=1), NOON))
    assert end(claim(back, "tree3"), BAD).trigger == "audit_cap_exceeded"
    assert end(claim(back, "tree3"), ended(R.VERIFIED)).status is S.VERIFIED


def test_the_smaller_cap_counts_and_revisions_have_their_own() -> None:
    small = todo(S.CLAIMED, order=order(verification={"retry": {"max_attempts": 1}}))
    assert end(small, BAD).trigger == "audit_cap_exceeded"
    few = todo(S.CLAIMED, order=order(safeguards={"revisions": 0}))
    now = end(few, BAD)
    assert (now.trigger, now.revisions, now.audits) == ("revision_cap_exceeded", 0, 1)
    human = todo(S.CLAIMED, revisions=2)
    assert end(human, BAD).trigger == "revision_cap_exceeded", "a human's rejections count, too"


def test_exhausted_it_fails_where_the_order_says_so() -> None:
    at = todo(S.CLAIMED, audits=2, order=order(safeguards={"on_exhausted": "fail"}))
    step = system.round_ended(at, 1, BAD, NOON)
    now = done(at, step)
    assert (rows(step), now.status, now.trigger) == (["failed"], S.FAILED, "audit_cap_exceeded")
    assert step.events[0].payload["reasons"] == ["audit_cap_exceeded"]
    blocked = end(todo(S.CLAIMED, order=at.order), ended(R.NEEDS_HUMAN, "auditor_blocked", trigger="auditor_blocked"))
    assert blocked.status is S.NEEDS_HUMAN, "only caps are meant"


def test_a_hard_fail_is_the_end_of_it() -> None:
    at = todo(S.CLAIMED, waived=True)
    step = system.round_ended(at, 1, ended(R.FAILED, "auditor_failed", trigger="hard_fail"), NOON)
    now = done(at, step)
    assert not now.waived, "it was judged"
    assert (rows(step), now.status, now.trigger, now.audits) == (["failed"], S.FAILED, "hard_fail", 1)
    assert now.review_status is ReviewStatus.ESCALATED


@pytest.mark.parametrize(
    ("trigger", "waived", "audits"),
    [
        ("auditor_blocked", False, 1),
        ("high_stakes", False, 1),
        ("not_judged", True, 1),
        ("nothing_to_check", True, 1),
        ("checks_could_not_run", True, 0),
        ("system_error", True, 0),
        ("cost_cap_exceeded", True, 0),
        ("timeout", True, 0),
    ],
)
def test_what_needs_a_human_says_whose_fault_it_was(trigger: str, waived: bool, audits: int) -> None:
    now = end(todo(S.CLAIMED), ended(R.NEEDS_HUMAN, trigger, trigger=trigger))
    assert (now.status, now.trigger, now.waived, now.audits) == (S.NEEDS_HUMAN, trigger, waived, audits)


def test_a_soft_fail_for_want_of_an_auditor_asks_for_nothing_new() -> None:
    now = end(todo(S.CLAIMED), ended(R.CHANGES_REQUESTED, "verifier_unavailable"))
    assert (now.waived, claim(now, "tree").status) == (True, S.CLAIMED)
    assert not end(todo(S.CLAIMED), ended(R.CHANGES_REQUESTED, "tests_failed", "verifier_unavailable")).waived


def test_what_could_not_run_is_tried_again_later_and_later_then_escalates() -> None:
    at, waits = todo(S.CLAIMED), []
    nothing = ended(R.INCONCLUSIVE, "engine_unavailable", not_passed=("tests",))
    for _ in range(3):
        step = system.round_ended(at, at.round, nothing, NOON)
        at = done(at, step)
        assert (rows(step), at.status, at.round, at.audits) == ([], S.CLAIMED, 0, 0)
        assert at.retry_at is not None
        waits.append((at.retry_at - NOON).total_seconds())
        step = system.audit(at, at.retry_at)
        at = done(at, step)
        assert rows(step) == ["audit_started"]
    assert waits == [15, 30, 60]
    assert (at.attempt, at.round, at.inconclusive) == (4, 4, 3)
    at = end(at, nothing)
    assert (at.status, at.trigger, at.audits, at.waived) == (S.NEEDS_HUMAN, "checks_could_not_run", 0, True)


def test_the_wait_has_an_end() -> None:
    at = todo(S.CLAIMED, inconclusive=9, order=order(safeguards={"tool_retries": 20}))
    retry_at = end(at, ended(R.INCONCLUSIVE)).retry_at
    assert retry_at == after(300)


def test_a_verdict_after_retries_sets_them_back_and_asks_for_news() -> None:
    waiting = end(todo(S.CLAIMED), ended(R.INCONCLUSIVE))
    at = done(waiting, system.audit(waiting, NOON))
    now = end(at, BAD)
    assert (now.inconclusive, now.waived) == (0, False)


def test_nothing_is_audited_that_nobody_waits_for() -> None:
    for at in (todo(S.CLAIMED), todo(S.CLAIMED, round=0), *(todo(status) for status in S if status is not S.CLAIMED)):
        step = system.audit(at, NOON)
        assert (step.events, step.todo) == ((), at)


@pytest.mark.parametrize("outcome", R)
def test_the_result_of_a_cancelled_round_is_recorded_and_ignored(outcome: RoundOutcome) -> None:
    at = todo(S.CLAIMED)
    rejected = done(at, people.reject(at, Reject(actor=ALICE, feedback="No"), NOON))
    step = system.round_ended(rejected, 1, ended(outcome), NOON)
    assert rows(step) == ["round_ignored"]
    assert step.events[0].payload["outcome"] == outcome
    assert done(rejected, step) == rejected
    broke = system.round_broke(rejected, 1, "it was cancelled", NOON)
    assert (rows(broke), broke.todo) == (["round_ignored"], rejected)


def test_a_round_that_broke_is_our_defect() -> None:
    at = todo(S.CLAIMED)
    step = system.round_broke(at, 1, "its workflow failed", NOON)
    now = done(at, step)
    assert (rows(step), now.trigger, now.audits, now.waived) == (["escalated"], "system_error", 0, True)


def follow_up(**fields: Any) -> FollowUp:
    return FollowUp(**{"attempt": 1, "question": "Why?", "round": 1, "of": 3, "timeout": 300.0, **fields})


def test_a_question_has_its_own_time() -> None:
    at = todo(S.CLAIMED)
    step = system.ask(at, follow_up(evidence_requested=("log",)), NOON)
    now = done(at, step)
    assert rows(step) == ["follow_up_asked"]
    assert str(step.events[0].actor) == "auditor"
    assert now.question is not None
    assert (now.question.deadline, now.question.evidence_requested) == (after(300), ("log",))
    early = system.give_up(now, after(299))
    assert (early.events, early.todo) == ((), now)
    late = system.give_up(now, after(300))
    assert rows(late) == ["follow_up_expired"]
    assert late.events[0].payload == {"round": 1, "of": 3, "timeout": 300.0}
    assert (done(now, late).question, late.todo.round) == (None, 1)


def test_a_question_nobody_waits_for_is_none() -> None:
    for at, asked in (
        (todo(S.CLAIMED), follow_up(attempt=2)),
        (todo(S.CLAIMED), follow_up(round=4)),
        (todo(S.IN_PROGRESS), follow_up()),
        (todo(S.NEEDS_HUMAN), follow_up(attempt=0)),
    ):
        step = system.ask(at, asked, NOON)
        assert (step.events, step.todo) == ((), at)
        assert system.give_up(at, after(9999)).todo == at


def test_a_questions_time_stands_still_with_the_session() -> None:
    at = todo(S.CLAIMED)
    asked = done(at, system.ask(at, follow_up(), NOON))
    paused = done(asked, system.gated(asked, Gate(number=2, status=SessionStatus.PAUSED), after(100)))
    assert paused.question is not None
    assert (paused.question.deadline, paused.question.left) == (None, 200)
    assert system.give_up(paused, after(9999)).todo == paused
    going = done(paused, system.gated(paused, Gate(number=3), after(1000)))
    assert going.question is not None
    assert (going.question.deadline, going.question.left) == (after(1200), None)


@pytest.mark.parametrize("status", [S.IN_PROGRESS, S.CLAIMED])
def test_when_its_time_is_over_a_human_has_to_look(status: TodoStatus) -> None:
    at = todo(status)
    early = system.clock_over(at, after(3599))
    assert (early.events, early.todo) == ((), at)
    step = system.clock_over(at, after(3600))
    now = done(at, step)
    assert (rows(step), now.status, now.trigger, now.round) == (["escalated"], S.NEEDS_HUMAN, "timeout", 0)
    assert now.waived is (status is S.CLAIMED), "a claim that nobody judged may be made again"


def test_the_clock_goes_only_while_somebody_can_work() -> None:
    """3,600 s of work, with a pause, a question to a human and a wait for one in between."""
    at = todo(S.IN_PROGRESS)
    at = done(at, system.gated(at, Gate(number=2, status=SessionStatus.PAUSED), after(1000)))
    at = done(at, system.gated(at, Gate(number=3), after(50_000)))
    assert at.clock.deadline == after(52_600)
    at = claim(at.model_copy(update={"clock": at.clock}), "x")
    at = end(at, ended(R.NEEDS_HUMAN, trigger="auditor_blocked"))
    assert at.clock.since is None
    assert system.clock_over(at, after(999_999)).todo == at


@pytest.mark.parametrize("number", [0, 1])
def test_an_older_word_changes_nothing(number: int) -> None:
    at = todo(S.CLAIMED)
    step = system.gated(at, Gate(number=number, status=SessionStatus.STOPPED, open_children=("c",)), NOON)
    assert (step.events, step.todo) == ((), at)


@pytest.mark.parametrize("status", TodoStatus)
def test_a_stopped_sessions_todos_keep_their_status_and_lose_their_rounds(status: TodoStatus) -> None:
    at = todo(status)
    step = system.gated(at, Gate(number=2, status=SessionStatus.STOPPED), NOON)
    now = done(at, step)
    assert (rows(step), now.status, now.round, now.retry_at, now.clock.since) == ([], status, 0, None, None)
    assert now.waived is (status is S.CLAIMED)
    asked = todo(S.BLOCKED, question=OpenQuestion(question="Which?"))
    assert system.gated(asked, Gate(number=2, status=SessionStatus.STOPPED), NOON).todo.question == asked.question


@pytest.mark.parametrize("status", TodoStatus)
def test_what_is_unfinished_when_the_session_times_out_needs_a_human(status: TodoStatus) -> None:
    at = todo(status)
    over = Gate(number=2, status=SessionStatus.TIMED_OUT)
    now = done(at, system.gated(at, over, NOON))
    if status in (S.PENDING, S.IN_PROGRESS, S.CLAIMED, S.BLOCKED):
        assert (now.status, now.trigger) == (S.NEEDS_HUMAN, "timeout")
        back = done(now, people.give_back(now, Return(actor=ALICE), NOON))
        again = system.gated(back, over.model_copy(update={"number": 3}), NOON)
        assert (rows(again), again.todo.status) == ([], S.IN_PROGRESS), "it times out once"
    else:
        assert now == at.model_copy(update={"gate": over})


@pytest.mark.parametrize("status", TodoStatus)
def test_an_open_subtask_reopens_what_is_claimed_or_verified(status: TodoStatus) -> None:
    at = todo(status, passed=status is S.VERIFIED)
    step = system.gated(at, Gate(number=2, open_children=("c", "d")), NOON)
    now = done(at, step)
    if status in (S.CLAIMED, S.VERIFIED):
        assert rows(step) == ["reopened"]
        assert step.events[0].payload["child"] == "c"
        assert (now.status, now.round, now.passed, now.waived) == (S.IN_PROGRESS, 0, False, True)
        assert told(workers.claim(now, claiming(), admitted(), NOON)).code == "open_children"
        closed = done(now, system.gated(now, Gate(number=3), NOON))
        assert claim(closed, "tree").status is S.CLAIMED
    else:
        assert (rows(step), now.status) == ([], status)


def test_a_parent_that_passed_with_its_last_audit_is_audited_once_more() -> None:
    at = todo(S.VERIFIED, audits=3)
    now = done(at, system.gated(at, Gate(number=2, open_children=("c",)), NOON))
    assert (now.granted, now.caps.audits) == (1, 4)
    spare = todo(S.VERIFIED, audits=2)
    assert done(spare, system.gated(spare, Gate(number=2, open_children=("c",)), NOON)).granted == 0


def test_reopened_when_the_session_is_over_it_needs_a_human() -> None:
    at = todo(S.VERIFIED, gate=Gate(number=1, status=SessionStatus.TIMED_OUT))
    step = system.gated(at, Gate(number=2, status=SessionStatus.TIMED_OUT, open_children=("c",)), NOON)
    assert rows(step) == ["reopened", "escalated"]
    assert done(at, step).status is S.NEEDS_HUMAN


@pytest.mark.parametrize("status", TodoStatus)
def test_whoever_began_after_what_is_open_again_is_flagged_once(status: TodoStatus) -> None:
    at = todo(status)
    step = system.gated(at, Gate(number=2, dependency_reopened="a"), NOON)
    now = done(at, step)
    assert rows(step) == ([] if status in (S.PENDING, S.CANCELLED) else ["flagged"])
    assert ("a" in now.flag) is (status not in (S.PENDING, S.CANCELLED))
    assert now.status is status
    again = system.gated(now.model_copy(update={"flag": ""}), Gate(number=3, dependency_reopened="a"), NOON)
    assert rows(again) == [], "a human has seen it"


def test_a_worker_command_has_two_rows() -> None:
    at = todo(S.IN_PROGRESS, worker=order(worker={"command": "./a.sh"}).worker)
    step = system.drive_started(at, NOON)
    now = done(at, step)
    assert (rows(step), now.drives) == (["worker_started"], 1)
    assert step.events[0].payload == {"drive": 1, "command": "./a.sh"}
    result = WorkResult(exit_code=3, problems=("no JSON",), output="o" * 64, started_at=NOON, ended_at=after(5))
    step = system.drive_ended(now, result, after(5))
    assert rows(step) == ["worker_ended"]
    assert done(now, step) == now


def test_the_third_refused_claim_of_a_worker_command_escalates() -> None:
    at, seen = todo(S.IN_PROGRESS), []
    for _ in range(3):
        step = system.drive_refused(at, "no_evidence", NOON)
        at = done(at, step)
        seen.append(rows(step))
    assert seen == [[], [], ["escalated"]]
    assert (at.status, at.trigger, at.last_refusal) == (S.NEEDS_HUMAN, "no_progress", "no_evidence")
    between = claim(todo(S.IN_PROGRESS, refused_drives=2, last_refusal="x"), "new")
    assert (between.refused_drives, between.last_refusal) == (0, "")
    waiting = todo(S.NEEDS_HUMAN, refused_drives=5)
    assert rows(system.drive_refused(waiting, "x", NOON)) == []


def test_a_worker_command_that_cannot_answer_the_auditor_is_silent_and_no_more() -> None:
    at = todo(S.CLAIMED)
    asked = done(at, system.ask(at, follow_up(), NOON))
    for _ in range(4):
        step = system.drive_refused(asked, "no_answer", NOON)
        asked = done(asked, step)
        assert rows(step) == []
    assert (asked.status, asked.refused_drives, asked.last_refusal) == (S.CLAIMED, 4, "no_answer")
    given_up = done(asked, system.give_up(asked, after(300.0)))
    assert (given_up.question, given_up.refused_drives) == (None, 0), "the next work begins without them"


def test_the_clock_of_a_fraction_left_is_over() -> None:
    at = todo(S.IN_PROGRESS, clock=Clock(limit=0.1 + 0.2, since=NOON))
    assert at.clock.deadline is not None
    assert rows(system.clock_over(at, at.clock.deadline)) == ["escalated"]
