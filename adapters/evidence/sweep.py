"""Finds and removes what is old in the evidence folder, beside rounds that use it. It knows nothing of what is needed.

What is removed is first moved aside, then looked at once more: used since it was listed, it is put back. Whoever wants
it in between finds nothing and stores it again. A process that dies in between leaves it in `.removed`, from where the
next one puts it back.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from adapters.evidence.bulk import translated
from adapters.evidence.layout import ATTEMPT, BLOBS, DIGEST, MEMOS, memo_data

ASIDE = ".removed"
"""A folder of the evidence folder that is no session's."""

RoundKey = tuple[str, str, int]


class Left(NamedTuple):
    """Something old: its path in the evidence folder, and its bytes."""

    path: str
    size: int

    @property
    def name(self) -> str:
        """The last part of the path: the digest of a blob, the key of a memo."""
        return self.path.rpartition("/")[2]


class FolderSweep:
    """The evidence folder `root`. Times are seconds since 1970. Raises `Unavailable` for a folder that fails."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._aside = root / ASIDE

    def memos(self, since: float) -> Iterator[bytes]:
        """What is remembered, as far as it was remembered or recalled at `since` or later."""
        with translated(self._root):
            for entry in _files(self._root / MEMOS):
                with suppress(FileNotFoundError):  # forgotten meanwhile
                    if entry.stat().st_mtime >= since:
                        yield memo_data(entry.name, Path(entry.path).read_bytes()) or b""

    def old_memos(self, before: float) -> Iterator[Left]:
        """What nobody has remembered or recalled since `before`."""
        with translated(self._root):
            yield from self._old(MEMOS, before)

    def old_blobs(self, before: float) -> Iterator[Left]:
        """The blobs that nobody has put since `before`, by their digests."""
        with translated(self._root):
            for first in range(256):
                yield from self._old(f"{BLOBS}/{first:02x}", before)

    def attempts(self) -> Iterator[RoundKey]:
        """Session, todo and attempt of every folder that people open."""
        with translated(self._root):
            for session in _folders(self._root):
                for todo in _folders(session) if session.name not in (BLOBS, MEMOS, ASIDE) else ():
                    for attempt in _folders(todo):
                        if ATTEMPT.fullmatch(attempt.name):
                            yield session.name, todo.name, int(attempt.name)

    def old_folders(self, before: float, of: Collection[RoundKey]) -> Iterator[Left]:
        """The folders of these attempts in which nothing is newer than `before`."""
        with translated(self._root):
            for key in sorted(of):
                path = "/".join(map(str, key))
                if (self._root / path).is_dir():
                    files = [one.lstat() for one in (self._root / path).rglob("*")]
                    if all(found.st_mtime < before for found in files):
                        yield Left(path, sum(found.st_size for found in files))

    def remove(self, left: Left, before: float) -> bool:
        """Remove it, unless it was used after `before`; whether this did."""
        path = self._root / left.path
        aside = self._aside / f"{uuid.uuid4().hex}-{left.path.partition('/')[0][:20]}-{left.name}"
        with translated(self._root):
            self._aside.mkdir(mode=0o700, exist_ok=True)
            try:
                path.rename(aside)
            except FileNotFoundError:
                return False
            if aside.is_dir():
                _discard(aside)
                with suppress(OSError):  # other attempts' folders are still there
                    path.parent.rmdir()
                    path.parent.parent.rmdir()
                return True
            with suppress(FileNotFoundError):  # another process has put it back
                if aside.stat().st_mtime < before:
                    aside.unlink()
                    return True
                _back(aside, path)
        return False

    def restore(self) -> None:
        """Put back the blobs and memos that a process which died had moved aside; discard what is left of folders."""
        with translated(self._root):
            for aside in list(self._aside.iterdir()) if self._aside.exists() else ():
                kind, digest = aside.name.split("-")[1], aside.name.rpartition("-")[2]
                folder = {BLOBS: f"{BLOBS}/{digest[:2]}", MEMOS: MEMOS}.get(kind)
                if folder and DIGEST.fullmatch(digest) and aside.is_file():
                    _back(aside, self._root / folder / digest)
                else:
                    _discard(aside)

    def done(self) -> None:
        """Nothing: what is removed here was moved aside first."""

    def _old(self, folder: str, before: float) -> Iterator[Left]:
        for entry in sorted(_files(self._root / folder), key=lambda entry: entry.name):
            with suppress(FileNotFoundError):  # another process removes, too
                found = entry.stat()
                if found.st_mtime < before:
                    yield Left(f"{folder}/{entry.name}", found.st_size)


def _back(aside: Path, path: Path) -> None:
    """Under its name again; what was stored under it meanwhile has the same bytes, or newer ones."""
    with suppress(FileNotFoundError):
        if path.exists():
            aside.unlink()
        else:
            aside.rename(path)


def _discard(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)  # what stays is discarded by the next one
    else:
        path.unlink(missing_ok=True)


def _files(folder: Path) -> Iterator[os.DirEntry[str]]:
    """What Countersign has written there; whatever else people keep in it is not ours."""
    if folder.is_dir():
        with os.scandir(folder) as entries:
            yield from (
                entry for entry in entries if DIGEST.fullmatch(entry.name) and entry.is_file(follow_symlinks=False)
            )


def _folders(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_dir() and not path.is_symlink())
