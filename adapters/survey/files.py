"""The files of one tree, as a survey asks for them: which there are, and the text of those that are read."""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Iterable
from pathlib import Path

from domain.tree import Entry, Manifest

MAX_TEXT_BYTES = 2**21
"""Of a larger file a survey reads the start only: it looks for configuration and imports."""


class LocalBulk:
    """Blobs in a folder, by their SHA-256: `domain.ports.Bulk` for trees that need no store."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._count = 0

    def add(self, chunks: Iterable[bytes]) -> str:
        """Write one blob and answer with its digest. Raises `OSError`."""
        self._count += 1
        partial = self.folder / f"partial-{self._count}"
        digest = hashlib.sha256()
        with partial.open("wb") as file:
            for chunk in chunks:
                digest.update(chunk)
                file.write(chunk)
        partial.replace(self.folder / digest.hexdigest())
        return digest.hexdigest()


class Files:
    """A tree by path: regular files only, links and what they lead to are not looked at."""

    def __init__(self, entries: Iterable[Entry], blobs: Path) -> None:
        self.manifest = Manifest.of(entries)
        self._blobs = blobs
        self._by_path = {entry.path: entry for entry in self.manifest.entries if entry.kind == "file"}
        self.paths = tuple(self._by_path)
        self.folders = self.manifest.directories

    def __contains__(self, path: str) -> bool:
        return path in self._by_path

    def text(self, path: str) -> str:
        """What the file at `path` says, its start if it is long; nothing when there is none. Raises `OSError`."""
        entry = self._by_path.get(path)
        if entry is None:
            return ""
        with self.blob(entry).open("rb") as file:
            return file.read(MAX_TEXT_BYTES).decode(errors="replace").replace("\r\n", "\n")

    def blob(self, entry: Entry) -> Path:
        """Where the content of a file of this tree is."""
        return self._blobs / entry.digest

    def first(self, *paths: str) -> str:
        """The first of `paths` that is there, or nothing."""
        return next((path for path in paths if path in self), "")

    def below(self, folder: str) -> list[str]:
        """The files in `folder` and in its folders; the empty string is the root."""
        return [path for path in self.paths if not folder or path.startswith(f"{folder}/")]

    def python_in(self, folder: str) -> bool:
        """Whether `folder` holds modules or packages of Python directly."""
        depth = folder.count("/") + 1
        inside = [path for path in self.below(folder) if path.endswith(".py")]
        return any(
            path.count("/") == depth or (path.count("/") > depth and posixpath.basename(path) == "__init__.py")
            for path in inside
        )
