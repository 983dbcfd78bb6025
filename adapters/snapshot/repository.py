"""Reads objects of a git repository that a worker may write to; refuses those whose bytes do not hash to their name.

No git process is run and no configuration, hook, filter, reference or work tree is read: only folders of objects are.
Not guarded against: a pack that is cut short while it is mapped, or swapped for a pipe after the look at it.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from dulwich.object_store import DiskObjectStore
from dulwich.objects import ObjectID

from domain.errors import Cause, Unavailable

COMMIT, TREE, BLOB, TAG = 1, 2, 3, 4
_TYPE_NAMES = {COMMIT: b"commit", TREE: b"tree", BLOB: b"blob", TAG: b"tag"}
_POINTER_BYTES = 8192
_ALTERNATES = 5  # folders of objects; git's own limit on their depth
_ID = re.compile(r"[0-9a-f]{40}")
_PARENT = re.compile(rb"parent ([0-9a-f]{40})")


def find_repository(start: Path) -> Path | None:
    """The nearest folder, `start` or above it, that has a `.git`; None when there is none."""
    return next((folder for folder in (start, *start.parents) if (folder / ".git").exists()), None)


def commit_exists(repository: Path, revision: str) -> bool:
    """Whether `revision`, a full id, names a commit that `repository` holds intact.

    Raises `Unavailable` (base_unreadable) when `repository` is no root of a repository.
    """
    objects = ObjectReader(repository)
    try:
        return objects.read(revision)[0] == COMMIT
    except Unavailable:
        return False
    finally:
        objects.close()


def parents_of(commit: bytes) -> tuple[str, ...]:
    """The parents of a commit object, as git reads them: the lines right behind the tree's."""
    parents: list[str] = []
    for line in commit.partition(b"\n\n")[0].split(b"\n")[1:]:
        match = _PARENT.fullmatch(line)
        if match is None:
            break
        parents.append(match[1].decode())
    return tuple(parents)


class ObjectReader:
    """The objects of one repository, by id. Raises `Unavailable` (base_unreadable) for whatever is wrong with them."""

    def __init__(self, repository: Path, max_bytes: int = 2**28) -> None:
        self._repository = repository
        try:
            self._folders = list(_with_alternates(_objects_folder(repository)))
            _refuse_odd_packs(self._folders)
        except OSError as error:
            raise self._unreadable(f"{error.strerror} ({error.filename})") from error
        self._store = DiskObjectStore(self._folders[0], loose_object_size_limit=max_bytes + _POINTER_BYTES)

    def close(self) -> None:
        """Close the packs."""
        self._store.close()

    def read(self, name: str, kind: int | None = None) -> tuple[int, bytes]:
        """The type and the bytes of the object `name`, hashed again here; of type `kind` if that is given."""
        for folder in self._folders:
            self._refuse_odd(folder / name[:2] / name[2:])
        try:
            found, data = self._store.get_raw(ObjectID(name.encode()))
        except KeyError as error:
            raise self._unreadable(f"it has no object {name}") from error
        except Exception as error:  # a damaged pack raises anything, from zlib.error to AssertionError
            raise self._unreadable(f"its object {name} is damaged: {error!r}") from error
        header = _TYPE_NAMES.get(found, b"?") + b" %d\0" % len(data)
        if hashlib.sha1(header + data, usedforsecurity=False).hexdigest() != name:
            raise self._unreadable(f"its object {name} has been altered: the bytes do not hash to that name")
        if kind is not None and found != kind:
            raise self._unreadable(f"{name} is a {_TYPE_NAMES[found].decode()}, not a {_TYPE_NAMES[kind].decode()}")
        return found, data

    def beginning_with(self, prefix: str, most: int) -> list[str]:
        """The names of up to `most` objects that begin with `prefix`, hexadecimal digits, at least 2."""
        found: set[str] = set()
        try:
            for folder in self._folders:
                found.update(name for name in _listed(folder, prefix) if _ID.fullmatch(name))
                if len(found) > most:
                    break
        except Exception as error:  # a damaged index raises anything, as a damaged pack does
            raise self._unreadable(f"its objects cannot be listed: {error!r}") from error
        return sorted(found)[:most]

    def _refuse_odd(self, path: Path) -> None:
        """A pipe in an object's place would be waited on for ever."""
        with suppress(FileNotFoundError, NotADirectoryError):
            if not stat.S_ISREG(path.stat().st_mode):
                raise self._unreadable(f"{path} is no regular file")

    def _unreadable(self, what: str) -> Unavailable:
        return Unavailable(
            Cause.BASE_UNREADABLE,
            f"The base cannot be read from the repository {self._repository}: {what}",
            "Check it with `git fsck`, fetch what is missing, or name another base.",
        )


def _listed(folder: Path, prefix: str) -> Iterator[str]:
    """The names in one folder of objects that begin with `prefix`: loose ones, and those in packs."""
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder / prefix[:2]) as entries:
        yield from (name for entry in entries if (name := prefix[:2] + entry.name).startswith(prefix))
    store = DiskObjectStore(folder)
    try:
        whole_bytes = bytes.fromhex(prefix[: len(prefix) // 2 * 2])
        for pack in store.packs:
            yield from (name for raw in pack.index.iter_prefix(whole_bytes) if (name := raw.hex()).startswith(prefix))
    finally:
        store.close()


def _objects_folder(repository: Path) -> Path:
    """Where the objects of `repository` are: a work tree's root, a linked work tree's, or a bare repository."""
    pointer = repository / ".git"
    if pointer.is_dir():
        folder = pointer
    elif pointer.is_file():
        text = _short_text(pointer)
        if not text.startswith("gitdir: "):
            raise _no_repository(repository)
        folder = repository / text.removeprefix("gitdir: ")
    elif (repository / "objects").is_dir() and (repository / "HEAD").is_file():
        folder = repository
    else:
        raise _no_repository(repository)
    if (folder / "commondir").is_file():
        folder = folder / _short_text(folder / "commondir")
    return folder / "objects"


def _no_repository(path: Path) -> Unavailable:
    above = find_repository(path.parent)
    hint = f"Its root may be meant: {above}." if above else "Name the folder that has the .git."
    return Unavailable(Cause.BASE_UNREADABLE, f"{path} is not the root of a git repository", hint)


def _short_text(path: Path) -> str:
    with path.open("rb") as file:
        return os.fsdecode(file.read(_POINTER_BYTES)).strip()


def _with_alternates(objects: Path) -> Iterator[Path]:
    """`objects` and the folders that it borrows from."""
    waiting, seen = [objects], 0
    while waiting and seen < _ALTERNATES:
        folder = waiting.pop(0)
        seen += 1
        yield folder
        listing = folder / "info" / "alternates"
        if listing.is_file():
            lines = [line for line in _short_text(listing).splitlines() if line and not line.startswith("#")]
            waiting += [folder / line for line in lines]
        elif listing.exists():
            raise FileExistsError(17, "not a regular file", str(listing))


def _refuse_odd_packs(folders: list[Path]) -> None:
    for folder in folders:
        with suppress(FileNotFoundError), os.scandir(folder / "pack") as entries:
            for entry in entries:
                if not stat.S_ISREG(entry.stat().st_mode):
                    raise FileExistsError(17, "not a regular file", entry.path)
