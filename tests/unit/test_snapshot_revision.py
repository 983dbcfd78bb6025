"""Reading a commit of a repository that means ill: objects only, each hashed again, and nothing of it run."""

from __future__ import annotations

import os
import shutil
import subprocess
import zlib
from pathlib import Path

import pytest

from adapters.snapshot.found import SnapshotLimits, Tree
from adapters.snapshot.patterns import Include
from adapters.snapshot.repository import commit_exists, find_repository
from adapters.snapshot.revision import read_revision
from domain.errors import Cause, Unavailable
from domain.order import BaseRevision
from tests.fakes.evidence import MemoryStore

GIT = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_SYSTEM": "/dev/null",
    **{f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z",
    "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
}


def git(repository: Path, *arguments: str, data: bytes | None = None) -> str:
    done = subprocess.run(
        ["git", "-C", str(repository), *arguments], env=GIT, input=data, capture_output=True, check=True
    )
    return done.stdout.decode().strip()


def commit(root: Path) -> str:
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--allow-empty", "--message", "state")
    return git(root, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    (root / "src" / "pkg").mkdir(parents=True)
    git(root, "init", "--quiet", "--initial-branch", "main")
    (root / "src/app.py").write_text("app")
    (root / "src/pkg/mod.py").write_text("mod")
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    (root / "link").symlink_to("src/app.py")
    (root / ".gitignore").write_text("build/\n")
    (root / "src/.gitignore").write_text("*.log\n")
    return root


def read(
    repository: Path,
    revision: str,
    include: str = "**",
    limits: SnapshotLimits | None = None,
    store: MemoryStore | None = None,
) -> Tree:
    base = BaseRevision(repository=str(repository), revision=revision)
    with (store or MemoryStore()).bulk() as bulk:
        return read_revision(base, Include([include]), limits or SnapshotLimits(), bulk, lambda _: None)


def object_file(repository: Path, name: str) -> Path:
    return repository / ".git/objects" / name[:2] / name[2:]


def overwrite(repository: Path, name: str, kind: str, data: bytes) -> None:
    path = object_file(repository, name)
    path.unlink()
    path.write_bytes(zlib.compress(f"{kind} {len(data)}\0".encode() + data))


def assert_unreadable(repository: Path, revision: str, match: str) -> None:
    with pytest.raises(Unavailable, match=match) as caught:
        read(repository, revision)
    assert caught.value.cause is Cause.BASE_UNREADABLE


@pytest.mark.parametrize("form", ["loose", "packed", "multi-pack-index", "bare", "worktree", "alternate", "moved on"])
def test_reads_the_tree_of_a_commit_wherever_its_objects_are(repository: Path, form: str, tmp_path: Path) -> None:
    revision = commit(repository)
    place = repository
    if form in ("packed", "multi-pack-index"):
        git(repository, "tag", "--annotate", "v1", "--message", "one")
        git(repository, "gc", "--quiet")
        assert not object_file(repository, revision).exists()
    if form == "multi-pack-index":
        (repository / "more").write_text("x")
        commit(repository)
        git(repository, "repack", "--quiet")
        git(repository, "multi-pack-index", "write")
    if form == "bare":
        place = tmp_path / "bare.git"
        git(tmp_path, "clone", "--quiet", "--bare", str(repository), str(place))
    if form == "worktree":
        place = tmp_path / "linked"
        git(repository, "worktree", "add", "--quiet", "--detach", str(place))
    if form == "alternate":
        place = tmp_path / "borrower"
        git(tmp_path, "clone", "--quiet", "--shared", str(repository), str(place))
    if form == "moved on":
        shutil.rmtree(repository / "src")
        commit(repository)
    store = MemoryStore()
    tree = read(place, revision, store=store)
    entries = {entry.path: entry for entry in tree.entries}
    assert set(entries) == {"src/app.py", "src/pkg/mod.py", "run.sh", "link", ".gitignore", "src/.gitignore"}
    assert store.get(entries["src/app.py"].digest) == b"app"
    assert entries["src/app.py"].size == 3
    assert entries["run.sh"].executable
    assert not entries["src/app.py"].executable
    assert entries["link"].target == "src/app.py"
    assert tree.ignore_files == {"": b"build/\n", "src": b"*.log\n"}
    assert not tree.dropped
    assert commit_exists(place, revision)
    assert not commit_exists(place, "0" * 40)


def test_runs_nothing_of_the_repository_and_changes_nothing(repository: Path, tmp_path: Path) -> None:
    (repository / ".gitattributes").write_text("*.py filter=evil diff=evil text eol=crlf\n")
    revision = commit(repository)
    marker = tmp_path / "marker"
    touch = f"touch {marker}"
    hooks = repository / ".git/hooks"
    for name in ("post-checkout", "post-index-change", "reference-transaction", "pre-auto-gc", "fsmonitor-watchman"):
        (hooks / name).write_text(f"#!/bin/sh\n{touch}\n")
        (hooks / name).chmod(0o755)
    for key in ("core.fsmonitor", "core.pager", "core.sshCommand", "core.editor", "core.alternateRefsCommand"):
        git(repository, "config", key, touch)
    for key in ("filter.evil.smudge", "filter.evil.clean", "filter.evil.process", "diff.evil.textconv", "alias.log"):
        git(repository, "config", key, touch)
    git(repository, "config", "remote.origin.url", f"ext::{touch}")
    git(repository, "config", "remote.origin.promisor", "true")
    with (repository / ".git/config").open("a") as file:
        file.write("[include]\n\tpath = /nonexistent\n[extensions]\n\tpartialClone = origin\n")
    before = {path: path.lstat().st_mtime_ns for path in repository.rglob("*")}
    store = MemoryStore()
    tree = read(repository, revision, store=store)
    assert b"app" in store.blobs.values()
    assert "src/app.py" in [entry.path for entry in tree.entries]
    assert not commit_exists(repository, "1" * 40)
    assert {path: path.lstat().st_mtime_ns for path in repository.rglob("*")} == before
    assert not marker.exists()


@pytest.mark.parametrize("what", ["commit", "tree", "blob"])
def test_refuses_an_altered_object(repository: Path, what: str) -> None:
    revision = commit(repository)
    name = {
        "commit": revision,
        "tree": git(repository, "rev-parse", "HEAD:src"),
        "blob": git(repository, "rev-parse", "HEAD:src/app.py"),
    }[what]
    other = {
        "commit": git(repository, "cat-file", "commit", "HEAD").encode() + b"!",
        "tree": b"",
        "blob": b"evil",
    }[what]
    overwrite(repository, name, what, other)
    assert_unreadable(repository, revision, f"{name} has been altered")
    assert commit_exists(repository, revision) == (what != "commit")


@pytest.mark.parametrize("content", [b"", b"junk", zlib.compress(b"blob 3\0ap"), zlib.compress(b"nonsense")])
def test_refuses_a_damaged_object(repository: Path, content: bytes) -> None:
    revision = commit(repository)
    path = object_file(repository, git(repository, "rev-parse", "HEAD:src/app.py"))
    path.unlink()
    path.write_bytes(content)
    assert_unreadable(repository, revision, "damaged|altered")


@pytest.mark.parametrize("suffix", ["pack", "idx"])
def test_refuses_a_damaged_pack(repository: Path, suffix: str) -> None:
    revision = commit(repository)
    git(repository, "gc", "--quiet")
    (pack,) = (repository / ".git/objects/pack").glob(f"*.{suffix}")
    content = pack.read_bytes()
    pack.unlink()
    pack.write_bytes(content[: len(content) // 2])
    assert_unreadable(repository, revision, "damaged|no object|altered")


def test_refuses_a_missing_object(repository: Path) -> None:
    revision = commit(repository)
    name = git(repository, "rev-parse", "HEAD:src/app.py")
    object_file(repository, name).unlink()
    assert_unreadable(repository, revision, f"no object {name}")


def test_a_replacement_is_not_heeded(repository: Path) -> None:
    revision = commit(repository)
    name = git(repository, "rev-parse", "HEAD:src/app.py")
    evil = git(repository, "hash-object", "-w", "--stdin", data=b"evil")
    git(repository, "replace", name, evil)
    store = MemoryStore()
    read(repository, revision, store=store)
    assert b"app" in store.blobs.values()
    assert b"evil" not in store.blobs.values()


@pytest.mark.parametrize("place", ["loose", "pack", "alternates"])
def test_does_not_wait_for_a_pipe(repository: Path, place: str) -> None:
    revision = commit(repository)
    if place == "loose":
        path = object_file(repository, revision)
        path.unlink()
    else:
        path = repository / ".git/objects" / {"pack": "pack/pack-evil.pack", "alternates": "info/alternates"}[place]
        path.parent.mkdir(exist_ok=True)
    os.mkfifo(path)
    assert_unreadable(repository, revision, "regular file")


def test_alternates_that_go_round_end(repository: Path) -> None:
    revision = commit(repository)
    (repository / ".git/objects/info/alternates").write_text("../objects\n")
    assert len(read(repository, revision).entries) == 6
    object_file(repository, revision).unlink()
    assert_unreadable(repository, revision, revision)


def test_says_what_is_no_repository(repository: Path, tmp_path: Path) -> None:
    revision = commit(repository)
    assert_unreadable(repository / "src", revision, f"not the root of a git repository.*{repository}")
    assert_unreadable(tmp_path / "nowhere", revision, "not the root")
    (tmp_path / "pointer").mkdir()
    (tmp_path / "pointer/.git").write_text("nonsense")
    assert_unreadable(tmp_path / "pointer", revision, "not the root")


def test_refuses_what_is_no_commit(repository: Path) -> None:
    commit(repository)
    assert_unreadable(repository, git(repository, "rev-parse", "HEAD:src"), "is a tree, not a commit")
    assert not commit_exists(repository, git(repository, "rev-parse", "HEAD:src"))


def test_finds_the_repository_above(repository: Path, tmp_path: Path) -> None:
    assert find_repository(repository / "src/pkg") == repository
    assert find_repository(repository) == repository
    assert find_repository(tmp_path) is None


def test_drops_submodules_and_links_that_lead_out(repository: Path) -> None:
    (repository / "out").symlink_to("../x")
    commit(repository)
    git(repository, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},vendor/lib")
    git(repository, "commit", "--quiet", "--message", "submodule")
    tree = read(repository, git(repository, "rev-parse", "HEAD"))
    assert tree.submodules == {"vendor/lib"}
    assert {dropped.path for dropped in tree.dropped} == {"vendor/lib", "out"}


def test_drops_names_that_no_tree_should_hold(repository: Path) -> None:
    blob = git(repository, "hash-object", "-w", "--stdin", data=b"x")
    raw = bytes.fromhex(blob)
    names = [b"..", b".GIT", b"a/b", b"caf\xe9", b"new\nline", b"ok"]
    rows = b"".join(b"100644 " + name + b"\0" + raw for name in names)
    tree_id = git(repository, "hash-object", "-t", "tree", "-w", "--literally", "--stdin", data=rows)
    revision = git(repository, "commit-tree", tree_id, "-m", "odd")
    tree = read(repository, revision)
    assert [entry.path for entry in tree.entries] == ["ok"]
    assert {dropped.path for dropped in tree.dropped} == {"..", ".GIT", "a/b", "caf\\xe9", "new\\nline"}


def test_reads_only_what_is_included_but_every_gitignore_above_it(repository: Path) -> None:
    (repository / "other").mkdir()
    (repository / "other/x").write_text("unread")
    revision = commit(repository)
    object_file(repository, git(repository, "rev-parse", "HEAD:other")).unlink()
    tree = read(repository, revision, include="src/pkg/**")
    assert [entry.path for entry in tree.entries] == ["src/pkg/mod.py"]
    assert set(tree.ignore_files) == {"", "src"}


def test_limits_hold_for_a_base_too(repository: Path) -> None:
    revision = commit(repository)
    with pytest.raises(Unavailable, match="more than 2 files"):
        read(repository, revision, limits=SnapshotLimits(max_files=2))
    with pytest.raises(Unavailable, match="5 bytes"):
        read(repository, revision, limits=SnapshotLimits(max_total_bytes=5))
    tree = read(repository, revision, limits=SnapshotLimits(max_file_bytes=8))
    assert [dropped.path for dropped in tree.dropped] == ["run.sh"]
