"""What a literal of Python changes into: another value of the same kind, far away. It does not choose the literal.

Only the literal's own bytes change, no line is added, and the new value equals the old one under no comparison of the
language or of a test framework that is asked for equality, tolerances by default included.
"""

from __future__ import annotations

import ast
import math
import random
import re
from typing import NamedTuple

from domain.mutation.edits import Edit

BOM = b"\xef\xbb\xbf"
LETTERS = "abcdefghijklmnopqrstuvwxyz"
FAR = 10**9
"""Up to here, five digits more are no rounding: a comparison that takes a millionth for nothing still sees them."""
DECIMAL = 10**100
"""Longer integers are written in hexadecimal: Python refuses to write very long ones in decimal."""
SHOWN = 40

_QUOTE = re.compile(rb'[A-Za-z]{0,2}("""|\'\'\'|"|\')')
_NEWLINE = re.compile(rb"\r\n|\r|\n")


class Leaf(NamedTuple):
    """The part of a literal that is changed. Not `sure`: the whole may stay equal, such as a key set once more."""

    node: ast.expr
    sure: bool


def leaf(node: ast.expr) -> Leaf | None:
    """What to change in the literal `node`: itself, the last element that can be, or a container that is empty."""
    if isinstance(node, ast.Constant):
        return Leaf(node, True) if isinstance(node.value, int | float | str | bytes | None) else None
    if isinstance(node, ast.UnaryOp):
        negative = isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant)
        return Leaf(node, True) if negative and type(_number(node)) in (int, float) else None
    if isinstance(node, ast.List | ast.Tuple | ast.Set | ast.Dict):
        elements = node.values if isinstance(node, ast.Dict) else node.elts
        sure = not isinstance(node, ast.Dict) or _keys_differ(node)
        if not elements:
            return Leaf(node, True)
        found = next(filter(None, map(leaf, reversed(elements))), None)
        return found and Leaf(found.node, found.sure and sure)
    return None


def _keys_differ(node: ast.Dict) -> bool:
    """Whether no value of a dictionary's display can hide another one."""
    keys = [key.value for key in node.keys if isinstance(key, ast.Constant)]
    return len(set(keys)) == len(node.keys)


def _number(node: ast.expr) -> int | float | None:
    """The value of a number, its sign included; None for anything else, `-True` too."""
    sign = 1
    if isinstance(node, ast.UnaryOp):
        sign, node = -1, node.operand
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        assert isinstance(node.value, int | float)
        return sign * node.value
    return None


class Source:
    """A source with the places of its syntax tree, and the chance that its changes follow from."""

    def __init__(self, source: bytes, chance: random.Random) -> None:
        self._source = source
        self._chance = chance
        self._lines = [len(BOM) if source.startswith(BOM) else 0, *(found.end() for found in _NEWLINE.finditer(source))]

    def change(self, node: ast.expr, identity: bool) -> Edit | None:
        """The edit of a leaf, which `identity` compares by `is`; None for what is not written as literals are."""
        start = self._lines[node.lineno - 1] + node.col_offset
        if isinstance(node, ast.List | ast.Tuple | ast.Dict):
            text = f"{self._key()!r}: {self._far()}" if isinstance(node, ast.Dict) else f"{self._far()}"
            text += "," if isinstance(node, ast.Tuple) else ""
            return Edit(start=start + 1, end=start + 1, text=text)
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
            quote = _QUOTE.match(self._source, start)
            return quote and Edit(start=quote.end(), end=quote.end(), text=self._key())
        return Edit(start=start, end=self._end(node), text=self._other(node, identity))

    def written(self, node: ast.expr, text: str) -> Edit:
        """The edit that puts `text` in the place of the whole of `node`."""
        return Edit(start=self._lines[node.lineno - 1] + node.col_offset, end=self._end(node), text=text)

    def before(self, statement: ast.stmt) -> Edit:
        """The edit that puts a statement which fails before a simple one, on its line."""
        start = self._lines[statement.lineno - 1] + statement.col_offset
        return Edit(start=start, end=start, text=f'raise AssertionError("{self._key()}"); ')

    def after(self, statement: ast.stmt) -> Edit:
        """The edit that puts a statement which fails behind a simple one, on its last line."""
        end = self._end(statement)
        return Edit(start=end, end=end, text=f'; raise AssertionError("{self._key()}")')

    def shown(self, node: ast.expr, edit: Edit) -> str:
        """`line 12: 4 -> 90417`, the literals shortened."""
        start, end = self._lines[node.lineno - 1] + node.col_offset, self._end(node)
        before = self._source[start:end]
        after = self._source[start : edit.start] + edit.text.encode() + self._source[edit.end : end]
        return f"line {node.lineno}: {_short(before)} -> {_short(after)}"

    def _end(self, node: ast.expr | ast.stmt) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._lines[node.end_lineno - 1] + node.end_col_offset

    def _other(self, node: ast.expr, identity: bool) -> str:
        value = node.value if isinstance(node, ast.Constant) else None
        if isinstance(value, bool):
            return str(not value)
        number = _number(node)
        if number is None:
            # `is` with a number is a warning of the compiler's, which a project may have made an error.
            return "True" if identity else str(self._far())
        if isinstance(number, int):
            other = number + int(math.copysign(self._far(), number)) if abs(number) < FAR else 3 * number
            return str(other) if abs(other) < DECIMAL else hex(other)
        if math.isinf(number):
            return f"{self._far()}.5"
        return repr(number + math.copysign(self._far(), number) if abs(number) < FAR else number / 2)

    def _far(self) -> int:
        return self._chance.randrange(10_007, 99_992, 2)

    def _key(self) -> str:
        return "".join(self._chance.choices(LETTERS, k=8))


def _short(literal: bytes) -> str:
    text = literal.decode()
    line = text.splitlines()[0]
    return line if line == text and len(line) <= SHOWN else f"{line[:SHOWN]}..."
