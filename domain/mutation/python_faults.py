"""Faults in Python, from the syntax tree: another comparison, another operator, another value, nothing returned.

Never in what decides nothing: docstrings, annotations, imports, `if TYPE_CHECKING`, what is only logged; nor in what
keeps a loop from ending. The source is a stranger's: it is parsed, never run; what the parser cannot take has none.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

from domain.mutation.edits import Edit, edited
from domain.mutation.faults import Fault

_COMPARISONS = {
    **{"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"},
    **{"is": "is not", "is not": "is", "in": "not in", "not in": "in"},
}
_OPERATORS = {
    **{"+": "-", "-": "+", "*": "/", "/": "*", "//": "*", "%": "*", "**": "*", "@": "*"},
    **{"<<": ">>", ">>": "<<", "&": "|", "|": "&", "^": "&"},
}
_AUGMENTED = {f"{old}=": f"{new}=" for old, new in _OPERATORS.items()}
_BOOLEANS = {"and": "or", "or": "and"}

_LOGS = re.compile(r"(?:\w+\.)*_?(?:log|logger|logging|LOG|LOGGER|warnings)\.\w+|print")
_DEFINITIONS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_HAS_NONE = (ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.JoinedStr)
_DELETABLE = (ast.Assign, ast.AugAssign, ast.Raise, ast.Delete, ast.Expr)
_BOM = b"\xef\xbb\xbf"
_HUGE = 10**100
"""From here an integer is written in hexadecimal: Python refuses to write very long ones in decimal."""


def python_faults(source: bytes, lines: frozenset[int]) -> list[Fault]:
    """Every fault that begins on one of `lines` (from 1). Whether one still parses is `parses`' to say."""
    tree = _parsed(source)
    if tree is None:
        return []
    places = _Places(source)
    return [
        fault
        for node in _run(tree)
        if _meets(node, lines)
        for fault in _faults(node, places, lines)
        if fault.line in lines
    ]


def parses(source: bytes, fault: Fault) -> bool:
    """Whether the source with this fault can still be parsed."""
    return _parsed(edited(source, [fault.edit])) is not None


def _parsed(source: bytes) -> ast.Module | None:
    try:
        return ast.parse(source.removeprefix(_BOM).decode())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _meets(node: ast.AST, lines: frozenset[int]) -> bool:
    first, last = getattr(node, "lineno", None), getattr(node, "end_lineno", None)
    return first is not None and last is not None and not lines.isdisjoint(range(first, last + 1))


class _Places:
    """The bytes of a source by the places of its syntax tree."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._starts = [len(_BOM) if source.startswith(_BOM) else 0]
        for line in source[self._starts[0] :].splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Where `node` begins and ends."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = self._starts[node.lineno - 1] + node.col_offset
        return start, self._starts[node.end_lineno - 1] + node.end_col_offset

    def replaced(self, node: ast.expr | ast.stmt, text: str, weak: bool = False) -> Fault:
        """`text` in the place of `node`."""
        start, end = self.span(node)
        if text[0].isalpha() and self._source[start - 1 : start].isalpha():  # as in `return[a]`
            text = f" {text}"
        return Fault(Edit(start=start, end=end, text=text), node.lineno, weak)

    def text(self, node: ast.expr) -> str:
        """`node` as it is written."""
        start, end = self.span(node)
        return self._source[start:end].decode()

    def between(self, left: ast.expr, right: ast.expr, operators: dict[str, str]) -> Iterator[Fault]:
        """Another operator between two operands; none where a comment stands there, too."""
        start, end = self.span(left)[1], self.span(right)[0]
        text = self._source[start:end].decode()
        word = " ".join(re.sub(r"[\s()\\]+", " ", text).split())
        found = re.search(r"[\s\\]+".join(re.escape(part) for part in word.split()), text)
        if word not in operators or found is None:
            return
        first = start + len(text[: found.start()].encode())
        line = self._source.count(b"\n", 0, first) + 1
        yield Fault(Edit(start=first, end=first + len(found[0].encode()), text=operators[word]), line)


def _run(tree: ast.Module) -> Iterator[ast.AST]:
    """The nodes that decide something when the module is run. Without recursion: a stranger chose the depth."""
    waiting: list[tuple[ast.AST, bool]] = [(tree, False)]
    while waiting:
        node, in_loop = waiting.pop()
        yield node
        in_loop = (in_loop or isinstance(node, ast.While)) and not isinstance(node, _DEFINITIONS)
        waiting += [(child, in_loop) for child in _children(node) if not _decides_nothing(child, in_loop)]


def _children(node: ast.AST) -> Iterator[ast.AST]:
    guard = isinstance(node, ast.If) and _is_guard(node.test)
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns") or (guard and name == "test"):
            continue
        children = value if isinstance(value, list) else [value]
        if not (guard and name == "body"):
            yield from (child for child in children if isinstance(child, ast.AST))


def _is_guard(test: ast.expr) -> bool:
    """`if TYPE_CHECKING`, and `if __name__ == "__main__"`, which no test imports."""
    subject = test.left if isinstance(test, ast.Compare) else test
    name = subject.id if isinstance(subject, ast.Name) else subject.attr if isinstance(subject, ast.Attribute) else ""
    return name in ("TYPE_CHECKING", "__name__")


def _decides_nothing(node: ast.AST, in_loop: bool) -> bool:
    """Or too much: what is assigned in a `while` may be what ends it."""
    if isinstance(node, _HAS_NONE) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
        return True
    if isinstance(node, ast.Assign | ast.AugAssign) and in_loop:
        return True
    if isinstance(node, ast.Assign):
        return any(isinstance(target, ast.Name) and target.id.startswith("__") for target in node.targets)
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and _only_logs(node.value.func)


def _only_logs(called: ast.expr) -> bool:
    parts: list[str] = []
    while isinstance(called, ast.Attribute):
        parts.append(called.attr)
        called = called.value
    return isinstance(called, ast.Name) and _LOGS.fullmatch(".".join([*parts, called.id][::-1])) is not None


def _faults(node: ast.AST, places: _Places, lines: frozenset[int]) -> Iterator[Fault]:
    """Those of this node alone."""
    match node:
        case ast.Compare(left=left, comparators=comparators):
            for before, after in pairwise([left, *comparators]):
                yield from places.between(before, after, _COMPARISONS)
        case ast.BinOp(left=left, right=right):
            yield from places.between(left, right, _OPERATORS)
        case ast.AugAssign(target=target, value=value):
            yield from places.between(target, value, _AUGMENTED)
        case ast.BoolOp(values=values):
            for before, after in pairwise(values):
                yield from places.between(before, after, _BOOLEANS)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield places.replaced(node, f"({places.text(operand)})")
        case ast.If(test=test) | ast.IfExp(test=test) if not _is_guard(test):
            if isinstance(test, ast.Name | ast.Attribute | ast.Call | ast.Subscript):
                yield places.replaced(test, f"not {places.text(test)}")
        case ast.Return(value=ast.expr() as value):
            if not (isinstance(value, ast.Constant) and value.value is None):
                yield places.replaced(value, "None")
        case ast.Constant(value=value):
            if other := _other(value):
                yield places.replaced(node, other, weak=isinstance(value, str))
    if isinstance(node, _DELETABLE) and lines.issuperset(range(node.lineno, (node.end_lineno or node.lineno) + 1)):
        yield places.replaced(node, "pass")


def _other(value: object) -> str:
    """Another value of the same kind, as it is written; empty for a kind that has none here."""
    match value:
        case bool():
            return str(not value)
        case int():
            return str(value + 1) if value < _HUGE else hex(value + 1)
        case float():
            return f"({value!r} + 1.0)" if abs(value) < _HUGE else "1.0"
        case str():
            return '"mutated"' if value != "mutated" else '""'
    return ""
