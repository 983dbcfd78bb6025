"""The most frequent words, a line each; the same count by the alphabet."""

from __future__ import annotations


def report(counts: dict[str, int], most: int) -> list[str]:
    """The most frequent words, a line each; the same count by the alphabet."""
    raise NotImplementedError
