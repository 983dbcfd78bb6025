"""One expected value by itself: where a test compares it for certain, another value, and an expression that raises.

For a run in which only some assertions have to fail. What is in doubt is left out: names, parameter sets, helpers of
the project's own, assertions that something encloses but a test. It runs nothing.
"""

from __future__ import annotations

import ast
import posixpath
import random
from collections.abc import Iterator

from domain.base import Message
from domain.mutation.asserted import Operand, sure_operands
from domain.mutation.edits import Edit
from domain.mutation.exceptions import expected_exceptions
from domain.mutation.literal_changes import LETTERS, Leaf, Source, leaf
from domain.mutation.python_tests import parsed, test_functions
from domain.mutation.script_assertions import Assertions
from domain.mutation.stops import stops
from domain.mutation.text_tokens import SCRIPT

_OTHER = "BytesWarning"  # as in `exceptions`: nothing honest raises it
_SHORTEST = 5  # characters of a mark


class Single(Message):
    """One operand. `value` changes it, `raises` puts an expression there that raises an error of the text `raised`.

    `mark` stands in an output where a runner shows the changed value, empty where nothing would. `test` is the same for
    all in one test: in a Python file the function's name, and there `stop` makes it fail before anything in it, by an
    error of the text `stopped`.
    """

    line: int
    value: Edit
    mark: str
    raises: Edit
    raised: str
    test: str = ""
    stop: Edit | None = None
    stopped: str = ""


def singles(path: str, source: str, seed: int) -> tuple[Single, ...]:
    """Those of a test file, none of which overlaps another; none for a language that is not read here."""
    suffix = posixpath.splitext(path)[1].lower()
    if suffix == ".py":
        return tuple(_of_python(source.encode(), seed))
    if suffix in SCRIPT:
        return tuple(_of_script(source, suffix, seed))
    return ()


def _of_python(source: bytes, seed: int) -> Iterator[Single]:
    tree = parsed(source)
    if tree is None:
        return
    chance = random.Random(seed)  # noqa: S311 - it has to be found again from the seed
    places = Source(source, chance)
    ended = {stop.function: stop.edit for stop in stops(source, seed)}
    for name, test in test_functions(tree).items():
        if test.doubtful or test.multiplied:
            continue
        operands = [Operand(node, True, True, raised=True) for node in expected_exceptions(test.function)]
        operands += [operand for operand in sure_operands(test.function) if not isinstance(operand.node, ast.Name)]
        stop = ended.get(name)
        for operand in operands:
            found = Leaf(operand.node, True) if operand.raised else leaf(operand.node)
            if found is None or not found.sure:
                continue
            value = (
                places.written(found.node, _OTHER) if operand.raised else places.change(found.node, operand.identity)
            )
            if value is None:
                continue
            first, second = _letters(chance), _letters(chance)
            text = f"""exec('raise AssertionError("".join(("{first}", "{second}")))')"""
            yield Single(
                line=found.node.lineno,
                value=value,
                mark="" if operand.raised else _mark(value.text),
                raises=places.written(found.node, text),
                raised=first + second,
                test=name.rpartition("::")[2],
                stop=stop,
                stopped=stop.text.split('"')[1] if stop else "",
            )


def _of_script(source: str, suffix: str, seed: int) -> Iterator[Single]:
    chance = random.Random(seed)  # noqa: S311 - it has to be found again from the seed
    for operand in Assertions(source, suffix).operands(chance):
        first, second = _letters(chance), _letters(chance)
        text = f'(() => {{ throw new Error(["{first}", "{second}"].join("")); }})()'
        yield Single(
            line=source.count("\n", 0, operand.start) + 1,
            value=_in_bytes(source, operand.value),
            mark=_mark(operand.value.text),
            raises=_in_bytes(source, Edit(start=operand.start, end=operand.end, text=text)),
            raised=first + second,
            test=f"@{operand.test}",
        )


def _letters(chance: random.Random) -> str:
    return "".join(chance.choices(LETTERS, k=_SHORTEST))


def _mark(text: str) -> str:
    """What of a changed value's text stands in no output by itself."""
    words = "".join(c if c.isalnum() else " " for c in text).split()
    longest = max((word for word in words if word not in ("class", "extends", "EvalError")), key=len, default="")
    return longest if len(longest) >= _SHORTEST and longest.lower() != "false" else ""


def _in_bytes(source: str, edit: Edit) -> Edit:
    start = len(source[: edit.start].encode())
    return Edit(start=start, end=start + len(source[edit.start : edit.end].encode()), text=edit.text)
