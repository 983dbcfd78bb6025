"""Makes the trees that a check has to fail on: a patch applied, or values that tests expect changed. It runs nothing.

They are kept in the store as they are, like every tree. Refused: a patch that fits neither the work nor the base.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from domain.base import sha256_hex
from domain.controls import grouped, marks_of
from domain.mutation.edits import Edit, edited
from domain.mutation.text_literals import text_edits
from domain.patches import FilePatch, PatchError, parse
from domain.ports import EvidenceStore
from domain.tree import Entry, Manifest, changes

LARGEST = 1024**2  # bytes of a test file that is looked at
MOST_FILES = 1000

Files = dict[str, tuple[bytes, bool] | None]
"""What becomes of some paths: content and whether it can be executed, None where the file goes."""


class ControlTree(NamedTuple):
    """A tree to fail on, by digest, the same done to the base (empty: it cannot be), what was done, and where."""

    what: str
    tree: str
    base: str = ""
    paths: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()


class Patched(NamedTuple):
    """The tree with the order's patch, None where there is none; `moved` and `unusable` as in `ControlRuns`."""

    tree: ControlTree | None
    moved: str = ""
    unusable: str = ""


def patched(store: EvidenceStore, head: str, base: str, order_files: str, path: str) -> Patched:
    """The work with the patch at `path` beside the order. Raises `Unavailable` (store_unavailable, disk_full).

    A worker must not get rid of a control by moving or rewriting lines: a file that the patch no longer fits is taken
    from the base, with the patch.
    """
    beside = Manifest.decode(store.get(order_files)).by_path.get(path) if order_files else None
    if beside is None or beside.kind != "file":
        return Patched(None, unusable=f"{path}: there is no such file beside the order")
    trees = [Manifest.decode(store.get(tree)) for tree in (head, base)]
    try:
        patches = parse(store.get(beside.digest))
    except PatchError as error:
        return Patched(None, unusable=f"{path}: {error}")
    files: Files = {}
    moved: list[str] = []
    for patch in patches:
        try:
            files |= _applied(store, trees[0], patch)
        except PatchError as misfit:
            moved.append(str(misfit))
            try:
                files |= _applied(store, trees[1], patch)
            except PatchError as error:
                return Patched(None, unusable=f"{path} fits neither the work ({misfit}) nor the base ({error})")
            if patch.old and _file(trees[0], patch.old) is None:
                return Patched(None, moved=f"{path} breaks {patch.old}, which the work does not have")
    made = ControlTree(path, _kept(store, trees[0], files), _on_base(store, trees[1], patches), tuple(files))
    return Patched(made, "; ".join(moved))


def with_changed_values(store: EvidenceStore, head: str, base: str, trusted: str, seed: int) -> tuple[ControlTree, ...]:
    """The work with changed values in the tests of the JSON array `trusted`, a few files at a time.

    Raises `Unavailable` (store_unavailable, disk_full).
    """
    trees = [Manifest.decode(store.get(tree)) for tree in (head, base)]
    sources: dict[str, str] = {}
    edits = {}
    for path in json.loads(store.get(trusted))[:MOST_FILES]:
        entry = _file(trees[0], path)
        if entry is None or entry.size > LARGEST:
            continue
        try:
            source = store.get(entry.digest).decode()
        except UnicodeDecodeError:
            continue  # no text that has values in it
        if found := text_edits(path, source, _seed(seed, path)):
            sources[path], edits[path] = source, found
    found_in = {path: edited(sources[path].encode(), edits[path]) for path in sources}
    made = []
    for group in grouped(sources, (change.path for change in changes(trees[1], trees[0]))):
        both = [_kept(store, tree, _replaced(tree, {path: found_in[path] for path in group})) for tree in trees]
        marks = marks_of(edit.text for path in group for edit in edits[path])
        made.append(ControlTree(f"values changed in {', '.join(group)}", both[0], both[1], group, marks))
    return tuple(made)


def with_edits(store: EvidenceStore, tree: str, edits: Mapping[str, Sequence[Edit]]) -> str:
    """The digest of `tree` with edits in its files by path. Raises `Unavailable` (store_unavailable, disk_full)."""
    manifest = Manifest.decode(store.get(tree))
    there = {path: entry for path in edits if (entry := _file(manifest, path))}
    contents = {path: edited(store.get(entry.digest), edits[path]) for path, entry in there.items()}
    return _kept(store, manifest, _replaced(manifest, contents))


def _applied(store: EvidenceStore, tree: Manifest, patch: FilePatch) -> Files:
    """What the patch makes of one file of the tree. Raises `PatchError`."""
    entry = _file(tree, patch.old) if patch.old else None
    there = entry or (_file(tree, patch.new) if patch.new and not patch.old else None)
    new = patch.new
    if new and new != patch.old and (new in tree.directories or tree.by_path.keys() & set(_above(new))):
        raise PatchError(f"{new}: there is something else in its place")
    if new and patch.old and new != patch.old and new in tree.by_path:
        raise PatchError(f"{new}: is there already")
    content = patch.apply(store.get(there.digest) if there else None)
    files: Files = {patch.old: None} if patch.old else {}
    if new:
        stays = entry.executable if entry else False
        files[new] = (content, stays if patch.executable is None else patch.executable)
    return files


def _on_base(store: EvidenceStore, base: Manifest, patches: Sequence[FilePatch]) -> str:
    """The base with the whole patch, empty where it does not fit."""
    files: Files = {}
    try:
        for patch in patches:
            files |= _applied(store, base, patch)
    except PatchError:
        return ""
    return _kept(store, base, files)


def _replaced(tree: Manifest, contents: Mapping[str, bytes]) -> Files:
    return {path: (contents[path], entry.executable) for path in contents if (entry := _file(tree, path))}


def _kept(store: EvidenceStore, tree: Manifest, files: Files) -> str:
    """The digest of the tree with these files, stored with them."""
    entries = dict(tree.by_path)
    with store.bulk() as bulk:
        for path, becomes in files.items():
            entries.pop(path, None)
            if becomes:
                content, executable = becomes
                digest = bulk.add([content])
                entries[path] = Entry(path=path, executable=executable, size=len(content), digest=digest)
        return bulk.add([Manifest.of(entries.values()).encode()])


def _file(tree: Manifest, path: str) -> Entry | None:
    entry = tree.by_path.get(path)
    return entry if entry and entry.kind == "file" else None


def _above(path: str) -> list[str]:
    above = []
    while path := posixpath.dirname(path):
        above.append(path)
    return above


def _seed(seed: int, path: str) -> int:
    return int(sha256_hex(f"{seed}/{path}".encode())[:15], 16)
