"""A unified diff in colours: the syntax of the file's type, and what was added and removed. It is text, never markup.

What could steer a terminal is made visible before anything looks at it. Very long lines and hunks are left uncoloured:
a highlighter may need very long for what somebody wrote on purpose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rich.syntax import Syntax
from rich.text import Text

from domain.shown_text import visible

THEME = "ansi_dark"
MOST_LINES = 1_500
"""Of a hunk that is coloured."""

LONGEST_LINE = 1_000
"""Characters; what is longer is cut when it is shown, and said to be."""

_HUNK = re.compile(r"@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@")
_STYLES = {"+": "green", "-": "red", " ": ""}


def coloured(path: str, diff: str, *, syntax: bool = True) -> Iterator[Text]:
    """The lines of one file's diff; without `syntax` only what was added and removed has a colour."""
    lines = diff.removesuffix("\n").split("\n") if diff else []
    starts = [place for place, text in enumerate(lines) if _HUNK.match(text)]
    for text in lines[: starts[0] if starts else len(lines)]:
        yield Text(short(visible(text)), "bold dim")
    lexer = Syntax.guess_lexer(path) if syntax else ""
    for place, start in enumerate(starts):
        end = starts[place + 1] if place + 1 < len(starts) else len(lines)
        yield Text(short(visible(lines[start])), "cyan")
        yield from _hunk(lexer, lines[start + 1 : end])


def short(line: str) -> str:
    """`line`, cut where it is very long."""
    if len(line) <= LONGEST_LINE:
        return line
    return f"{line[:LONGEST_LINE]} [... {len(line) - LONGEST_LINE} characters more]"


def _hunk(lexer: str, lines: list[str]) -> Iterator[Text]:
    """Each side is read as a whole, so that a string over several lines is one."""
    texts = [short(visible(line[1:])) for line in lines]
    signs = [line[:1] or " " for line in lines]
    sides = {sign: iter(_side(lexer, signs, texts, sign)) for sign in "+-"}
    for sign, text in zip(signs, texts, strict=True):
        if sign not in sides and sign != " ":
            yield Text(sign + text, "dim")
            continue
        if sign == " ":
            next(sides["-"])
        yield Text(sign, _STYLES[sign]).append_text(next(sides["-" if sign == "-" else "+"]))


def _side(lexer: str, signs: list[str], texts: list[str], side: str) -> list[Text]:
    """The lines that one side has, in colours where that does not take long."""
    mine = [text for sign, text in zip(signs, texts, strict=True) if sign in (side, " ")]
    if not lexer or not mine or len(mine) > MOST_LINES or max(map(len, mine)) >= LONGEST_LINE:
        return [Text(text) for text in mine]
    found = Syntax("", lexer, theme=THEME).highlight("\n".join(mine)).split("\n", allow_blank=True)
    plain = [line.plain for line in found]
    return list(found[: len(mine)]) if plain[: len(mine)] == mine else [Text(text) for text in mine]
