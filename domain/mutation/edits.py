"""Small replacements in a source that keep everything else of it, byte for byte. It knows no language."""

from __future__ import annotations

from collections.abc import Iterable

from domain.base import Message


class Edit(Message):
    """`text` in the place of the bytes `start` to `end` of a UTF-8 source; an insertion where the two are equal."""

    start: int
    end: int
    text: str


def edited(source: bytes, edits: Iterable[Edit]) -> bytes:
    """`source` with every edit made. The edits must not overlap; their order does not matter."""
    for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
        source = source[: edit.start] + edit.text.encode() + source[edit.end :]
    return source
