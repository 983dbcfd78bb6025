"""Writes an export as a folder or as a .tar.gz, the same bytes each time; refuses to write over anything but an export.

It appears under its name when it is whole. Beside the files it has `SHA256SUMS`, for `sha256sum -c SHA256SUMS`.
"""

from __future__ import annotations

import errno
import gzip
import hashlib
import io
import os
import shutil
import tarfile
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from domain.errors import Cause, Refused, Unavailable

SUMS = "SHA256SUMS"
ABOUT = "export.json"
ARCHIVES = (".tar.gz", ".tgz")

Files = Iterable[tuple[str, bytes]]
"""Names, relative and sorted, with what is in them."""


def write(target: Path, files: Callable[[], Files], top: str, *, force: bool = False) -> int:
    """Write `files` to `target`, a .tar.gz by its name or else a folder; how many bytes they have together.

    `top`: the folder that everything in an archive is in, whatever the archive is called.

    Raises `Refused` (exists) where something is there, with `force` (no_export) where it is no export, and
    `Unavailable`.
    """
    _refuse_to_overwrite(target, force=force)
    partial = target.with_name(f".{uuid.uuid4().hex}.partial")
    with _told(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            if is_archive(target):
                size = _archive(partial, top, files())
                partial.replace(target)
            else:
                size = _folder(partial, files())
                if target.exists():
                    shutil.rmtree(target)
                partial.rename(target)
        finally:
            _discard(partial)
    return size


def is_archive(target: Path) -> bool:
    """Whether `target` names an archive and no folder."""
    return target.name.endswith(ARCHIVES)


def _refuse_to_overwrite(target: Path, *, force: bool) -> None:
    if not os.path.lexists(target):
        return
    if not force:
        raise Refused("exists", f"{target} is there already", "name something new, or say --force to replace it")
    archive = is_archive(target) and target.is_file()
    folder = not is_archive(target) and target.is_dir() and not target.is_symlink()
    if not archive and not (folder and (not any(target.iterdir()) or (target / ABOUT).is_file())):
        raise Refused(
            "no_export", f"{target} is no earlier export", "--force replaces exports only: name something new"
        )


def _folder(target: Path, files: Files) -> int:
    target.mkdir(mode=0o700)
    size = 0
    for name, data in _with_sums(files):
        path = target / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.write_bytes(data)
        size += len(data)
    return size


def _archive(target: Path, top: str, files: Files) -> int:
    size = 0
    with (
        target.open("wb") as raw,
        gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=6, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name, data in _with_sums(files):
            entry = tarfile.TarInfo(f"{top}/{name}")
            entry.size, entry.mode = len(data), 0o644
            archive.addfile(entry, io.BytesIO(data))
            size += len(data)
    return size


def _with_sums(files: Files) -> Iterator[tuple[str, bytes]]:
    lines = []
    for name, data in files:
        lines.append(f"{hashlib.sha256(data).hexdigest()}  {name}\n")
        yield name, data
    yield SUMS, "".join(lines).encode()


def _discard(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@contextmanager
def _told(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Unavailable(
            Cause.DISK_FULL if error.errno in (errno.ENOSPC, errno.EDQUOT) else Cause.STORE_UNAVAILABLE,
            f"the export cannot be written to {target}: {error.strerror} ({error.filename})",
            "free some space there, or name another place",
        ) from error
