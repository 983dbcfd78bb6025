"""Which test functions a file of Python has, and whether a failure in one is a failure of the test. It runs nothing.

What may fail by its marks, and what is a generator, is left out.
"""

from __future__ import annotations

import ast
import re
from typing import NamedTuple

from domain.mutation.asserted import SWALLOWS, Function, called, own
from domain.mutation.literal_changes import BOM
from domain.mutation.parameter_sets import is_mark

_ENCODING = re.compile(rb"\A(?:[^\n]*\n)?[ \t\f]*#[^\n]*?coding[:=][ \t]*([-\w.]+)")


def parsed(source: bytes) -> ast.Module | None:
    """The syntax tree; None for what is not UTF-8, or does not parse."""
    encoding = _ENCODING.match(source.removeprefix(BOM))
    if encoding and encoding[1].lower().replace(b"_", b"-") not in (b"utf-8", b"utf8", b"ascii", b"us-ascii"):
        return None
    try:
        return ast.parse(source.removeprefix(BOM).decode())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


class TestFunction(NamedTuple):
    """A function that pytest, or unittest, takes for a test by its name."""

    function: Function
    multiplied: bool
    """By parameter sets of its class or module."""
    doubtful: bool
    """A failure in it may be no failure of the test."""


def test_functions(tree: ast.Module) -> dict[str, TestFunction]:
    """Test functions and methods by their name in pytest's ids; of several with one name the last, as Python does."""
    found: dict[str, TestFunction] = {}
    waiting: list[tuple[str, list[ast.stmt], list[ast.expr]]] = [("", tree.body, _module_marks(tree.body))]
    while waiting:
        prefix, body, marks = waiting.pop()
        for node in body:
            if isinstance(node, ast.ClassDef):
                inner = [*marks, *node.decorator_list, *_module_marks(node.body)]
                waiting.append((f"{prefix}{node.name}::", node.body, inner))
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
                found.pop(f"{prefix}{node.name}", None)
                own_marks = [*marks, *node.decorator_list]
                if not any(_may_fail(mark) for mark in own_marks) and not _is_generator(node):
                    multiplied = any(is_mark(mark, "parametrize") for mark in marks)
                    found[f"{prefix}{node.name}"] = TestFunction(node, multiplied, any(map(_is_doubtful, own_marks)))
    return dict(sorted(found.items(), key=lambda item: item[1].function.lineno))


def _module_marks(body: list[ast.stmt]) -> list[ast.expr]:
    """What `pytestmark` puts on every test of a module or class."""
    assigned = [node for node in body if isinstance(node, ast.Assign | ast.AnnAssign) and node.value]
    marks: list[ast.expr] = []
    for node in assigned:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if any(called(target) == "pytestmark" for target in targets) and node.value:
            marks += node.value.elts if isinstance(node.value, ast.List | ast.Tuple) else [node.value]
    return marks


def _may_fail(mark: ast.expr) -> bool:
    return is_mark(mark, "xfail", "skip") or called(mark).rpartition(".")[2] in ("expectedFailure", "skip")


def _is_doubtful(decorator: ast.expr) -> bool:
    owner, _, name = called(decorator).rpartition(".")
    return "mark" not in owner.split(".") and bool(SWALLOWS.search(name))


def _is_generator(function: Function) -> bool:
    return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in own(*function.body))
