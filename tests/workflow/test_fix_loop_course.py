"""The fix loop: repaired in one or three, never, and everything else that ends it. Rounds are real, ports scripted."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from domain.confidence import Confidence
from domain.errors import Cause, Unavailable
from domain.fix_messages import SpentResult
from domain.fixing import Budget, Tally
from domain.roles.results import PassResult
from domain.scope import Violation
from tests.workflow.conftest import FAILED, PASSED, House
from tests.workflow.fixing import (
    FEEDBACK,
    FROZEN,
    HEAD,
    SCOPE,
    actions,
    ended,
    loop_of,
    looped,
    of_the_loop,
    patch_of,
    repairs,
    rounds,
)
from tests.workflow.scripted_role import APPROVED, LOOKED, asking, refused, repaired, unrepaired

LOOP = ["fix_iteration_started", "role_pass_completed", "fix_iteration_completed"]


async def test_repaired_in_one_loop_the_work_is_in_the_workspace(house: House) -> None:
    repairs(house, repaired("1"))
    loop = loop_of(house)
    result = await ended(house, loop)
    assert (result.ending, result.trigger, result.loops, result.of) == ("success", "", 1, 3)
    assert (result.attempt, result.placed, result.patch) == (2, "applied", patch_of(house, "1" * 64))
    assert result.frozen is not None
    assert (result.frozen.head, result.frozen.base, result.frozen.head_bytes) == ("1" * 64, FROZEN.base, 30)
    (iteration,) = result.iterations
    assert (iteration.answer, iteration.edits, iteration.paths) == ("APPLIED:1", 1, ("a.py",))
    assert (iteration.attempt, iteration.outcome, iteration.why) == (2, "verified", "")
    assert iteration.confidence in (Confidence.PERFECT, Confidence.VERIFIED)
    assert result.result is not None
    assert iteration.report == result.result.report
    assert actions(house) == [*LOOP, "patch_applied", "fix_loop_ended"]
    assert [row.attempt for row in of_the_loop(house)] == [1, 1, 2, 2, 2]
    (applied,) = house.script.applied
    assert (applied.head, applied.fixed, applied.freeze.workspace) == (HEAD, "1" * 64, "/w")
    (filed,) = house.script.filed
    assert (filed.attempt, filed.from_head, filed.to_head) == (1, HEAD, "1" * 64)
    assert filed.result.placed == "applied"
    assert house.store.get(result.summary)


async def test_the_fix_builder_is_told_the_feedback_and_nothing_of_what_the_worker_says(house: House) -> None:
    repairs(house, repaired("1"))
    house.script.costs = {1: SpentResult(verifying=1000)}
    await ended(house, loop_of(house, tally=Tally(loops=1, micros=250)))
    (asked,) = house.script.auditor.others_asked
    assert (asked.role, asked.stage, asked.feedback, asked.limit) == ("fix_builder", "fix", "c" * 64, 300.0)
    assert (asked.frozen, asked.scope, asked.budget) == (FROZEN, SCOPE, 5_000_000 - 250)
    assert (asked.round.workflow_id, asked.round.claim) == (f"round/local/{asked.round.todo}/1", None)
    (assessed,) = house.script.assessed
    assert assessed.frozen == FROZEN.model_copy(update={"head": "1" * 64, "head_bytes": 30})
    started = of_the_loop(house)[0].payload
    assert (started["loop"], started["of"], started["estimate_usd"], started["spent_usd"]) == (2, 3, 0.001, 0.00025)


async def test_repaired_in_three_each_repairs_what_the_one_before_left(house: House) -> None:
    repairs(house, repaired("1"), repaired("2"), repaired("3"))
    house.script.items = {"tests": rounds(False, False, True)}
    house.script.costs = {attempt: SpentResult(verifying=attempt * 10, fixing=attempt) for attempt in (1, 2, 3, 4)}
    result = await ended(house, loop_of(house))
    assert (result.ending, result.loops, result.attempt, result.tally) == (
        "success", 3, 4, Tally(loops=3, micros=(1 + 20) + (2 + 30) + (3 + 40)),
    )  # fmt: skip
    assert [iteration.micros for iteration in result.iterations] == [21, 32, 43]
    assert [iteration.outcome for iteration in result.iterations] == [
        "changes_requested", "changes_requested", "verified",
    ]  # fmt: skip
    told = house.script.auditor.others_asked
    assert [asked.frozen.head for asked in told] == [HEAD, "1" * 64, "2" * 64]
    assert [asked.round.attempt for asked in told] == [1, 2, 3]
    assert len({asked.key for asked in told}) == 3
    assert told[0].feedback != told[1].feedback
    assert [asked.limit for asked in told] == [300.0] * 3, "each iteration has the roles' time anew"
    started = [row.payload for row in of_the_loop(house) if row.action == "fix_iteration_started"]
    assert [row["estimate_usd"] for row in started] == [0.00001, 0.000021, 0.000032]
    assert actions(house) == [*LOOP * 3, "patch_applied", "fix_loop_ended"]
    assert [applied.fixed for applied in house.script.applied] == ["3" * 64]
    assert (house.script.applied[0].head, result.patch) == (HEAD, patch_of(house, "3" * 64))


async def test_never_repaired_it_escalates_after_three(house: House) -> None:
    repairs(house, *(repaired(name) for name in "1234"))
    house.script.items = {"tests": [FAILED]}
    result = await ended(house, loop_of(house))
    assert (result.ending, result.trigger, result.loops) == ("escalated", "revision_cap_exceeded", 3)
    assert "3 of 3 loops used" in result.reason
    assert actions(house) == [*LOOP * 3, "fix_loop_ended"]
    rows = house.trail.rows()
    assert [row.attempt for row in rows if row.action == "audit_completed"] == [2, 3, 4]
    last = of_the_loop(house)[-1].payload
    assert (last["ending"], last["loops"], last["max_loops"]) == ("escalated", 3, 3)
    assert (last["last_verdict"], last["trigger"]) == ("changes_requested (FEEDBACK)", "revision_cap_exceeded")
    assert (house.script.applied, result.placed) == ([], "")
    assert (house.script.filed[0].to_head, last["summary"]) == ("3" * 64, result.summary), "to be read, not applied"


async def test_what_cannot_be_applied_is_a_persons(house: House) -> None:
    repairs(house, unrepaired("it takes a new file"))
    result = await ended(house, loop_of(house))
    assert (result.trigger, result.reason, result.loops) == ("could_not_apply", "it takes a new file", 1)
    (iteration,) = result.iterations
    assert (iteration.answer, iteration.attempt, iteration.why) == (
        "COULD_NOT_APPLY: it takes a new file", 0, "it takes a new file",
    )  # fmt: skip
    assert actions(house) == [*LOOP, "fix_loop_ended"]
    assert house.script.assessed == []


async def test_without_a_model_it_says_what_to_set(house: House) -> None:
    result = await ended(house, loop_of(house))
    assert (result.ending, result.trigger) == ("escalated", "could_not_apply")
    assert "`[agents.fix_builder] model`" in result.reason
    assert actions(house) == ["fix_iteration_started", "fix_iteration_completed", "fix_loop_ended"]


@pytest.mark.parametrize(
    ("outcome", "trigger"),
    [
        ("timed_out", "timeout"),
        ("cost_cap_exceeded", "cost_cap_exceeded"),
        ("unavailable", "could_not_apply"),
    ],
)
async def test_a_pass_that_comes_to_nothing_ends_it(house: House, outcome: str, trigger: str) -> None:
    repairs(house, PassResult.model_validate({"outcome": outcome, "why": "said so"}))
    house.script.costs = {1: SpentResult(fixing=7, verifying=100)}
    result = await ended(house, loop_of(house))
    assert (result.ending, result.trigger, result.tally) == ("escalated", trigger, Tally(loops=1, micros=7))
    assert "said so" in result.reason


async def test_high_stakes_escalate_on_the_first_feedback(house: House) -> None:
    repairs(house, repaired())
    result = await ended(house, loop_of(house, looped(domain="finance")))
    assert (result.ending, result.trigger, result.loops) == ("escalated", "high_stakes", 0)
    assert actions(house) == ["fix_loop_ended"]
    assert house.script.auditor.others_asked == []


async def test_a_partial_pass_is_success_with_notes(house: House) -> None:
    checks: JsonValue = [{"name": "tests", "command": "x"}, {"name": "lint", "command": "y", "required": False}]
    house.script.items = {"lint": [FAILED]}
    repairs(house, repaired())
    result = await ended(house, loop_of(house, looped(verification={"checks": checks})))
    assert (result.ending, result.placed) == ("success_with_notes", "applied")
    assert result.notes
    assert result.iterations[0].confidence is Confidence.PARTIAL


async def test_the_cost_cap_holds_before_the_third(house: House) -> None:
    repairs(house, repaired("1"), repaired("2"), repaired("3"))
    house.script.items = {"tests": [FAILED]}
    house.script.costs = {attempt: SpentResult(verifying=1_000_000, fixing=900_000) for attempt in (1, 2, 3)}
    result = await ended(house, loop_of(house))
    assert (result.ending, result.trigger, result.loops) == ("escalated", "cost_cap_exceeded", 2)
    assert result.tally == Tally(loops=2, micros=3_800_000)
    assert len(house.script.auditor.others_asked) == 2
    assert house.script.auditor.others_asked[1].budget == 5_000_000 - 1_900_000
    assert of_the_loop(house)[-1].payload["spent_usd"] == 3.8


async def test_loops_of_the_todo_before_it_count(house: House) -> None:
    repairs(house, repaired("1"), repaired("2"))
    house.script.items = {"tests": [FAILED]}
    result = await ended(house, loop_of(house, tally=Tally(loops=2, micros=5), budget=Budget(loops=3, micros=100)))
    assert (result.trigger, result.loops, result.of) == ("revision_cap_exceeded", 3, 3)
    assert [iteration.loop for iteration in result.iterations] == [3]


async def test_a_broken_harness_escalates(house: House) -> None:
    repairs(house, repaired())
    house.script.prepare = [Unavailable(Cause.IMAGE_MISSING, "no image", "build it")] * 9
    result = await ended(house, loop_of(house))
    assert (result.ending, result.trigger, result.loops) == ("escalated", "checks_could_not_run", 1)
    assert result.iterations[0].confidence is Confidence.FAILED
    assert house.script.applied == []


async def test_a_hard_fail_inside_is_one(house: House) -> None:
    hard = APPROVED.audit.model_copy(update={"outcome": "failed", "feedback": "it lies"}) if APPROVED.audit else None
    repairs(house, repaired())
    house.script.auditor.passes = [LOOKED, APPROVED.model_copy(update={"audit": hard})]
    result = await ended(house, loop_of(house))
    assert (result.ending, result.trigger, result.attempt) == ("escalated", "hard_fail", 2)
    assert of_the_loop(house)[-1].payload["last_verdict"] == "failed"


async def test_a_repair_out_of_scope_goes_round_as_feedback(house: House) -> None:
    repairs(house, repaired("1"), unrepaired("not mine to touch"))
    house.script.violations = (Violation(path=".github/x", kind="denied"),)
    result = await ended(house, loop_of(house))
    assert (result.trigger, result.loops) == ("could_not_apply", 2)
    assert house.script.applied == []


async def test_a_todos_next_number_that_others_have_escalates(house: House) -> None:
    repairs(house, repaired())
    loop = loop_of(house)
    other = loop.round.model_copy(update={"attempt": 2})
    taken = await house.client.start_workflow(
        "VerificationWorkflow", other, id=other.workflow_id, task_queue="nobody's"
    )
    result = await ended(house, loop)
    assert (result.ending, result.trigger, result.attempt) == ("escalated", "system_error", 1)
    assert other.workflow_id in result.reason
    assert result.iterations[0].attempt == 0
    await taken.terminate()


async def test_work_that_was_not_taken_cannot_be_repaired(house: House) -> None:
    repairs(house, repaired())
    result = await ended(house, loop_of(house, result=FEEDBACK.model_copy(update={"frozen": None, "scope": None})))
    assert (result.trigger, result.frozen) == ("could_not_apply", None)
    assert "no tree" in result.reason
    assert house.script.auditor.others_asked == []


async def test_calls_that_were_refused_are_in_the_trail(house: House) -> None:
    repairs(house, repaired(refused=refused("Bash", "Write")))
    result = await ended(house, loop_of(house))
    rows = [row for row in of_the_loop(house) if row.action == "tool_refused"]
    assert [(row.payload["role"], row.payload["tool"], str(row.actor)) for row in rows] == [
        ("fix_builder", "Bash", "auditor:fix_builder"),
        ("fix_builder", "Write", "auditor:fix_builder"),
    ]
    assert result.iterations[0].refused == 2


async def test_the_roles_of_an_iteration_share_their_time_and_ask_nobody(house: House) -> None:
    house.script.auditor.passes = [LOOKED, asking("why?"), LOOKED, APPROVED]
    repairs(house, repaired(seconds=120.0))
    result = await ended(house, loop_of(house))
    blind, informed = house.script.auditor.asked
    assert (blind.limit, informed.limit) == (180.0, 170.0)
    assert (informed.questions, informed.round.claim, informed.round.loop) == (0, None, 1)
    assert result.iterations[0].attempt == 2


async def test_a_repair_that_takes_all_of_it_leaves_none_to_the_auditor(house: House) -> None:
    house.script.auditor.passes = [LOOKED, APPROVED]
    repairs(house, repaired(seconds=300.0))
    result = await ended(house, loop_of(house))
    assert (result.ending, result.trigger) == ("escalated", "timeout")
    assert house.script.auditor.asked == []


async def test_a_repair_that_leads_back_to_the_workers_own_work_changes_nothing(house: House) -> None:
    repairs(house, repaired("1"), repaired("a"))
    house.script.items = {"tests": [FAILED, FAILED, PASSED]}
    result = await ended(house, loop_of(house))
    assert (result.ending, result.placed, house.script.applied) == ("success", "", [])
    assert actions(house) == [*LOOP * 2, "fix_loop_ended"]
