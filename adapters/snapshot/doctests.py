"""Which examples of the base's docstrings and texts a worker took out or rewrote. It parses; nothing of theirs is run.

Examples stand beside the code that they test, in files that the work may change: `doctest` would run what the worker
wrote. Not seen: `__test__`, docstrings of what is defined under a condition or made at run time.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from doctest import DocTestParser
from typing import NamedTuple

from domain.tree import Change, Entry, Manifest

LARGEST = 1024**2  # bytes of a file that is looked at
SHOWN = 20  # examples of a file that are told
LINE = 100  # characters of one


class Example(NamedTuple):
    """What is run, and what it has to print."""

    source: str
    want: str


Examples = tuple[Example, ...]
"""Those of one docstring, or of one text: they share their names."""


def lost_examples(
    base: Manifest,
    tree: Manifest,
    accepted: Iterable[Change],
    unprotect: Callable[[str], bool],
    read: Callable[[str], bytes],
) -> dict[str, tuple[str, ...]]:
    """The first lines of the base's examples that are not in `tree` any more, by path.

    A file that went may have been moved: its examples are looked for in those that came. Raises what `read` raises.
    """
    accepted = list(accepted)
    before = {
        change.path: found
        for change in accepted
        if change.kind != "added" and not unprotect(change.path) and (found := _of(base.by_path[change.path], read))
    }
    if not before:
        return {}
    came = [e for c in accepted if c.kind == "added" for e in _of(tree.by_path[c.path], read)]
    lost = {}
    for path, docstrings in before.items():
        entry = tree.by_path.get(path)
        there = _of(entry, read) if entry else came
        gone = [example for wanted in docstrings for example in _gone(wanted, there)]
        if gone:
            lost[path] = tuple(example.source.partition("\n")[0][:LINE] for example in gone[:SHOWN])
    return lost


def _gone(wanted: Examples, there: Sequence[Examples]) -> Examples:
    """What is missing of one docstring's examples in the docstring that has the most of them."""
    return min((_missing(wanted, found) for found in there), key=len, default=wanted)


def _missing(wanted: Examples, found: Examples) -> Examples:
    """The examples of `wanted` that `found` does not have, in their order.

    What stands between them must be no statement: it could give another meaning to the names that they use.
    """
    left = iter(found)
    for number, example in enumerate(wanted):
        for other in left:
            if other == example:
                break
            if _binds(other.source):
                return wanted[number:]
        else:
            return wanted[number:]
    return ()


def _binds(source: str) -> bool:
    try:
        expression = ast.parse(source.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    return any(isinstance(node, ast.NamedExpr) for node in ast.walk(expression))


def _of(entry: Entry, read: Callable[[str], bytes]) -> tuple[Examples, ...]:
    """The examples of a file, docstring by docstring; of what is no Python, those of the whole text."""
    if entry.kind != "file" or entry.size > LARGEST:
        return ()
    data = read(entry.digest)
    if b">>>" not in data:
        return ()
    try:
        texts = list(_docstrings(ast.parse(data))) if entry.path.endswith(".py") else [data.decode()]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    return tuple(examples for text in texts if (examples := _in(text)))


def _docstrings(node: ast.Module | ast.ClassDef) -> Iterator[str]:
    """Where doctest looks; of what is defined twice, the last."""
    yield ast.get_docstring(node, clean=False) or ""
    last = {n.name: n for n in node.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)}
    for inner in last.values():
        if isinstance(inner, ast.ClassDef):
            yield from _docstrings(inner)
        else:
            yield ast.get_docstring(inner, clean=False) or ""


def _in(text: str) -> Examples:
    try:
        return tuple(Example(found.source, found.want) for found in DocTestParser().get_examples(text))
    except ValueError:
        return ()  # doctest itself refuses such a text
