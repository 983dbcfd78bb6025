"""Looks into new tests for what decides what the tests beside them mean; it runs and imports none of them.

Only what runs before tests that are there, or in their place, and that a name cannot tell: an `__init__.py` with code,
Go's TestMain. What a test or the code under test does while it runs, the controls of the checks find out.
"""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Callable

from domain.scope import Look
from domain.tree import Entry

MAX_BYTES = 2**20
_BETWEEN = rb"(?:\s|/\*.*?\*/|//[^\n]*\n)"
_TEST_MAIN = re.compile(rb"\bfunc" + _BETWEEN + rb"+TestMain" + _BETWEEN + rb"*\(", re.DOTALL)


def looking(read: Callable[[str], bytes]) -> Look:
    """`domain.scope.Rules.look`; `read` gives a blob by its digest."""

    def look(path: str, entry: Entry) -> str:
        judge = _judge_of(path)
        if judge is None:
            return ""
        if entry.size > MAX_BYTES:
            return f"a test of {entry.size} bytes, more than the {MAX_BYTES} that can be looked at"
        return judge(read(entry.digest))

    return look


def _judge_of(path: str) -> Callable[[bytes], str] | None:
    name = posixpath.basename(path)
    if name == "__init__.py":
        return _package
    return _go if name.endswith("_test.go") else None


def _package(data: bytes) -> str:
    try:
        statements = ast.parse(data).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "the __init__.py of tests that are there, and no Python that can be read"
    if all(isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) for node in statements):
        return ""
    return "code that runs before the tests that are there: the __init__.py of their folder"


def _go(data: bytes) -> str:
    return "its TestMain decides what every test of the package means" if _TEST_MAIN.search(data) else ""
