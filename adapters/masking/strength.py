"""Which values can be masked at all: those that do not also stand in texts that have nothing to do with them."""

from __future__ import annotations

from adapters.masking.spelled import placeholder

SHORTEST = 6
"""Characters of a secret at least: a shorter one would mask half of every text."""

SHORTEST_NUMBER = 12
"""Digits at least of a secret of digits alone: sizes, durations and times are full of shorter ones."""


def why_unfit(name: str, value: str) -> str:
    """Why `value` cannot be masked, without telling it; empty for one that can, and for an empty one."""
    text = value.strip()
    if not text:
        return ""
    if len(text) < SHORTEST:
        return f"has a value of less than {SHORTEST} characters"
    if text.isdecimal() and len(text) < SHORTEST_NUMBER:
        return f"has a value of less than {SHORTEST_NUMBER} digits"
    if text in placeholder(name):
        return "has a value that stands in its name"
    return ""
