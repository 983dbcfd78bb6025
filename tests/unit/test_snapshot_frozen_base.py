"""A base that was frozen when its todo started: used as it was, whatever has become of it since."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from adapters.masking.masker import Masker
from adapters.snapshot.snapshots import FileSnapshots
from domain.base import sha256_hex
from domain.errors import Cause, Unavailable, WorkspaceRefused
from domain.messages import FreezeInput, Frozen, FrozenBase
from domain.order import BaseRevision
from domain.tree import Manifest
from tests.fakes.evidence import MemoryStore

IDENTITY = ("-c", "user.name=a", "-c", "user.email=a@b")


class Desk:
    """An order's folder with files beside it, a base and a workspace that begins as a copy."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.write("base/src/app.py", "def app():\n    return 1\n")
        self.write("base/tests/test_app.py", "assert app()\n")
        (self.root / "base/.gitignore").write_bytes(b"build/\n# \xff no UTF-8\n")
        self.write("base/lib/.gitignore", "*.log\n")
        (self.root / "base/outside").symlink_to("/etc/hosts")
        shutil.copytree(root / "base", root / "work", symlinks=True)
        self.write("own/test_own.py", "assert app() == 2\n")
        self.write("break.patch", "--- a/x\n+++ b/x\n")
        self.write("work/src/app.py", "def app():\n    return 2\n")
        self.write("work/build/out", "x")
        self.write("work/lib/a.log", "x")
        self.store = MemoryStore()
        self.masker = Masker()
        self.base: str | BaseRevision = str(root / "base")
        self.order_files: tuple[str, ...] = ("own", "break.patch")
        self.include: tuple[str, ...] = ("**",)
        self.commits = False

    def write(self, path: str, text: str) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def git(self, *arguments: str) -> str:
        command = ["git", "-C", str(self.root / "base"), *IDENTITY, *arguments]
        return subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()

    def commit(self) -> None:
        self.git("init", "-q")
        self.git("add", "-A", "-f")
        self.git("commit", "-qm", "base")
        self.base = BaseRevision(repository=str(self.root / "base"), revision=self.git("rev-parse", "HEAD"))

    def request(self, base: FrozenBase | None = None) -> FreezeInput:
        return FreezeInput(
            round="r",
            workspace=str(self.root / "work"),
            base=self.base,
            include=self.include,
            commits=self.commits,
            order_folder=str(self.root),
            order_files=self.order_files,
            frozen_base=base.rest if base else "",
        )

    def freeze_base(self) -> FrozenBase:
        return FileSnapshots(self.store, masker=self.masker).freeze_base(self.request(), lambda _: None)

    def freeze(self, base: FrozenBase | None = None) -> Frozen:
        return FileSnapshots(self.store, masker=self.masker).freeze(self.request(base), lambda _: None)

    def content(self, digest: str) -> dict[str, str]:
        entries = Manifest.decode(self.store.get(digest)).entries
        return {e.path: self.store.get(e.digest).decode(errors="replace") for e in entries if e.kind == "file"}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.mark.parametrize("committed", [False, True])
@pytest.mark.parametrize("include", [("**",), ("src/**", "lib/**")])
def test_nothing_moved_so_it_is_as_if_read_now(desk: Desk, committed: bool, include: tuple[str, ...]) -> None:
    desk.include = include
    if committed:
        desk.commit()
        desk.commits = True
    base = desk.freeze_base()
    now = desk.freeze()
    assert now.base == base.manifest
    assert now.base_files == base.files
    assert now.dropped_count >= 1
    assert desk.freeze(base) == now
    assert desk.freeze_base() == base, "the same again, so that a start may be tried twice"


def move_the_files(desk: Desk) -> None:
    desk.write("base/src/app.py", "def app():\n    return 2\n")
    desk.write("base/tests/test_app.py", "assert True\n")
    desk.write("base/new.py", "x\n")
    (desk.root / "base/.gitignore").write_text("src/\n")
    (desk.root / "base/outside").unlink()


def remove_the_base(desk: Desk) -> None:
    shutil.rmtree(desk.root / "base")


def move_what_is_beside(desk: Desk) -> None:
    desk.write("own/test_own.py", "assert True\n")
    desk.write("own/test_more.py", "assert False\n")
    (desk.root / "break.patch").unlink()


@pytest.mark.parametrize("move", [move_the_files, remove_the_base, move_what_is_beside])
@pytest.mark.parametrize("committed", [False, True])
def test_what_moved_since_is_not_seen(desk: Desk, committed: bool, move: Callable[[Desk], None]) -> None:
    if committed:
        desk.commit()
    base = desk.freeze_base()
    before = desk.freeze(base)
    move(desk)
    assert desk.freeze(base) == before
    assert desk.content(before.base)["src/app.py"] == "def app():\n    return 1\n"
    assert desk.content(before.order_files)["own/test_own.py"] == "assert app() == 2\n"


def test_the_work_is_read_each_time(desk: Desk) -> None:
    base = desk.freeze_base()
    before = desk.freeze(base)
    desk.write("work/src/app.py", "def app():\n    return 3\n")
    after = desk.freeze(base)
    assert (after.base, after.order_files) == (before.base, before.order_files)
    assert desk.content(after.head)["src/app.py"] == "def app():\n    return 3\n"


def test_commits_are_those_since_the_base_even_so(desk: Desk) -> None:
    desk.commit()
    desk.commits = True
    shutil.copytree(desk.root / "base/.git", desk.root / "work/.git")
    base = desk.freeze_base()
    none = desk.freeze(base).commits
    for command in (["add", "-A"], ["commit", "-qm", "the work"]):
        subprocess.run(["git", "-C", str(desk.root / "work"), *IDENTITY, *command], check=True, capture_output=True)
    assert b"the work" not in desk.store.get(none)
    assert b"the work" in desk.store.get(desk.freeze(base).commits)


def test_files_that_an_edit_names_later_are_read_when_they_are_asked_for(desk: Desk) -> None:
    base = desk.freeze_base()
    desk.write("own/test_own.py", "assert True\n")
    desk.write("later/test_later.py", "assert 1\n")
    desk.order_files = ("own/test_own.py", "later")
    assert desk.content(desk.freeze(base).order_files) == {
        "own/test_own.py": "assert app() == 2\n",
        "later/test_later.py": "assert 1\n",
    }
    desk.order_files = ("own/test_newer.py",)
    with pytest.raises(Unavailable, match=r"own/test_newer\.py beside the order"):
        desk.freeze(base)


def test_other_patterns_than_it_was_frozen_with_are_told(desk: Desk) -> None:
    base = desk.freeze_base()
    desk.include = ("src/**",)
    with pytest.raises(Unavailable, match=r"frozen with snapshot\.include") as caught:
        desk.freeze(base)
    assert caught.value.cause is Cause.BASE_UNREADABLE


def test_secrets_of_the_base_are_told_and_those_of_the_work_refused(desk: Desk) -> None:
    desk.masker = Masker({"TOKEN": b"s3cr3t-value-1"})
    desk.write("base/keys.txt", "s3cr3t-value-1\n")
    desk.write("work/keys.txt", "s3cr3t-value-1\n")
    desk.write("own/keys.txt", "s3cr3t-value-1\n")
    base = desk.freeze_base()
    frozen = desk.freeze(base)
    assert frozen == desk.freeze()
    assert [leak.path for leak in frozen.secrets_in_base] == ["keys.txt", "own/keys.txt (beside the order)"]
    desk.write("work/src/keys.py", "KEY = 's3cr3t-value-1'\n")
    with pytest.raises(WorkspaceRefused, match="TOKEN"):
        desk.freeze(base)


def test_says_what_of_it_the_store_has_lost(desk: Desk) -> None:
    base = desk.freeze_base()
    assert base.rest == sha256_hex(desk.store.get(base.rest))
    for digest in (base.manifest, base.rest):
        del desk.store.blobs[digest]
        with pytest.raises(Unavailable, match=digest):
            desk.freeze(base)


def test_a_base_that_cannot_be_read_is_told_at_the_start(desk: Desk) -> None:
    remove_the_base(desk)
    with pytest.raises(Unavailable) as caught:
        desk.freeze_base()
    assert caught.value.cause is Cause.BASE_UNREADABLE
