"""Checks what a function returns or raises: it runs in the container, values are compared here. Types are strict.

A case's arguments go in and plain data comes out; no expected value ever enters. So a tuple is no list, True is not
1, 1 is not 1.0, and an instance of a subclass of int equals nothing.

Codes: those of `domain.checks.classify`; `wrong_result` (returned or raised something else), `import_failed`,
`no_function`, `no_result` (the process ended, was killed or was talked over before it answered), `result_too_large`,
`cases_too_large`.
"""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from adapters.checkers import plain_data
from adapters.checkers.commands import finding, request
from adapters.checkers.facts import seen
from domain.base import Message
from domain.checks import Item, Observation, Outcome, classify
from domain.criteria import CommandParams, PythonCall, PythonCallParams, PythonCase
from domain.ports import CheckContext, Finding, Sandbox

COMMAND = 'exec python3 -I -c "$COUNTERSIGN_DRIVER"'
PART = 96 * 1024  # bytes in one variable; Linux takes 128 KiB, execve(2)
PARTS = 11  # 1 MiB of arguments; all variables together share execve's 2 MiB

_DRIVER = Path(__file__).with_name("driver.py").read_text(encoding="utf-8")

Failure = tuple[str, str]
"""A code, and what to say after the call."""


class CaseResult(Message):
    """What the driver says of one case: what its process sent, its wait status, the tails of what it printed."""

    answer: str | None = None
    exit: int = 0
    too_large: bool = False
    stdout: str = ""
    stderr: str = ""


class Document(Message):
    """All that the driver writes. `running`: the case that the time ran out in; `full`: there was no room for more."""

    results: tuple[CaseResult, ...]
    running: int | None
    full: bool


class PythonCallChecker:
    """A function does what each case says, compared outside the process that runs it."""

    type = "python_call"

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    async def check(self, item: Item, context: CheckContext) -> Finding:
        """What became of the cases, all run in one container. Raises `Unavailable`."""
        criterion = item.criterion
        assert isinstance(criterion, PythonCall)
        env = environment(criterion.params)
        if env is None:
            text = f"the arguments of all cases together are more than {PART * PARTS} bytes of JSON"
            facts = seen(item, context)
            return Finding(outcome=Outcome.FAILED, code="cases_too_large", text=text, out_of_process=True, seen=facts)
        command = CommandParams(command=COMMAND, env=env)
        observed = await self._sandbox.run(request(item, context, command))
        verdict, culprit = judge(criterion.params, observed, criterion.timeout)
        found = finding(item, context, observed, verdict, out_of_process=True)
        printed = {"stdout": culprit.stdout, "stderr": culprit.stderr} if culprit else {"stdout": ""}
        return found.model_copy(update=printed)


def environment(params: PythonCallParams) -> dict[str, str] | None:
    """What the driver is told: its own source, and the calls without what is expected of them. None: too large."""
    cases = [{"args": case.args, "kwargs": case.kwargs} for case in params.cases]
    job = {"path": params.path, "module": params.module, "function": params.function, "cases": cases}
    text = json.dumps(job)
    parts = [text[start : start + PART] for start in range(0, len(text), PART)]
    if len(parts) > PARTS:
        return None
    numbered = {f"COUNTERSIGN_CASES_{number}": part for number, part in enumerate(parts)}
    return {"COUNTERSIGN_DRIVER": _DRIVER, "COUNTERSIGN_CASES": str(len(parts)), **numbered}


def judge(
    params: PythonCallParams, observed: Observation, limit: float
) -> tuple[tuple[Outcome, str, str], CaseResult | None]:
    """Outcome, code and text from what was observed, and the case that the text is about. Pure; `limit` in seconds."""
    verdict = classify(observed, limit)
    document = _document(observed.stdout)
    if verdict[1] == "verification_timeout" and document and (case := _at(params, document.running)):
        return (verdict[0], verdict[1], f"{_call(params, case)}: {verdict[2]}"), None
    if verdict[0] is not Outcome.PASSED:
        return verdict, None
    if document is None:
        text = "what was written to standard output is not the one document that the driver writes"
        return (Outcome.FAILED, "no_result", text), None
    if document.full:
        text = f"the results of {len(params.cases)} cases together are more than is kept of them"
        return (Outcome.FAILED, "result_too_large", text), None
    if document.running is not None or len(document.results) != len(params.cases):
        text = f"results for {len(document.results)} of {len(params.cases)} cases: the run was cut short"
        return (Outcome.FAILED, "no_result", text), None
    return _judge_all(params, document)


def _judge_all(params: PythonCallParams, document: Document) -> tuple[tuple[Outcome, str, str], CaseResult | None]:
    pairs = list(zip(params.cases, document.results, strict=True))
    failures = [(case, result, failure) for case, result in pairs if (failure := _failure(case, result))]
    count = f"{len(pairs) - len(failures)} of {len(pairs)} cases passed"
    if not failures:
        return (Outcome.PASSED, "ok", count), None
    case, result, (code, text) = failures[0]
    return (Outcome.FAILED, code, f"{_call(params, case)}: {text}; {count}"), result


def _document(text: str) -> Document | None:
    try:
        return Document.model_validate_json(text)
    except ValidationError:
        return None


def _at(params: PythonCallParams, number: int | None) -> PythonCase | None:
    return params.cases[number] if number is not None and 0 <= number < len(params.cases) else None


def _failure(case: PythonCase, result: CaseResult) -> Failure | None:
    """Why a case failed, None when it did not."""
    if result.too_large:
        return "result_too_large", f"answered with more than is taken, expected {_expectation(case)}"
    if result.answer is None:
        return "no_result", f"{_ending(result.exit)} before it answered, expected {_expectation(case)}"
    try:
        answer = plain_data.parse(result.answer)
        value = plain_data.decode(answer[1]) if isinstance(answer, list) and answer[:1] == ["returned"] else None
    except (ValueError, IndexError, RecursionError):
        return "no_result", f"answered with something else than one result, expected {_expectation(case)}"
    match answer:
        case ["returned", _]:
            return _returned(case, value)
        case ["raised", list(classes), str(text)]:
            return _raised(case, classes, text)
        case ["import_failed", str(text)]:
            return "import_failed", f"the module cannot be imported: {plain_data.printable(text)[:300]}"
        case ["no_function", str(text)]:
            return "no_function", f"the function is not there: {plain_data.printable(text)[:300]}"
        case ["too_large"]:
            return "result_too_large", f"returned more than is taken, expected {_expectation(case)}"
    return "no_result", f"answered with something else than one result, expected {_expectation(case)}"


def _returned(case: PythonCase, value: Any) -> Failure | None:
    told = f"returned {plain_data.shown(value)}, expected {_expectation(case)}"
    if case.raises is not None:
        return "wrong_result", told
    place = plain_data.difference(value, case.returns)
    if place is None:
        return None
    if isinstance(value, plain_data.Other):
        told += " (only None, bool, int, float, str, list and dict can be equal, by exact type)"
    return "wrong_result", told + (f", first difference at {place}" if place else "")


def _raised(case: PythonCase, classes: list[Any], text: str) -> Failure | None:
    """An exception is expected by the plain or the qualified name of its class or of a base class."""
    names = {name for described in classes for name in _names(described)}
    if case.raises is not None and case.raises in names:
        return None
    return "wrong_result", f"raised {plain_data.printable(text)[:300]}, expected {_expectation(case)}"


def _names(pair: Any) -> tuple[str, ...]:
    match pair:
        case [str(module), str(name)]:
            return (name, f"{module}.{name}")
    return ()


def _expectation(case: PythonCase) -> str:
    return f"{case.raises} to be raised" if case.raises is not None else plain_data.shown(case.returns)


def _call(params: PythonCallParams, case: PythonCase) -> str:
    """The call as Python writes it, short."""
    arguments = [plain_data.shown(value) for value in case.args]
    arguments += [f"{plain_data.printable(name)}={plain_data.shown(value)}" for name, value in case.kwargs.items()]
    text = ", ".join(arguments)
    return f"{params.function}({text if len(text) <= 200 else text[:200] + '...'})"


def _ending(status: int) -> str:
    """How a process ended, from its wait status (wait(2))."""
    number = status & 0x7F
    if not number:
        return f"ended with exit code {status >> 8 & 0xFF}"
    try:
        return f"was killed by {signal.Signals(number).name}"
    except ValueError:
        return f"was killed by signal {number}"
