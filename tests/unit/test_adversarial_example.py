"""examples/adversarial: every scripted answer has its role's shape, and what it quotes stands in the work."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from adapters.config.order_file import load_order
from adapters.roles.script import Script, Turn, read_script
from adapters.roles.scripted import EVIDENCE
from domain.criteria import Criterion
from domain.roles.argued import Case, Judgement
from domain.roles.designed import Specification, TestPlan
from domain.roles.names import STAGES
from domain.roles.opinion import FirstLook, Opinion

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "adversarial"
SCRIPTS = ("roles.yaml", "judge_passes.yaml")
SHAPES: dict[str, type[BaseModel]] = {
    "design": Specification,
    "strategy": TestPlan,
    "blind": FirstLook,
    "informed": Opinion,
    "argument": Case,
    "judgement": Judgement,
}
WORK = (EXAMPLE / "worker" / "src" / "solution.py").read_text()


def script(name: str) -> Script:
    return read_script(EXAMPLE / name)


def answers(name: str, stage: str, role: str = "") -> list[Any]:
    """What is answered in a stage, in the form that it is asked for in."""
    turns = [turn for turn in script(name).turns if turn.stage == stage and (not role or turn.role == role)]
    shape = SHAPES[stage]
    return [shape.model_validate_json(json.dumps(turn.answer)) for turn in turns if turn.answer]


def typed(criteria: list[Criterion]) -> dict[str, tuple[str, Any]]:
    """Each criterion's kind and parameters, without words about it."""
    return {one.id: (one.type, one.params) for one in criteria}


@pytest.mark.parametrize("name", SCRIPTS)
def test_all_six_roles_have_their_lines(name: str) -> None:
    said = {(turn.role, turn.stage) for turn in script(name).turns if turn.answer}
    of_a_round = {role: stages for role, stages in STAGES.items() if role != "fix_builder"}
    assert said == {(role, stage) for role, stages in of_a_round.items() for stage in stages}
    for stage in SHAPES:
        assert answers(name, stage)


def test_the_second_script_differs_in_its_judge_alone() -> None:
    def others(name: str) -> list[Turn]:
        return [turn for turn in script(name).turns if turn.role != "judge"]

    assert others(SCRIPTS[0]) == others(SCRIPTS[1])
    verdicts = [{one.criterion: one.verdict for one in answers(name, "judgement")[0].rulings} for name in SCRIPTS]
    assert verdicts == [{"AC-4": "FAIL", "AC-8": "PASS"}, {"AC-4": "PASS", "AC-8": "PASS"}]


@pytest.mark.parametrize("name", SCRIPTS)
def test_what_is_quoted_of_the_work_stands_there(name: str) -> None:
    of_work, of_results = [], []
    for case in (*answers(name, "argument"), *answers(name, "judgement"), *answers(name, "informed")):
        for one in getattr(case, "arguments", []) + getattr(case, "rulings", []) + getattr(case, "assessments", []):
            for quote in one.quotes:
                assert quote.evidence_id.startswith(EVIDENCE)
                if "the change" in quote.evidence_id:
                    of_work.append(quote.quote)
                elif "came to" in quote.evidence_id:
                    of_results.append((one.criterion, quote.evidence_id, quote.quote))
    assert of_work
    assert [quote for quote in of_work if quote not in WORK] == []
    for criterion, words, quote in of_results:
        assert words == f"{EVIDENCE}what criterion {criterion} came to"
        assert quote == f"outcome: {'failed' if criterion == 'AC-4' else 'passed'}"


@pytest.mark.parametrize("name", SCRIPTS)
def test_what_a_judge_quotes_of_a_side_is_what_it_argued(name: str) -> None:
    argued = {
        side: {one.criterion: one.argument for one in answers(name, "argument", side)[0].arguments}
        for side in ("advocate", "critic")
    }
    quoted = [
        (side, one.criterion, quote.quote)
        for one in answers(name, "judgement")[0].rulings
        for quote in one.quotes
        for side in argued
        if f"the {side}'s argument that {one.criterion}" in quote.evidence_id
    ]
    assert quoted
    for side, criterion, words in quoted:
        assert " ".join(words.split()) in " ".join(argued[side][criterion].split())


def test_what_is_drafted_in_the_end_is_what_the_order_with_criteria_asks_for() -> None:
    first, second = answers(SCRIPTS[0], "strategy")
    plan = {one.id: one for one in first.checks} | {one.id: one for one in second.checks}
    asked = typed(load_order(EXAMPLE / "order.yaml").acceptance_criteria)
    drafted = typed(list(plan.values()))
    assert {name: drafted[name] for name in drafted if name != "AC-8"} == {
        name: asked[name] for name in asked if name != "AC-8"
    }
    (spec,) = answers(SCRIPTS[0], "design")
    order = load_order(EXAMPLE / "order.yaml")
    assert {one.id: one.text for one in spec.criteria} == {one.id: one.description for one in order.acceptance_criteria}
    assert {one.id for one in first.checks} == {one.id for one in spec.criteria}
    assert {id for one in spec.criteria for id in one.requirements} == {one.id for one in spec.requirements}
    assert all(one.new for one in spec.requirements)


def test_the_three_that_are_rejected_are_the_three_that_are_drafted_again() -> None:
    first, second = answers(SCRIPTS[0], "strategy")
    commands = {one.id: one.params.command for one in first.checks if one.type == "command_exit_zero"}
    assert commands["AC-8"] == "true"
    assert "random" in commands["AC-5"]
    assert "curl" in commands["AC-6"]
    assert [one.id for one in second.checks] == ["AC-5", "AC-6", "AC-8"]


def test_the_order_with_content_alone_has_nothing_else_and_says_the_same() -> None:
    alone, whole = (load_order(EXAMPLE / f"{name}.yaml") for name in ("content_only", "order"))
    assert (alone.acceptance_criteria, alone.verification.checks) == ([], [])
    assert (alone.content, alone.workspace, alone.base) == (whole.content, whole.workspace, whole.base)


def test_the_scripts_are_out_of_the_workers_reach() -> None:
    workspace = Path(load_order(EXAMPLE / "order.yaml").workspace)
    assert not any((EXAMPLE / name).is_relative_to(workspace) for name in SCRIPTS)


@pytest.mark.parametrize("name", ["order.yaml", "content_only.yaml", "README.md", *SCRIPTS])
def test_each_file_says_that_the_roles_are_scripted(name: str) -> None:
    assert "scripted" in "\n".join((EXAMPLE / name).read_text().splitlines()[:8])
