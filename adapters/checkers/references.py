"""Asks an order's reference what must come of generated cases: a trusted file, run away from the worker's tree.

It runs on the order's image, in a container of its own that has the files beside the order and nothing else. What it
answers is remembered. A reference that tells nothing is `Unavailable`: no verdict on the work, and never a pass.
"""

from __future__ import annotations

import asyncio
import json
import posixpath
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from adapters.checkers import plain_data
from adapters.checkers.calls import COMMAND, Answer, Call, CaseResult, Nothing, Raised, Returned, answer_of, document_in
from adapters.checkers.calls import environment as calls_environment
from adapters.checkers.commands import request
from adapters.checkers.trials import Raises, Returns
from domain.base import canonical_json, sha256_hex
from domain.checks import Item, Observation, Outcome, classify
from domain.command_criteria import CliCase, CommandParams
from domain.errors import Cause, Unavailable
from domain.ports import CheckContext, EvidenceStore, RunRequest, Sandbox
from domain.tree import Entry, Manifest

RUNNERS = {".py": "python3", ".sh": "sh", ".js": "node", ".mjs": "node"}
MISTAKES = frozenset({"NameError", "ImportError", "SyntaxError", "MemoryError", "RecursionError"})
"""Exceptions that are a mistake of the reference's own, and no answer."""

_T = TypeVar("_T")

Given = tuple[list[str], str]
"""Arguments and standard input."""

_ONE_RUN = r"""
run() {
    sh -c "$1" > "$HOME/printed"
    printf '%s ' "$?"
    od -An -v -tx1 "$HOME/printed" | tr -d ' \n'
    echo
}
"""

SHOWN = 300  # characters of what a reference printed, in a reason
_CHANGE = "change the reference, or its arguments in the order, then verify again"


class References:
    """Runs references, and remembers their answers in the store."""

    def __init__(self, sandbox: Sandbox, store: EvidenceStore) -> None:
        self._sandbox = sandbox
        self._store = store

    async def of_calls(
        self, item: Item, context: CheckContext, path: str, calls: Sequence[Call]
    ) -> tuple[Returns | Raises, ...]:
        """What the function returns or raises for each call. Raises `Unavailable`, also for what is no plain data."""
        environment = calls_environment(posixpath.dirname(path) or ".", calls)
        if environment is None:
            raise _unusable(path, "is given more than fits", "lower the count")
        command = CommandParams(command=COMMAND, env=environment)
        return await self._ask(item, context, path, command, lambda seen: _answers(path, calls, seen))

    async def of_runs(
        self, item: Item, context: CheckContext, path: str, inputs: Sequence[Given], env: Mapping[str, str]
    ) -> tuple[CliCase, ...]:
        """Each case with what the program prints and its exit code. Raises `Unavailable`."""
        command = _all_runs(path, inputs, env)
        return await self._ask(item, context, path, command, lambda seen: _cases(path, inputs, seen))

    async def _ask(
        self, item: Item, context: CheckContext, path: str, command: CommandParams, read: Callable[[Observation], _T]
    ) -> _T:
        """What `read` makes of a command that ended well on the order's files, now or when it was first asked for."""
        await asyncio.to_thread(self._find, context, path)
        asked = _request(item, context, command)
        key = _key(asked)
        if known := await asyncio.to_thread(self._store.recall, key):
            return read(Observation.model_validate_json(known))
        observed = await self._sandbox.run(asked)
        outcome, _, text = classify(observed, asked.timeout)
        if outcome is not Outcome.PASSED:
            raise _unusable(path, f"was not run to its end: {text}{_tail(observed)}", _CHANGE)
        found = read(observed)
        await asyncio.to_thread(self._store.remember, key, observed.model_dump_json().encode())
        return found

    def _find(self, context: CheckContext, path: str) -> None:
        files = Manifest.decode(self._store.get(context.order_files)) if context.order_files else Manifest()
        if not isinstance(files.resolve(path), Entry):
            raise _unusable(path, "is not among the files beside the order", "put it there, then verify again")


def _request(item: Item, context: CheckContext, command: CommandParams) -> RunRequest:
    asked = request(item, context, command)
    return asked.model_copy(update={"key": f"{asked.key}/reference", "tree": context.order_files, "build": ()})


def _key(asked: RunRequest) -> str:
    """Everything that the answers follow from."""
    dumped = asked.model_dump(mode="json", exclude={"key", "round", "timeout"})
    return sha256_hex(canonical_json(["reference", json.dumps(dumped, sort_keys=True)]))


def _answers(path: str, calls: Sequence[Call], observed: Observation) -> tuple[Returns | Raises, ...]:
    document = document_in(observed.stdout)
    if document is None or document.full or len(document.results) != len(calls):
        raise _unusable(path, f"answers {len(calls)} cases with more than is kept, or not at all", "lower the count")
    found = tuple(_expected(path, call, result) for call, result in zip(calls, document.results, strict=True))
    if all(isinstance(answer, Raises) for answer in found):
        raise _unusable(path, f"never returns anything: {calls[0]} raises {found[0]}", _CHANGE)
    return found


def _expected(path: str, call: Call, result: CaseResult) -> Returns | Raises:
    answer: Answer = answer_of(result)
    match answer:
        case Returned(value=value):
            if not plain_data.plain(value):
                raise _unusable(path, f"returns what is no plain data: {call} is {plain_data.shown(value)}", _CHANGE)
            return Returns(value)
        case Raised(names=names, text=text):
            if MISTAKES.intersection(names) or "Exception" not in names or not names[0].isidentifier():
                raise _unusable(path, f"fails: {call} raises {text}", _CHANGE)
            return Raises(names[0])
        case Nothing(text=text):
            raise _unusable(path, f"does not answer: {call}: {text}", _CHANGE)


def _all_runs(path: str, inputs: Sequence[Given], env: Mapping[str, str]) -> CommandParams:
    """All cases in one container, a line each: the exit code, and what was printed as hexadecimal digits."""
    runner = RUNNERS.get(posixpath.splitext(path)[1], "")
    lines = [_ONE_RUN]
    variables = {}
    for number, (args, stdin) in enumerate(inputs):
        words = [*runner.split(), f"./{path}", *args]
        variables[f"COUNTERSIGN_RUN_{number}"] = f"exec {shlex.join(words)}"
        variables[f"COUNTERSIGN_STDIN_{number}"] = stdin
        lines.append(f'printf %s "$COUNTERSIGN_STDIN_{number}" | run "$COUNTERSIGN_RUN_{number}"')
    return CommandParams(command="\n".join(lines), env={**env, **variables})


def _cases(path: str, inputs: Sequence[Given], observed: Observation) -> tuple[CliCase, ...]:
    rows = [line.split(" ") for line in observed.stdout.splitlines()]
    if observed.truncated or [len(row) for row in rows] != [2] * len(inputs):
        raise _unusable(path, f"prints more than is kept of {len(inputs)} cases", "lower the count")
    found = tuple(_case(path, given, row) for given, row in zip(inputs, rows, strict=True))
    if all(case.exit_code for case in found):
        told = f"never ends with 0: {found[0].args} ends with {found[0].exit_code}"
        raise _unusable(path, told + _tail(observed), _CHANGE)
    return found


def _case(path: str, given: Given, row: list[str]) -> CliCase:
    code, printed = int(row[0]), bytes.fromhex(row[1])
    args, stdin = given
    if code in (126, 127) or code > 128:
        raise _unusable(path, f"cannot be run with {args}: exit code {code}", _CHANGE)
    return CliCase(args=args, stdin=stdin, stdout=printed.decode("utf-8", "replace"), exit_code=code)


def _tail(observed: Observation) -> str:
    printed = plain_data.printable(observed.stderr.strip()[-SHOWN:])
    return f"; it printed: {printed}" if printed else ""


def _unusable(path: str, what: str, next_step: str) -> Unavailable:
    return Unavailable(Cause.REFERENCE_FAILED, f"the reference {path} {what}", next_step)
