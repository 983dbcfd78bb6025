"""Checks what a program answers to arguments and standard input: one fresh container a case, compared here.

No expected value enters a container, and no case can leave anything behind for the next one. Generated cases come
after the order's own; what is expected of them is what the order's reference does.
Codes: those of `domain.checks.classify` and of `commands`, `case_too_large` (the arguments, quoted, fit no variable).
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping
from typing import Any

from adapters.checkers.commands import Verdict, finding, judge_output, request
from adapters.checkers.facts import seen
from adapters.checkers.references import References
from domain.base import Message
from domain.checks import Item, Observation, Outcome
from domain.command_criteria import CliCase, CliIo, CliIoParams, CommandParams
from domain.generation import cases, derived_seed
from domain.ports import CheckContext, EvidenceStore, Finding, RunRequest, Sandbox

MAX_COMMAND = 120 * 1024  # bytes: a command travels as one variable, of which Linux takes 128 KiB, execve(2)
LEAST = 0.1  # seconds that are always left to compare what was observed
SHOWN = 100  # characters of a case's arguments and of its input in a text


class CaseResult(Message):
    """What became of one case, numbered from 1; no observation where nothing ran."""

    case: int
    outcome: Outcome
    code: str
    text: str
    observation: Observation | None = None

    @property
    def ends_all(self) -> bool:
        """Whether no further case can tell anything: the tree did not arrive, the build failed, the time is up."""
        return self.code in ("copy_failed", "build_failed", "verification_timeout")


class CliIoChecker:
    """A program answers each case as it should. Cases go on after one that failed, so that all of them are told."""

    type = "cli_io"

    def __init__(self, sandbox: Sandbox, store: EvidenceStore) -> None:
        self._sandbox = sandbox
        self._references = References(sandbox, store)

    async def check(self, item: Item, context: CheckContext) -> Finding:
        """What became of the cases, run in their order, all within the criterion's limit. Raises `Unavailable`.

        A reference has as much time again.
        """
        criterion = item.criterion
        assert isinstance(criterion, CliIo)
        seed = _seed(criterion.params, item, context)
        generated = await self._generated(item, context, criterion.params, seed)
        params = criterion.params.model_copy(update={"cases": [*criterion.params.cases, *generated]})
        results = await self._all(item, context, params)
        found = _finding(item, context, params, results, seed)
        facts = {"seed": seed, "generated": [case.model_dump(mode="json") for case in generated]}
        return found if seed is None else found.model_copy(update={"seed": seed, "seen": {**found.seen, **facts}})

    async def _generated(
        self, item: Item, context: CheckContext, params: CliIoParams, seed: int | None
    ) -> tuple[CliCase, ...]:
        generate = params.generate
        if generate is None or seed is None:
            return ()
        inputs = [generate.case(case.args) for case in cases(generate.inputs, seed)]
        return await self._references.of_runs(item, context, generate.reference, inputs, params.env)

    async def _all(self, item: Item, context: CheckContext, params: CliIoParams) -> list[CaseResult]:
        results: list[CaseResult] = []
        left = item.criterion.timeout
        for number in range(1, len(params.cases) + 1):
            result, spent = await self._case(item, context, params, number, left)
            results.append(result)
            left -= spent
            if result.ends_all:
                break
            if left <= 0 and number < len(params.cases):
                results.append(_late(number + 1, item.criterion.timeout))
                break
        return results

    async def _case(
        self, item: Item, context: CheckContext, params: CliIoParams, number: int, left: float
    ) -> tuple[CaseResult, float]:
        """The case's result, and how much it used of the `left` seconds."""
        case = params.cases[number - 1]
        command = " ".join([params.command.rstrip("\r\n"), *map(shlex.quote, case.args)])
        if len(command.encode()) > MAX_COMMAND:
            text = f"the command and its quoted arguments are more than {MAX_COMMAND} bytes"
            return CaseResult(case=number, outcome=Outcome.FAILED, code="case_too_large", text=text), 0.0
        observed = await self._sandbox.run(_request(item, context, params, command, number, left))
        began, spent = time.monotonic(), observed.duration_ms / 1000
        outcome, code, text = await judge_output(observed, case, max(left - spent, LEAST))
        if code == "verification_timeout":
            text = _late(number, item.criterion.timeout).text
        result = CaseResult(case=number, outcome=outcome, code=code, text=text, observation=observed)
        return result, spent + time.monotonic() - began


def all_cases(criterion: CliIo, stored: Mapping[str, Any]) -> list[CliCase]:
    """The order's cases, then those that a finding's `seen` has as generated."""
    generated = [CliCase.model_validate(case) for case in stored.get("generated", [])]
    return [*criterion.params.cases, *generated]


def _seed(params: CliIoParams, item: Item, context: CheckContext) -> int | None:
    """The order's own, or the one that follows from the tree; None where nothing is generated."""
    if params.generate is None:
        return None
    seed = params.generate.seed
    return derived_seed(context.tree, item.id, context.order_files) if seed is None else seed


def _request(
    item: Item, context: CheckContext, params: CliIoParams, command: str, number: int, left: float
) -> RunRequest:
    asked = request(item, context, CommandParams(command=command, cwd=params.cwd, env=params.env))
    stdin = params.cases[number - 1].stdin
    return asked.model_copy(update={"key": f"{asked.key}/{number}", "stdin": stdin, "timeout": left})


def _late(number: int, limit: float) -> CaseResult:
    text = f"the {limit:g} s for all cases were over"
    return CaseResult(case=number, outcome=Outcome.FAILED, code="verification_timeout", text=text)


def _finding(
    item: Item, context: CheckContext, params: CliIoParams, results: list[CaseResult], seed: int | None
) -> Finding:
    """What all results come to: that of the first case that did not pass, shown with what it printed."""
    bad = next((result for result in results if result.outcome is not Outcome.PASSED), None)
    count = f"{sum(result.outcome is Outcome.PASSED for result in results)} of {len(params.cases)} cases passed"
    verdict: Verdict = (Outcome.PASSED, "ok", count)
    if bad:
        assert isinstance(item.criterion, CliIo)
        why = f", generated, seed {seed}" if bad.case > len(item.criterion.params.cases) else ""
        verdict = (bad.outcome, bad.code, f"{count}; {_named(params.cases[bad.case - 1], bad.case, why)}: {bad.text}")
    shown = (bad or results[-1]).observation or Observation(exit_code=0)
    found = finding(item, context, shown, verdict, out_of_process=True)
    return found.model_copy(
        update={
            "exit_code": shown.exit_code if (bad or results[-1]).observation else None,
            "duration_ms": sum(result.observation.duration_ms for result in results if result.observation),
            "seen": seen(item, context, cases=[result.model_dump(mode="json") for result in results]),
        }
    )


def _named(case: CliCase, number: int, why: str) -> str:
    return f"case {number} (args {_cut(repr(case.args))}, stdin {_cut(repr(case.stdin))}{why})"


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
