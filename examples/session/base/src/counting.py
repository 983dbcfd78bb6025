"""How often each word of a text occurs."""

from __future__ import annotations


def count(text: str) -> dict[str, int]:
    """How often each word of a text occurs."""
    raise NotImplementedError
