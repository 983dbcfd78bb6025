"""Knows how the secrets of a set-up are spelled: masks them in what is shown, finds them in what would be kept."""

from __future__ import annotations

import base64
import json
import re
import tarfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import IO, cast
from urllib.parse import quote, quote_plus

_PIECE = 1024 * 1024
_TELLING = 8
"""Bytes from which a part of a secret cannot be met by chance."""


class Secrets:
    """Values by the names of their variables. An empty value hides nothing and is never looked for."""

    def __init__(self, values: Mapping[str, bytes]) -> None:
        kept = {spelling: name for name, value in values.items() for spelling in _spellings(value)}
        shown = {line: name for name, value in values.items() for line in _lines(value)} | kept
        self._kept = _Spelled(kept)
        self._shown = _Spelled(shown)

    def __bool__(self) -> bool:
        return bool(self._kept)

    def mask(self, text: str) -> str:
        """`text` with every spelling of a secret as `[NAME]`."""
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

    def __init__(self, spelled: _Spelled) -> None:
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


class _Spelled:
    """Spellings and whose they are; where two fit, the longer counts."""

    def __init__(self, names: Mapping[bytes, str]) -> None:
        self._names = names
        self._longest = max(map(len, names), default=0)
        ordered = sorted(names, key=len, reverse=True)
        self._pattern = re.compile(b"|".join(map(re.escape, ordered)) if ordered else b"(?!)")

    def __bool__(self) -> bool:
        return bool(self._names)

    def mask(self, data: bytes) -> bytes:
        return self._pattern.sub(self._name, data)

    def mask_so_far(self, data: bytes) -> tuple[bytes, bytes]:
        """What can be shown, masked, and the rest that more data could turn into a secret."""
        limit = min((self._beginning(spelling, data) for spelling in self._names), default=len(data))
        shown, position = bytearray(), 0
        for match in self._pattern.finditer(data):
            if match.start() >= limit:
                break
            shown += data[position : match.start()] + self._name(match)
            position = match.end()
        end = max(position, limit)
        return bytes(shown + data[position:end]), data[end:]

    def first(self, pieces: Iterable[bytes]) -> str | None:
        """Whose secret is in the pieces of one text; it may lie across two of them."""
        before = b""
        for piece in pieces:
            text = before + piece
            match = self._pattern.search(text)
            if match:
                return self._names[match[0]]
            before = text[len(text) - min(len(text), self._longest - 1) :]
        return None

    def _name(self, match: re.Match[bytes]) -> bytes:
        return f"[{self._names[match[0]]}]".encode()

    @staticmethod
    def _beginning(spelling: bytes, data: bytes) -> int:
        """Where the end of `data` begins that is a beginning of `spelling`; its length when there is none."""
        place = data.find(spelling[:1], max(0, len(data) - len(spelling) + 1))
        while place >= 0:
            if spelling.startswith(data[place:]):
                return place
            place = data.find(spelling[:1], place + 1)
        return len(data)


def _spellings(value: bytes) -> set[bytes]:
    """As it is, with its ends trimmed, in base64 wherever it may begin there, quoted for URLs and for JSON."""
    found: set[bytes] = set()
    for text in (value, value.strip()):
        found |= {text, quote(text).encode(), quote(text, safe="").encode(), quote_plus(text).encode()}
        found |= {re.sub(rb"%[0-9A-F]{2}", lambda escape: escape[0].lower(), spelling) for spelling in found}
        found.add(json.dumps(text.decode("utf-8", "surrogateescape"), ensure_ascii=False)[1:-1].encode(errors="ignore"))
        found |= set(_base64(text))
    return found - {b""}


def _base64(text: bytes) -> Iterator[bytes]:
    """Whole, and the characters that `text` alone decides at each of the three places where it may begin in a group."""
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        yield encode(text)
        for before, skipped in ((0, 0), (1, 2), (2, 3)):
            certain = encode(bytes(before) + text)[skipped : (before + len(text)) * 8 // 6]
            if len(certain) >= _TELLING:
                yield certain


def _lines(value: bytes) -> Iterator[bytes]:
    """The lines of a value that has several: what is shown is shown by lines."""
    lines = value.splitlines()
    if len(lines) > 1:
        yield from (line.strip() for line in lines if len(line.strip()) >= _TELLING)


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
