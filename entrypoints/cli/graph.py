"""`countersign graph`: the DAG of an order's round, drawn from the same table that the workflow runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from adapters.config.order_file import read_order
from domain.checks import items_of
from domain.order import Order
from entrypoints.cli import common
from workflows.dag import Node, in_order
from workflows.verification import nodes_of

Format = Literal["mermaid", "svg"]

BOX_WIDTH, BOX_HEIGHT, GAP_X, GAP_Y, MARGIN = 210, 54, 60, 24, 20


def graph(
    order: Annotated[Path, typer.Argument(help="An order's file.")],
    form: Annotated[Format, typer.Option("--format", help="How to draw it.")] = "mermaid",
    output: Annotated[Path | None, typer.Option(help="Write it here instead of on stdout.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The table itself, as JSON on stdout.")] = False,
) -> None:
    """Draw what a round of an order does, and what waits for what.

    Example: countersign graph examples/is_prime/order.yaml --format svg --output round.svg
    """
    common.settings()  # whose secrets the order must not have
    chosen = read_order(order)
    nodes = in_order(nodes_of(chosen))
    if as_json:
        common.emit_json([{"name": node.name, "needs": node.needs, "title": node.title} for node in nodes])
        return
    drawn = mermaid(nodes, chosen) if form == "mermaid" else svg(nodes)
    if output is None:
        common.out(drawn)
    else:
        output.write_text(drawn + "\n")


def mermaid(nodes: tuple[Node, ...], order: Order | None = None) -> str:
    """The table as a Mermaid flow chart; with an order, its items are listed in their nodes."""
    lines = ["flowchart LR"]
    for node in nodes:
        lines.append(f'    {node.name}["<b>{node.name}</b><br/>{node.title}{_items(node, order)}"]')
    lines += [f"    {need} --> {node.name}" for node in nodes for need in node.needs]
    return "\n".join(lines)


def _items(node: Node, order: Order | None) -> str:
    spelling = {"criteria": "criterion", "checks": "check"}.get(node.name)
    if order is None or spelling is None:
        return ""
    names = [item.id for item in items_of(order) if item.spelling == spelling]
    return "<br/>" + ", ".join(names) if names else "<br/>none"


def svg(nodes: tuple[Node, ...]) -> str:
    """The table as a picture: a column for each length of the longest way to a node."""
    column: dict[str, int] = {}
    for node in nodes:
        column[node.name] = 1 + max((column[need] for need in node.needs), default=-1)
    rows: dict[str, int] = {}
    for node in nodes:
        rows[node.name] = sum(column[name] == column[node.name] for name in rows)
    place = {
        name: (MARGIN + column[name] * (BOX_WIDTH + GAP_X), MARGIN + row * (BOX_HEIGHT + GAP_Y))
        for name, row in rows.items()
    }
    width = MARGIN * 2 + (max(column.values()) + 1) * (BOX_WIDTH + GAP_X) - GAP_X
    height = MARGIN * 2 + (max(rows.values()) + 1) * (BOX_HEIGHT + GAP_Y) - GAP_Y
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif">',
        '<defs><marker id="tip" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" fill="#555"/></marker></defs>',
    ]
    parts += [_arrow(place[need], place[node.name]) for node in nodes for need in node.needs]
    parts += [_box(node, *place[node.name]) for node in nodes]
    return "\n".join([*parts, "</svg>"])


def _arrow(start: tuple[int, int], end: tuple[int, int]) -> str:
    x1, y1 = start[0] + BOX_WIDTH, start[1] + BOX_HEIGHT // 2
    x2, y2 = end[0], end[1] + BOX_HEIGHT // 2
    bend = f"M{x1},{y1} C{x1 + GAP_X // 2},{y1} {x2 - GAP_X // 2},{y2} {x2},{y2}"
    return f'<path d="{bend}" fill="none" stroke="#555" marker-end="url(#tip)"/>'


def _box(node: Node, x: int, y: int) -> str:
    return (
        f'<rect x="{x}" y="{y}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="6" fill="#f4f6fb" stroke="#334"/>'
        f'<text x="{x + 10}" y="{y + 22}" font-size="14" font-weight="bold">{node.name}</text>'
        f'<text x="{x + 10}" y="{y + 42}" font-size="11">{node.title}</text>'
    )
