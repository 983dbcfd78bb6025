"""Has functions called by the driver in a container: what goes in, and what its document says. It judges no value.

Arguments go in and plain data comes out; no expected value ever enters.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from adapters.checkers import plain_data
from domain.base import Message

COMMAND = 'exec python3 -I -c "$COUNTERSIGN_DRIVER"'
PART = 96 * 1024  # bytes in one variable; Linux takes 128 KiB, execve(2)
PARTS = 11  # 1 MiB of arguments; all variables together share execve's 2 MiB

_DRIVER = Path(__file__).with_name("driver.py").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Call:
    """A function by its module and name, and its arguments: plain data."""

    module: str
    function: str
    args: list[Any] = field(default_factory=list)
    kwargs: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        """The call as Python writes it, short."""
        arguments = [plain_data.shown(value) for value in self.args]
        arguments += [f"{plain_data.printable(name)}={plain_data.shown(value)}" for name, value in self.kwargs.items()]
        text = ", ".join(arguments)
        return f"{self.function}({text if len(text) <= 200 else text[:200] + '...'})"


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


@dataclass(frozen=True)
class Returned:
    """The value that a call returned; what is no plain data in it is a `plain_data.Other`."""

    value: Any


@dataclass(frozen=True)
class Raised:
    """The names of an exception's class and of its base classes, plain and qualified, and how it shows itself."""

    names: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class Nothing:
    """Why there is no answer: a code, and what to say after the call."""

    code: str
    text: str


Answer = Returned | Raised | Nothing


def environment(path: str, calls: Sequence[Call]) -> dict[str, str] | None:
    """What the driver is told: its own source, and the calls. `path` goes on the import path. None: too large."""
    functions = list(dict.fromkeys((call.module, call.function) for call in calls))
    places = {function: place for place, function in enumerate(functions)}
    cases = [[places[call.module, call.function], call.args, call.kwargs] for call in calls]
    text = json.dumps({"path": path, "functions": functions, "cases": cases})
    parts = [text[start : start + PART] for start in range(0, len(text), PART)]
    if len(parts) > PARTS:
        return None
    numbered = {f"COUNTERSIGN_CASES_{number}": part for number, part in enumerate(parts)}
    return {"COUNTERSIGN_DRIVER": _DRIVER, "COUNTERSIGN_CASES": str(len(parts)), **numbered}


def document_in(text: str) -> Document | None:
    """What the driver wrote, None when it is no such document."""
    try:
        return Document.model_validate_json(text)
    except ValidationError:
        return None


def answer_of(result: CaseResult) -> Answer:
    """What came of one call, read strictly: its process was not ours."""
    if result.too_large:
        return Nothing("result_too_large", "answered with more than is taken")
    if result.answer is None:
        return Nothing("no_result", f"{_ending(result.exit)} before it answered")
    try:
        answer = plain_data.parse(result.answer)
        if isinstance(answer, list) and len(answer) == 2 and answer[0] == "returned":
            return Returned(plain_data.decode(answer[1]))
    except (ValueError, RecursionError):
        return Nothing("no_result", "answered with something else than one result")
    match answer:
        case ["raised", list(classes), str(text)]:
            names = tuple(name for described in classes for name in _names(described))
            return Raised(names, plain_data.printable(text)[:300])
        case ["import_failed", str(text)]:
            return Nothing("import_failed", f"the module cannot be imported: {plain_data.printable(text)[:300]}")
        case ["no_function", str(text)]:
            return Nothing("no_function", f"the function is not there: {plain_data.printable(text)[:300]}")
        case ["too_large"]:
            return Nothing("result_too_large", "returned more than is taken")
    return Nothing("no_result", "answered with something else than one result")


def _names(pair: Any) -> tuple[str, ...]:
    match pair:
        case [str(module), str(name)]:
            return (name, f"{module}.{name}")
    return ()


def _ending(status: int) -> str:
    """How a process ended, from its wait status (wait(2))."""
    number = status & 0x7F
    if not number:
        return f"ended with exit code {status >> 8 & 0xFF}"
    try:
        return f"was killed by {signal.Signals(number).name}"
    except ValueError:
        return f"was killed by signal {number}"
