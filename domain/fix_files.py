"""What the files are called that people read of a fix loop, below the folder of the round that it began with."""

from __future__ import annotations

FOLDER = "fix_loop"
SUMMARY = "SUMMARY.md"
PATCH = "repair.patch"
"""All repairs in one."""


def below(folder: str, name: str) -> str:
    """Where the file `name` is; `folder`: the round's, a path or a URL."""
    return f"{folder}/{FOLDER}/{name}"
