"""How a problem in a file names a place and a value: on one line, short, in words."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Protocol

from pydantic import JsonValue

from domain.errors import Problem
from domain.fields import SHOWN, quoted

MAX_PROBLEMS = 200
"""How many a file's values are told of one by one; the rest is counted."""

Place = tuple[str | int, ...]
"""The way from a file's root to a value: names of fields and places in lists."""


class Source(Protocol):
    """Plain data that knows where each part of it was written: one file, or several laid over one another."""

    @property
    def data(self) -> JsonValue:
        """What is written there."""
        ...

    def problem(self, place: Place, what: str, expected: str, *, at_key: bool = False) -> Problem:
        """What is wrong at `place` of the data, or with the key that it ends with, as a line with file and line."""
        ...

    def is_spoiled(self, place: Place) -> bool:
        """Whether a problem with the value at `place`, or around it, is told already."""
        ...


_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


def shown_as(path: Path) -> str:
    """`path` as the user gave it, on one line whatever is in it."""
    text = str(path)
    return text if text.isprintable() else repr(text)[1:-1]


def dotted(place: Place) -> str:
    """`acceptance_criteria[2].params.path`; the root is `file`."""
    text = ""
    for part in place:
        if isinstance(part, int):
            text += f"[{part}]"
        elif _PLAIN.fullmatch(part):
            text += f".{part}" if text else part
        else:
            text += f"[{quoted(part)}]"
    return text or "file"


def given(value: Any) -> str:
    """What somebody wrote: its type and, where that is short, its value."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            digits = str(value)
            return f"the number {digits if len(digits) <= SHOWN else f'{digits[:SHOWN]}...'}"
        case str():
            return f"the text {quoted(value)}" if value else "empty text"
        case list():
            return f"a list of {len(value)}" if value else "an empty list"
        case dict():
            return f"an object with {listed([quoted(str(key)) for key in value], 4)}" if value else "an empty object"
        case _:
            return f"a {type(value).__name__}"


def listed(words: list[str], most: int = 40) -> str:
    """`a, b, c`, and how many more there are."""
    rest = len(words) - most
    return ", ".join(words[:most]) + (f" and {rest} more" if rest > 0 else "")


def and_more(count: int, shown: str, line: int) -> Problem:
    """Stands for `count` problems that are not told, after the one on `line`."""
    return Problem(file=shown, line=line, field="file", what=f"has {count} more problems", expected="expected none")
