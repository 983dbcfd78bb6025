"""The parameter sets of a test function that has one `pytest.mark.parametrize`. It changes nothing.

What is not written out in the decorator, such as a list with another name, what goes through fixtures (`indirect`) and
several decorators, whose sets multiply, count as none.
"""

from __future__ import annotations

import ast
from typing import NamedTuple

from domain.mutation.asserted import Function, called

_MARKS = ("pytest.mark", "mark")


class ParameterSets(NamedTuple):
    """`names` of the parameters, and for each set its values; None for a set that has marks of its own."""

    names: tuple[str, ...]
    values: tuple[tuple[ast.expr, ...] | None, ...]


def parameter_sets(function: Function) -> ParameterSets | None:
    """Those of `function`; None without exactly one decorator that has them in full."""
    found = [node for node in function.decorator_list if is_mark(node, "parametrize")]
    if len(found) != 1 or not isinstance(found[0], ast.Call):
        return None
    given = dict(zip(("argnames", "argvalues"), found[0].args, strict=False))
    given |= {keyword.arg or "**": keyword.value for keyword in found[0].keywords}
    if len(found[0].args) > 2 or not given.keys() <= {"argnames", "argvalues", "ids", "scope"}:
        return None
    names, values = _names(given.get("argnames")), given.get("argvalues")
    if not names or not isinstance(values, ast.List | ast.Tuple):
        return None
    if any(isinstance(value, ast.Starred) for value in values.elts):
        return None
    return ParameterSets(names, tuple(_set(value, names) for value in values.elts))


def is_mark(node: ast.AST, *names: str) -> bool:
    """Whether an expression is one of these marks of pytest, with arguments or without."""
    owner, _, name = called(node).rpartition(".")
    return owner in _MARKS and name in names


def _names(node: ast.expr | None) -> tuple[str, ...]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return tuple(name.strip() for name in node.value.split(",") if name.strip())
    if isinstance(node, ast.List | ast.Tuple):
        names = [part.value for part in node.elts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
        return tuple(names) if len(names) == len(node.elts) else ()
    return ()


def _set(node: ast.expr, names: tuple[str, ...]) -> tuple[ast.expr, ...] | None:
    """The values of one set, by the rules of pytest; None where they are marked, or not told one by one."""
    values = [node]
    if isinstance(node, ast.Call) and called(node) in ("pytest.param", "param"):
        if any(keyword.arg != "id" for keyword in node.keywords):
            return None
        values = node.args
    elif len(names) > 1:
        if not isinstance(node, ast.List | ast.Tuple):
            return None
        values = node.elts
    if len(values) != len(names) or any(isinstance(value, ast.Starred) for value in values):
        return None
    return tuple(values)
