"""The words of a text, in their order, in lower case, without punctuation around them."""

from __future__ import annotations


def tokens(text: str) -> list[str]:
    """The words of a text, in their order, in lower case, without punctuation around them."""
    raise NotImplementedError
