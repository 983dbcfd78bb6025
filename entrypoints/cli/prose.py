"""Long texts of roles for a terminal: wrapped, indented and cut, with nothing in them that steers it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Console
from rich.text import Text

from domain.roles.opinion import Quote
from entrypoints.cli.output import counted, one_line, visible

WIDEST = 110
"""Characters of a line: longer ones are hard to read."""

FEW_LINES, FEW_QUOTES = 4, 2
"""Of one text, and of what it quotes, unless everything is wanted."""

LABEL = 10
"""Characters of the word before a text: who says it."""


def told(console: Console, label: Text, text: str, *, verbose: bool, indent: int = 4) -> None:
    """Print `text` in a column after `label`; without `verbose` its first lines, and how many more there are."""
    start = indent + LABEL + 2
    lines = wrapped(console, text, min(console.width, WIDEST) - start)
    shown = lines if verbose or len(lines) <= FEW_LINES + 1 else lines[:FEW_LINES]
    head = Text(" " * indent).append_text(label)
    head.append(" " * max(1, start - head.cell_len))
    for number, line in enumerate(shown or [""]):
        row = (head if number == 0 else Text(" " * start)) + Text(line)
        row.rstrip()
        console.print(row)
    if len(shown) < len(lines):
        console.print(Text(f"{' ' * start}[... {counted((len(lines) - len(shown), 'more line'))}: --verbose]", "dim"))


def quoted(console: Console, quotes: Iterable[Quote], *, verbose: bool, indent: int = 4) -> None:
    """Print what is quoted, each on a line with the id of its evidence."""
    listed = list(quotes)
    shown = listed if verbose else listed[:FEW_QUOTES]
    start = " " * (indent + LABEL + 2)
    for quote in shown:
        words = one_line(quote.quote, 400 if verbose else 70)
        console.print(Text(f"{start}“{words}”", "italic") + Text(f"  {one_line(quote.evidence_id, 40)}", "dim"))
    if len(shown) < len(listed):
        console.print(Text(f"{start}[... {counted((len(listed) - len(shown), 'more quote'))}: --verbose]", "dim"))


def wrapped(console: Console, text: str, width: int) -> list[str]:
    """The lines of `text`, none wider than `width` cells; blank ones at both ends are left out."""
    lines = list(_wrapped(console, visible(text.expandtabs()).strip(), max(width, 20)))
    return lines if any(lines) else []


def _wrapped(console: Console, text: str, width: int) -> Iterator[str]:
    for line in text.split("\n"):
        yield from (part.plain.rstrip() for part in Text(line.rstrip()).wrap(console, width)) if line.strip() else ("",)
