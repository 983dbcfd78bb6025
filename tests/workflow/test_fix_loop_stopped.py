"""A fix loop that is cancelled, paused, or finds the workspace otherwise: what ran ends, and nothing is lost."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from temporalio.client import WorkflowHandle
from temporalio.testing import WorkflowEnvironment

from domain.errors import Cause, Unavailable
from domain.fix_messages import Applied, FixLoopResult, Iteration, SpentResult
from domain.fixing import Tally
from tests.fakes.evidence import MemoryStore
from tests.workflow.asking import told_by
from tests.workflow.conftest import House, Script, StrictTrail, working
from tests.workflow.fixing import (
    actions,
    ended,
    loop_for,
    loop_of,
    looped,
    of_the_loop,
    patch_of,
    repairs,
    rounds,
    started,
)
from tests.workflow.lives import until
from tests.workflow.scripted_role import repaired
from workflows import options
from workflows.fix_loop import FixLoopWorkflow
from workflows.fix_state import FixState
from workflows.options import workspace_queue

LOOP = ["fix_iteration_started", "role_pass_completed", "fix_iteration_completed"]
Loop = WorkflowHandle[FixLoopWorkflow, FixLoopResult]


async def cancelled(handle: Loop) -> None:
    """Cancel a todo's, and see it end so: the todo is told what it has used."""
    await handle.cancel()
    assert (await handle.result()).ending == "aborted"


async def said(handle: Loop, doing: str) -> None:
    """Wait until the loop says that it does that."""

    async def says() -> bool:
        return (await told_by(handle, FixLoopWorkflow.progress)).doing == doing

    await until(says)


async def recorded(house: House, action: str) -> None:
    """Wait until the loop has a row of that."""

    async def has() -> bool:
        return action in actions(house)

    await until(has)


async def test_cancelled_in_a_pass_it_waits_for_its_end_and_says_so(house: House) -> None:
    house.script.auditor.held = asyncio.Event()
    house.script.costs = {1: SpentResult(fixing=70, verifying=5)}
    repairs(house, repaired())
    loop = loop_of(house)
    handle = await started(house, loop)
    await house.script.auditor.began.wait()
    await cancelled(handle)
    assert house.script.auditor.cancelled == 1
    assert actions(house) == ["fix_iteration_started", "fix_iteration_completed", "fix_loop_ended"]
    iteration, last = (row.payload for row in of_the_loop(house)[1:])
    assert (iteration["why"], iteration["cost_usd"], iteration["attempt"]) == ("cancelled", 0.00007, 0)
    assert (last["ending"], last["trigger"], last["reason"]) == ("aborted", "", "cancelled by the caller")
    (filed,) = house.script.filed
    assert (filed.result.ending, filed.to_head, filed.result.tally) == ("aborted", "", Tally(loops=1, micros=70))
    assert last["summary"]
    assert [row.action for row in house.trail.rows() if row.workflow_id.startswith("round/")] == []


async def test_cancelled_in_a_round_it_waits_until_that_has_cleaned_up(house: House) -> None:
    house.script.held = {"tests": asyncio.Event()}
    house.script.costs = {1: SpentResult(fixing=70), 2: SpentResult(verifying=5)}
    repairs(house, repaired())
    loop = loop_of(house)
    handle = await started(house, loop)
    await house.script.runs("tests")
    progress = await told_by(handle, FixLoopWorkflow.progress)
    assert (progress.loop, progress.of, progress.doing) == (1, 3, "verifying")
    assert progress.round == f"round/local/{loop.round.todo}/2"
    await cancelled(handle)
    assert house.script.released == [f"round/local/{loop.round.todo}/2"]
    rows = [row.action for row in house.trail.rows()]
    assert rows[-3:] == ["verification_cancelled", "fix_iteration_completed", "fix_loop_ended"]
    assert house.script.filed[0].result.tally == Tally(loops=1, micros=75)
    assert house.script.filed[0].result.attempt == 1
    assert house.script.applied == []


async def test_cancelled_between_pass_and_round_no_round_begins(house: House) -> None:
    house.script.auditor.held = asyncio.Event()
    repairs(house, repaired())
    handle = await started(house, loop_of(house))
    await house.script.auditor.began.wait()
    await handle.signal("pause")
    house.script.auditor.held.set()
    await recorded(house, "role_pass_completed")
    await cancelled(handle)
    assert actions(house) == [*LOOP, "fix_loop_ended"]
    iteration = house.script.filed[0].result.iterations[0]
    assert (iteration.answer, iteration.attempt, iteration.why) == ("APPLIED:1", 0, "cancelled")
    assert [row.action for row in house.trail.rows() if row.workflow_id.startswith("round/")] == []


async def test_cancelled_before_applying_the_workspace_is_left_alone(house: House) -> None:
    house.script.held = {"tests": asyncio.Event()}
    repairs(house, repaired())
    handle = await started(house, loop_of(house))
    await house.script.runs("tests")
    await handle.signal("pause")
    house.script.held["tests"].set()
    await recorded(house, "fix_iteration_completed")
    await cancelled(handle)
    assert actions(house) == [*LOOP, "fix_loop_ended"]
    assert house.script.applied == []
    assert house.script.filed[0].result.iterations[0].outcome == "verified"
    assert (house.script.filed[0].result.ending, house.script.filed[0].to_head) == ("aborted", "1" * 64)


async def test_cancelled_while_it_writes_what_was_written_is_said(house: House) -> None:
    house.script.apply_held = threading.Event()
    repairs(house, repaired())
    handle = await started(house, loop_of(house))
    await asyncio.to_thread(house.script.applying.wait)
    await handle.cancel()
    house.script.apply_held.set()
    result = await handle.result()
    assert (result.ending, result.placed) == ("success", "applied")
    assert actions(house)[-2:] == ["patch_applied", "fix_loop_ended"]
    assert len(house.script.applied) == 1


async def test_a_workspace_that_has_changed_is_offered_the_patch(house: House) -> None:
    house.script.applies = [Applied(why="a.py has changed since")]
    repairs(house, repaired())
    result = await ended(house, loop_of(house))
    assert (result.ending, result.placed, result.why_offered) == ("success", "offered", "a.py has changed since")
    row = next(row for row in of_the_loop(house) if row.action == "patch_offered")
    assert row.payload == {
        "patch": patch_of(house, "1" * 64), "paths": ["a.py"], "reason": "a.py has changed since",
    }  # fmt: skip
    assert house.script.filed[0].result.placed == "offered"


async def test_a_repair_that_cannot_be_written_is_offered(house: House) -> None:
    house.script.applies = [Unavailable(Cause.WORKSPACE_UNREADABLE, "the disk is gone", "mount it")] * 9
    repairs(house, repaired())
    result = await ended(house, loop_of(house))
    assert (result.ending, result.placed) == ("success", "offered")
    assert "the disk is gone" in result.why_offered


@pytest.fixture
async def nobody_there(server: WorkflowEnvironment) -> AsyncIterator[House]:
    """A house without a worker where the workspace is."""
    script, trail, store = Script(), StrictTrail(), MemoryStore()
    async with working(server.client, script, trail, store, without=workspace_queue("here")):
        yield House(client=server.client, script=script, trail=trail, store=store)


async def test_a_repair_that_nobody_takes_is_offered(nobody_there: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options, "NOBODY_THERE", timedelta(seconds=1))
    repairs(nobody_there, repaired())
    result = await ended(nobody_there, loop_of(nobody_there))
    assert (result.ending, result.placed) == ("success", "offered")
    assert "no worker took 'snapshot.apply'" in result.why_offered


async def test_cancelled_before_anybody_takes_the_repair_it_is_nobodys(nobody_there: House) -> None:
    repairs(nobody_there, repaired())
    nobody_there.script.held = {"tests": asyncio.Event()}
    handle = await started(nobody_there, loop_of(nobody_there))
    await nobody_there.script.runs("tests")
    nobody_there.script.held["tests"].set()
    await said(handle, "applying")
    await cancelled(handle)
    assert actions(nobody_there) == [*LOOP, "fix_loop_ended"]
    assert nobody_there.script.filed[0].result.placed == ""


async def test_files_that_cannot_be_written_are_no_reason_to_lose_the_repair(house: House) -> None:
    house.script.files = [Unavailable(Cause.STORE_MISMATCH, "no blob", "restore it")]
    repairs(house, repaired())
    result = await ended(house, loop_of(house))
    assert (result.ending, result.placed, result.summary) == ("success", "applied", "")
    assert "no blob" in result.notes[0]


async def test_paused_from_the_start_nothing_begins_before_it_goes_on(house: House) -> None:
    repairs(house, repaired())
    loop = loop_of(house)
    handle: Loop = await house.client.start_workflow(
        FixLoopWorkflow.run, loop, id=loop.workflow_id, task_queue="workflows", start_signal="pause"
    )
    await said(handle, "paused")
    assert house.script.auditor.told == []
    await handle.signal("resume")
    assert (await handle.result()).ending == "success"


async def test_paused_in_a_pass_no_round_begins_before_it_goes_on(house: House) -> None:
    house.script.auditor.held = asyncio.Event()
    house.script.items = {"tests": rounds(True)}
    repairs(house, repaired())
    handle = await started(house, loop_of(house))
    await house.script.auditor.began.wait()
    await handle.signal("pause")
    house.script.auditor.held.set()
    await recorded(house, "role_pass_completed")
    await said(handle, "paused")
    assert house.script.ran == []
    await handle.signal("resume")
    assert (await handle.result()).ending == "success"
    assert house.script.ran == ["tests"]


async def test_a_round_that_breaks_is_a_persons_to_look_at(house: House) -> None:
    house.script.held = {"tests": asyncio.Event()}
    repairs(house, repaired())
    loop = loop_of(house, alone=True)
    handle = await started(house, loop)
    await house.script.runs("tests")
    await house.client.get_workflow_handle(f"round/local/{loop.round.todo}/2").terminate()
    result = await handle.result()
    assert (result.ending, result.trigger) == ("escalated", "system_error")
    assert "broke" in result.reason
    assert house.script.filed[0].result == result.model_copy(update={"summary": ""})
    last = of_the_loop(house)[-1]
    assert last.before == {"status": "claimed", "review_status": "auditing"}
    assert last.after == {"status": "needs_human", "review_status": "escalated"}
    assert last.payload["last_verdict"] == "changes_requested (FEEDBACK)"


async def test_a_round_that_somebody_cancels_is_a_persons_to_look_at(house: House) -> None:
    house.script.held = {"tests": asyncio.Event()}
    repairs(house, repaired())
    loop = loop_of(house)
    handle = await started(house, loop)
    await house.script.runs("tests")
    await house.client.get_workflow_handle(f"round/local/{loop.round.todo}/2").cancel()
    result = await handle.result()
    assert (result.ending, result.trigger) == ("escalated", "system_error")
    assert "was cancelled" in result.reason
    assert (result.iterations[0].attempt, result.attempt) == (0, 1)


def test_what_people_see_says_how_far_it_is_and_makes_no_marks_of_the_answers() -> None:
    state = FixState.of(loop_for(looped()))
    state.iterations = [
        Iteration(loop=1, answer="APPLIED:1 [x](http://evil)", attempt=2, outcome="changes_requested"),
        Iteration(loop=2, answer="APPLIED:2", attempt=3, outcome="verified"),
        Iteration(loop=3, why="cancelled"),
    ]
    state.loop, state.doing, state.verifying = 4, "verifying", "round/local/wo/4"
    assert state.details().splitlines() == [
        "**VERIFYING** some work",
        "",
        r"- ✗ loop 1 of 3: APPLIED:1 \[x\](http\://evil), changes requested",
        "- ✓ loop 2 of 3: APPLIED:2, verified",
        "- ? loop 3 of 3: cancelled",
        "- ▸ loop 4 of 3: verifying in round/local/wo/4",
    ]
