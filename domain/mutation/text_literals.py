"""Which literals to change in test files of any language, so that tests which depend on what they expect turn red.

A file of Python is parsed (`literals`), a shell script is read by lines (`shell_literals`), others by their tokens:
what stands as a whole operand where the test compares for equality. What may not be reached, such as skipped tests, and
what is compared in another way is left alone. It runs nothing. Source: DESIGN 8.
"""

from __future__ import annotations

import posixpath
import random
from collections.abc import Iterator

from domain.mutation.edits import Edit
from domain.mutation.equalities import Equalities
from domain.mutation.literals import constraints
from domain.mutation.shell_literals import shell_edits
from domain.mutation.text_tokens import LANGUAGES

_SHELL = (".sh", ".bash", ".bats", ".zsh", "")
_INTERPRETERS = ("sh", "bash", "dash", "zsh", "bats", "ksh")


def text_edits(path: str, source: str, seed: int) -> tuple[Edit, ...]:
    """Changes of expected values, bytes of the UTF-8 source; all can be made at once, none overlap.

    With all of them made, the tests of the file fail for honest work. None for a language that is not known here. The
    same seed makes the same changes.
    """
    suffix = posixpath.splitext(path)[1].lower()
    if suffix == ".py":
        return tuple(c.edit for c in constraints(source.encode(), seed) if c.decisive)
    chance = random.Random(seed)  # noqa: S311 - it has to be found again from the seed
    if suffix in LANGUAGES:
        return _in_bytes(source, Equalities(source, suffix).edits(chance))
    if suffix in _SHELL and (suffix or _is_shell(source)):
        return _in_bytes(source, shell_edits(source, chance, bats=suffix == ".bats"))
    return ()


def _is_shell(source: str) -> bool:
    """Whether its first line calls a shell."""
    first = source.partition("\n")[0].split()
    return bool(first) and first[0].startswith("#!") and first[-1].rpartition("/")[2] in _INTERPRETERS


def _in_bytes(source: str, edits: Iterator[Edit]) -> tuple[Edit, ...]:
    """Edits of characters as edits of bytes, in their order."""
    made: list[Edit] = []
    place, offset = 0, 0
    for edit in sorted(edits, key=lambda edit: edit.start):
        offset += len(source[place : edit.start].encode())
        place = edit.start
        made.append(Edit(start=offset, end=offset + len(source[place : edit.end].encode()), text=edit.text))
    return tuple(made)
