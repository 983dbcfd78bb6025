"""`countersign graph`: what waits for what, in an order's round by the workflow's own table, or in a session's file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal

import typer

from adapters.config.defaults import Policies
from adapters.config.order_file import read_order
from domain.checks import items_of
from domain.life import PlannedTodo
from domain.order import Order
from entrypoints.cli import common, drawing
from entrypoints.cli.drawing import Box
from entrypoints.cli.planning import load
from entrypoints.imports import without_collecting
from workflows.dag import Node, in_order
from workflows.nodes import nodes_of

Format = Literal["mermaid", "svg"]


def graph(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file of an order, or of a session.")],
    form: Annotated[Format, typer.Option("--format", help="How to draw it.")] = "mermaid",
    output: Annotated[Path | None, typer.Option(help="Write it here instead of on stdout.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The table itself, as JSON on stdout.")] = False,
) -> None:
    """Draw what waits for what: what a round of an order does, or the todos of a session.

    Of a session, an arrow leads from what has to be verified first; a dotted one from a subtask to its parent.

    Example: countersign graph examples/is_prime/order.yaml --format svg --output round.svg

    Example: countersign graph examples/session.yaml
    """
    if without_collecting("adapters.config.session_file").describes_session(file):
        boxes = boxes_of_session(load(file).todos)
    else:
        chosen = read_order(
            file, Policies(common.settings()).of(file)
        )  # the settings' secrets are known: it may not have them
        boxes = boxes_of_round(in_order(nodes_of(chosen)), chosen)
    if as_json:
        names = {box.key: box.name for box in boxes}
        common.emit_json(
            [{"name": box.name, "needs": [names[need] for need in box.needs], "title": box.title} for box in boxes]
        )
        return
    drawn = drawing.mermaid(boxes) if form == "mermaid" else drawing.svg(boxes)
    if output is None:
        common.out(drawn)
    else:
        output.write_text(drawn + "\n")


def boxes_of_round(nodes: Iterable[Node], order: Order | None = None) -> tuple[Box, ...]:
    """The table of a round; with an order, its items are listed in their nodes."""
    return tuple(Box(node.name, node.name, node.title, node.needs, below=_items(node, order)) for node in nodes)


def _items(node: Node, order: Order | None) -> tuple[str, ...]:
    spelling = {"criteria": "criterion", "checks": "check"}.get(node.name)
    if order is None or spelling is None:
        return ()
    names = [item.id for item in items_of(order) if item.spelling == spelling]
    return (", ".join(names) if names else "none",)


def boxes_of_session(todos: Iterable[PlannedTodo]) -> tuple[Box, ...]:
    """The todos, each after those that have to be verified before it can be."""
    listed = {todo.order.id: todo for todo in todos}
    below: defaultdict[str, list[str]] = defaultdict(list)
    for name, todo in listed.items():
        below[todo.parent].append(name)
    nodes = in_order(
        Node(name, (*todo.order.depends_on, *below.get(name, ())), todo.order.title) for name, todo in listed.items()
    )
    return tuple(
        Box(
            _key(node.name),
            node.name,
            common.visible(node.title),
            tuple(map(_key, node.needs)),
            frozenset(map(_key, below.get(node.name, ()))),
        )
        for node in nodes
    )


def _key(todo: str) -> str:
    """No word of Mermaid's own, such as `end`."""
    return f"todo_{todo.replace('-', '_')}"
