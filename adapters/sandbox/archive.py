"""Writes a frozen tree as a tar stream, member by member; no name of the tree ever touches this host's files."""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Iterable, Iterator

from domain.builds import BuildRules
from domain.tree import Entry, Manifest

WORKER_ID = 1000
PAGE = 4096
FIXED_TIME = 315_619_200
"""The second day of 1980, in Unix time: the same for every tree, and late enough for a zip that a check makes of it."""

_CHUNK = 1024 * 1024


def sealed_tree(
    manifest: Manifest, digest: str, read: Callable[[str], bytes], rules: BuildRules | None = None
) -> Iterator[bytes]:
    """The tar to unpack in `/src`: the tree under `tree/`, then its digest in `seal`, so that half a tree has no seal.

    With `rules`, for a tree that is built: also all folders and what is put back after a build under `protected/`, and
    what may not be new in the files `unwanted` and `hiding`. `read` gives a blob by its digest; one file is in memory
    at a time. Raises ValueError for a manifest that no snapshot makes (a path that climbs, or lies below a file or
    link), and what `read` raises.
    """
    return _in_chunks(_members(manifest, digest, read, rules))


def footprint(manifest: Manifest) -> int:
    """Bytes that the tree takes in a tmpfs, where everything fills whole pages."""
    pages = sum(max(1, -(-entry.size // PAGE)) for entry in manifest.entries) + len(manifest.directories)
    return pages * PAGE


def inodes(manifest: Manifest) -> int:
    """How many files, links and directories the tree has."""
    return len(manifest.entries) + len(manifest.directories)


def tar_member(name: str, data: bytes, mode: int = 0o644) -> bytes:
    """A regular file as a tar member, owned by the worker's id and dated like all others."""
    info = _info(name, tarfile.REGTYPE, mode)
    info.size = len(data)
    return _header(info) + data + bytes(-len(data) % tarfile.BLOCKSIZE)


def tar_end() -> bytes:
    """What ends a tar."""
    return bytes(2 * tarfile.BLOCKSIZE)


def _members(
    manifest: Manifest, digest: str, read: Callable[[str], bytes], rules: BuildRules | None
) -> Iterator[bytes]:
    for directory in sorted(manifest.directories):
        if directory in manifest.by_path:
            raise ValueError(f"{directory!r} is a directory and something else in tree {digest}")
        yield _header(_info(f"tree/{directory}".rstrip("/"), tarfile.DIRTYPE, 0o755))
    for entry in manifest.entries:
        yield _member(entry, read)
    if rules is not None:
        yield from _after_a_build(manifest, rules)
    yield tar_member("seal", f"{digest}\n".encode())
    yield tar_end()


def _member(entry: Entry, read: Callable[[str], bytes]) -> bytes:
    if any(part in ("", ".", "..") for part in entry.path.split("/")) or "\0" in entry.path + entry.target:
        raise ValueError(f"{entry.path!r} is no path inside a tree")
    if entry.kind == "link":
        return _link(f"tree/{entry.path}", tarfile.SYMTYPE, entry.target)
    return tar_member(f"tree/{entry.path}", read(entry.digest), 0o755 if entry.executable else 0o644)


def _after_a_build(manifest: Manifest, rules: BuildRules) -> Iterator[bytes]:
    """What is put back, files as hard links, which take no memory; and the lists for the script."""
    changeable = frozenset(rules.changeable)
    for directory in sorted(manifest.directories):
        yield _header(_info(f"protected/{directory}".rstrip("/"), tarfile.DIRTYPE, 0o755))
    for entry in manifest.entries:
        if entry.kind == "link":
            yield _link(f"protected/{entry.path}", tarfile.SYMTYPE, entry.target)
        elif entry.path not in changeable:
            yield _link(f"protected/{entry.path}", tarfile.LNKTYPE, f"tree/{entry.path}", entry.executable)
    where = {True: "known", False: "anywhere"}
    unwanted = (f"{one.name} {where[one.known_folders]} {one.holding}\n" for one in rules.unwanted)
    yield tar_member("unwanted", "".join(unwanted).encode())
    yield tar_member("hiding", "".join(f"{module}\n" for module in rules.hiding).encode())


def _link(name: str, kind: bytes, target: str, executable: bool = True) -> bytes:
    """A symbolic link, or another name of a file whose mode this is, too."""
    info = _info(name, kind, 0o777 if kind == tarfile.SYMTYPE else 0o755 if executable else 0o644)
    info.linkname = target
    return _header(info)


def _info(name: str, kind: bytes, mode: int) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.mode, info.mtime = kind, mode, FIXED_TIME
    info.uid = info.gid = WORKER_ID
    return info


def _header(info: tarfile.TarInfo) -> bytes:
    return info.tobuf(tarfile.PAX_FORMAT, "utf-8", "strict")


def _in_chunks(parts: Iterable[bytes]) -> Iterator[bytes]:
    gathered = bytearray()
    for part in parts:
        gathered += part
        if len(gathered) >= _CHUNK:
            yield bytes(gathered)
            gathered.clear()
    yield bytes(gathered)
