"""Draws boxes and arrows as a Mermaid flow chart or as SVG. What they stand for is the caller's to say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

BOX_WIDTH, BOX_HEIGHT, GAP_X, GAP_Y, MARGIN = 210, 54, 60, 24, 20
MOST_NAME, MOST_TITLE = 24, 42
"""Characters that a box of the picture has room for."""

_ARROWS = {False: "-->", True: "-.->"}


@dataclass(frozen=True)
class Box:
    """`key`: its name in Mermaid's own language. Those in `needs` come before it in a list of boxes.

    `parts`: which of `needs` are parts of it; their arrows are dotted. `below`: further lines, where there is room.
    """

    key: str
    name: str
    title: str
    needs: tuple[str, ...] = ()
    parts: frozenset[str] = frozenset()
    below: tuple[str, ...] = ()


def mermaid(boxes: Sequence[Box]) -> str:
    """The boxes as a Mermaid flow chart."""
    lines = ["flowchart LR"]
    for box in boxes:
        text = "<br/>".join((f"<b>{_said(box.name)}</b>", _said(box.title), *map(_said, box.below)))
        lines.append(f'    {box.key}["{text}"]')
    lines += [f"    {need} {_ARROWS[need in box.parts]} {box.key}" for box in boxes for need in box.needs]
    return "\n".join(lines)


def _said(text: str) -> str:
    """As Mermaid shows it as it is: without what would end the label, or be taken for markup."""
    return escape(text, quote=False).replace('"', "#quot;").replace("`", "#96;")


def svg(boxes: Sequence[Box]) -> str:
    """The boxes as a picture: a column for each length of the longest way to one."""
    column: dict[str, int] = {}
    rows: Counter[int] = Counter()
    place: dict[str, tuple[int, int]] = {}
    for box in boxes:
        at = column[box.key] = 1 + max((column[need] for need in box.needs), default=-1)
        place[box.key] = (MARGIN + at * (BOX_WIDTH + GAP_X), MARGIN + rows[at] * (BOX_HEIGHT + GAP_Y))
        rows[at] += 1
    width = MARGIN * 2 + (max(rows, default=0) + 1) * (BOX_WIDTH + GAP_X) - GAP_X
    height = MARGIN * 2 + max(rows.values(), default=1) * (BOX_HEIGHT + GAP_Y) - GAP_Y
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif">',
        '<defs><marker id="tip" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" fill="#555"/></marker></defs>',
    ]
    parts += [_arrow(place[need], place[box.key], dotted=need in box.parts) for box in boxes for need in box.needs]
    parts += [_box(box, *place[box.key]) for box in boxes]
    return "\n".join([*parts, "</svg>"])


def _arrow(start: tuple[int, int], end: tuple[int, int], *, dotted: bool) -> str:
    x1, y1 = start[0] + BOX_WIDTH, start[1] + BOX_HEIGHT // 2
    x2, y2 = end[0], end[1] + BOX_HEIGHT // 2
    bend = f"M{x1},{y1} C{x1 + GAP_X // 2},{y1} {x2 - GAP_X // 2},{y2} {x2},{y2}"
    dashes = ' stroke-dasharray="4 4"' if dotted else ""
    return f'<path d="{bend}" fill="none" stroke="#555"{dashes} marker-end="url(#tip)"/>'


def _box(box: Box, x: int, y: int) -> str:
    return (
        f'<rect x="{x}" y="{y}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="6" fill="#f4f6fb" stroke="#334"/>'
        f'<text x="{x + 10}" y="{y + 22}" font-size="14" font-weight="bold">{_cut(box.name, MOST_NAME)}</text>'
        f'<text x="{x + 10}" y="{y + 42}" font-size="11">{_cut(box.title, MOST_TITLE)}</text>'
    )


def _cut(text: str, most: int) -> str:
    return escape(text if len(text) <= most else f"{text[: most - 1]}…", quote=False)
