"""Where a test function of Python can be made to fail for certain: by a statement that raises, beside one that runs.

For functions of which no change of what they expect decides anything. It runs nothing and keeps every line where it is.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator

from domain.base import Message
from domain.mutation.asserted import may_end, reached
from domain.mutation.edits import Edit
from domain.mutation.literal_changes import Source
from domain.mutation.python_tests import parsed, test_functions

_COMPOUND = (ast.With, ast.AsyncWith, ast.For, ast.AsyncFor, ast.While, ast.If, ast.Try, ast.TryStar, ast.Match)
_NOT_BEFORE = (*_COMPOUND, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class Stop(Message):
    """A change that the function `function`, named as in `Constraint`, cannot pass with."""

    function: str
    edit: Edit


def stops(source: bytes, seed: int, *, late: bool = False) -> tuple[Stop, ...]:
    """At most one for each function, in their order; none where it is in doubt what a failure in it means.

    It is as early as can be, or where it is to be `late` behind the last statement that runs for certain: what the test
    calls has been called by then.
    """
    tree = parsed(source)
    if tree is None:
        return ()
    chance = random.Random(seed)  # noqa: S311 - it has to be found again from the seed
    places = Source(source, chance)
    found = []
    for name, test in test_functions(tree).items():
        beside = [] if test.doubtful else list(_places(test.function.body))
        passed = [statement for statement in beside if late and not may_end(statement)]
        if passed:
            found.append(Stop(function=name, edit=places.after(passed[-1])))
        elif beside:
            found.append(Stop(function=name, edit=places.before(beside[0])))
    return tuple(found)


def _places(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements that the test reaches and that another one can stand beside on the same line."""
    for statement in reached(body):
        is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if not is_text and not isinstance(statement, _NOT_BEFORE):
            yield statement
