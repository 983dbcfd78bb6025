"""The frozen trees of a round as a role's tools see them: manifests and blobs of the evidence store, nothing else.

No path leads to a file system here, so none can climb out of the tree; what names a place outside is refused by name,
so that it is known who tried. Codes: `outside_tree`, `not_found`, `is_directory`.
"""

from __future__ import annotations

import posixpath
from functools import cached_property

from adapters.roles.tool import ToolRefused
from domain.messages import Frozen, ScopeResult
from domain.ports import EvidenceStore
from domain.tree import MAX_LINK_HOPS, Entry, Manifest

OUTSIDE, NOT_FOUND, DIRECTORY = "outside_tree", "not_found", "is_directory"


class Trees:
    """What is read of a round, each manifest once. Everything raises `Unavailable` (store_unavailable)."""

    def __init__(self, store: EvidenceStore, frozen: Frozen, scope: ScopeResult) -> None:
        self._store, self._frozen, self._scope = store, frozen, scope

    @cached_property
    def tree(self) -> Manifest:
        """The trusted tree: what the checks ran on."""
        return Manifest.decode(self._store.get(self._scope.tree))

    @cached_property
    def base(self) -> Manifest:
        """What stands for the base: with the order's own tests."""
        return Manifest.decode(self._store.get(self._scope.base or self._frozen.base))

    @property
    def diff(self) -> str:
        """The unified diff of all changes that count."""
        return self.blob(self._scope.diff).decode(errors="replace")

    @property
    def commits(self) -> bytes | None:
        """The commits of the workspace's repository; None where they were not frozen."""
        return self.blob(self._frozen.commits) if self._frozen.commits else None

    def blob(self, digest: str) -> bytes:
        """A blob that a manifest names."""
        return self._store.get(digest)


def inside(path: str) -> str:
    """`path` as manifests have it, the root as the empty string. Raises `ToolRefused` (outside_tree)."""
    parts = path.split("/")
    if path.startswith("/") or ".." in parts or "\0" in path:
        raise _outside(path)
    return "/".join(part for part in parts if part not in ("", "."))


def found(tree: Manifest, path: str) -> Entry:
    """The file that `path` leads to, links followed inside the tree only.

    Raises `ToolRefused` (outside_tree, not_found, is_directory).
    """
    name = inside(path)
    there = tree.resolve(name)
    if isinstance(there, Entry):
        return there
    if there == "directory":
        raise ToolRefused(DIRECTORY, f"{_shown(path)} is a directory: glob shows what is in it")
    if _leads_out(tree, name):
        raise _outside(path)
    raise missing(path)


def missing(path: str) -> ToolRefused:
    """What is raised for a path that leads nowhere."""
    return ToolRefused(NOT_FOUND, f"{_shown(path)} is not in the tree: glob shows what is")


def _outside(path: str) -> ToolRefused:
    return ToolRefused(OUTSIDE, f"{_shown(path)} is not in the tree: paths are relative to its root, without ..")


def _shown(path: str) -> str:
    return f"{path!r:.300}"


def _leads_out(tree: Manifest, path: str) -> bool:
    """Whether a link on the way names a place outside."""
    for _ in range(MAX_LINK_HOPS):
        link = next((entry for place in _ways(path) if (entry := tree.by_path.get(place)) and entry.target), None)
        if link is None:
            return False
        if link.target.startswith("/"):
            return True
        beside = posixpath.join(posixpath.dirname(link.path), link.target, path[len(link.path) + 1 :])
        path = posixpath.normpath(beside)
        if path.split("/")[0] == "..":
            return True
    return False


def _ways(path: str) -> list[str]:
    """Every folder above `path` from the root down, and itself."""
    parts = path.split("/")
    return ["/".join(parts[: end + 1]) for end in range(len(parts))]
