"""Which test functions a trusted file has, from its source alone; for files that cannot be imported where they should.

It follows pytest's rules for names (`python_functions`, `python_classes`, unittest's classes) and knows no parameters.
Conditional definitions, and tests that are inherited or made at run time, are not seen.
"""

from __future__ import annotations

import ast
from fnmatch import fnmatchcase

from domain.base import Message
from domain.suite.runs import Found

_PUTS_OFF = ("skip", "xfail", "expectedFailure")


class Function(Message):
    """A function's id, and whether its decorators, or its module's, let it be skipped or fail."""

    id: str
    put_off: bool = False


def functions_in(path: str, source: bytes, found: Found) -> tuple[Function, ...]:
    """The test functions of the file at `path`, none where it is no Python."""
    try:
        module = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    marked = any(
        isinstance(node, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id == "pytestmark" for target in node.targets)
        and _puts_off(node.value)
        for node in module.body
    )
    return tuple(_below(module.body, f"{path}::", found, marked, unittest=False))


def is_test_file(path: str, found: Found) -> bool:
    """Whether pytest looks for tests in a file of that name by itself."""
    name = path.rpartition("/")[2]
    return any(fnmatchcase(path if "/" in pattern else name, pattern) for pattern in found.python_files)


def _below(body: list[ast.stmt], prefix: str, found: Found, put_off: bool, *, unittest: bool) -> list[Function]:
    functions: dict[str, Function] = {}
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            patterns = ("test",) if unittest else found.python_functions
            if _named(node.name, patterns) and not any(_says(d, ("fixture",)) for d in node.decorator_list):
                off = put_off or any(map(_puts_off, node.decorator_list))
                functions[node.name] = Function(id=prefix + node.name, put_off=off)
        elif isinstance(node, ast.ClassDef):
            cases = any(ast.unparse(base).endswith("TestCase") for base in node.bases)
            if cases or (_named(node.name, found.python_classes) and not _is_made(node)):
                off = put_off or any(map(_puts_off, node.decorator_list))
                inside = _below(node.body, f"{prefix}{node.name}::", found, off, unittest=cases)
                functions |= {function.id: function for function in inside}
    return list(functions.values())


def _named(name: str, patterns: tuple[str, ...]) -> bool:
    return any(name.startswith(p) or (set(p) & set("*?[") and fnmatchcase(name, p)) for p in patterns)


def _is_made(node: ast.ClassDef) -> bool:
    """Whether the class has a constructor, for which pytest leaves it out."""
    return any(isinstance(part, ast.FunctionDef) and part.name in ("__init__", "__new__") for part in node.body)


def _puts_off(node: ast.expr) -> bool:
    return _says(node, _PUTS_OFF)


def _says(node: ast.expr, words: tuple[str, ...]) -> bool:
    names = (
        n.attr if isinstance(n, ast.Attribute) else n.id if isinstance(n, ast.Name) else "" for n in ast.walk(node)
    )
    return any(name.startswith(words) for name in names)
