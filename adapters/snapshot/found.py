"""What a reading of a tree comes to, before it is a manifest; it reads nothing."""

from __future__ import annotations

from dataclasses import dataclass, field

from domain.base import Message
from domain.tree import Dropped, Entry


class SnapshotLimits(Message):
    """How much of a tree is taken: files (links and dropped paths count), bytes of one file, bytes of all."""

    max_files: int = 100_000
    max_file_bytes: int = 256 * 2**20
    max_total_bytes: int = 2**30


@dataclass
class Tree:
    """A tree as read. `ignore_files` holds its `.gitignore` files by their folder, `submodules` its gitlinks."""

    entries: list[Entry] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)
    ignore_files: dict[str, bytes] = field(default_factory=dict)
    submodules: set[str] = field(default_factory=set)

    def drop(self, path: str, reason: str) -> None:
        """Note that `path` was found and is not taken."""
        self.dropped.append(Dropped(path=path, reason=reason))
