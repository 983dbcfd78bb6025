"""A repair takes its place in a workspace that is as it was frozen, and in no other; nothing outside is written."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adapters.snapshot.patterns import UNFINISHED
from domain.errors import Cause, Unavailable
from domain.fix_messages import Applied
from domain.tree import Entry
from tests.repairs import NEW, OLD, Desk, at_step

ROOT = Path(__file__).resolve().parents[2]
DONE = Applied(paths=tuple(NEW))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def inodes(desk: Desk) -> dict[str, tuple[int, int]]:
    found = {path: (desk.work / path).lstat() for path in desk.files()}
    return {path: (status.st_ino, status.st_mtime_ns) for path, status in found.items()}


def test_a_repair_takes_its_place_and_nothing_else_is_written(desk: Desk) -> None:
    request, before, stored = desk.repair(), inodes(desk), dict(desk.store.blobs)
    assert desk.apply(request) == DONE
    assert desk.files() == OLD | NEW
    after = inodes(desk)
    assert {path for path in after if after[path] != before[path]} == set(NEW)
    assert desk.store.blobs == stored
    assert desk.frozen() == request.fixed


def test_again_it_finds_the_repair_in_its_place(desk: Desk) -> None:
    request = desk.repair()
    desk.apply(request)
    written = inodes(desk)
    assert desk.apply(request) == DONE
    assert inodes(desk) == written


def test_what_is_there_already_is_not_written_again(desk: Desk) -> None:
    request = desk.repair()
    (desk.work / "src/b.py").write_bytes(NEW["src/b.py"])
    written = inodes(desk)["src/b.py"]
    assert desk.apply(request) == DONE
    assert desk.files() == OLD | NEW
    assert inodes(desk)["src/b.py"] == written


def test_permissions_stay_and_rights_are_not_lent(desk: Desk) -> None:
    for path, mode in (("src/a.py", 0o755), ("src/b.py", 0o640), ("src/deep/c.py", 0o6711)):
        (desk.work / path).chmod(mode)
    assert desk.apply(desk.repair()) == DONE
    modes = [stat.S_IMODE((desk.work / path).stat().st_mode) for path in NEW]
    assert modes == [0o755, 0o640, 0o711]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to somebody else")
def test_the_owner_stays(desk: Desk) -> None:
    os.chown(desk.work / "src/a.py", 1234, 2345)
    assert desk.apply(desk.repair()) == DONE
    owners = {path: ((desk.work / path).stat().st_uid, (desk.work / path).stat().st_gid) for path in NEW}
    assert owners["src/a.py"] == (1234, 2345)
    assert owners["src/b.py"] == (os.geteuid(), (desk.work / "src").stat().st_gid)


def test_another_name_of_the_file_keeps_the_old_content(desk: Desk, tmp_path: Path) -> None:
    os.link(desk.work / "src/a.py", tmp_path / "other")
    assert desk.apply(desk.repair()) == DONE
    assert (tmp_path / "other").read_bytes() == OLD["src/a.py"]


def test_any_name_and_a_thousand_files(tmp_path: Path) -> None:
    names = [
        f"{folder}/{name} {number}.txt"
        for folder in ("Größe", "日本")
        for name in ("é", "e\u0301")
        for number in range(250)
    ]
    desk = Desk(tmp_path, dict.fromkeys(names, b"old\n"))
    new = {name: f"new {name}\n".encode() for name in names}
    said: list[str] = []
    applied = desk.snapshots.apply(desk.repair(new), said.append)
    assert applied == Applied(paths=tuple(sorted(names)))
    assert desk.files() == new
    assert "writing the repair: 1000 of 1000 files" in said


def write(path: str, content: bytes = b"mine\n") -> Callable[[Path], object]:
    def change(root: Path) -> None:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)

    return change


def in_place(path: str, make: Callable[[Path], object]) -> Callable[[Path], object]:
    def change(root: Path) -> None:
        (root / path).unlink()
        make(root / path)

    return change


def folder_elsewhere(root: Path) -> None:
    (root / "src").rename(root.parent / "elsewhere")
    (root / "src").symlink_to(root.parent / "elsewhere")


FOREIGN = {
    "changed": (write("README.md"), "README.md (modified)"),
    "repaired otherwise": (write("src/a.py"), "src/a.py (modified)"),
    "added": (write("src/new.py"), "src/new.py (added)"),
    "removed": (in_place("src/b.py", lambda _: None), "src/b.py (deleted)"),
    "executable": (lambda root: (root / "src/a.py").chmod(0o755), "src/a.py (modified)"),
    "a link in": (in_place("src/a.py", lambda path: path.symlink_to("b.py")), "src/a.py (modified)"),
    "a link out": (
        in_place("src/a.py", lambda path: path.symlink_to("/etc/hosts")),
        "src/a.py (a link to an absolute path)",
    ),
    "a pipe": (in_place("src/a.py", os.mkfifo), "src/a.py (a named pipe)"),
    "a folder": (in_place("src/a.py", Path.mkdir), "src/a.py (deleted)"),
    "a folder that is a link": (folder_elsewhere, "src/a.py (deleted), src/b.py (deleted), src/deep/c.py (deleted)"),
    "many": (
        lambda root: [write(f"docs/{number}")(root) for number in range(5)],
        "docs/0 (added), docs/1 (added), docs/2 (added) and 2 more",
    ),
}


@pytest.mark.parametrize(("change", "named"), FOREIGN.values(), ids=FOREIGN)
def test_a_workspace_that_has_changed_is_left_as_it_is(
    desk: Desk, change: Callable[[Path], object], named: str
) -> None:
    request = desk.repair()
    change(desk.work)
    before, stored = inodes(desk), dict(desk.store.blobs)
    assert desk.apply(request) == Applied(why=f"the workspace has changed since: {named}")
    assert inodes(desk) == before
    assert desk.store.blobs == stored, "it is looked at, and not kept"


def test_says_what_has_the_repair_where_the_rest_has_changed(desk: Desk) -> None:
    request = desk.repair()
    write("src/a.py", NEW["src/a.py"])(desk.work)
    write("src/b.py")(desk.work)
    why = "the workspace has changed since: src/b.py (modified); src/a.py has the repair already"
    assert desk.apply(request) == Applied(paths=("src/a.py",), why=why)


def test_what_is_no_part_of_the_work_may_change(desk: Desk) -> None:
    desk.look = desk.look.model_copy(update={"include": ("src/", ".gitignore")})
    request = desk.repair()
    for path in ("build/out.py", "src/__pycache__/a.pyc", ".git/HEAD", "README.md", f"src/{UNFINISHED}left"):
        write(path)(desk.work)
    assert desk.apply(request) == DONE


@pytest.mark.parametrize("how", ["gone", "a file", "a link"])
def test_a_workspace_that_is_no_folder_any_more(desk: Desk, how: str) -> None:
    request = desk.repair()
    desk.work.rename(desk.work.with_name("moved"))
    if how == "a file":
        desk.work.write_text("")
    if how == "a link":
        desk.work.symlink_to("moved")
    applied = desk.apply(request)
    assert applied.paths == ()
    assert applied.why.startswith(f"the workspace {desk.work} cannot be opened: ")
    assert (desk.work.with_name("moved") / "src/a.py").read_bytes() == OLD["src/a.py"]


def test_a_workspace_that_grew_beyond_the_limits_has_changed(desk: Desk) -> None:
    request = desk.repair()
    with (desk.work / "large").open("wb") as file:
        file.truncate(2**31)
    (desk.work / "large").rename(desk.work / "src/large")
    limited = desk.snapshots._limits.model_copy(update={"max_files": len(OLD)})
    desk.snapshots._limits = limited
    applied = desk.apply(request)
    assert applied.paths == ()
    assert applied.why.startswith(f"the workspace has changed since: The tree has more than {len(OLD)} files")


def test_a_frozen_base_is_enough(desk: Desk) -> None:
    base = desk.snapshots.freeze_base(desk.look, lambda _: None)
    desk.look = desk.look.model_copy(update={"frozen_base": base.rest})
    request = desk.repair()
    shutil.rmtree(desk.base)
    write("build/out.py")(desk.work)
    assert desk.apply(request) == DONE


def test_without_a_frozen_base_the_base_is_needed(desk: Desk) -> None:
    request = desk.repair()
    shutil.rmtree(desk.base)
    with pytest.raises(Unavailable) as caught:
        desk.apply(request)
    assert caught.value.cause is Cause.BASE_UNREADABLE
    assert desk.files() == OLD


A = Entry(path="src/a.py", digest="0" * 64)


@pytest.mark.parametrize(
    ("path", "entry"),
    [
        ("src/new.py", Entry(path="src/new.py", digest="0" * 64)),
        ("src/a.py", None),
        ("src/a.py", A.model_copy(update={"executable": True})),
        ("src/a.py", Entry(path="src/a.py", kind="link", target="b.py")),
    ],
    ids=["a new file", "no file", "executable", "a link"],
)
def test_a_repair_that_is_more_than_edits_is_not_written(desk: Desk, path: str, entry: Entry | None) -> None:
    request = desk.repair({"src/b.py": NEW["src/b.py"]}, **{path: entry})
    assert desk.apply(request) == Applied(why=f"the repair does more to {path} than edit it")
    assert desk.files() == OLD


def test_a_repair_of_nothing_is_none(desk: Desk) -> None:
    assert desk.apply(desk.repair({})) == Applied(why="the repair changes nothing")


@pytest.mark.parametrize(("path", "mode"), [("src/b.py", 0o444), ("src/deep", 0o555)])
def test_what_is_read_only_is_not_written_nor_anything_else(desk: Desk, path: str, mode: int) -> None:
    request = desk.repair()
    (desk.work / path).chmod(mode)
    place = path if path in NEW else "src/deep/c.py"
    assert desk.apply(request) == Applied(why=f"{place} or the folder that it is in is read-only")
    assert desk.files() == OLD
    (desk.work / path).chmod(0o755 if path == "src/deep" else 0o644)
    assert desk.apply(request) == DONE


class Refusing:
    """A call of the system that answers with an error once, the `number`th time."""

    def __init__(self, name: str, number: int, code: int) -> None:
        self.real, self.left, self.code = getattr(os, name), number, code

    def __call__(self, *arguments: object, **named: object) -> object:
        self.left -= 1
        if self.left == 0:
            raise OSError(self.code, os.strerror(self.code))
        return self.real(*arguments, **named)


def refused(desk: Desk, name: str, number: int, code: int) -> Applied | Cause:
    """What comes of the repair where the disk answers so."""
    request = desk.repair()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, name, Refusing(name, number, code))
        try:
            return desk.apply(request)
        except Unavailable as error:
            return error.cause


@pytest.mark.parametrize("name", ["fchmod", "fsync"])
@pytest.mark.parametrize("code", [errno.EACCES, errno.EPERM, errno.EROFS])
def test_what_is_not_allowed_before_anything_is_replaced_leaves_all(desk: Desk, name: str, code: int) -> None:
    assert refused(desk, name, 2, code) == Applied(why=f"src/b.py cannot be written: {os.strerror(code)}")
    assert desk.files() == OLD


def test_what_is_not_allowed_in_the_middle_is_told(desk: Desk) -> None:
    why = "src/b.py cannot be written: Operation not permitted; src/a.py has the repair already"
    assert refused(desk, "rename", 2, errno.EPERM) == Applied(paths=("src/a.py",), why=why)
    assert desk.files() == OLD | {"src/a.py": NEW["src/a.py"]}


@pytest.mark.parametrize(
    ("code", "cause"),
    [
        (errno.ENOSPC, Cause.DISK_FULL),
        (errno.EDQUOT, Cause.DISK_FULL),
        (errno.EIO, Cause.WORKSPACE_UNREADABLE),
    ],
)
@pytest.mark.parametrize(("name", "number"), [("fsync", 2), ("rename", 2), ("write", 1), ("fsync", 4)])
def test_what_the_disk_cannot_do_is_not_the_repair_s_end(
    desk: Desk, code: int, cause: Cause, name: str, number: int
) -> None:
    assert refused(desk, name, number, code) is cause
    assert desk.unfinished() == []
    request = desk.repair({path: NEW[path] for path in NEW if desk.files()[path] != NEW[path]})
    assert desk.apply(request).why == ("" if request.head != request.fixed else "the repair changes nothing")
    assert desk.files() == OLD | NEW


@pytest.mark.parametrize(
    ("name", "number", "path", "there"),
    [("fsync", 1, "src/b.py", ()), ("fsync", 3, "src/a.py", ()), ("rename", 1, "src/b.py", ("src/a.py",))],
    ids=["before it is written beside", "after it was", "after the first was replaced"],
)
def test_what_the_worker_writes_meanwhile_is_kept(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, name: str, number: int, path: str, there: tuple[str, ...]
) -> None:
    request, real, left = desk.repair(), getattr(os, name), [number]

    def meddling(*arguments: object, **named: object) -> object:
        left[0] -= 1
        if left[0] == 0:
            write(path)(desk.work)
        return real(*arguments, **named)

    monkeypatch.setattr(os, name, meddling)
    told = "; src/a.py has the repair already" if there else ""
    assert desk.apply(request) == Applied(paths=there, why=f"{path} has changed since{told}")
    assert desk.files() == OLD | {one: NEW[one] for one in there} | {path: b"mine\n"}


def test_a_link_that_came_in_the_file_s_place_is_not_looked_through(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    request, real = desk.repair(), os.rename
    (tmp_path / "same").write_bytes(OLD["src/b.py"])

    def meddling(*arguments: Any, **named: Any) -> None:
        real(*arguments, **named)
        in_place("src/b.py", lambda path: path.symlink_to(tmp_path / "same"))(desk.work)
        monkeypatch.setattr(os, "rename", real)

    monkeypatch.setattr(os, "rename", meddling)
    assert desk.apply(request).why.startswith("src/b.py has changed since: it turned into something else")
    assert (desk.work / "src/b.py").is_symlink()


def test_content_that_the_store_lost_leaves_all(desk: Desk) -> None:
    request = desk.repair()
    lost = next(digest for digest, content in desk.store.blobs.items() if content == NEW["src/b.py"])
    del desk.store.blobs[lost]
    with pytest.raises(Unavailable) as caught:
        desk.apply(request)
    assert caught.value.cause is Cause.STORE_UNAVAILABLE
    assert desk.files() == OLD


def test_what_an_earlier_run_left_is_removed_also_where_the_workspace_has_changed(desk: Desk) -> None:
    request = desk.repair()
    left = [f"src/{UNFINISHED}{request.fixed[:16]}-{one}" for one in ("1", "2")]
    others = f"src/{UNFINISHED}{'0' * 16}-1"
    for path in (*left, others):
        write(path)(desk.work)
    (desk.work / f"src/{UNFINISHED}{request.fixed[:16]}-0").mkdir()
    write("README.md")(desk.work)
    assert desk.apply(request).paths == ()
    assert desk.unfinished() == [others], "of another repair, which may just be written"
    write("README.md", OLD["README.md"])(desk.work)
    assert desk.apply(request) == DONE


def test_killed_at_any_step_the_next_run_ends_it(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.repairs", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 60, "it was killed at all of them"


def folder_to_link(work: Path, outside: Path) -> None:
    (work / "src").rename(work / "moved")
    (work / "src").symlink_to(outside / "src")


def folder_out(work: Path, outside: Path) -> None:
    (work / "src").rename(outside.parent / "taken")
    (work / "src").symlink_to(outside / "src")


def deep_folder_to_link(work: Path, outside: Path) -> None:
    (work / "src/deep").rename(work / "moved")
    (work / "src/deep").symlink_to(outside / "src/deep")


def workspace_to_link(work: Path, outside: Path) -> None:
    work.rename(work.with_name("moved"))
    work.symlink_to(outside)


def file_to_link(work: Path, outside: Path) -> None:
    (work / "src/a.py").unlink()
    (work / "src/a.py").symlink_to(outside / "src/a.py")


def file_to_hard_link(work: Path, outside: Path) -> None:
    (work / "src/a.py").unlink()
    os.link(outside / "src/a.py", work / "src/a.py")


def file_to_pipe(work: Path, outside: Path) -> None:
    (work / "src/a.py").unlink()
    os.mkfifo(work / "src/a.py")


def file_to_folder(work: Path, outside: Path) -> None:
    (work / "src/a.py").unlink()
    (work / "src/a.py").mkdir()


def unfinished_to_link(work: Path, outside: Path) -> None:
    for path in [path for path in work.rglob("*") if UNFINISHED in path.name]:
        path.unlink()
        path.symlink_to(outside / "src/a.py")


ATTACKS = [
    folder_to_link,
    folder_out,
    deep_folder_to_link,
    workspace_to_link,
    file_to_link,
    file_to_hard_link,
    file_to_pipe,
    file_to_folder,
    unfinished_to_link,
]


@pytest.mark.parametrize(
    ("attack", "stride", "first"),
    [
        *((attack, 3, place % 3) for place, attack in enumerate(ATTACKS)),
        *(pytest.param(attack, 1, 0, marks=pytest.mark.slow) for attack in ATTACKS),
    ],
)
def test_whenever_something_is_swapped_nothing_outside_is_written(
    tmp_path: Path, attack: Callable[[Path, Path], None], stride: int, first: int
) -> None:
    """What is outside is just as it was frozen, so that no look at the content keeps anything out.

    `make test` swaps at each third step, the attacks of one kind beginning at different ones; `make long` at all.
    """
    desk = Desk(tmp_path / "desk")
    request, outside = desk.repair(), tmp_path / "outside"

    def state() -> list[tuple[Path, int, int, bytes]]:
        found = [(path, path.lstat()) for path in sorted(outside.rglob("*"))]
        return [(p, s.st_ino, s.st_mode, p.read_bytes() if p.is_file() else b"") for p, s in found]

    step, ended, kept_out = first + 1 - stride, False, 0
    while not ended:
        step += stride
        for left in (desk.work, desk.work.with_name("moved"), tmp_path / "taken", outside):
            left.unlink() if left.is_symlink() else shutil.rmtree(left, ignore_errors=True)
        desk.anew()
        shutil.copytree(desk.base, outside)
        before = state()
        with at_step(step, lambda: attack(desk.work, outside)) as taken:
            applied = desk.apply(request)
        ended = taken[0] < step
        assert state() == before, f"step {step}"
        kept_out += bool(applied.why)
    assert desk.files() == OLD | NEW, "the last time nothing was swapped"
    assert step > 60
    assert kept_out > 0 or attack is file_to_hard_link
