"""Python as its syntax tree has it: no comments, layout, docstrings, or kinds of quotes. It compiles nothing.

A docstring with examples (`>>>`) stays: it is a test. Whoever adds comments or docstrings that were asked for shows it
with new evidence, such as the output of the check that asked.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache

from domain.claims.volatile import without_stamps

_UNSAID = frozenset({"ctx", "kind", "type_comment", "type_ignores"})
"""Fields that follow from the others, or mean nothing."""

_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def python_form(text: str) -> str | None:
    """The tree of `text`, written down; None for what is no Python that can be read."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return "\n".join(_said(tree))


def _said(tree: ast.AST) -> Iterator[str]:
    """Each node before what is in it, with the length of each list, so that no two trees say the same.

    Without recursion: a sum of ten thousand terms is as deep as it is long.
    """
    waiting: list[object] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Constant):
            yield _constant(node.value)
        elif isinstance(node, ast.AST):
            kind = type(node).__name__
            yield kind
            fields = _fields(kind)
            values = [getattr(node, name, None) for name in fields]
            if isinstance(node, _DOCUMENTED) and _has_docstring(node):
                values[fields.index("body")] = node.body[1:]
            waiting.extend(reversed(values))
        elif isinstance(node, list):
            yield f"[{len(node)}"
            waiting.extend(reversed(node))
        else:
            yield repr(node)


@cache
def _fields(kind: str) -> tuple[str, ...]:
    node: type[ast.AST] = getattr(ast, kind)
    return tuple(name for name in node._fields if name not in _UNSAID)


def _constant(value: object) -> str:
    if isinstance(value, str):
        return f"={without_stamps(value)!r}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"={value:#x}"  # in decimal digits Python refuses large ones
    return f"={value!r}"


def _has_docstring(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    first = node.body[0] if node.body else None
    if not isinstance(first, ast.Expr) or not isinstance(first.value, ast.Constant):
        return False
    return isinstance(first.value.value, str) and ">>>" not in first.value.value
