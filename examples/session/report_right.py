"""The most frequent words, a line each; the same count by the alphabet."""

from __future__ import annotations


def report(counts: dict[str, int], most: int) -> list[str]:
    """The most frequent words, a line each; the same count by the alphabet."""
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    return [f"{word} {counts[word]}" for word in ranked[:most]]
