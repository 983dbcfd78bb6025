"""A round as a workflow: what waits for what, what is retried, what the trail has. Ports are scripted."""

from __future__ import annotations

import asyncio
import json

import pytest
from pydantic import JsonValue
from temporalio.client import WorkflowFailureError
from temporalio.exceptions import CancelledError, is_cancelled_exception

from domain.checks import Outcome
from domain.decision import RoundOutcome
from domain.errors import Cause, Unavailable, WorkspaceRefused
from domain.messages import Image, RoundResult
from domain.order import Order
from domain.ports import Finding
from domain.report import Report
from domain.scope import Violation
from tests.workflow.asking import told_by
from tests.workflow.conftest import BASE, FAILED, PASSED, House, order_of
from workflows.options import WORKFLOWS_QUEUE
from workflows.verification import VerificationWorkflow

ENGINE_GONE = Unavailable(Cause.ENGINE_UNAVAILABLE, "the engine is gone", "start it")
IMAGE_MISSING = Unavailable(Cause.IMAGE_MISSING, "no image 'nope'", "build it")


def checks(*names: str, **fields: JsonValue) -> JsonValue:
    return {"checks": [{"name": name, "command": f"run {name}"} for name in names], **fields}


async def decide(house: House, order: Order) -> RoundResult:
    request = house.round(order)
    return await house.client.execute_workflow(
        VerificationWorkflow.run, request, id=request.workflow_id, task_queue=WORKFLOWS_QUEUE
    )


def report_of(house: House, result: RoundResult) -> Report:
    return Report.model_validate_json(house.store.get(result.report))


async def test_everything_passed_is_verified_and_every_step_is_in_the_trail(house: House) -> None:
    order = order_of(
        "wo-pass",
        acceptance_criteria=[{"id": "AC-1", "type": "file_exists", "params": {"path": "a"}}],
        verification=checks("tests", mode="sequence"),
    )
    result = await decide(house, order)
    assert result.decision.outcome is RoundOutcome.VERIFIED
    rows = list(house.trail.rows())
    assert [row.action for row in rows if row.action not in ("environment_ready", "snapshot_frozen")] == [
        "verification_started",
        "scope_assessed",
        "check_started",
        "check_completed",
        "check_started",
        "check_completed",
        "audit_completed",
    ]
    assert {"environment_ready", "snapshot_frozen"} <= {row.action for row in rows}
    assert rows[-1].payload["report"] == result.report
    assert str(rows[0].actor) == "human:ann"
    report = report_of(house, result)
    assert (report.verdict, report.summary.total, report.summary.passed) == ("PASS", 2, 2)
    assert report.trail.head == rows[-2].hash
    assert house.script.released == ["round/local/wo-pass/1"]


async def test_a_failed_check_does_not_stop_the_others_and_gives_a_retry_context(house: House) -> None:
    house.script.items = {"lint": [FAILED]}
    result = await decide(house, order_of("wo-fail", verification=checks("lint", "tests", mode="sequence")))
    assert result.decision.outcome is RoundOutcome.CHANGES_REQUESTED
    assert house.script.ran == ["lint", "lint", "tests"], "what failed runs once more"
    retry = report_of(house, result).retry_context
    assert retry is not None
    assert (retry.attempt_number, retry.outputs) == (2, {"lint": "boom\n"})


async def test_the_next_attempt_is_told_the_last_fifty_lines_though_fewer_travel(house: House) -> None:
    house.script.items = {"tests": [FAILED.model_copy(update={"stdout": f"a long line {'.' * 100}\n" * 500})]}
    result = await decide(house, order_of("wo-long", verification=checks("tests")))
    retry = report_of(house, result).retry_context
    assert retry is not None
    assert retry.outputs["tests"].count("a long line") == 50
    command = "countersign evidence show wo-long --attempt 1 --log tests"
    assert retry.outputs["tests"].startswith(f"[... what is left out: {command}]\n")


async def test_parallel_checks_run_at_once_and_sequential_ones_in_order(house: House) -> None:
    names = ("c", "a", "b")
    house.script.together = 3
    await decide(house, order_of("wo-parallel", verification=checks(*names)))
    assert house.script.most_at_once == 3
    house.script.ran.clear()
    house.script.most_at_once = house.script.together = 0
    house.script.seconds = dict.fromkeys(names, 0.4)
    await decide(house, order_of("wo-sequence", verification=checks(*names, mode="sequence")))
    assert (house.script.ran, house.script.most_at_once) == (["c", "a", "b"], 1)


async def test_an_engine_that_comes_back_costs_nothing(house: House) -> None:
    house.script.items = {"tests": [ENGINE_GONE, ENGINE_GONE, PASSED]}
    result = await decide(house, order_of("wo-back", verification=checks("tests")))
    assert result.decision.outcome is RoundOutcome.VERIFIED
    assert house.actions().count("check_completed") == 1


async def test_an_engine_that_stays_away_is_inconclusive_after_four_tries(house: House) -> None:
    house.script.items = {"tests": [ENGINE_GONE]}
    result = await decide(house, order_of("wo-gone", verification=checks("tests")))
    assert result.decision.outcome is RoundOutcome.INCONCLUSIVE
    assert len(house.script.ran) == 4
    assert report_of(house, result).checks[0].next_step == "start it"


async def test_a_missing_image_stops_only_what_needs_a_container(house: House) -> None:
    house.script.prepare = [IMAGE_MISSING]
    order = order_of(
        "wo-image",
        acceptance_criteria=[{"id": "AC-1", "type": "file_exists", "params": {"path": "a"}}],
        verification=checks("tests"),
    )
    result = await decide(house, order)
    assert result.decision.outcome is RoundOutcome.INCONCLUSIVE
    assert house.script.ran == ["AC-1"]
    report = report_of(house, result)
    assert (report.criteria[0].outcome, report.checks[0].code) == ("passed", "image_missing")


async def test_without_commands_no_engine_is_asked(house: House) -> None:
    house.script.prepare = [IMAGE_MISSING]
    criteria: JsonValue = [{"type": "file_exists", "params": {"path": "a"}}]
    result = await decide(house, order_of("wo-files", acceptance_criteria=criteria))
    assert result.decision.outcome is RoundOutcome.VERIFIED
    assert house.script.released == []


async def test_a_refused_workspace_is_the_workers_failure(house: House) -> None:
    house.script.freeze = [WorkspaceRefused("200,000 files, at most 100,000", "ignore what is no source")]
    result = await decide(house, order_of("wo-refused", verification=checks("tests")))
    assert result.decision.outcome is RoundOutcome.CHANGES_REQUESTED
    assert result.decision.reasons[0].code == "workspace_refused"
    assert house.script.ran == []


async def test_an_unreadable_base_is_inconclusive_even_without_checks(house: House) -> None:
    house.script.freeze = [Unavailable(Cause.BASE_UNREADABLE, "object abc is damaged", "repair the repository")]
    criteria: JsonValue = [{"type": "subjective", "description": "reads well"}]
    result = await decide(house, order_of("wo-base", acceptance_criteria=criteria))
    assert result.decision.outcome is RoundOutcome.INCONCLUSIVE
    assert "repair the repository" in result.decision.reasons[0].text


async def test_a_scope_violation_fails_with_the_checks_feedback(house: House) -> None:
    house.script.violations = (Violation(path=".github/x", kind="denied"),)
    result = await decide(house, order_of("wo-scope", verification=checks("tests")))
    assert result.decision.outcome is RoundOutcome.CHANGES_REQUESTED
    assert result.decision.reasons[0].code == "scope_violation"
    assert house.script.ran == ["tests"]


@pytest.mark.parametrize("criterion", [{"type": "subjective", "description": "reads well"}, None])
async def test_what_no_machine_can_tell_needs_a_human(house: House, criterion: JsonValue) -> None:
    name = "wo-human-1" if criterion else "wo-human-2"
    result = await decide(house, order_of(name, acceptance_criteria=[criterion] if criterion else []))
    assert result.decision.outcome is RoundOutcome.NEEDS_HUMAN


async def test_a_cancelled_round_decides_nothing_and_says_so(house: House) -> None:
    house.script.seconds = {"tests": 300.0}
    request = house.round(order_of("wo-cancel", verification=checks("tests")))
    handle = await house.client.start_workflow(
        VerificationWorkflow.run, request, id=request.workflow_id, task_queue=WORKFLOWS_QUEUE
    )
    await house.script.runs("tests")
    await handle.cancel()
    with pytest.raises(WorkflowFailureError) as failure:
        await handle.result()
    assert isinstance(failure.value.cause, CancelledError) or is_cancelled_exception(failure.value.cause)
    assert house.script.cancelled == ["tests"]
    assert house.actions()[-1] == "verification_cancelled"
    assert "audit_completed" not in house.actions()
    assert house.script.released == [request.workflow_id]


async def test_a_worker_with_another_trail_is_found_out(house: House) -> None:
    request = house.round(order_of("wo-other", verification=checks("tests"))).model_copy(update={"store": "other"})
    with pytest.raises(WorkflowFailureError) as failure:
        await house.client.execute_workflow(
            VerificationWorkflow.run, request, id=request.workflow_id, task_queue=WORKFLOWS_QUEUE
        )
    assert "another trail" in str(failure.value.cause.__cause__)
    assert house.actions() == []


async def test_progress_can_be_asked_while_it_runs_and_afterwards(house: House) -> None:
    house.script.held = {"tests": asyncio.Event()}
    request = house.round(order_of("wo-progress", verification=checks("tests")))
    handle = await house.client.start_workflow(
        VerificationWorkflow.run, request, id=request.workflow_id, task_queue=WORKFLOWS_QUEUE
    )
    await house.script.runs("tests")
    during = {step.id: step.status for step in (await told_by(handle, VerificationWorkflow.progress)).steps}
    assert (during["tests"], during["decide"]) == ("running", "waiting")
    house.script.held["tests"].set()
    await handle.result()
    after = {step.id: step.status for step in (await told_by(handle, VerificationWorkflow.progress)).steps}
    assert (after["tests"], after["decide"]) == ("passed", "passed")


async def test_the_evidence_binds_the_result_to_round_and_tree(house: House) -> None:
    result = await decide(house, order_of("wo-bind", verification=checks("tests")))
    evidence = json.loads(house.store.get(report_of(house, result).checks[0].evidence))
    bound = (evidence["session"], evidence["todo"], evidence["attempt"], evidence["tree"], evidence["item"]["spelling"])
    assert bound == ("local", "wo-bind", 1, "t" * 64, "check")


NOT_FOUND = Finding(outcome=Outcome.FAILED, code="command_not_found", text="exit code 127", exit_code=127)


async def test_what_fails_is_run_on_the_base_and_told(house: House) -> None:
    house.script.items = {"old": [FAILED], "new": [FAILED], "tool": [NOT_FOUND], "gone": [FAILED]}
    house.script.base = {"old": FAILED, "new": PASSED, "tool": NOT_FOUND, "gone": IMAGE_MISSING}
    order = order_of("wo-base", verification=checks("old", "new", "tool", "gone", "fine", mode="sequence"))
    result = await decide(house, order)
    assert result.decision.outcome is RoundOutcome.CHANGES_REQUESTED
    assert house.script.based == ["old", "new", "tool", "gone"]
    lines = {line.name: (line.outcome, line.base_outcome) for line in report_of(house, result).checks}
    assert lines == {
        "old": ("failed", "failed"),
        "new": ("failed", "passed"),
        "tool": ("could_not_run", "failed"),
        "gone": ("failed", ""),
        "fine": ("passed", ""),
    }
    compared = [row for row in house.trail.rows() if row.action == "base_compared"]
    assert [row.payload["check"] for row in compared] == ["old", "new", "tool"]


async def test_the_base_is_run_once_for_the_same_command(house: House) -> None:
    house.script.items = {"first": [FAILED], "second": [FAILED]}
    for name, command in (("first", "x"), ("second", "x"), ("second", "y")):
        todo = f"wo-{name}-{command}"
        await decide(house, order_of(todo, verification={"checks": [{"name": name, "command": command}]}))
    assert house.script.based == ["first", "second"]


async def test_a_tool_that_the_image_lacks_is_inconclusive(house: House) -> None:
    house.script.items = {"lint": [NOT_FOUND]}
    house.script.base = {"lint": NOT_FOUND}
    result = await decide(house, order_of("wo-tool", verification=checks("lint")))
    assert result.decision.outcome is RoundOutcome.INCONCLUSIVE


SET_UP: JsonValue = {"setup": ["install"], "inputs": ["lock"], "secrets": ["TOKEN"], "build": ["make"]}


async def test_checks_run_on_what_was_set_up(house: House) -> None:
    order = order_of("wo-setup", environment=SET_UP, verification=checks("tests"))
    assert (await decide(house, order)).decision.outcome is RoundOutcome.VERIFIED
    (request,) = house.script.setups
    assert (request.image.id, request.base) == ("sha256:python", BASE)
    assert (request.setup, request.inputs, request.secrets) == (("install",), ("lock",), ("TOKEN",))
    (context,) = house.script.contexts
    assert (context.image, context.build) == ("sha256:set-up", ("make",))
    assert house.script.readied == [(Image(reference="set-up", id="sha256:set-up"), request)]
    assert "environment_set_up" in house.actions()


async def test_a_set_up_that_fails_is_no_verdict(house: House) -> None:
    house.script.setup = [Unavailable(Cause.SETUP_FAILED, "install ended with 1", "mend it")]
    order = order_of(
        "wo-setup-fails",
        environment=SET_UP,
        acceptance_criteria=[{"id": "AC-1", "type": "file_exists", "params": {"path": "a"}}],
        verification=checks("tests"),
    )
    result = await decide(house, order)
    assert result.decision.outcome is RoundOutcome.INCONCLUSIVE
    assert house.script.ran == ["AC-1"], "what needs no container is still looked at"
    assert len(house.script.setups) == 1, "and a set-up that fails is not tried again"


async def test_a_changed_input_needs_a_human(house: House) -> None:
    house.script.changed_inputs = ("lock",)
    result = await decide(house, order_of("wo-input", environment=SET_UP, verification=checks("tests")))
    assert (result.decision.outcome, result.decision.trigger) == (RoundOutcome.NEEDS_HUMAN, "high_stakes")


async def test_a_served_answer_is_asked_from_an_image_of_ours(house: House) -> None:
    served: JsonValue = {"id": "AC-1", "type": "http_response", "params": {"serve": "x", "url": "http://127.0.0.1/"}}
    order = order_of("wo-http", environment={"image": "node"}, acceptance_criteria=[served])
    assert (await decide(house, order)).decision.outcome is RoundOutcome.VERIFIED
    assert house.script.prepared == ["node", "python"]
    (context,) = house.script.contexts
    assert (context.image, context.probe_image) == ("sha256:node", "sha256:python")
    assert house.script.readied == [(Image(reference=name, id=f"sha256:{name}"), None) for name in ("node", "python")]
