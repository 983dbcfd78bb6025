"""Resolves what a person calls a commit: a full id, a short one, a branch, a tag, `REMOTE/BRANCH`, `HEAD~2`.

Names can move and short ids can be met by others: what is found holds for the moment at which it was looked up.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from dulwich.objects import parse_tree

from adapters.snapshot.ancestry import Ancestry
from adapters.snapshot.references import SHA256, References, Unresolved, whole_names
from adapters.snapshot.repository import COMMIT, TAG, TREE, ObjectReader, find_repository
from domain.errors import Unavailable

LEAST_DIGITS = 4
_PEELED = 10  # tags of tags
_CANDIDATES = 200  # objects that begin with the same digits
_SHOWN = 5
_OBJECT_BYTES = 16 * 2**20  # of a loose commit or tag
_NAMED = re.compile(r"(?P<name>[^~^]+)(?P<steps>(?:[~^]\d{0,6})*)")
_STEP = re.compile(r"([~^])(\d*)")
_DIGITS = re.compile(r"[0-9a-fA-F]+")
_TAGGED = re.compile(rb"object ([0-9a-f]{40})\ntype (commit|tag)\n")


def small_objects(repository: Path) -> ObjectReader:
    """A reader of the commits and tags of `repository`, whose loose objects are small."""
    return ObjectReader(repository, _OBJECT_BYTES)


def resolve_commit(repository: Path, text: str) -> str:
    """The full id of the commit that `text` names in `repository`, the root of one.

    Raises `Unresolved` with what was tried, and `Unavailable` (base_unreadable) where the objects end before that.
    """
    objects = small_objects(repository)
    try:
        return _Names(objects, References(repository)).resolve(text)
    finally:
        objects.close()


def peeled(objects: ObjectReader, name: str) -> str | None:
    """The commit that the object `name` is, or is a tag of; None for another kind. Raises `Unavailable`."""
    for _ in range(_PEELED):
        kind, data = objects.read(name)
        if kind == COMMIT:
            return name
        tagged = _TAGGED.match(data) if kind == TAG else None
        if tagged is None:
            return None
        name = tagged[1].decode()
    return None


def holds_folder(objects: ObjectReader, commit: str, path: str) -> bool:
    """Whether the commit has a folder at `path`, relative to its root and without `..`. Raises `Unavailable`."""
    name = objects.read(commit, COMMIT)[1].partition(b"\n")[0].removeprefix(b"tree ").decode()
    for part in Path(path).parts:
        entries = {raw: (mode, found) for raw, mode, found in parse_tree(objects.read(name, TREE)[1], 20)}
        mode, found = entries.get(os.fsencode(part), (0, b""))
        if not stat.S_ISDIR(mode):
            return False
        name = found.decode()
    return True


def owner_of(repository: Path) -> Path | None:
    """The repository above whose HEAD has the folder `repository` among its own files; None where none has.

    Git makes no repository inside another's files, so that one there is the worker's, with names of its own. One above
    that cannot be read has no files.
    """
    above = find_repository(repository.parent) if repository != repository.parent else None
    if above is None:
        return None
    try:
        objects = small_objects(above)
        try:
            held = holds_folder(objects, References(above).head(), repository.relative_to(above).as_posix())
        finally:
            objects.close()
    except (Unresolved, Unavailable, OSError, ValueError):
        return None
    return above if held else None


class _Names:
    def __init__(self, objects: ObjectReader, references: References) -> None:
        self._objects = objects
        self._references = references
        self._ancestry = Ancestry([objects])

    def resolve(self, text: str) -> str:
        """As `resolve_commit`."""
        match = _NAMED.fullmatch(text)
        if match is None:
            raise Unresolved("cannot be read as a name with steps such as ~2 or ^")
        commit = self._start(match["name"])
        for kind, digits in _STEP.findall(match["steps"]):
            commit = self._back(commit, int(digits or "1"), first=kind == "~")
        return commit

    def _start(self, name: str) -> str:
        is_hex = bool(_DIGITS.fullmatch(name))
        if is_hex and len(name) == 64:
            raise Unresolved(SHA256)
        if is_hex and len(name) == 40:
            return self._whole_id(name.lower())
        found = self._of_references(name)
        if is_hex and LEAST_DIGITS <= len(name) < 40:
            found |= self._of_digits(name.lower())
        if len(set(found.values())) > 1:
            shown = ", ".join(f"{what} = {commit}" for what, commit in list(found.items())[:_SHOWN])
            raise Unresolved(f"is ambiguous: {shown}{', ...' if len(found) > _SHOWN else ''}")
        if not found:
            raise Unresolved(self._not_there(name, is_hex=is_hex))
        return next(iter(found.values()))

    def _whole_id(self, name: str) -> str:
        commit = peeled(self._objects, name)
        if commit is None:
            raise Unresolved("is no commit")
        return commit

    def _of_references(self, name: str) -> dict[str, str]:
        found = {}
        for whole, target in self._references.find(name).items():
            commit = peeled(self._objects, target)
            if commit is None:
                raise Unresolved(f"leads to {target} ({whole}), which is no commit")
            found[whole] = commit
        return found

    def _of_digits(self, digits: str) -> dict[str, str]:
        """The commits, and those of tags, whose ids begin so; other objects are not meant."""
        names = self._objects.beginning_with(digits, _CANDIDATES)
        if len(names) == _CANDIDATES:
            raise Unresolved(f"is ambiguous: {_CANDIDATES} objects or more begin so")
        found = {}
        for name in names:
            try:
                commit = peeled(self._objects, name)
            except Unavailable:  # damaged: it is not what anybody means
                continue
            if commit is not None:
                found[name] = commit
        return found

    def _back(self, commit: str, count: int, *, first: bool) -> str:
        """`commit~count` where `first`, else `commit^count`."""
        if not first:
            parent = self._ancestry.parent(commit, count - 1) if count else commit
            if parent is None:
                raise Unresolved(
                    f"leads to parent {count} of {commit}, which has {len(self._ancestry.parents(commit))}"
                )
            return parent
        for _ in range(count):
            parent = self._ancestry.parent(commit, 0)
            if parent is None:
                raise Unresolved(f"leads behind {commit}, which is the first commit")
            commit = parent
        return commit

    def _not_there(self, name: str, *, is_hex: bool) -> str:
        tried = list(whole_names(name))
        if is_hex:
            tried.append(f"commits that begin with it (at least {LEAST_DIGITS} digits)")
        return f"names no commit; tried {', '.join(tried)}" if tried else "cannot be the name of a commit"
