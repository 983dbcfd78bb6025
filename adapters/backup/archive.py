"""Writes and reads the file of a backup: a tar of plain files, the last of which says what the others must be.

Refuses to read what is cut off, changed, of a newer format, or has a name that no backup gives. Knows nothing of what
is in the files.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import re
import tarfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Final

from pydantic import ValidationError

from domain.base import Message
from domain.errors import Malformed, Problem

FORMAT: Final = 1
ABOUT: Final = "backup.json"
PLAIN, COMPRESSED = (".tar",), (".tar.gz", ".tgz")

_NAME: Final = re.compile(
    r"(?:trail\.db|temporal\.db|heads\.jsonl|(?:evidence|workers)(?:/[A-Za-z0-9%][A-Za-z0-9%._-]*)+)"
)
_CHUNK: Final = 1024 * 1024


class Part(Message):
    """A file of a backup. `size` in bytes."""

    sha256: str
    size: int


class About(Message):
    """What a backup says of itself. `hosts`: the names of the machines whose todos it has, the one it is of first.

    `elsewhere`: what is needed beside it, and not in it.
    """

    format: int = FORMAT
    version: str
    made_at: datetime
    project: str
    hosts: tuple[str, ...]
    elsewhere: tuple[str, ...] = ()
    files: dict[str, Part] = {}

    @property
    def size(self) -> int:
        """Of all files together, in bytes."""
        return sum(part.size for part in self.files.values())


def is_named_well(file: Path) -> bool:
    """Whether the name says how the file is packed."""
    return file.name.endswith((*PLAIN, *COMPRESSED))


def write(file: Path, contents: Iterable[tuple[str, Path]], about: About) -> About:
    """Write `contents`, files by their names in the backup, and at last `about` with their digests. Raises `OSError`.

    A file that is gone when its turn comes is left out.
    """
    files: dict[str, Part] = {}
    mode: Any = "w:gz" if file.name.endswith(COMPRESSED) else "w"
    with file.open("xb") as raw:
        os.fchmod(raw.fileno(), 0o600)
        with tarfile.open(fileobj=raw, mode=mode, format=tarfile.PAX_FORMAT) as tar:
            for name, path in contents:
                try:
                    source = path.open("rb")
                except FileNotFoundError:
                    continue
                with source:
                    files[name] = _add(tar, name, source)
            whole = about.model_copy(update={"files": files})
            data = whole.model_dump_json(indent=1).encode()
            tar.addfile(_header(ABOUT, len(data)), io.BytesIO(data))
        raw.flush()
        os.fsync(raw.fileno())
    return whole


def unpack(file: Path, into: Path) -> About:
    """Write the files of the backup `file` into the folder `into`, for their owner alone; every digest is checked.

    Raises `Malformed` for what is no whole backup that this version can read, and `OSError`.
    """
    found: dict[str, Part] = {}
    about: About | None = None
    with _readable(file), tarfile.open(file) as tar:
        for member in tar:
            if about is not None or not member.isreg() or not _is_known(member.name) or member.name in found:
                raise _malformed(file, f"has {member.name!r:.100}, which no backup has there")
            source = tar.extractfile(member)
            assert source is not None, "it is a file"
            if member.name == ABOUT:
                about = _about(file, source.read())
            else:
                found[member.name] = _extract(source, into / member.name)
    if about is None:
        raise _malformed(file, "is cut off")
    for name in sorted(found.keys() | about.files.keys()):
        if found.get(name) != about.files.get(name):
            raise _malformed(file, f"{name} is not what was backed up")
    return about


def _add(tar: tarfile.TarFile, name: str, source: IO[bytes]) -> Part:
    """As many bytes as the file has now; it may not become shorter."""
    header = _header(name, os.fstat(source.fileno()).st_size)
    reader = _Hashed(source)
    tar.addfile(header, reader)
    return Part(sha256=reader.digest, size=header.size)


def _header(name: str, size: int) -> tarfile.TarInfo:
    header = tarfile.TarInfo(name)
    header.size, header.mode = size, 0o600
    return header


class _Hashed(io.RawIOBase):
    """What is read of a file goes through a hash."""

    def __init__(self, source: IO[bytes]) -> None:
        self._source = source
        self._hash = hashlib.sha256()

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()

    def read(self, size: int = -1) -> bytes:
        data = self._source.read(size)
        self._hash.update(data)
        return data


def _extract(source: IO[bytes], target: Path) -> Part:
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    hashed, size = hashlib.sha256(), 0
    with target.open("xb") as file:
        os.fchmod(file.fileno(), 0o600)
        while data := source.read(_CHUNK):
            hashed.update(data)
            size += len(data)
            file.write(data)
    return Part(sha256=hashed.hexdigest(), size=size)


def _is_known(name: str) -> bool:
    return name == ABOUT or (_NAME.fullmatch(name) is not None)


def _about(file: Path, data: bytes) -> About:
    try:
        about = About.model_validate_json(data)
    except ValidationError as error:
        raise _malformed(file, f"{ABOUT} cannot be read") from error
    if about.format > FORMAT:
        raise _malformed(
            file,
            f"has format {about.format}, this version knows {FORMAT}",
            f"expected Countersign {about.version} or newer to restore it",
        )
    return about


@contextmanager
def _readable(file: Path) -> Iterator[None]:
    try:
        yield
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise _malformed(file, "is no tar, or cut off") from error


def _malformed(file: Path, what: str, expected: str = "expected a file that countersign backup wrote") -> Malformed:
    return Malformed([Problem(file=str(file), line=1, field="backup", what=what, expected=expected)])
