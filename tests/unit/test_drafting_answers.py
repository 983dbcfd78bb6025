"""What keeps a specification and a plan of checks from standing."""

from __future__ import annotations

from typing import Any

import pytest

from domain.drafts.record import Rejected
from domain.roles.designed import Specification, TestPlan
from domain.roles.drafting import faults_of_plan, faults_of_specification
from tests.fakes.role_answers import CALLS, PLAN, SPECIFICATION, STARTS

SPEC = Specification.model_validate(SPECIFICATION)
NO_PROGRAM = {"criterion": "AC-2", "reason": "no program can tell"}


def spec(requirements: dict[str, bool], criteria: list[tuple[str, list[str]]]) -> Specification:
    return Specification.model_validate(
        {
            "summary": "s",
            "requirements": [{"id": id, "text": "t", "new": new} for id, new in requirements.items()],
            "criteria": [{"id": id, "text": "t", "requirements": of} for id, of in criteria],
        }
    )


def plan(*checks: dict[str, Any], untestable: tuple[dict[str, str], ...] = ()) -> TestPlan:
    return TestPlan.model_validate({"checks": list(checks), "untestable": list(untestable)})


def test_sound_ones_have_no_fault() -> None:
    assert faults_of_specification(SPEC) == ()
    assert faults_of_plan(TestPlan.model_validate(PLAN), SPEC) == ()
    assert faults_of_plan(plan(CALLS, untestable=(NO_PROGRAM,)), SPEC) == ()


@pytest.mark.parametrize(
    ("requirements", "criteria", "fault"),
    [
        ({"R1": True}, [("AC-1", ["R1"]), ("AC-1", ["R1"])], "there are 2 of criterion 'AC-1': each id once"),
        (
            {"R1": True},
            [("AC-1", ["R1", "R7"])],
            "criterion 'AC-1' is of 'R7', and no requirement has that id",
        ),
        (
            {"R1": True, "R2": False},
            [("AC-1", ["R1"])],
            "no criterion is of requirement 'R2': say how one sees that it is met",
        ),
    ],
)
def test_a_specification(requirements: dict[str, bool], criteria: list[tuple[str, list[str]]], fault: str) -> None:
    assert faults_of_specification(spec(requirements, criteria)) == (fault,)


def test_a_requirement_has_one_id() -> None:
    twice = SPEC.model_copy(update={"requirements": [*SPEC.requirements, SPEC.requirements[0]]})
    assert faults_of_specification(twice) == ("there are 2 of requirement 'R1': each id once",)


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        (plan(CALLS), "criterion 'AC-2' is not there: one check for it, or one entry in untestable"),
        (plan(CALLS, STARTS, STARTS), "criterion 'AC-2' is there 2 times: one check for it, or one entry in untesta"),
        (plan(CALLS, STARTS, untestable=(NO_PROGRAM,)), "criterion 'AC-2' is there 2 times: one check for it, or on"),
        (plan(CALLS, STARTS, {**STARTS, "id": "AC-9"}), "'AC-9' is no criterion that is asked for, expected AC-1, AC"),
        (plan(CALLS, {**STARTS, "required": False}), "the check of 'AC-2' is not required: leave `required` out"),
        (plan(CALLS, {**STARTS, "timeout": 120.5}), "the check of 'AC-2' may take 120.5 s: at most 120"),
        (
            plan(CALLS, {**STARTS, "params": {"command": "python app.py", "control": {"command": "false"}}}),
            "the check of 'AC-2' has a control: leave it out",
        ),
        (
            plan(CALLS, {**STARTS, "params": {"command": "x", "control": {"patch": "broken.patch"}}}),
            "the check of 'AC-2' names the file 'broken.patch', and there is none beside the order",
        ),
        (
            plan(
                {**CALLS, "params": {"module": "m", "function": "f", "generate": {"reference": "r.py", "args": []}}},
                STARTS,
            ),
            "the check of 'AC-1' names the file 'r.py', and there is none beside the order",
        ),
    ],
)
def test_a_plan(given: TestPlan, fault: str) -> None:
    found = faults_of_plan(given, SPEC)
    assert found[0].startswith(fault)
    assert len(found) == (2 if "broken.patch" in fault else 1)


def test_what_nothing_but_judgement_can_tell_may_be_left_out_told_or_checked() -> None:
    told = {"criterion": "AC-3", "reason": "it is a matter of taste"}
    assert faults_of_plan(plan(CALLS, STARTS, untestable=(told,)), SPEC) == ()
    checked = {**STARTS, "id": "AC-3"}
    assert faults_of_plan(plan(CALLS, STARTS, checked), SPEC) == ()
    assert faults_of_plan(plan(CALLS, STARTS, checked, untestable=(told,)), SPEC) != ()


def test_after_rejected_checks_a_plan_is_about_exactly_those() -> None:
    gone = tuple(Rejected(criterion="AC-2", check="true", code=code, reason="x") for code in ("vacuous", "flaky"))
    assert faults_of_plan(plan(STARTS), SPEC, gone) == ()
    assert faults_of_plan(plan(untestable=(NO_PROGRAM,)), SPEC, gone) == ()
    (missing,) = faults_of_plan(plan(), SPEC, gone)
    assert missing.startswith("criterion 'AC-2' is not there")
    (too_many,) = faults_of_plan(plan(CALLS, STARTS), SPEC, gone)
    assert (
        too_many == "'AC-1' is no criterion that is asked for, expected the criteria of the rejected checks alone: AC-2"
    )
