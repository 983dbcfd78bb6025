"""Which literals of a Python test file to change, so that a test that depends on what it expects turns red.

One literal for each test function, or for each set of its parameters. It runs nothing, and reads nothing that is not
in the file: a function without a literal in an assertion, or whose marks say that it may fail, is not in the answer.
Source: DESIGN 8 "Expectation control".
"""

from __future__ import annotations

import ast
import random
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from domain.base import Message
from domain.mutation.asserted import Function, Operand, called, other_operands, reached, sure_operands
from domain.mutation.edits import Edit
from domain.mutation.exceptions import OTHER, expected_exceptions
from domain.mutation.literal_changes import Leaf, Source, leaf
from domain.mutation.parameter_sets import ParameterSets, parameter_sets
from domain.mutation.python_tests import TestFunction, parsed, test_functions

__all__ = ["Constraint", "Edit", "constraints"]


class Constraint(Message):
    """A change that a test should notice. `function`: its name, `Class::name` for a method.

    `item`: the place of the parameter set that is changed, of `items` in the decorator; None: every item has the
    change. Where pytest reports another number of items, a fixture or a class multiplies them, and `item` is no place
    among them. `decisive`: the unchanged and the changed assertion cannot both hold for an honest value.
    `shown` for people: `line 12: 4 -> 90417`.
    """

    function: str
    item: int | None
    edit: Edit
    decisive: bool
    shown: str
    items: int | None = None


def constraints(source: bytes, seed: int) -> tuple[Constraint, ...]:
    """At most one change for each function and item, in their order; none overlap, and all can be made at once.

    The changed source has the same lines, functions and numbers of items. The same seed makes the same changes.
    What is not UTF-8, or does not parse, has none.
    """
    tree = parsed(source)
    if tree is None:
        return ()
    chance = random.Random(seed)  # noqa: S311 - it has to be found again from the seed
    places = Source(source, chance)
    fixtures = _fixtures(tree)
    return tuple(
        constraint
        for name, test in test_functions(tree).items()
        for constraint in _of_function(name, test, places, chance, fixtures)
    )


def _fixtures(tree: ast.Module) -> set[str]:
    """Names that fixtures of the file take as arguments: a parameter of that name reaches more than its test."""
    return {
        argument.arg
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and any("fixture" in called(decorator) for decorator in node.decorator_list)
        for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
    }


class _Candidate(NamedTuple):
    """An operand in the body, or a parameter (`name`)."""

    operand: Operand
    name: str = ""


def _of_function(
    name: str, test: TestFunction, places: Source, chance: random.Random, fixtures: set[str]
) -> Iterator[Constraint]:
    """The changes of one function: those that decide first, then what is compared, then what goes into it."""
    sets = None if test.multiplied else parameter_sets(test.function)
    candidates = list(_candidates(test, sets, fixtures))
    for sure, compared in ((True, True), (False, True), (False, False)):
        fitting = [c for c in candidates if (c.operand.sure, c.operand.compared) == (sure, compared)]
        parameters = {c.name: c.operand for c in fitting if c.name}
        found = list(_of_sets(name, sets, parameters, places, chance)) if sets and parameters else []
        if not found:
            found = list(_of_body(name, [c.operand for c in fitting if not c.name], places, chance))
        if found:
            yield from found
            return


def _candidates(test: TestFunction, sets: ParameterSets | None, fixtures: set[str]) -> Iterator[_Candidate]:
    """Operands with names replaced by what they stand for; sure only where nothing else sees the name."""
    function = test.function
    for node in expected_exceptions(function):
        yield _Candidate(Operand(node, sure=not test.doubtful, compared=True, raised=True))
    uses = _Uses(function)
    parameters = sets.names if sets else ()
    for operand in (*sure_operands(function), *other_operands(function)):
        if not isinstance(operand.node, ast.Name):
            sure = operand.sure and not test.doubtful
            yield _Candidate(operand._replace(sure=sure))
            continue
        used = operand.node.id
        if used in parameters and used not in uses.stored:
            sure = operand.sure and not test.doubtful and uses.once(used) and used not in fixtures
            yield _Candidate(operand._replace(sure=sure), used)
        elif operand.sure and (value := uses.literal(used)) is not None:
            yield _Candidate(operand._replace(node=value, sure=not test.doubtful))


class _Uses:
    """How a function uses its names, nested functions included."""

    def __init__(self, function: Function) -> None:
        names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
        self._loaded = Counter(node.id for node in names if isinstance(node.ctx, ast.Load))
        self.stored = Counter(node.id for node in names if not isinstance(node.ctx, ast.Load))
        for node in ast.walk(function):
            if isinstance(node, ast.Global | ast.Nonlocal):
                self.stored.update(2 * node.names)
        self._assigned = {
            target.id: node.value
            for node in reached(function.body)
            if isinstance(node, ast.Assign | ast.AnnAssign)
            for target, *others in [node.targets if isinstance(node, ast.Assign) else [node.target]]
            if isinstance(target, ast.Name) and not others
        }

    def once(self, name: str) -> bool:
        """Whether it is read at one place, and nothing reads all names at once."""
        return self._loaded[name] == 1 and not self._loaded.keys() & {"locals", "vars", "eval", "exec", "request"}

    def literal(self, name: str) -> ast.expr | None:
        """The literal that the name stands for where it is read."""
        value = self._assigned.get(name)
        return value if value and leaf(value) and self.stored[name] == 1 and self.once(name) else None


def _of_body(name: str, operands: list[Operand], places: Source, chance: random.Random) -> Iterator[Constraint]:
    chance.shuffle(operands)
    if (constraint := _changed(name, operands, places)) is not None:
        yield constraint


def _of_sets(
    name: str, sets: ParameterSets, parameters: dict[str, Operand], places: Source, chance: random.Random
) -> Iterator[Constraint]:
    for item, values in enumerate(sets.values):
        operands = [
            parameters[named]._replace(node=value)
            for named, value in zip(sets.names, values or (), strict=False)
            if named in parameters
        ]
        chance.shuffle(operands)
        if (constraint := _changed(name, operands, places)) is not None:
            yield constraint.model_copy(update={"item": item, "items": len(sets.values)})


def _changed(name: str, operands: list[Operand], places: Source) -> Constraint | None:
    """The first of the operands that can be changed, one whose change is sure before the others."""
    of = [(o, Leaf(o.node, True) if o.raised else leaf(o.node)) for o in operands]
    leaves = [(operand, found) for operand, found in of if found]
    for operand, found in sorted(leaves, key=lambda pair: not pair[1].sure):
        edit = places.written(found.node, OTHER) if operand.raised else places.change(found.node, operand.identity)
        if edit is not None:
            decisive = operand.sure and found.sure
            shown = places.shown(found.node, edit)
            return Constraint(function=name, item=None, edit=edit, decisive=decisive, shown=shown)
    return None
