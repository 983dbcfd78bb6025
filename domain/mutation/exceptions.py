"""Which exceptions and warnings a test function of Python expects, where it is sure that it fails with another one.

Sure means: the statement is reached, nothing around it may swallow what comes of it, and no honest code raises `OTHER`.
An exception by which a test or a run is ended is left alone: it would be no failure. It changes nothing.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from domain.mutation.asserted import SWALLOWS, Function, called, reached

OTHER = "BytesWarning"
"""What is expected instead: an exception, a warning, always there, and raised by nothing but `python -b`."""

_EXPECT = {"raises", "warns", "assertRaises", "assertRaisesRegex", "assertWarns", "assertWarnsRegex"}
_OWNERS = {"", "pytest", "self"}
_KEYWORDS = {"expected_exception", "expected_warning", "exception", "warning"}
_ENDS_MORE = re.compile(r"BaseException|BytesWarning|Group|Interrupt|Exit|Skip|XFail|Cancel", re.IGNORECASE)


def expected_exceptions(function: Function) -> Iterator[ast.expr]:
    """The expressions that name them: a class, or several in brackets, on one line."""
    for statement in reached(function.body):
        for call in _calls(statement):
            owner, _, name = called(call).rpartition(".")
            if name in _EXPECT and owner in _OWNERS:
                given = [*call.args[:1], *(k.value for k in call.keywords if k.arg in _KEYWORDS)]
                yield from (node for node in given[:1] if _is_named(node) and node.lineno == node.end_lineno)


def _calls(statement: ast.stmt) -> Iterator[ast.Call]:
    """The call that the statement is, or those by which it opens what nothing else swallows."""
    if isinstance(statement, ast.With | ast.AsyncWith):
        managers = [item.context_expr for item in statement.items]
        plain = [manager for manager in managers if isinstance(manager, ast.Call)]
        swallow = [m for m in managers if not isinstance(m, ast.Call) or SWALLOWS.search(called(m))]
        yield from (manager for manager in plain if swallow in ([], [manager]))
    elif isinstance(statement, ast.Expr | ast.Assign) and isinstance(statement.value, ast.Call):
        yield statement.value


def _is_named(node: ast.expr) -> bool:
    """Whether it names classes, none of them one that ends more than a test."""
    if isinstance(node, ast.Tuple):
        return bool(node.elts) and all(map(_is_named, node.elts))
    name = called(node).rpartition(".")[2] if isinstance(node, ast.Name | ast.Attribute) else ""
    of_pytest = isinstance(node, ast.Attribute) and name == "Exception"  # pytest.skip.Exception
    return name[:1].isupper() and not of_pytest and not _ENDS_MORE.search(name)
