"""Small faults for the lines that a worker changed: a check that tests the change goes red on one of them.

It chooses by seed, runs and imports nothing, and makes none in tests' place: which files are the work is the caller's
to say. Source: issue "falsifiability probe", DESIGN 8.
"""

from __future__ import annotations

import posixpath
import random
from collections.abc import Iterable, Sequence
from itertools import islice

from domain.base import Message
from domain.mutation.edits import Edit
from domain.mutation.faults import Fault
from domain.mutation.python_faults import parses, python_faults
from domain.mutation.token_faults import LANGUAGES, token_faults

MAX_SOURCE_BYTES = 256 * 1024
"""Of a file that is looked into: a parser's time and memory are many times that."""

MAX_MUTANTS = 5
"""Of one file; a probe takes no more of all files together."""

SHOWN = 60
"""Characters of a source that are told."""


class Mutant(Message):
    """One change of a source, and how people read it: ``src/x.py:12: `<` -> `>=` ``."""

    edit: Edit
    line: int
    shown: str


def mutants(path: str, source: bytes, lines: Iterable[int], seed: int) -> tuple[Mutant, ...]:
    """At most `MAX_MUTANTS` of the file at `path`, each on one of `lines` (from 1), the strongest kinds first.

    The same seed gives the same. None for a source that is too large, is not UTF-8, does not parse, or is of a
    language that is not known here.
    """
    changed = frozenset(lines)
    if len(source) > MAX_SOURCE_BYTES or b"\0" in source or not changed:
        return ()
    try:
        text = source.decode()
    except UnicodeDecodeError:
        return ()
    if "\r" in text.replace("\r\n", "\n"):  # a line by itself to Python, and not to what counted `lines`
        return ()
    suffix = posixpath.splitext(path)[1].lower()
    python = suffix == ".py"
    if not python and suffix not in LANGUAGES:
        return ()
    found = python_faults(source, changed) if python else token_faults(text, suffix, changed)
    chance = random.Random(f"{seed}:{path}")  # noqa: S311 - it has to be found again from the seed
    usable = (fault for fault in _spread(found, chance) if not python or parses(source, fault))
    return tuple(_mutant(path, source, fault) for fault in islice(usable, MAX_MUTANTS))


def _spread(faults: Sequence[Fault], chance: random.Random) -> list[Fault]:
    """In chance's order, but the strong before the weak, and of each a line's second after all lines' first."""
    shuffled = list(faults)
    chance.shuffle(shuffled)
    met: dict[tuple[bool, int], int] = {}
    ranked: list[tuple[bool, int, Fault]] = []
    for fault in shuffled:
        before = met.get((fault.weak, fault.line), 0)
        met[fault.weak, fault.line] = before + 1
        ranked.append((fault.weak, before, fault))
    return [fault for _, _, fault in sorted(ranked, key=lambda each: each[:2])]


def _mutant(path: str, source: bytes, fault: Fault) -> Mutant:
    before = _line(source[fault.edit.start : fault.edit.end].decode())
    after = _line(fault.edit.text)
    what = f"`{before}` removed" if not after else f"`{before}` -> `{after}`"
    return Mutant(edit=fault.edit, line=fault.line, shown=f"{path}:{fault.line}: {what}")


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else f"{line[: SHOWN - 3]}..."
