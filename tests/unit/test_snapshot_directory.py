"""Reading a directory that its owner means ill with: what is taken, what is dropped, what is refused, and how soon."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from adapters.snapshot import directory
from adapters.snapshot.directory import read_directory
from adapters.snapshot.found import SnapshotLimits, Tree
from adapters.snapshot.patterns import IgnoreRules, Include, Selection
from domain.errors import WorkspaceRefused
from domain.tree import Entry, Manifest
from tests.fakes.evidence import MemoryStore


def read(
    root: Path,
    base: list[str] | None = None,
    ignore: str = "",
    limits: SnapshotLimits | None = None,
    store: MemoryStore | None = None,
) -> Tree:
    """`root` as a head over a base with the files `base`; without one, as a base."""
    manifest = None if base is None else Manifest.of(Entry(path=path) for path in base)
    selection = Selection(Include(["**"]), IgnoreRules({"": ignore.encode()}), manifest)
    with (store or MemoryStore()).bulk() as bulk:
        return read_directory(root, selection, limits or SnapshotLimits(), bulk, lambda _: None)


def taken(tree: Tree) -> list[str]:
    return sorted(entry.path for entry in tree.entries)


def reasons(tree: Tree) -> dict[str, str]:
    assert len({dropped.path for dropped in tree.dropped}) == len(tree.dropped)
    return {dropped.path: dropped.reason for dropped in tree.dropped}


def write(root: Path, *paths: str, content: str = "x") -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content)


def state(root: Path) -> list[tuple[str, int, int, int]]:
    found = []
    for path in sorted(root.rglob("*")):
        status = path.lstat()
        found.append((str(path), status.st_mode, status.st_mtime_ns, status.st_size))
    return found


def test_reads_files_links_and_modes(tmp_path: Path) -> None:
    write(tmp_path, "a.py", "d/e/b.py", content="text")
    (tmp_path / "a.py").chmod(0o755)
    (tmp_path / "d" / "up").symlink_to("../a.py")
    os.link(tmp_path / "a.py", tmp_path / "hard")
    store = MemoryStore()
    before = state(tmp_path)
    tree = read(tmp_path, base=[], store=store)
    entries = {entry.path: entry for entry in tree.entries}
    assert set(entries) == {"a.py", "hard", "d/e/b.py", "d/up"}
    assert entries["a.py"].executable
    assert not entries["d/e/b.py"].executable
    assert entries["d/up"] == Entry(path="d/up", kind="link", target="../a.py")
    assert {store.get(e.digest) for e in tree.entries if e.kind == "file"} == {b"text"}
    assert entries["a.py"].size == 4
    assert not tree.dropped
    assert state(tmp_path) == before


def test_drops_links_that_lead_out_and_follows_none(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    write(outside, "secret", content="secret")
    root = tmp_path / "tree"
    write(root, "sub/file")
    for name, target in {
        "absolute": "/etc/passwd",
        "out": "../outside/secret",
        "folder": "../outside",
        "round": "sub/../../outside/secret",
        "inside": "sub",
        "chain": "inside/file",
    }.items():
        (root / name).symlink_to(target)
    store = MemoryStore()
    tree = read(root, base=[], store=store)
    assert taken(tree) == ["chain", "inside", "sub/file"]
    assert set(reasons(tree)) == {"absolute", "out", "folder", "round"}
    assert list(store.blobs.values()) == [b"x"]


def test_drops_what_is_neither_file_nor_link_without_waiting_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.chdir(tmp_path)  # a socket's path may have 108 bytes
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        tree = read(tmp_path, base=["pipe"])
    assert reasons(tree) == {"pipe": "a named pipe", "socket": "a socket"}
    assert not tree.entries


def test_drops_names_that_cannot_be_stored(tmp_path: Path) -> None:
    write(tmp_path, "ok.py", "new\nline.py", "\u0430pp.py")
    (tmp_path / os.fsdecode(b"caf\xe9")).write_text("x")
    (tmp_path / os.fsdecode(b"dir\xff")).mkdir()
    (tmp_path / os.fsdecode(b"dir\xff") / "f").write_text("x")
    tree = read(tmp_path, base=["ok.py"])
    assert taken(tree) == ["ok.py"]
    assert set(reasons(tree)) == {"new\\nline.py", "caf\\xe9", "dir\\xff", "\u0430pp.py"}


def test_refuses_a_huge_sparse_file_without_reading_it(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(10 * 2**30)
    write(tmp_path, "a.py")
    started = time.process_time()
    tree = read(tmp_path, base=[])
    assert time.process_time() - started < 1
    assert taken(tree) == ["a.py"]
    assert "10737418240 bytes" in reasons(tree)["sparse"]


def test_does_not_crash_on_folders_without_end(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    for _ in range(1500):  # deeper than Python recurses
        os.mkdir("d", dir_fd=descriptor)
        below = os.open("d", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = below
    os.close(descriptor)
    write(tmp_path, "a.py")
    try:
        started = time.process_time()
        tree = read(tmp_path, base=[])
        assert time.process_time() - started < 10
    finally:
        remove_deep(tmp_path / "d")
    assert taken(tree) == ["a.py"]
    assert [dropped.reason for dropped in tree.dropped] == ["its path is longer than 1024 bytes"]


def remove_deep(top: Path) -> None:
    """Without recursion, which the depth would exceed: each folder's content is moved up before it goes."""
    while (top / "d").exists():
        (top / "d").rename(top.with_name("next"))
        top.rmdir()
        top.with_name("next").rename(top)
    top.rmdir()


def test_refuses_too_many_files_at_the_first_one_and_says_where_they_are(tmp_path: Path) -> None:
    assert SnapshotLimits().max_files == 100_000
    (tmp_path / "data").mkdir()
    for number in range(300):
        (tmp_path / "data" / str(number)).touch()
    with pytest.raises(WorkspaceRefused, match=r"more than 200 files; counting stopped at 201, of .*'data'") as caught:
        read(tmp_path, base=[], limits=SnapshotLimits(max_files=200))
    assert "gitignore" in caught.value.next_step


@pytest.mark.parametrize("kind", ["file", "pipe", "folder"])
def test_counts_everything_it_finds(tmp_path: Path, kind: str) -> None:
    for number in range(12):
        place = tmp_path / str(number)
        if kind == "file":
            place.write_text("x")
        elif kind == "pipe":
            os.mkfifo(place)
        else:
            place.mkdir()
    with pytest.raises(WorkspaceRefused, match="more than 10 "):
        read(tmp_path, base=[], limits=SnapshotLimits(max_files=10))
    read(tmp_path, base=[], limits=SnapshotLimits(max_files=13))


def test_refuses_too_many_bytes_before_it_copies_any(tmp_path: Path) -> None:
    write(tmp_path, "a", "b", "c", content="x" * 40)
    store = MemoryStore()
    with pytest.raises(WorkspaceRefused, match="100 bytes"):
        read(tmp_path, base=[], limits=SnapshotLimits(max_total_bytes=100), store=store)
    assert not store.blobs


def test_an_ignored_folder_is_one_dropped_path_and_is_not_walked(tmp_path: Path) -> None:
    write(
        tmp_path, "a.py", "build/1", "build/2", "node_modules/x/y.js", ".git/config", "env/pyvenv.cfg", "env/lib/m.py"
    )
    write(tmp_path, "m.pyc", "d/__pycache__/m.py", ".gitignore", content="*.py")
    assert reasons(read(tmp_path, base=["a.py", ".gitignore"], ignore="build/\n")) == {
        "build": "ignored by the base's .gitignore",
        "node_modules": "built-in list: node_modules",
        ".git": "built-in list: .git",
        "env": "built-in list: virtual environment",
        "m.pyc": "built-in list: compiled",
        "d/__pycache__": "built-in list: __pycache__",
    }


def test_the_head_s_own_gitignore_hides_nothing(tmp_path: Path) -> None:
    write(tmp_path, "a.py", "evil.py")
    write(tmp_path, ".gitignore", content="*.py")
    assert taken(read(tmp_path, base=["a.py"])) == [".gitignore", "a.py", "evil.py"]


def test_what_the_base_has_is_read_even_in_an_ignored_folder(tmp_path: Path) -> None:
    write(tmp_path, "build/kept.py", "build/new.py", "build/deep/new.py", "src/app.py", "src/pyvenv.cfg", "src/new.py")
    tree = read(tmp_path, base=["build/kept.py", "src/app.py"], ignore="build/\n")
    assert taken(tree) == ["build/kept.py", "src/app.py"]
    assert set(reasons(tree)) == {"build/new.py", "build/deep", "src/pyvenv.cfg", "src/new.py"}


def test_a_base_is_whole_but_for_the_built_in_list(tmp_path: Path) -> None:
    write(tmp_path, "build/a", ".git/HEAD", "d/.git", "\u0430pp.py")
    write(tmp_path, ".gitignore", content="build/\n")
    tree = read(tmp_path)
    assert taken(tree) == [".gitignore", "build/a", "\u0430pp.py"]
    assert tree.ignore_files == {"": b"build/\n"}


@pytest.mark.parametrize("what", ["link", "nothing", "file"])
def test_a_root_that_is_no_folder_is_an_error(tmp_path: Path, what: str) -> None:
    root = tmp_path / "root"
    if what == "link":
        root.symlink_to(tmp_path)
    elif what == "file":
        root.write_text("x")
    with pytest.raises(OSError, match="root"):
        read(root, base=[])


@contextmanager
def between_the_passes(monkeypatch: pytest.MonkeyPatch, meddle: Callable[[], None]) -> Iterator[None]:
    """Calls `meddle` once, when everything is listed and nothing is read yet."""
    run = directory._Copy.run

    def meddling(copy: object, *arguments: object) -> object:
        meddle()
        return run(copy, *arguments)  # type: ignore[arg-type]  # passed through as they came

    with monkeypatch.context() as patch:
        patch.setattr(directory._Copy, "run", meddling)
        yield


def test_files_that_are_swapped_while_it_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = tmp_path / "secret"
    write(secret, "a.py", content="secret")
    root = tmp_path / "tree"
    write(root, "to_link", "to_pipe", "to_folder", "gone", "grown", "folder/a.py", "stays")
    (root / "link").symlink_to("stays")

    def meddle() -> None:
        for name in ("to_link", "to_pipe", "to_folder", "gone", "link"):
            (root / name).unlink()
        (root / "to_link").symlink_to(secret / "a.py")
        os.mkfifo(root / "to_pipe")
        (root / "to_folder").mkdir()
        (root / "link").write_text("now a file")
        (root / "grown").write_text("much longer")
        shutil.rmtree(root / "folder")
        (root / "folder").symlink_to(secret)

    store = MemoryStore()
    with between_the_passes(monkeypatch, meddle):
        tree = read(root, base=[], store=store)
    assert taken(tree) == ["grown", "stays"]
    assert {entry.size for entry in tree.entries} == {1, 11}
    assert set(store.blobs.values()) == {b"x", b"much longer"}
    assert set(reasons(tree)) == {"to_link", "to_pipe", "to_folder", "gone", "link", "folder/a.py"}
    assert "vanished" in reasons(tree)["gone"]


def test_a_file_that_grows_beyond_the_limits_while_it_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "a", "b")

    def grow() -> None:
        (tmp_path / "a").write_text("x" * 60)

    with between_the_passes(monkeypatch, grow):
        tree = read(tmp_path, base=[], limits=SnapshotLimits(max_file_bytes=50))
    assert taken(tree) == ["b"]
    (tmp_path / "a").write_text("x")
    with between_the_passes(monkeypatch, grow), pytest.raises(WorkspaceRefused):
        read(tmp_path, base=[], limits=SnapshotLimits(max_total_bytes=50))


def test_what_cannot_be_read_is_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may read everything, so the refusals of the system are simulated."""
    write(tmp_path, "a.py", "closed.py", "cellar/b.py")
    real = os.open

    def refusing(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if path in ("closed.py", "cellar"):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return real(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", refusing)
    tree = read(tmp_path, base=["cellar/b.py"])
    assert taken(tree) == ["a.py"]
    assert reasons(tree) == dict.fromkeys(("closed.py", "cellar"), "it cannot be read: Permission denied")


def test_opens_no_more_files_than_a_few(tmp_path: Path) -> None:
    write(tmp_path, *(f"{n}/" * 5 + "f" for n in range(50)))
    before = len(list(Path("/proc/self/fd").iterdir()))
    read(tmp_path, base=[])
    assert len(list(Path("/proc/self/fd").iterdir())) == before
