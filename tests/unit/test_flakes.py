"""A failure is run again, in a container of its own: what the runs come to, what is kept, what is not repeated."""

from __future__ import annotations

import json
from typing import Any

import pytest
from temporalio.testing import ActivityEnvironment

from activities.checks import CheckActivities
from adapters.checkers.commands import request
from domain.checks import BaseOutcome, CheckResult, Item, Outcome, beside_the_base
from domain.command_criteria import CommandExitZero, CommandParams, ExitParams, Pytest, PytestParams
from domain.criteria import FileExists, FileExistsParams
from domain.flakes import CERTAIN, standing
from domain.messages import CheckInput
from domain.order import Resources
from domain.ports import CheckContext, Finding
from domain.scrutiny import ControlSeen, Counts, Expectation
from tests.fakes.evidence import MemoryStore
from tests.fakes.rounds import SaidSandbox
from workflows import options

PASS = Finding(outcome=Outcome.PASSED, code="ok", text="exit code 0", exit_code=0)
FAIL = Finding(outcome=Outcome.FAILED, code="exit_code", text="exit code 1, expected 0", exit_code=1, stderr="boom")
LATE = Finding(outcome=Outcome.FAILED, code="verification_timeout", text="still running after 5 s")
SUBVERTED = Finding(outcome=Outcome.FAILED, code="subverted", text="passes whatever its tests expect")
UNKNOWN = Finding(outcome=Outcome.COULD_NOT_RUN, code="copy_failed", text="could not be copied")
THERE = FileExists(id="f", type="file_exists", params=FileExistsParams(path="a"))


class Scripted:
    """A checker that finds what it is told to, one after another."""

    type = "command_exit_zero"

    def __init__(self, *findings: Finding) -> None:
        self.findings = list(findings)
        self.contexts: list[CheckContext] = []

    async def check(self, item: Item, context: CheckContext) -> Finding:
        self.contexts.append(context)
        return self.findings.pop(0)


def item(required: bool = True, command: str = "run", **params: Any) -> Item:
    exit_zero = ExitParams.model_validate({"command": command, **params})
    criterion = CommandExitZero(id="c", type="command_exit_zero", required=required, timeout=5.0, params=exit_zero)
    return Item(spelling="check", criterion=criterion)


def asked(**more: Any) -> CheckInput:
    fields: dict[str, Any] = {
        **{"session": "local", "todo": "wo-1", "attempt": 1, "round": "round/local/wo-1/1", "item": item()},
        **{"tree": "1" * 64, "image": "sha256:1", "resources": Resources(), "retries": 1, "base": "2" * 64},
    }
    return CheckInput(**{**fields, **more})


async def run(checker: Scripted, request: CheckInput) -> tuple[CheckResult, dict[str, Any]]:
    """The activity's result, and the evidence that it kept."""
    store = MemoryStore()
    activities = CheckActivities(dict.fromkeys(("command_exit_zero", "file_exists"), checker), store, SaidSandbox({}))
    result: CheckResult = await ActivityEnvironment().run(activities.run, request)
    return result, json.loads(store.get(result.evidence))


async def test_what_passes_runs_once() -> None:
    checker = Scripted(PASS)
    result, body = await run(checker, asked())
    assert (result.outcome, result.outcomes, result.flaky) == (Outcome.PASSED, (), False)
    assert "findings" not in body


@pytest.mark.parametrize(
    ("finding", "words"),
    [
        (FAIL.model_copy(update={"stdout": "not ok 1 - adds\n"}), "; 1 test failed: adds"),
        (FAIL.model_copy(update={"stderr": "not ok 1 - adds\n"}), "; 1 test failed: adds"),
        (FAIL.model_copy(update={"stdout": "ok 1 - adds\n"}), ""),
        (SUBVERTED.model_copy(update={"stdout": "not ok 1 - adds\n"}), ""),
        (PASS.model_copy(update={"stdout": "not ok 1 - adds\n"}), ""),
    ],
)
async def test_the_tests_that_an_output_names_word_a_failure_and_change_nothing(finding: Finding, words: str) -> None:
    result, body = await run(Scripted(finding), asked(retries=0))
    assert (result.outcome, result.code, result.text) == (finding.outcome, finding.code, finding.text + words)
    assert body["finding"]["text"] == result.text, "a round judged again has the same words"


async def test_a_failure_is_run_again_in_a_container_of_its_own() -> None:
    checker = Scripted(FAIL, LATE)
    result, body = await run(checker, asked())
    assert (result.code, result.outcomes, result.flaky) == ("verification_timeout", (Outcome.FAILED,) * 2, False)
    assert [finding["code"] for finding in body["findings"]] == ["exit_code", "verification_timeout"]
    assert body["finding"] == body["findings"][1]
    keys = {request(item(), context, CommandParams(command="run")).key for context in checker.contexts}
    assert len(keys) == 2, "containers are named after it"


async def test_failing_and_passing_is_flaky_and_fails() -> None:
    result, body = await run(Scripted(FAIL, LATE, PASS), asked(retries=3))
    assert (result.outcome, result.code) == (Outcome.FAILED, "flaky")
    assert result.text == "failed in 2 of 3 runs on the same tree, at first: exit code 1, expected 0"
    assert (result.exit_code, result.stderr) == (1, "boom"), "the failure is what helps"
    assert "on_flaky" in result.next_step
    assert result.outcomes == (Outcome.FAILED, Outcome.FAILED, Outcome.PASSED)
    assert result.flaky
    assert (body["finding"]["code"], len(body["findings"])) == ("flaky", 3)


async def test_the_order_may_take_a_flaky_check() -> None:
    result, _ = await run(Scripted(FAIL, PASS), asked(flaky_passes=True))
    assert (result.outcome, result.code, result.exit_code) == (Outcome.PASSED, "flaky", 0)
    assert "at first: exit code 1" in result.text
    assert result.outcomes == (Outcome.FAILED, Outcome.PASSED)


@pytest.mark.parametrize(
    ("first", "more"),
    [
        (FAIL, {"retries": 0}),
        (FAIL, {"item": item(required=False)}),
        (FAIL, {"item": Item(spelling="criterion", criterion=THERE)}),
        (UNKNOWN, {}),
        (SUBVERTED, {}),
        *((FAIL.model_copy(update={"code": code}), {}) for code in sorted(CERTAIN)),
    ],
)
async def test_what_is_not_run_again(first: Finding, more: dict[str, Any]) -> None:
    checker = Scripted(first, PASS)
    result, _ = await run(checker, asked(**more))
    assert (result.outcome, result.code, result.outcomes) == (first.outcome, first.code, ())
    assert len(checker.contexts) == 1


async def test_a_cheat_found_on_the_second_try_is_no_flake() -> None:
    result, _ = await run(Scripted(FAIL, SUBVERTED, PASS), asked(retries=5))
    assert (result.code, len(result.outcomes)) == ("subverted", 2)


async def test_a_run_that_could_not_tell_takes_no_failure_back() -> None:
    result, body = await run(Scripted(FAIL, UNKNOWN), asked())
    assert (result.outcome, result.code) == (Outcome.FAILED, "exit_code")
    assert len(body["findings"]) == 2


async def test_a_run_on_the_base_is_not_repeated_and_has_no_controls() -> None:
    checker = Scripted(FAIL, PASS)
    activities = CheckActivities({"command_exit_zero": checker}, MemoryStore(), SaidSandbox({}))
    base: BaseOutcome = await ActivityEnvironment().run(activities.run_on_base, asked(retries=3))
    assert base.outcome is Outcome.FAILED
    (context,) = checker.contexts
    assert (context.base, context.controls) == ("", False)


async def test_what_a_checker_needs_and_finds_is_passed_on() -> None:
    found = {
        "tests": Counts(expected=2, passed=2),
        "control": ControlSeen(kind="canary", outcome="noticed"),
        "expectation": Expectation(tests=2, measured=2, constrained=1),
        "seed": 7,
    }
    checker = Scripted(PASS.model_copy(update=found))
    request = asked(trusted="3" * 64, order_files="4" * 64, controls=False)
    result, _ = await run(checker, request)
    assert {name: getattr(result, name) for name in found} == found
    (context,) = checker.contexts
    for name in ("base", "trusted", "order_files", "controls"):
        assert getattr(context, name) == getattr(request, name)


async def test_a_base_that_the_checker_ran_counts() -> None:
    missing = FAIL.model_copy(update={"code": "command_not_found"})
    base = BaseOutcome(outcome=Outcome.FAILED, code="command_not_found", evidence="5" * 64)
    result, _ = await run(Scripted(missing.model_copy(update={"base": base})), asked())
    alone, _ = await run(Scripted(missing), asked())
    told = beside_the_base(alone, base)
    assert (result.outcome, result.base_outcome) == (Outcome.COULD_NOT_RUN, Outcome.FAILED)
    assert (result.outcome, result.text, result.next_step) == (told.outcome, told.text, told.next_step)


def test_one_finding_stands_for_itself() -> None:
    assert standing([FAIL], flaky_passes=True) is FAIL


def test_there_is_time_for_every_run() -> None:
    tests = item(command="node --test")
    control = item(command="check", control={"command": "break it"})
    structured = Item(
        spelling="check", criterion=Pytest(id="p", timeout=5.0, params=PytestParams(command="python -m pytest"))
    )
    assert [each.runs for each in (item(), control, structured, tests)] == [1, 3, 7, 18]
    once, often = options.check(5.0, 3), options.check(5.0, 3, runs=20)
    assert often["start_to_close_timeout"].total_seconds() - once["start_to_close_timeout"].total_seconds() == 95
