"""The table of `make tamper`: what became of each claim, a line a claim, and the page that keeps it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from domain.report import Report
from tests.tamper.judging import Judged, named, outcome

HEADS = ("family", "claim", "naive", "tests alone", "with out of process", "defence")
WIDTHS = (22, 56, 6, 18, 20)
BEGIN, END = "<!-- measured: written by make tamper -->", "<!-- end of measured -->"


def cells(judged: Judged) -> tuple[str, ...]:
    """One claim. `naive` is the exit code of its check in the worker's own tree, if it was asked for."""
    claim = judged.claim
    names = named(judged.both if claim.only_outside else judged.alone)
    told = (name if name in names else f"NOT {name}" for name in claim.expected)
    return (
        claim.family,
        claim.name,
        "" if judged.naive is None else str(judged.naive),
        outcome(judged.alone),
        outcome(judged.both),
        ", ".join(told),
    )


def line(row: Sequence[str]) -> str:
    """A row for a terminal."""
    first = "  ".join(cell.ljust(width) for cell, width in zip(row, WIDTHS, strict=False))
    return f"{first}  {row[-1]}".rstrip()


def summary(all_judged: Sequence[Judged]) -> str:
    """What it comes to."""
    cheats = [judged for judged in all_judged if not judged.claim.honest]
    honest = [judged for judged in all_judged if judged.claim.honest]
    adaptive = [judged for judged in cheats if judged.claim.knows_the_control]
    return "\n".join(
        [
            f"{len(cheats)} cheats: {_convinced(cheats)}"
            f"{_verified(j.alone for j in cheats)} are verified by their tests alone "
            f"({_verified(j.alone for j in adaptive)} of them because they are honest when they are examined), "
            f"{_verified(j.both for j in cheats)} with a comparison out of process.",
            f"{len(honest)} honest claims: {_verified(j.alone for j in honest)} and "
            f"{_verified(j.both for j in honest)} are verified.",
        ]
    )


def write(page: Path, all_judged: Sequence[Judged]) -> None:
    """Put the table in its place in a page."""
    rows = [HEADS, ("---",) * len(HEADS), *map(cells, all_judged)]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    part = f"{BEGIN}\n\n{summary(all_judged)}\n\n{table}\n\n{END}"
    text = re.sub(f"{BEGIN}.*{END}", lambda _: part, page.read_text(encoding="utf-8"), flags=re.DOTALL)
    page.write_text(text, encoding="utf-8")


def _convinced(cheats: Iterable[Judged]) -> str:
    asked = [judged.naive for judged in cheats if judged.naive is not None]
    return f"{asked.count(0)} convince an exit code, " if asked else ""


def _verified(reports: Iterable[Report | str]) -> int:
    return sum(outcome(report) == "verified" for report in reports)
