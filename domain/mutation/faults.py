"""What a fault in a source is made of, whatever the language: where, what instead, and how surely it matters."""

from __future__ import annotations

from typing import NamedTuple

from domain.mutation.edits import Edit


class Fault(NamedTuple):
    """One edit. `line` from 1. `weak`: of a kind that often changes nothing that matters, such as a text's wording."""

    edit: Edit
    line: int
    weak: bool = False
