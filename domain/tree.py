"""A frozen tree: one entry a file or link, by path and digest, and the digest of them all. It reads no file."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterable
from functools import cached_property
from typing import Literal

from pydantic import Field

from domain.base import Message, canonical_json, sha256_hex

MAX_LINK_HOPS = 40  # as Linux's own limit, path_resolution(7)


class Entry(Message):
    """One path of a tree. A file has `digest` and `size` (bytes); a link has `target`; directories are implied."""

    path: str
    kind: Literal["file", "link"] = "file"
    executable: bool = False
    size: int = 0
    digest: str = ""
    target: str = ""

    @property
    def identity(self) -> tuple[str, bool, str]:
        """What makes two entries at the same path the same content."""
        return (self.kind, self.executable, self.digest or self.target)


class Commit(Message):
    """A commit of the workspace's repository: its full id and its whole message."""

    id: str
    message: str


BUILT_IN = "built-in list"
IGNORED = "ignored by the base's .gitignore"
"""How the reasons begin for what nobody expects to travel: repositories, caches, what the base itself leaves out."""


class Dropped(Message):
    """A path that was found but does not travel, and why."""

    path: str
    reason: str

    @property
    def usual(self) -> bool:
        """Whether nobody expects it to travel: what is not usual is told to whoever did the work."""
        return self.reason.startswith((BUILT_IN, IGNORED))


class Manifest(Message):
    """A whole tree, entries sorted by path. `digest` names it: the SHA-256 of its canonical JSON."""

    entries: tuple[Entry, ...] = Field(default=())

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> Manifest:
        """A manifest of `entries`, in the one order that makes digests comparable."""
        return cls(entries=tuple(sorted(entries, key=lambda entry: entry.path)))

    def encode(self) -> bytes:
        """The bytes that are stored and digested: one array a path, nothing that depends on when or where."""
        return canonical_json([[e.path, e.kind, e.executable, e.size, e.digest, e.target] for e in self.entries])

    @classmethod
    def decode(cls, data: bytes) -> Manifest:
        """The manifest that `encode` wrote."""
        rows = json.loads(data)
        return cls.model_construct(
            entries=tuple(
                Entry.model_construct(path=p, kind=k, executable=x, size=s, digest=d, target=t)
                for p, k, x, s, d, t in rows
            )
        )

    @cached_property
    def digest(self) -> str:
        """The tree's name: equal for equal trees, wherever they were read."""
        return sha256_hex(self.encode())

    @cached_property
    def by_path(self) -> dict[str, Entry]:
        """The entries by their path."""
        return {entry.path: entry for entry in self.entries}

    @cached_property
    def directories(self) -> frozenset[str]:
        """Every directory that some entry's path implies, the root as the empty string."""
        found = {""}
        for entry in self.entries:
            parent = posixpath.dirname(entry.path)
            while parent not in found:
                found.add(parent)
                parent = posixpath.dirname(parent)
        return frozenset(found)

    @property
    def size(self) -> int:
        """Bytes of all files together."""
        return sum(entry.size for entry in self.entries)

    def resolve(self, path: str) -> Entry | Literal["directory"] | None:
        """What `path` leads to, links followed inside the tree only; None when it leads nowhere or out."""
        todo = [part for part in path.split("/") if part not in ("", ".")]
        done: list[str] = []
        hops = 0
        while todo:
            part = todo.pop(0)
            if part == "..":
                if not done:
                    return None
                done.pop()
                continue
            here = "/".join([*done, part])
            entry = self.by_path.get(here)
            if entry is not None and entry.kind == "link":
                hops += 1
                if hops > MAX_LINK_HOPS or entry.target.startswith("/"):
                    return None
                todo = [p for p in entry.target.split("/") if p not in ("", ".")] + todo
            elif (entry is None and here not in self.directories) or (entry is not None and todo):
                return None
            else:
                done.append(part)
        return self.by_path.get("/".join(done), "directory")


class Change(Message):
    """One path that differs between two trees."""

    path: str
    kind: Literal["added", "modified", "deleted"]


def changes(base: Manifest, head: Manifest) -> tuple[Change, ...]:
    """What turns `base` into `head`, sorted by path."""
    found: list[Change] = []
    for path in sorted(base.by_path.keys() | head.by_path.keys()):
        before, after = base.by_path.get(path), head.by_path.get(path)
        if before is None:
            found.append(Change(path=path, kind="added"))
        elif after is None:
            found.append(Change(path=path, kind="deleted"))
        elif before.identity != after.identity:
            found.append(Change(path=path, kind="modified"))
    return tuple(found)
