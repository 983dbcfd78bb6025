"""Finds secrets in trees while they are read: refuses them in what a worker changed, and notes them in the base.

Only a secret as it is is looked for, in content, in names and in what links lead to. Where no secret is known, nothing
is looked at and it costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from adapters.masking.masker import Masker
from domain.errors import WorkspaceRefused
from domain.messages import SHOWN, Leak
from domain.tree import Entry, Manifest

if TYPE_CHECKING:
    from domain.ports import Bulk


class Leaks:
    """What was found in the content of files, by digest; what the content of the base has need not be read again."""

    def __init__(self, masker: Masker) -> None:
        self._masker = masker
        self._by_digest: dict[str, str | None] = {}

    def watching(self, bulk: Bulk) -> Bulk:
        """`bulk`, with a look at everything that is added."""
        return _Watching(bulk, self._masker, self._by_digest) if self._masker else bulk

    def in_base(self, base: Manifest) -> tuple[Leak, ...]:
        """The first `SHOWN` files of the base that have one: the project's own, to be told of."""
        return tuple(self._found(base.entries))[:SHOWN]

    def refuse(self, entries: Iterable[Entry], base: Manifest) -> None:
        """Raise `WorkspaceRefused` where one of `entries` has a secret and is not as it is in the base."""
        known = base.by_path
        changed = (e for e in entries if e.path not in known or known[e.path].identity != e.identity)
        leak = next(self._found(changed), None)
        if leak is not None:
            raise WorkspaceRefused(
                f"The change has the value of the secret {leak.secret} in {self._masker.text(leak.path)}",
                f"Take the value out of that file or its name, let the program read it from the variable {leak.secret},"
                " and change the secret if others may have seen it.",
            )

    def _found(self, entries: Iterable[Entry]) -> Iterator[Leak]:
        if not self._masker:
            return
        for entry in entries:
            names = f"{entry.path}\0{entry.target}".encode("utf-8", "surrogateescape")
            name = self._by_digest.get(entry.digest) or self._masker.raw_in([names])
            if name is not None:
                yield Leak(path=entry.path, secret=name)


class _Watching:
    """A bulk whose blobs are searched as they go by."""

    def __init__(self, bulk: Bulk, masker: Masker, found: dict[str, str | None]) -> None:
        self._bulk = bulk
        self._masker = masker
        self._found = found

    def add(self, chunks: Iterable[bytes]) -> str:
        """See `domain.ports.Bulk`."""
        watched = _Watched(chunks, self._masker)
        digest = self._bulk.add(iter(watched) if isinstance(chunks, Iterator) else watched)
        if digest not in self._found:
            self._found[digest] = watched.found()
        return digest


class _Watched:
    """Pieces as they are read, each time from the start; what counts is the last time, as for the digest.

    A file of one piece is searched only when it is asked for: mostly its like is known from the base.
    """

    def __init__(self, chunks: Iterable[bytes], masker: Masker) -> None:
        self._chunks = chunks
        self._masker = masker
        self._unsearched = b""
        self._found: str | None = None

    def __iter__(self) -> Iterator[bytes]:
        self._unsearched, self._found = b"", None
        for piece in self._chunks:
            if self._unsearched:
                self._found = self.found()
                overlap = min(len(self._unsearched), self._masker.longest - 1)
                self._unsearched = self._unsearched[len(self._unsearched) - overlap :]
            self._unsearched += piece
            yield piece

    def found(self) -> str | None:
        """Whose secret was in the pieces, if one was."""
        return self._found or self._masker.raw_in([self._unsearched])
