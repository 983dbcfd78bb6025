"""Checks and criteria as items, and what an observed command comes to."""

from __future__ import annotations

from typing import Any

import pytest

from domain.checks import (
    NOTHING_TO_CHECK,
    BaseOutcome,
    CheckResult,
    Item,
    Observation,
    Outcome,
    all_required_passed,
    beside_the_base,
    classify,
    could_not_run,
    items_of,
    subjective_of,
    unavailable,
)
from domain.errors import Cause, Unavailable
from domain.order import Order

PASSED, FAILED, COULD_NOT_RUN = Outcome.PASSED, Outcome.FAILED, Outcome.COULD_NOT_RUN


@pytest.mark.parametrize(
    ("seen", "expected_exit", "outcome", "code", "text"),
    [
        ({"exit_code": 0}, 0, PASSED, "ok", "exit code 0"),
        ({"exit_code": 3}, 3, PASSED, "ok", "exit code 3"),
        ({"exit_code": 127}, 127, PASSED, "ok", "exit code 127"),
        ({"exit_code": 1}, 0, FAILED, "exit_code", "exit code 1, expected 0"),
        ({"exit_code": 0}, 3, FAILED, "exit_code", "exit code 0, expected 3"),
        ({"exit_code": 5}, 0, FAILED, "exit_code", "exit code 5, expected 0"),
        ({"exit_code": 126}, 0, FAILED, "command_not_executable", "exit code 126"),
        ({"exit_code": 127}, 0, FAILED, "command_not_found", "exit code 127"),
        ({"exit_code": 124, "timed_out": True}, 0, FAILED, "verification_timeout", "still running after 2.5 s"),
        ({"exit_code": 0, "timed_out": True}, 0, FAILED, "verification_timeout", "still running"),
        ({"exit_code": 124, "timed_out": True}, 124, FAILED, "verification_timeout", "still running"),
        ({"exit_code": 124}, 0, FAILED, "exit_code", "exit code 124"),
        ({"exit_code": 137, "oom_killed": True}, 0, FAILED, "out_of_memory", "more memory"),
        ({"exit_code": 0, "oom_killed": True}, 0, FAILED, "out_of_memory", "more memory"),
        ({"exit_code": 137}, 0, FAILED, "exit_code", "exit code 137"),
        ({"exit_code": 0, "flooded": True}, 0, FAILED, "output_flood", "64 MiB"),
        ({"exit_code": 137, "flooded": True, "timed_out": True}, 0, FAILED, "output_flood", "64 MiB"),
        ({"exit_code": 137, "oom_killed": True, "timed_out": True}, 0, FAILED, "verification_timeout", "2.5 s"),
        ({"exit_code": 117, "copy_failed": True}, 0, COULD_NOT_RUN, "copy_failed", "could not be copied"),
        ({"exit_code": 0, "copy_failed": True, "flooded": True}, 0, COULD_NOT_RUN, "copy_failed", "copied"),
        (
            {"exit_code": 124, "build_failed": True, "timed_out": True},
            0,
            FAILED,
            "verification_timeout",
            "still running",
        ),
        ({"exit_code": 3, "build_failed": True}, 3, FAILED, "build_failed", "environment.build"),
        ({"exit_code": 0, "truncated": True}, 0, PASSED, "ok", "exit code 0"),
    ],
)
def test_what_an_observed_command_comes_to(
    seen: dict[str, Any], expected_exit: int, outcome: Outcome, code: str, text: str
) -> None:
    got = classify(Observation(**seen), 2.5, expected_exit)
    assert got[:2] == (outcome, code)
    assert text in got[2]


ORDER = Order.model_validate(
    {
        "content": "x",
        "acceptance_criteria": [
            {"type": "file_exists", "params": {"path": "b"}, "description": "b is there"},
            {"type": "subjective", "description": "it is nice"},
            {"type": "command_exit_zero", "params": {"command": "make"}, "required": False, "timeout": 5.0},
            {"type": "file_exists", "params": {"path": "a"}},
        ],
        "verification": {
            "checks": [
                {"name": "tests", "command": "pytest", "cwd": "sub", "env": {"A": "b"}, "timeout": 7.0},
                {"name": "lint", "command": "ruff check", "required": False},
            ]
        },
    }
)


def test_items_are_the_deterministic_criteria_and_then_the_checks_as_written() -> None:
    assert [(i.spelling, i.id, i.criterion.required) for i in items_of(ORDER)] == [
        ("criterion", "AC-1", True),
        ("criterion", "AC-3", False),
        ("criterion", "AC-4", True),
        ("check", "tests", True),
        ("check", "lint", False),
    ]
    assert [c.id for c in subjective_of(ORDER)] == ["AC-2"]


def test_a_check_is_a_run_of_pytest_or_the_criterion_that_its_command_ends_with_zero() -> None:
    tests, lint = (item.criterion for item in items_of(ORDER)[3:])
    assert (tests.type, lint.type) == ("pytest", "command_exit_zero")
    where = {"command": "pytest", "cwd": "sub", "env": {"A": "b"}}
    assert tests.params.model_dump() == {**where, "fail_to_pass": [], "pass_to_pass": "base"}
    assert tests.timeout == 7.0


def test_pytest_that_no_recorder_reached_is_none_of_the_works_doing() -> None:
    base = BaseOutcome(outcome=Outcome.FAILED, code="not_recorded")
    result = CheckResult(
        id="tests",
        spelling="check",
        type="pytest",
        outcome=Outcome.FAILED,
        code="not_recorded",
        next_step="say kind: command",
    )
    assert beside_the_base(result, base).outcome is Outcome.COULD_NOT_RUN
    assert beside_the_base(result, base).next_step == "say kind: command"
    assert beside_the_base(result, base.model_copy(update={"code": "ok"})).outcome is Outcome.FAILED


@pytest.mark.parametrize(
    ("head", "base", "outcome", "code"),
    [
        ("nothing_passed", "nothing_passed", COULD_NOT_RUN, "nothing_to_check"),
        ("no_tests", "no_tests", COULD_NOT_RUN, "nothing_to_check"),
        ("no_trusted_tests", "nothing_passed", COULD_NOT_RUN, "nothing_to_check"),
        ("nothing_passed", "ok", FAILED, "nothing_passed"),
        ("no_tests", "tests_failed", FAILED, "no_tests"),
        ("tests_missing", "nothing_passed", FAILED, "tests_missing"),
        ("exit_code", "nothing_passed", FAILED, "exit_code"),
    ],
)
def test_a_check_without_a_test_that_passes_constrains_nothing(
    head: str, base: str, outcome: Outcome, code: str
) -> None:
    result = CheckResult(id="t", spelling="check", type="pytest", outcome=FAILED, code=head, text="seen")
    there = BaseOutcome(outcome=PASSED if base == "ok" else FAILED, code=base)
    told = beside_the_base(result, there)
    assert (told.outcome, told.code, told.passed) == (outcome, code, False)
    assert ("required: false" in told.next_step) == (code == NOTHING_TO_CHECK)


def test_a_label_is_the_description_or_what_is_looked_at() -> None:
    assert [item.label for item in items_of(ORDER)] == ["b is there", "make", "a", "pytest", "ruff check"]


def test_an_item_keeps_its_criterion_over_json() -> None:
    for item in items_of(ORDER):
        assert Item.model_validate_json(item.model_dump_json()) == item


def test_what_could_not_be_told_is_no_pass_and_says_what_to_do() -> None:
    item = items_of(ORDER)[3]
    result = unavailable(item, Unavailable(Cause.ENGINE_UNAVAILABLE, "no engine answers", "Start Docker."))
    assert result == could_not_run(item, Cause.ENGINE_UNAVAILABLE, "no engine answers", "Start Docker.")
    assert (result.outcome, result.code, result.passed) == (COULD_NOT_RUN, "engine_unavailable", False)
    assert (result.id, result.command, result.required, result.isolation) == ("tests", "pytest", True, "not_run")
    assert (result.text, result.next_step) == ("no engine answers", "Start Docker.")


def _result(outcome: Outcome, required: bool) -> CheckResult:
    return CheckResult(id="a", spelling="check", type="command_exit_zero", required=required, outcome=outcome, code="x")


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        ([], True),
        ([(PASSED, True)], True),
        ([(FAILED, False)], True),
        ([(PASSED, True), (FAILED, True)], False),
        ([(PASSED, True), (COULD_NOT_RUN, True)], False),
        ([(COULD_NOT_RUN, False), (PASSED, True)], True),
    ],
)
def test_all_required_passed(results: list[tuple[Outcome, bool]], expected: bool) -> None:
    assert all_required_passed(_result(*each) for each in results) is expected


@pytest.mark.parametrize(
    ("head", "base", "outcome", "text"),
    [
        ((FAILED, "exit_code"), (PASSED, "ok"), FAILED, "seen"),
        ((FAILED, "exit_code"), (FAILED, "exit_code"), FAILED, "seen (on the base, too)"),
        ((FAILED, "exit_code"), (FAILED, "command_not_found"), FAILED, "seen"),
        ((FAILED, "exit_code"), (COULD_NOT_RUN, "copy_failed"), FAILED, "seen"),
        ((FAILED, "command_not_found"), (PASSED, "ok"), FAILED, "seen"),
        ((FAILED, "command_not_found"), (FAILED, "exit_code"), FAILED, "seen"),
        ((FAILED, "command_not_found"), (FAILED, "command_not_found"), COULD_NOT_RUN, "not the work's doing"),
        ((FAILED, "command_not_executable"), (FAILED, "command_not_executable"), COULD_NOT_RUN, "not the work's doing"),
        ((FAILED, "verification_timeout"), (FAILED, "verification_timeout"), FAILED, "seen (on the base, too)"),
        ((FAILED, "out_of_memory"), (FAILED, "out_of_memory"), FAILED, "seen (on the base, too)"),
        ((FAILED, "output_flood"), (FAILED, "output_flood"), FAILED, "seen (on the base, too)"),
        ((PASSED, "ok"), (FAILED, "exit_code"), PASSED, "seen"),
        ((COULD_NOT_RUN, "copy_failed"), (FAILED, "copy_failed"), COULD_NOT_RUN, "seen"),
    ],
)
def test_whose_failure_it_is(head: tuple[Outcome, str], base: tuple[Outcome, str], outcome: Outcome, text: str) -> None:
    result = CheckResult(id="t", spelling="check", type="command_exit_zero", outcome=head[0], code=head[1], text="seen")
    told = beside_the_base(result, BaseOutcome(outcome=base[0], code=base[1]))
    assert (told.outcome, told.code, told.base_outcome) == (outcome, head[1], base[0])
    assert text in told.text
    assert (told.next_step != "") == (outcome is COULD_NOT_RUN and head[0] is FAILED)
