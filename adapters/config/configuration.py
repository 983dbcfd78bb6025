"""Finds and reads the `countersign.toml` files that are in force: those in the folders above where one stands.

A worker can make files and folders within its tree, never above it, so the outermost counts, and a nearer one takes
nothing away that an outer one asks for. What they come to together is `settings`', `defaults`' and `signers`' to say.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from adapters.config.places import folders_above
from adapters.config.problems import shown_as
from adapters.config.project_file import PROJECT_FILE, ProjectFile, project_in
from adapters.config.text_file import bytes_of, refusal, text_in
from adapters.config.yaml_document import Document
from domain.authority import ConfigurationFile
from domain.base import sha256_hex
from domain.errors import Malformed

GIT = ".git"


@dataclass(frozen=True)
class Configured:
    """One `countersign.toml` as it was read. `folder` has no link on its way: relative paths start there."""

    folder: Path
    said: ProjectFile
    document: Document
    digest: str

    @property
    def path(self) -> Path:
        """Where the file is."""
        return self.folder / PROJECT_FILE

    @property
    def named(self) -> ConfigurationFile:
        """As a report names it."""
        return ConfigurationFile(path=shown_as(self.path), digest=self.digest)


class Reader:
    """Reads each file once, so that what is in force and what is reported of it are the same bytes."""

    def __init__(self, known: Iterable[Configured] = ()) -> None:
        self._read: dict[Path, Configured | None] = {one.folder: one for one in known}

    def above(self, *paths: Path) -> tuple[Configured, ...]:
        """The files in the folders above `paths` and above the links on the way to them. Raises `Malformed`."""
        try:
            folders = list(folders_above(paths))
        except OSError as error:
            raise refusal(
                shown_as(paths[0]), f"cannot be found: {error}", "a path without links in a circle"
            ) from error
        return tuple(one for folder in folders if (one := self.at(folder)) is not None)

    def at(self, folder: Path) -> Configured | None:
        """The file in `folder`, None where there is none. Raises `Malformed` for one that cannot be read."""
        if folder not in self._read:
            self._read[folder] = _read(folder)
        return self._read[folder]


def project_root(start: Path) -> Path:
    """The outermost folder from `start` up that has a `countersign.toml`, else a `.git`, else `start` itself.

    A `.git` that anybody could have made is none. Raises `Malformed` for a folder that cannot be looked into.
    """
    start = start.resolve()
    folders = [*reversed(start.parents), start]
    configured = (folder for folder in folders if _status(folder / PROJECT_FILE) is not None)
    versioned = (folder for folder in folders if _status(folder / GIT) is not None and not _anybody_writes(folder))
    return next(configured, None) or next(versioned, start)


def _read(folder: Path) -> Configured | None:
    path = folder / PROJECT_FILE
    status = _status(path)
    if status is None:
        return None
    shown = shown_as(path)
    if stat.S_ISLNK(status.st_mode):
        raise refusal(shown, "is a link", "a file with TOML, which says itself what holds here")
    if _anybody_writes(folder):
        raise refusal(shown, f"is in {folder}, where anybody can write", "a folder that only its owner can write")
    source = bytes_of(path, shown, "TOML")
    said, document = project_in(text_in(source, shown, "TOML"), shown)
    return Configured(folder, said, document, sha256_hex(source))


def _status(path: Path) -> os.stat_result | None:
    """Of the entry itself, None where there is none. Raises `Malformed` where that cannot be known."""
    try:
        return path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise refusal(shown_as(path), f"cannot be looked for: {error.strerror}", "a folder that can be read") from error


def _anybody_writes(folder: Path) -> bool:
    return bool(folder.stat().st_mode & stat.S_IWOTH)


def conflict(inner: Configured, place: tuple[str | int, ...], what: str, outer: Configured) -> Malformed:
    """That `inner` says at `place` what cannot stand beside what `outer` says."""
    expected = f"expected what {shown_as(outer.path)} says, or nothing"
    return Malformed([inner.document.problem(place, what, expected)])
