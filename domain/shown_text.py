"""Text that a worker or a model wrote, in a page of ours: shown as it is, and never taken for a line of the page.

Nothing is refused and little is cut: what steers a terminal is made visible, and Markdown sees code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

CHARACTERS = 300
"""Of a text that has a place within a line."""

BLOCK_CHARACTERS = 100_000
"""Of a text that has lines of its own."""

MARGIN = "    | "
"""Before each line of a block: to Markdown it is code, and no line begins as a heading or a verdict does."""

_TICKS = re.compile(r"`+")


def visible(text: str) -> str:
    """`text` with everything made visible that could steer a terminal or end a line unseen; tabs become spaces."""
    return "".join(c if c.isprintable() or c == "\n" else f"\\x{ord(c):02x}" for c in text.expandtabs())


def one_line(text: str, most: int = CHARACTERS) -> str:
    """`text` on one line of at most `most` characters."""
    line = visible(" ".join(text.split()))
    return line if len(line) <= most else f"{line[: most - 1]}…"


def code(text: str, most: int = CHARACTERS) -> str:
    """`text` on one line as code, whatever it has of Markdown's marks; `-` for none."""
    line = one_line(text, most)
    if not line:
        return "-"
    fence = "`" * (1 + max((len(ticks) for ticks in _TICKS.findall(line)), default=0))
    space = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{space}{line}{space}{fence}"


def codes(texts: Iterable[str]) -> str:
    """Each of `texts` as code, in a row."""
    return ", ".join(map(code, texts)) or "-"


def block(text: str) -> str:
    """`text` as lines of code of their own, with a blank line before and after; a word about what is cut."""
    short = text[:BLOCK_CHARACTERS]
    lines = visible(short).rstrip().split("\n")
    if len(short) < len(text):
        lines.append(f"[... {len(text) - len(short)} characters after this are in the evidence]")
    return "\n".join(["", *(f"{MARGIN}{line}".rstrip() for line in lines), ""])
