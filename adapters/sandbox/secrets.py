"""The secrets of a set-up: masks them in what is shown, finds them in what would be kept, however short they are."""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import IO, cast

from adapters.masking.spelled import Spelled
from adapters.masking.spellings import parts, spellings

_PIECE = 1024 * 1024


class Secrets:
    """Values by the names of their variables. An empty value hides nothing and is never looked for."""

    def __init__(self, values: Mapping[str, bytes]) -> None:
        kept = {spelling: name for name, value in values.items() for spelling in spellings(value)}
        shown = {part: name for name, value in values.items() for part in parts(value)} | kept
        self._kept = Spelled(kept)
        self._shown = Spelled(shown)

    def __bool__(self) -> bool:
        return bool(self._kept)

    def mask(self, text: str) -> str:
        """`text` with every spelling of a secret as `[secret NAME]`."""
        return self._shown.mask(text.encode("utf-8", "surrogateescape")).decode("utf-8", "replace")

    def masker(self) -> Masker:
        """For text that comes in pieces."""
        return Masker(self._shown)

    def find(self, export: Callable[[], Iterable[bytes]], changed: Collection[str]) -> tuple[str, str] | None:
        """The first secret, and its absolute path, in the files, links and names at the paths `changed`.

        `export` gives the whole tree as a tar, anew each time. It is read again for what a hard link leads to.
        """
        wanted = set(changed)
        seen: set[str] = set()
        while wanted:
            linked: set[str] = set()
            for path, texts in _texts(export(), wanted, linked):
                name = self._kept.first(texts)
                if name is not None:
                    return name, self.mask(path)
            seen |= wanted
            wanted = linked - seen
        return None


class Masker:
    """Masks a stream: what may be the beginning of a secret waits for what comes next."""

    def __init__(self, spelled: Spelled) -> None:
        self._spelled = spelled
        self._pending = b""

    def feed(self, data: bytes) -> bytes:
        """What can be shown once `data` has come."""
        self._pending += data
        shown, self._pending = self._spelled.mask_so_far(self._pending)
        return shown

    def rest(self) -> bytes:
        """What is left when nothing more comes."""
        rest, self._pending = self._spelled.mask(self._pending), b""
        return rest


def _texts(chunks: Iterable[bytes], wanted: set[str], linked: set[str]) -> Iterator[tuple[str, Iterator[bytes]]]:
    """Of each wanted member of the tar its path with its names, then with its content; `linked` takes in other names.

    A name that is not UTF-8 is always wanted: the engine spells it otherwise where it lists changes.
    """
    source = cast("IO[bytes]", _Reader(chunks))  # tarfile only reads it
    with tarfile.open(fileobj=source, mode="r|", errors="surrogateescape") as tar:
        while (member := tar.next()) is not None:
            tar.members = []  # type: ignore[attr-defined]  # or it remembers every one; the stub lacks it
            path = f"/{member.name.lstrip('/')}"
            if path not in wanted and path.encode("utf-8", "replace") == path.encode("utf-8", "surrogateescape"):
                continue
            names = "\n".join([path, member.linkname, *member.pax_headers.values()])
            yield path, iter([names.encode("utf-8", "surrogateescape")])
            if member.islnk():
                linked.add(f"/{member.linkname.lstrip('/')}")
            file = tar.extractfile(member) if member.isreg() else None
            if file is not None:
                yield path, iter(lambda file=file: file.read(_PIECE), b"")  # type: ignore[misc]  # file is bound


class _Reader:
    """Chunks as a file that can be read, and nothing else."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._held = bytearray()

    def read(self, size: int) -> bytes:
        while len(self._held) < size:
            chunk = next(self._chunks, None)
            if chunk is None:
                break
            self._held += chunk
        data = bytes(self._held[:size])
        del self._held[:size]
        return data
