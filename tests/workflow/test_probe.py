"""The falsifiability probe and the claim's contradictions in a round: what runs, what is recorded, what it comes to."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from domain.claims.claim import Claim, CommandLog
from domain.decision import RoundOutcome
from domain.errors import Cause, Unavailable
from domain.messages import RoundResult
from domain.order import Order
from domain.ports import Finding
from domain.probes import ProbeTree, ProbeTrees
from domain.report import Report
from tests.workflow.conftest import FAILED, PASSED, House, order_of
from workflows.options import WORKFLOWS_QUEUE
from workflows.verification import VerificationWorkflow

UNDONE, OTHER = "u" * 64, "v" * 64
TREES = ProbeTrees(
    trees=(ProbeTree(tree=UNDONE, what="the change is undone"), ProbeTree(tree=OTHER, what="a.py:1: `<` -> `>=`"))
)
GONE = Unavailable(Cause.IMAGE_MISSING, "no image", "build it")


def probing(order_id: str, how: str = "revert", **fields: JsonValue) -> Order:
    checks: list[JsonValue] = [{"name": name, "command": f"run {name}"} for name in ("lint", "unit")]
    return order_of(order_id, verification={"checks": checks, "mode": "sequence", "probe": how}, **fields)


async def decide(house: House, order: Order, claim: Claim | None = None) -> RoundResult:
    request = house.round(order).model_copy(update={"claim": claim})
    return await house.client.execute_workflow(
        VerificationWorkflow.run, request, id=request.workflow_id, task_queue=WORKFLOWS_QUEUE
    )


def report_of(house: House, result: RoundResult) -> Report:
    return Report.model_validate_json(house.store.get(result.report))


def probes(house: House) -> list[dict[str, JsonValue]]:
    return [row.payload for row in house.trail.rows() if row.action == "probe_completed"]


async def test_a_check_that_goes_red_without_the_change_is_enough(house: House) -> None:
    house.script.probe = TREES
    house.script.probed = {(UNDONE, "lint"): PASSED, (UNDONE, "unit"): FAILED}
    result = await decide(house, probing("wo-tested"))
    assert result.decision.outcome is RoundOutcome.VERIFIED
    probe = report_of(house, result).probe
    assert probe
    assert (probe.tested, probe.text) == (True, "unit fails when the change is undone")
    assert [(row["tested"], row["how"], len(str(row["evidence"]))) for row in probes(house)] == [(True, "revert", 136)]


async def test_checks_that_pass_without_the_change_are_a_finding(house: House) -> None:
    house.script.probe = TREES
    house.script.probed = {(tree, name): PASSED for tree in (UNDONE, OTHER) for name in ("lint", "unit")}
    result = await decide(house, probing("wo-untested", "mutate"))
    assert result.decision.outcome is RoundOutcome.CHANGES_REQUESTED
    (reason,) = result.decision.reasons
    assert reason.code == "change_not_tested"
    assert "these checks do not test the change" in reason.text
    assert "a.py:1: `<` -> `>=`" in reason.text
    report = report_of(house, result)
    assert report.retry_context
    assert reason.text in report.retry_context.specific_failures
    assert probes(house)[0]["tested"] is False


async def test_the_probe_asks_neither_for_controls_nor_again(house: House) -> None:
    house.script.probe = ProbeTrees(trees=TREES.trees[:1])
    house.script.items = {"unit": [PASSED]}
    await decide(house, probing("wo-plain"))
    asked = {(context.tree, context.controls) for context in house.script.contexts}
    assert asked == {("t" * 64, True), (UNDONE, False)}


async def test_nothing_to_undo_is_no_finding(house: House) -> None:
    result = await decide(house, probing("wo-nothing"))
    assert result.decision.outcome is RoundOutcome.VERIFIED
    probe = report_of(house, result).probe
    assert probe
    assert (probe.tested, probe.unknown, probe.text) == (None, False, "nothing to undo")


@pytest.mark.parametrize("where", ["trees", "run"])
async def test_a_probe_that_could_not_run_is_no_pass(house: House, where: str) -> None:
    missing = Finding.model_validate({"outcome": "could_not_run", "code": "image_missing", "text": "no image"})
    house.script.probe = GONE if where == "trees" else ProbeTrees(trees=TREES.trees[:1])
    house.script.probed = {(UNDONE, "lint"): PASSED, (UNDONE, "unit"): missing}
    result = await decide(house, probing(f"wo-unknown-{where}"))
    assert result.decision.outcome is RoundOutcome.INCONCLUSIVE
    assert result.decision.reasons[0].code == "probe_could_not_run"
    assert "no image" in result.decision.reasons[0].text


async def test_a_round_that_failed_is_not_probed(house: House) -> None:
    house.script.probe = TREES
    house.script.items = {"unit": [FAILED]}
    result = await decide(house, probing("wo-red"))
    assert result.decision.outcome is RoundOutcome.CHANGES_REQUESTED
    assert probes(house) == []
    assert report_of(house, result).probe is None


async def test_a_contradiction_is_told_with_both_sides_and_changes_no_verdict(house: House) -> None:
    house.script.items = {"lint": [FAILED]}
    claim = Claim(explanation="ran lint", commands_run=[CommandLog(command="run lint", exit_code=0)])
    checks: list[JsonValue] = [
        {"name": "lint", "command": "run lint", "required": False},
        {"name": "unit", "command": "run unit"},
    ]
    result = await decide(house, order_of("wo-claim", verification={"checks": checks}), claim)
    assert result.decision.outcome is RoundOutcome.VERIFIED
    (found,) = report_of(house, result).contradictions
    assert found.check == "lint"
    assert "exit code 0" in found.claimed
    assert "exit code 1" in found.observed
    (row,) = [row for row in house.trail.rows() if row.action == "claim_contradicted"]
    assert (row.payload["claimed"], row.payload["observed"]) == (found.claimed, found.observed)
