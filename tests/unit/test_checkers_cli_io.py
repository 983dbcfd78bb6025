"""Programs that are run once a case, through a scripted sandbox."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from adapters.checkers import cli_io
from adapters.checkers.cli_io import CliIoChecker
from domain.checks import Item, Observation, Outcome
from domain.command_criteria import CliIo
from domain.errors import Cause, Unavailable
from domain.order import Resources
from domain.ports import CheckContext, Finding, RunRequest
from tests.fakes.evidence import MemoryStore
from tests.unit.test_checkers import Scripted


class Answering(Scripted):
    """A sandbox that asks a function what is observed."""

    def __init__(self, answer: Callable[[RunRequest], Observation]) -> None:
        super().__init__(Observation(exit_code=0))
        self.answer = answer

    async def run(self, request: RunRequest) -> Observation:
        self.requests.append(request)
        return self.answer(request)


def echo(request: RunRequest) -> Observation:
    return Observation(exit_code=0, stdout=request.stdin, duration_ms=100)


async def checked(sandbox: Scripted, *cases: dict[str, Any], limit: float = 200.0, **more: Any) -> Finding:
    params = {"command": "./echo", "cases": list(cases), **more}
    criterion = CliIo.model_validate({"id": "AC-1", "type": "cli_io", "params": params, "timeout": limit})
    context = CheckContext(
        round="round/s/t/1", tree="f" * 64, image="sha256:abc", resources=Resources(), build=("make",)
    )
    return await CliIoChecker(sandbox, MemoryStore()).check(Item(spelling="criterion", criterion=criterion), context)


async def test_each_case_is_a_container_of_its_own_with_quoted_arguments_and_input() -> None:
    sandbox = Answering(echo)
    cases: list[dict[str, Any]] = [
        {"args": ["a b", "$(id)", "'", ""], "stdin": "x", "stdout": "x"},
        {"stdin": "y", "stdout": "y"},
    ]
    finding = await checked(sandbox, *cases, cwd="sub", env={"A": "b"})
    assert (finding.outcome, finding.code, finding.text) == (Outcome.PASSED, "ok", "2 of 2 cases passed")
    assert finding.out_of_process
    first, second = sandbox.requests
    assert first.command == "./echo 'a b' '$(id)' ''\"'\"'' ''"
    assert (first.stdin, first.cwd, first.env, first.build) == ("x", "sub", {"A": "b"}, ("make",))
    assert (second.command, second.stdin) == ("./echo", "y")
    assert first.key != second.key
    assert all(request.key.startswith(f"round/s/t/1/AC-1/{'f' * 16}/") for request in sandbox.requests)


async def test_arguments_stay_on_the_line_of_a_command_that_ends_in_a_line_break() -> None:
    sandbox = Answering(echo)
    await checked(sandbox, {"args": ["x"]}, command="./echo\n")
    assert sandbox.requests[0].command == "./echo x"


async def test_no_expected_value_enters() -> None:
    sandbox = Answering(echo)
    await checked(sandbox, {"stdout": "SECRET", "stderr_pattern": "SECRET", "exit_code": 77})
    assert "SECRET" not in sandbox.requests[0].model_dump_json()
    assert "77" not in sandbox.requests[0].model_dump_json()


async def test_all_cases_run_and_the_first_failure_is_told() -> None:
    sandbox = Answering(echo)
    cases: list[dict[str, Any]] = [{"stdin": n, "stdout": n} for n in "abcd"]
    cases[1]["stdout"] = "z"
    cases[1]["args"] = ["x"]
    finding = await checked(sandbox, *cases)
    assert (finding.outcome, finding.code) == (Outcome.FAILED, "output_mismatch")
    assert finding.text == "3 of 4 cases passed; case 2 (args ['x'], stdin 'b'): stdout: expected 'z', seen 'b'"
    assert (finding.stdout, finding.exit_code, finding.duration_ms) == ("b", 0, 400)
    assert len(sandbox.requests) == 4
    seen = finding.seen["cases"]
    assert isinstance(seen, list)
    assert [(c["case"], c["code"], c["observation"]["stdout"]) for c in seen] == [  # type: ignore[index,call-overload] # JSON
        (1, "ok", "a"),
        (2, "output_mismatch", "b"),
        (3, "ok", "c"),
        (4, "ok", "d"),
    ]


@pytest.mark.parametrize(
    ("case", "observation", "code"),
    [
        ({"exit_code": 3}, Observation(exit_code=3), "ok"),
        ({"exit_code": 3}, Observation(exit_code=0), "exit_code"),
        ({}, Observation(exit_code=1), "exit_code"),
        ({"stderr": "no\n"}, Observation(exit_code=0, stderr="no\n"), "ok"),
        ({"stderr": ""}, Observation(exit_code=0, stderr="no\n"), "output_mismatch"),
        ({"stdout_pattern": "^b$"}, Observation(exit_code=0, stdout="a\nb\n"), "ok"),
        ({"stderr_pattern": "x"}, Observation(exit_code=0), "output_mismatch"),
        ({"stdout": "a"}, Observation(exit_code=0, stdout="a", truncated=True), "output_truncated"),
        ({}, Observation(exit_code=137, oom_killed=True), "out_of_memory"),
        ({}, Observation(exit_code=137, flooded=True), "output_flood"),
    ],
)
async def test_what_a_case_expects(case: dict[str, Any], observation: Observation, code: str) -> None:
    assert (await checked(Scripted(observation), case)).code == code


async def test_the_limit_is_for_all_cases_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli_io, "time", SimpleNamespace(monotonic=lambda: 0.0))  # comparing takes no time here
    sandbox = Answering(lambda request: Observation(exit_code=0, duration_ms=400))
    finding = await checked(sandbox, *({"args": [str(n)]} for n in range(5)), limit=1.0)
    assert (finding.outcome, finding.code) == (Outcome.FAILED, "verification_timeout")
    assert finding.text == "3 of 5 cases passed; case 4 (args ['3'], stdin ''): the 1 s for all cases were over"
    assert [round(request.timeout, 1) for request in sandbox.requests] == [1.0, 0.6, 0.2]


@pytest.mark.parametrize(
    ("observation", "outcome", "code"),
    [
        (Observation(exit_code=124, timed_out=True, duration_ms=900), Outcome.FAILED, "verification_timeout"),
        (Observation(exit_code=1, build_failed=True), Outcome.FAILED, "build_failed"),
        (Observation(exit_code=1, copy_failed=True), Outcome.COULD_NOT_RUN, "copy_failed"),
    ],
)
async def test_what_no_further_case_can_change_ends_them(observation: Observation, outcome: Outcome, code: str) -> None:
    sandbox = Scripted(observation)
    finding = await checked(sandbox, {}, {})
    assert (finding.outcome, finding.code) == (outcome, code)
    assert len(sandbox.requests) == 1
    if code == "verification_timeout":
        assert finding.text.endswith("the 200 s for all cases were over")


async def test_a_sandbox_that_is_gone_is_no_verdict() -> None:
    with pytest.raises(Unavailable):
        await checked(Scripted(Unavailable(Cause.ENGINE_UNAVAILABLE, "gone", "start it")), {})


async def test_arguments_that_fit_no_variable_once_quoted_are_told() -> None:
    sandbox = Answering(echo)
    finding = await checked(sandbox, {"args": ["'" * 60_000]}, {"stdin": "x", "stdout": "x"})
    assert finding.code == "case_too_large"
    assert finding.text.startswith("1 of 2 cases passed; case 1 (args")
    assert len(finding.text) < 500
    assert len(sandbox.requests) == 1
