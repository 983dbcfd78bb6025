"""Which values a test function of Python asserts, and of which it is sure that the test fails with another one.

Sure means: an honest value cannot equal both, and the test cannot pass without having compared. Where that is in
doubt, in loops, branches, `try`, after a `return`, under a context manager that may swallow a failure, with operands
that may equal anything, it is not sure. It changes nothing, and it knows no parameter sets.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from domain.mutation.literal_changes import leaf

Function = ast.FunctionDef | ast.AsyncFunctionDef

EQUAL = {"assertEqual", "assertEquals", "assertListEqual", "assertTupleEqual", "assertSetEqual", "assertDictEqual"}
EQUAL |= {"assertSequenceEqual", "assertCountEqual", "assertItemsEqual", "assertMultiLineEqual"}
"""Methods of unittest that compare their first two arguments with `==`, elements in any order at most."""
ONE_OPERAND = {"assertTrue", "assertFalse", "assertIsNone", "assertIsNotNone", "assert_"}
"""Methods of unittest whose second argument is a message."""
ENDS = {"skip", "skipTest", "importorskip", "xfail", "exit", "_exit", "fail"}
"""What may end a test before its end when it is called."""
SWALLOWS = re.compile(
    r"raise|suppress|warn|deprecat|sub_?test|expect|fail|ignore|swallow|except|catch|retry|error|flaky|todo|move_on",
    re.I,
)
"""Names of context managers and decorators under which a failed assertion may be no failure of the test."""

_OWN_SCOPE = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_NO_VALUE = (*_OWN_SCOPE, ast.JoinedStr)


class Operand(NamedTuple):
    """A literal, or a name that may stand for one. `identity`: compared by `is`. `raised`: an exception's class.

    `sure`: see above. Not `compared`: a value that goes into what is compared.
    """

    node: ast.expr
    sure: bool
    compared: bool
    identity: bool = False
    raised: bool = False


def called(node: ast.AST) -> str:
    """The dotted name of a call's function or of an expression, `` where it has none."""
    if isinstance(node, ast.Call):
        node = node.func
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    names.append(node.id if isinstance(node, ast.Name) else "")
    return ".".join(reversed(names))


def own(*nodes: ast.AST) -> Iterator[ast.AST]:
    """Everything below `nodes` and these themselves, without what only runs when it is called."""
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, _OWN_SCOPE):
            waiting.extend(ast.iter_child_nodes(node))


def reached(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that have run when the test passes: at its top level or in a `with`, before it may have ended."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.With | ast.AsyncWith) and not _may_swallow(statement):
            yield from reached(statement.body)
        if may_end(statement):
            return


def may_end(statement: ast.stmt) -> bool:
    """Whether the test may be over with that statement."""
    return any(_ends(node) for node in own(statement))


def _may_swallow(statement: ast.With | ast.AsyncWith) -> bool:
    """By its name; what is not called here, such as a parameter that is `raises(...)` in some sets, may too."""
    managers = [item.context_expr for item in statement.items]
    return any(not isinstance(manager, ast.Call) or SWALLOWS.search(called(manager)) for manager in managers)


def _ends(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return called(node).rpartition(".")[2] in ENDS
    return isinstance(node, ast.Return | ast.Raise | ast.Yield | ast.YieldFrom)


def sure_operands(function: Function) -> Iterator[Operand]:
    """Operands of comparisons that the test makes for certain and that have to hold."""
    matchers = {
        target.id
        for node in own(*function.body)
        if isinstance(node, ast.Assign) and _may_equal_anything(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for statement in reached(function.body):
        for left, right, identity in _equalities(statement):
            for node, other in ((left, right), (right, left)):
                value = _without_approx(node)
                named = any(isinstance(part, ast.Name) for part in ast.walk(other))
                doubtful = _may_equal_anything(other) or (isinstance(other, ast.Name) and other.id in matchers)
                if named and not doubtful and (not identity or _is_singleton(value)):
                    yield Operand(value, sure=True, compared=True, identity=identity)


def _equalities(statement: ast.stmt) -> Iterator[tuple[ast.expr, ast.expr, bool]]:
    """Pairs that have to be equal (False), or the same (True)."""
    if isinstance(statement, ast.Assert):
        yield from _of_condition(statement.test)
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        yield from _of_method(statement.value)


def _of_condition(condition: ast.expr) -> Iterator[tuple[ast.expr, ast.expr, bool]]:
    if isinstance(condition, ast.BoolOp) and isinstance(condition.op, ast.And):
        for part in condition.values:
            yield from _of_condition(part)
    elif isinstance(condition, ast.Compare) and len(condition.ops) == 1:
        (operator,), (right,) = condition.ops, condition.comparators
        if isinstance(operator, ast.Eq | ast.Is):
            yield condition.left, right, isinstance(operator, ast.Is)


def _of_method(call: ast.Call) -> Iterator[tuple[ast.expr, ast.expr, bool]]:
    owner, _, method = called(call).rpartition(".")
    arguments, keywords = call.args, {keyword.arg for keyword in call.keywords} - {"msg"}
    if owner != "self" or keywords or any(isinstance(argument, ast.Starred) for argument in arguments):
        return
    if method in ("assertTrue", "assert_") and arguments:
        yield from _of_condition(arguments[0])
    elif method in (*EQUAL, "assertIs") and len(arguments) in (2, 3):
        yield arguments[0], arguments[1], method == "assertIs"
    elif method == "assertAlmostEqual" and len(arguments) == 2:
        yield arguments[0], arguments[1], False


def _is_singleton(node: ast.expr) -> bool:
    literal = isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, bool))
    return literal or isinstance(node, ast.Name)


def _without_approx(node: ast.expr) -> ast.expr:
    plain = isinstance(node, ast.Call) and called(node) in ("pytest.approx", "approx")
    if plain and isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
        return node.args[0]
    return node


def _may_equal_anything(node: ast.expr) -> bool:
    """Whether it is a matcher by its looks: an instance or a constant, such as `ANY` and `IsInt()`, or an `approx`."""
    name = called(node).rpartition(".")[2]
    return name[:1].isupper() or name == "approx"


def other_operands(function: Function) -> Iterator[Operand]:
    """Literals and names anywhere in assertions: those that are compared, and those that go into what is."""
    for node in own(*function.body):
        if isinstance(node, ast.Assert):
            yield from _values(node.test, compared=False)
        elif isinstance(node, ast.Call) and called(node).rpartition(".")[2].lower().startswith("assert"):
            one = called(node).rpartition(".")[2] in ONE_OPERAND
            for argument in node.args[: 1 if one else 2]:
                yield from _values(argument, compared=not one)


def _values(node: ast.expr, compared: bool) -> Iterator[Operand]:
    """Operands of a comparison are compared; what an operand is made of goes into it. Indices are left alone."""
    waiting: list[tuple[ast.AST, bool]] = [(node, compared)]
    while waiting:
        part, compared = waiting.pop()
        if isinstance(part, ast.expr) and (isinstance(part, ast.Name) or leaf(part)):
            yield Operand(part, sure=False, compared=compared)
        elif isinstance(part, ast.Compare):
            waiting += [(operand, True) for operand in (part.left, *part.comparators)]
        elif isinstance(part, ast.BoolOp | ast.UnaryOp):
            waiting += [(child, compared) for child in ast.iter_child_nodes(part)]
        elif isinstance(part, ast.Subscript):
            waiting.append((part.value, False))
        elif not isinstance(part, _NO_VALUE):
            waiting += [(child, False) for child in ast.iter_child_nodes(part)]
