"""Turns what a file says of todos, nested ones included, into planned ones; refuses with every problem found.

What stands around the todos in the file of a session is `session_file`'s; what an agent may say is `agent_todo`'s.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from adapters.config.files_beside import problems_beside
from adapters.config.layers import Fields, Layer, Layered, laid, layer_of
from adapters.config.order_file import only_trees, too_large, validated
from adapters.config.order_secrets import held, learn_names
from adapters.config.order_trees import OrderTrees
from adapters.config.policy_floor import problems_below, protecting
from adapters.config.problems import MAX_PROBLEMS, Place, and_more, dotted, given
from adapters.config.todo_links import problems_of_links
from adapters.config.yaml_document import Document
from domain.errors import Malformed, Problem
from domain.life import PlannedTodo
from domain.new_todos import MAX_TODOS
from domain.order import BaseRevision, Order
from domain.planning import MAX_NESTING, generated_id
from domain.policy_floor import NO_FLOOR, PolicyFloor


@dataclass(frozen=True)
class Context:
    """What todos are read with: their file, the layers below their own, the weakest first, and the project's floor.

    `folder` is what their paths are relative to, `order_file` whose folder has the files beside them.
    """

    document: Document
    folder: Path
    order_file: str
    layers: tuple[Layer, ...] = ()
    floor: PolicyFloor = NO_FLOOR


@dataclass(frozen=True)
class Written:
    """One todo as it stands in the file: `data` without its subtasks, `above` the place of its parent."""

    place: Place
    data: Fields
    above: Place | None
    order_index: int


@dataclass(frozen=True)
class Joining:
    """Where new todos go: below `parent` (empty for none), from `order_index` on, beside the ids that are `taken`.

    `signable`: whether there is anybody in the session who can sign, if the project has signers at all.
    """

    parent: str = ""
    order_index: int = 0
    taken: Collection[str] = frozenset()
    signable: bool = True


def plan_todos(
    context: Context, roots: Mapping[Place, JsonValue], joining: Joining
) -> tuple[list[PlannedTodo], list[Problem]]:
    """The todos at `roots` of the file, parents before their subtasks, and what is wrong with them.

    With a problem the todos are not to be used.
    """
    problems: list[Problem] = []
    written = list(flattened(context.document, roots, joining.order_index, problems))
    if len(written) > MAX_TODOS:
        place, what = written[MAX_TODOS].place, f"is one of {len(written)} todos"
        return [], [context.document.problem(place, what, f"expected at most {MAX_TODOS}")]
    reader = _Reader(context)
    orders = {one.place: order for one in written if (order := reader.read(one)) is not None}
    problems += reader.problems
    ids, doubled = identified(context.document, written, orders, joining)
    problems += doubled
    parents = {one.place: joining.parent if one.above is None else ids.get(one.above, "") for one in written}
    named = {place: order.model_copy(update={"id": ids[place]}) for place, order in orders.items() if place in ids}
    problems += problems_of_links(context.document, named, parents, joining.taken)
    planned = [
        PlannedTodo(
            order=named[one.place],
            order_file=context.order_file,
            parent=parents[one.place],
            order_index=one.order_index,
            floor=context.floor,
        )
        for one in written
        if one.place in named
    ]
    return planned, problems


def refuse(problems: list[Problem]) -> None:
    """Raises `Malformed` with `problems`, each once, sorted by file and line, unless there is none."""
    if not problems:
        return
    told = sorted(dict.fromkeys(problems), key=lambda problem: (problem.file, problem.line))
    if len(told) > MAX_PROBLEMS:
        last = told[MAX_PROBLEMS - 1]
        told = [*told[:MAX_PROBLEMS], and_more(len(told) - MAX_PROBLEMS, last.file, last.line)]
    raise Malformed(told)


def flattened(
    document: Document, roots: Mapping[Place, JsonValue], begin: int, problems: list[Problem]
) -> Iterator[Written]:
    """Every todo, a parent before its subtasks."""
    waiting: list[tuple[Place, JsonValue, Place | None, int, int]] = [
        (place, data, None, begin + n, 1) for n, (place, data) in enumerate(roots.items())
    ]
    waiting.reverse()
    while waiting:
        place, data, above, index, depth = waiting.pop()
        if not isinstance(data, dict):
            problems.append(document.problem(place, given(data), "expected a todo: an object as an order has it"))
            continue
        below = data.get("subtasks", [])
        yield Written(place, {name: value for name, value in data.items() if name != "subtasks"}, above, index)
        at = (*place, "subtasks")
        if not isinstance(below, list):
            problems.append(document.problem(at, given(below), "expected a list of todos"))
        elif below and depth == MAX_NESTING:
            problems.append(document.problem(at, "are nested too deep", f"expected at most {MAX_NESTING} levels"))
        else:
            waiting += [((*at, n), item, place, n, depth + 1) for n, item in reversed(list(enumerate(below)))]


class _Reader:
    """Reads the orders of one file. What ten thousand of them have in common is looked at once."""

    def __init__(self, context: Context) -> None:
        self.problems: list[Problem] = []
        self._context = context
        self._below = Layered(context.layers).data if context.layers else {}
        self._trees: dict[tuple[str, str], tuple[str, str | BaseRevision]] = {}
        self._beside: set[tuple[str, tuple[str, ...]]] = set()

    def read(self, one: Written) -> Order | None:
        """The order of one todo, its trees absolute; None after a problem that leaves none."""
        context = self._context
        own = layer_of(context.document, one.data, one.place)
        source = Layered([*context.layers, own], protecting(context.floor, laid(self._below, own.data)))
        order, problems = validated(source)
        self.problems += problems
        if order is None:
            if (partly := only_trees(source)) is not None:
                self._placed(partly, source)
            return None
        self.problems += problems_below(context.floor, order, source)
        self.problems += learn_names(order, source)
        placed = self._placed(order, source)
        if placed is None:
            # Its links are looked at all the same.
            return order
        self._look_beside(placed, source)
        line = context.document.line(one.place)
        if problem := too_large(placed, context.document.shown, line):
            self.problems.append(problem)
        return placed

    def _placed(self, order: Order, source: Layered) -> Order | None:
        key = (order.workspace, repr(order.base))
        if key not in self._trees:
            trees = OrderTrees(self._context.folder, source, of_session=True)
            found = trees.with_trees(order, None, None)
            self.problems += trees.problems
            if found is None or found.base is None:
                return None
            absolute = {"workspace": found.workspace, "base": found.model_dump(mode="json")["base"]}
            self.problems += held(absolute, source, "a todo")
            self._trees[key] = (found.workspace, found.resolved_base)
        workspace, base = self._trees[key]
        return order.model_copy(update={"workspace": workspace, "base": base})

    def _look_beside(self, order: Order, source: Layered) -> None:
        key = (order.workspace, order.files_beside)
        if not order.files_beside or key in self._beside:
            return
        found = problems_beside(order, Path(self._context.order_file).resolve().parent, source)
        self.problems += found
        if not found:
            self._beside.add(key)


def identified(
    document: Document, written: list[Written], orders: Mapping[Place, Order], joining: Joining
) -> tuple[dict[Place, str], list[Problem]]:
    """An id for each todo, its own or one made of its content and place; and those that are there twice."""
    problems: list[Problem] = []
    first: dict[str, Place] = {}
    ids: dict[Place, str] = {}
    taken = set(joining.taken)
    for place in (one.place for one in written if one.place in orders and orders[one.place].id):
        name = orders[place].id
        if name in taken or name in first:
            before = (
                f"first on line {document.line((*first[name], 'id'))}" if name in first else "one is in the session"
            )
            what = f"{name!r} names two todos, {before}"
            problems.append(document.problem((*place, "id"), what, "expected ids that are all different"))
        first.setdefault(name, place)
        ids[place] = name
    taken |= first.keys()
    for one in written:
        if one.place in orders and one.place not in ids:
            name = generated_id(orders[one.place].content, f"{joining.parent}/{dotted(one.place)}", taken)
            taken.add(name)
            ids[one.place] = name
    return ids, problems
