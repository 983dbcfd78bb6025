"""Plain data that came out of a hostile process: decoded, compared with exact types, shown short. It trusts none of it.

The encoding is `driver.py`'s: null, booleans, numbers, strings and arrays stand for themselves, every object has one
key that says what it is: `dict` (an array of pairs), `float` (what JSON has no number for), `other` (a type's name).
"""

from __future__ import annotations

import json
import math
import reprlib
from typing import Any, NoReturn, TypeAlias

from domain.base import Value

Path: TypeAlias = "tuple[Path, str | int] | None"


class Other(Value):
    """A value of a type that is no plain data; it equals nothing that an order can expect."""

    name: str

    def __repr__(self) -> str:
        return f"<{printable(self.name)}>"


def parse(text: str) -> Any:
    """JSON from the hostile process. Raises `ValueError` or `RecursionError` for anything but one strict document."""
    return json.loads(text, parse_constant=_no_constant)


def decode(encoded: Any) -> Any:
    """The value that `encoded` stands for. Raises `ValueError` where it stands for none, `RecursionError` when deep."""
    if isinstance(encoded, list):
        return [decode(part) for part in encoded]
    if not isinstance(encoded, dict):
        return encoded
    match list(encoded.items()):
        case [("dict", list(pairs))]:
            return _dict(pairs)
        case [("float", "nan" | "inf" | "-inf" as name)]:
            return float(name)
        case [("other", str(name))]:
            return Other(name=name[:200])
    raise ValueError("an object that stands for nothing")


def encode(value: Any) -> Any:
    """The encoding of plain data, which `decode` reads; for what a trusted process answered, to be stored as JSON."""
    if isinstance(value, list):
        return [encode(part) for part in value]
    if isinstance(value, dict):
        return {"dict": [[key, encode(part)] for key, part in value.items()]}
    return {"float": str(value)} if isinstance(value, float) and value - value != 0 else value


def _dict(pairs: list[Any]) -> Any:
    if not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise ValueError("a dict of something else than pairs")
    if not all(isinstance(key, str) for key, _ in pairs):
        return Other(name="dict with a key that is no str")
    found = {key: decode(value) for key, value in pairs}
    if len(found) != len(pairs):
        raise ValueError("a dict with a key twice")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def difference(observed: Any, expected: Any) -> str | None:
    """None when equal, types included (True is not 1, 1 is not 1.0, NaN is NaN); else where the first difference is.

    The place reads as a subscript, `[3]['name']`, and is empty when the values differ as a whole.
    """
    todo: list[tuple[Any, Any, Path]] = [(observed, expected, None)]
    while todo:
        one, other, path = todo.pop()
        if type(one) is not type(other):
            return _place(path)
        if isinstance(one, list) and len(one) == len(other):
            todo += [(a, b, (path, n)) for n, (a, b) in enumerate(zip(one, other, strict=True))][::-1]
        elif isinstance(one, dict) and one.keys() == other.keys():
            todo += [(one[key], other[key], (path, key)) for key in reversed(other)]
        elif isinstance(one, (list, dict, Other)) or (one != other and not _both_nan(one, other)):
            return _place(path)
    return None


def _both_nan(one: Any, other: Any) -> bool:
    return isinstance(one, float) and isinstance(other, float) and math.isnan(one) and math.isnan(other)


def plain(value: Any) -> bool:
    """Whether a value can be given to another call as it is: nothing in it is an `Other`."""
    todo = [value]
    while todo:
        part = todo.pop()
        if isinstance(part, Other):
            return False
        todo += part if isinstance(part, list) else part.values() if isinstance(part, dict) else ()
    return True


def _place(path: Path) -> str:
    steps: list[str] = []
    while path is not None:
        path, step = path
        steps.append(f"[{shown(step)}]")
    return "".join(reversed(steps[-8:]))


_SHORT = reprlib.Repr()
_SHORT.maxlevel = 4
_SHORT.maxlist = 12
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 80


def shown(value: Any) -> str:
    """A value as Python writes it, short however large or deep it is, without control characters."""
    return printable(_SHORT.repr(value))[:300]


def printable(text: str) -> str:
    """`text` with everything escaped that does not print: control characters, halves of surrogate pairs."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
