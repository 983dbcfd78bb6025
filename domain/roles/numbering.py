"""The numbers before the lines of a file that a role is shown, and the text without them. Nothing else has any."""

from __future__ import annotations

import re
from collections.abc import Iterable

_NUMBER = re.compile(r"^ *[0-9]+\t", re.MULTILINE)


def numbered(lines: Iterable[str], start: int) -> str:
    """Each line with its number before it, from `start` on."""
    return "".join(f"{number:>6}\t{line}\n" for number, line in enumerate(lines, start=start))


def unnumbered(text: str) -> str:
    """`text` as it was before `numbered`: of a line that begins with two numbers the second one stays."""
    return _NUMBER.sub("", text)
