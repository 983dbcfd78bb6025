"""Freezing and assessing as a round does it: from a workspace and a base to a trusted tree, a report and a diff."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from adapters.evidence import bulk, folder
from adapters.evidence.folder import FolderStore
from adapters.snapshot.found import SnapshotLimits
from adapters.snapshot.opening import PIECE
from adapters.snapshot.snapshots import FileSnapshots
from domain.base import sha256_hex
from domain.errors import Cause, Unavailable, WorkspaceRefused
from domain.messages import SHOWN, FreezeInput, Frozen, ScopeInput, ScopeResult
from domain.order import BaseRevision, Scope
from domain.ports import EvidenceStore, Snapshots
from domain.scope import ScopeReport
from domain.tree import Dropped, Manifest
from tests.fakes.evidence import MemoryStore

GIT = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_SYSTEM": "/dev/null",
    **{f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


class Project:
    """A base and a workspace that begins as a copy of it, in one folder."""

    def __init__(self, root: Path) -> None:
        self.base = root / "base"
        self.work = root / "work"
        self.write("base", "src/app.py", "def app():\n    return 1\n")
        self.write("base", "tests/test_app.py", "assert app() == 2\n")
        self.write("base", ".gitignore", "build/\n")
        shutil.copytree(self.base, self.work)
        self.store = MemoryStore()
        self.snapshots: Snapshots = FileSnapshots(self.store)

    def write(self, where: str, path: str, content: str) -> None:
        target = self.base.parent / where / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content)

    def commit(self) -> BaseRevision:
        for command in (["init", "-q"], ["add", "-A", "-f"], ["commit", "-qm", "base"], ["rev-parse", "HEAD"]):
            done = subprocess.run(["git", "-C", str(self.base), *command], env=GIT, capture_output=True, check=True)
        return BaseRevision(repository=str(self.base), revision=done.stdout.decode().strip())

    def freeze(self, base: str | BaseRevision | None = None, include: tuple[str, ...] = ("**",)) -> Frozen:
        request = FreezeInput(round="r", workspace=str(self.work), base=base or str(self.base), include=include)
        return self.snapshots.freeze(request, lambda _: None)

    def assess(self, frozen: Frozen | None = None, **scope: list[str]) -> ScopeResult:
        return self.snapshots.assess(ScopeInput(frozen=frozen or self.freeze(), scope=Scope.model_validate(scope)))

    def manifest(self, digest: str) -> Manifest:
        return Manifest.decode(self.store.get(digest))

    def dropped(self, frozen: Frozen) -> dict[str, str]:
        found = TypeAdapter(tuple[Dropped, ...]).validate_json(self.store.get(frozen.dropped))
        assert len(found) == frozen.dropped_count
        return {dropped.path: dropped.reason for dropped in found}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_a_directory_and_its_commit_are_the_same_base(project: Project) -> None:
    as_directory = project.freeze()
    as_commit = project.freeze(project.commit())
    assert as_directory == as_commit
    assert as_directory.head == as_directory.base
    manifest = project.manifest(as_directory.base)
    assert manifest.digest == as_directory.base
    assert as_directory.head_files == as_directory.base_files == 3
    assert as_directory.head_bytes == manifest.size
    assert all(project.store.has(entry.digest) for entry in manifest.entries)


def test_a_round_s_trusted_tree_is_the_base_with_what_counts(project: Project) -> None:
    project.write("work", "src/app.py", "def app():\n    return 2\n")
    project.write("work", "tests/test_app.py", "assert True\n")
    project.write("work", "tests/test_more.py", "assert app()\n")
    project.write("work", "docs/x.md", "x\n")
    project.write("work", "build/out", "x")
    (project.work / "out").symlink_to("/etc/passwd")
    result = project.assess(allow=["src/**", "tests/**"])
    tree = project.manifest(result.tree)
    assert tree.digest == result.tree
    assert tree.size == result.tree_bytes
    content = {path: project.store.get(entry.digest).decode() for path, entry in tree.by_path.items()}
    assert content == {
        ".gitignore": "build/\n",
        "src/app.py": "def app():\n    return 2\n",
        "tests/test_app.py": "assert app() == 2\n",
        "tests/test_more.py": "assert app()\n",
    }
    assert [(c.path, c.kind) for c in result.changed] == [("src/app.py", "modified"), ("tests/test_more.py", "added")]
    assert result.restored == ("tests/test_app.py",)
    assert [v.path for v in result.violations] == ["docs/x.md"]
    assert [d.path for d in result.dropped] == ["out", "build"], "what is usual comes last"
    assert (result.lines_added, result.lines_removed) == (2, 1)
    assert project.store.get(result.diff).decode().startswith("diff --git a/src/app.py b/src/app.py\n")
    report = ScopeReport.model_validate_json(project.store.get(result.report))
    assert (report.accepted, report.restored, report.violations) == (result.changed, result.restored, result.violations)


def test_messages_are_cut_and_totals_are_not(project: Project) -> None:
    for number in range(SHOWN + 10):
        project.write("work", f"src/new{number}.py", "")
    result = project.assess()
    assert (len(result.changed), result.changed_total) == (SHOWN, SHOWN + 10)
    assert len(ScopeReport.model_validate_json(project.store.get(result.report)).accepted) == SHOWN + 10


def test_only_the_base_s_gitignore_counts(project: Project) -> None:
    project.write("work", ".gitignore", "src/\n")
    project.write("work", "src/evil.py", "x")
    frozen = project.freeze()
    assert "src/evil.py" in project.manifest(frozen.head).by_path


@pytest.mark.parametrize("committed", [False, True])
def test_a_gitignore_counts_where_it_is_not_included(project: Project, committed: bool) -> None:
    project.write("base", "src/.gitignore", "*.log\n")
    base = project.commit() if committed else str(project.base)
    for path in ("src/a.log", "src/build/x", "src/b.py"):
        project.write("work", path, "x")
    frozen = project.freeze(base, include=("src/*.py", "src/*.log", "src/build"))
    assert set(project.manifest(frozen.head).by_path) == {"src/app.py", "src/b.py"}
    assert set(project.manifest(frozen.base).by_path) == {"src/app.py"}
    assert set(project.dropped(frozen)) == {"src/a.log", "src/build"}


def test_a_tracked_file_that_is_ignored_is_the_base_s(project: Project) -> None:
    project.write("base", "build/tracked.txt", "1\n")
    base = project.commit()
    project.write("work", "build/tracked.txt", "2\n")
    project.write("work", "build/other.txt", "2\n")
    result = project.assess(project.freeze(base))
    assert [change.path for change in result.changed] == ["build/tracked.txt"]
    assert [dropped.path for dropped in result.dropped] == ["build/other.txt"]


def test_a_submodule_is_dropped_whole(project: Project) -> None:
    project.commit()
    for command in (
        ["update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},lib"],
        ["commit", "-qm", "lib"],
        ["rev-parse", "HEAD"],
    ):
        done = subprocess.run(["git", "-C", str(project.base), *command], env=GIT, capture_output=True, check=True)
    project.write("work", "lib/code.py", "x")
    frozen = project.freeze(BaseRevision(repository=str(project.base), revision=done.stdout.decode().strip()))
    assert project.dropped(frozen) == {"lib": "a submodule of the base"}
    assert "lib/code.py" not in project.manifest(frozen.head).by_path


def test_what_the_base_could_not_hold_may_still_be_changed(project: Project) -> None:
    (project.base / "config").symlink_to("/etc/hosts")
    project.write("work", "config", "mine\n")
    assert [change.path for change in project.assess().changed] == ["config"]
    (project.work / "config").unlink()
    assert project.dropped(project.freeze()) == {"config": "a link to an absolute path (in the base)"}


@pytest.mark.parametrize(("which", "cause"), [("work", Cause.WORKSPACE_UNREADABLE), ("base", Cause.BASE_UNREADABLE)])
@pytest.mark.parametrize("how", ["missing", "link"])
def test_says_which_tree_cannot_be_read(project: Project, which: str, cause: Cause, how: str) -> None:
    root = project.work.parent / which
    root.rename(root.with_name("moved"))
    if how == "link":
        root.symlink_to("moved")
    with pytest.raises(Unavailable, match=str(root)) as caught:
        project.freeze()
    assert caught.value.cause is cause
    assert ("symbolic link" in caught.value.reason) == (how == "link")


def test_a_workspace_too_large_is_refused_and_a_base_too_large_is_unavailable(project: Project) -> None:
    project.snapshots = FileSnapshots(project.store, SnapshotLimits(max_files=3))
    project.write("work", "src/one_more.py", "x")
    with pytest.raises(WorkspaceRefused, match="more than 3 files"):
        project.freeze()
    project.write("base", "src/one_more.py", "x")
    with pytest.raises(Unavailable, match=r"base.*more than 3 files") as caught:
        project.freeze()
    assert caught.value.cause is Cause.BASE_UNREADABLE


def test_a_snapshot_that_the_store_lost_is_unavailable(project: Project) -> None:
    frozen = project.freeze()
    del project.store.blobs[frozen.head]
    with pytest.raises(Unavailable) as caught:
        project.assess(frozen)
    assert caught.value.cause is Cause.STORE_UNAVAILABLE


@contextmanager
def unchanged(*roots: Path) -> Iterator[None]:
    def state() -> list[tuple[Path, int, int]]:
        return [(p, p.lstat().st_mtime_ns, p.lstat().st_ino) for root in roots for p in sorted(root.rglob("*"))]

    before = state()
    yield
    assert state() == before


@pytest.mark.parametrize("kind", ["folder", "memory"])
def test_changes_nothing_and_needs_the_trees_no_more(project: Project, tmp_path: Path, kind: str) -> None:
    store: EvidenceStore = MemoryStore() if kind == "memory" else FolderStore(tmp_path / "evidence")
    project.snapshots = FileSnapshots(store)
    base = project.commit()
    project.write("work", "src/app.py", "x = 1\n")
    with unchanged(project.base, project.work):
        frozen = project.freeze(base)
    shutil.rmtree(project.base)
    shutil.rmtree(project.work)
    assert project.assess(frozen).changed_total == 1


def state_of(folder: Path) -> dict[Path, tuple[int, int]]:
    return {p: (p.stat().st_ino, p.stat().st_mtime_ns) for p in folder.rglob("*") if p.is_file()}


def test_what_did_not_change_is_not_copied_again(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for where in ("base", "work"):
        project.write(where, "src/large.txt", "large" * PIECE)  # five pieces
    project.snapshots = FileSnapshots(FolderStore(tmp_path / "evidence"))
    written: list[int] = []
    real = bulk._write_all

    def counting(descriptor: int, data: bytes) -> None:
        written.append(len(data))
        real(descriptor, data)

    monkeypatch.setattr(bulk, "_write_all", counting)
    first = project.freeze()
    size, before = sum(written), state_of(tmp_path / "evidence")
    assert size < 6 * PIECE  # the head's, which are the base's, were not written a second time
    assert project.freeze() == first
    assert sum(written) == size
    assert state_of(tmp_path / "evidence") == before
    project.write("work", "src/app.py", "x = 1\n")
    second = project.freeze()
    after = state_of(tmp_path / "evidence")
    assert before.items() <= after.items()
    assert {path.name for path in after.keys() - before.keys()} == {second.head, sha256_hex(b"x = 1\n")}


FREEZE_AND_MEASURE = """
import resource, sys
from pathlib import Path
from adapters.evidence.folder import FolderStore
from adapters.snapshot.snapshots import FileSnapshots
from domain.messages import FreezeInput
work, base, store = sys.argv[1:]
snapshots = FileSnapshots(FolderStore(Path(store)))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
frozen = snapshots.freeze(FreezeInput(round="r", workspace=work, base=base), lambda _: None)
print(frozen.head_bytes, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_a_large_file_is_never_whole_in_memory(project: Project, tmp_path: Path) -> None:
    size = 64 * 2**20
    with (project.work / "large").open("wb") as file:
        file.truncate(size)
    command = [sys.executable, "-c", FREEZE_AND_MEASURE, str(project.work), str(project.base), str(tmp_path / "store")]
    done = subprocess.run(command, cwd=Path(folder.__file__).parents[2], capture_output=True, text=True, check=True)
    taken, grown = map(int, done.stdout.split())  # bytes, KiB
    assert taken > size
    assert grown < 20 * 1024


def test_tells_what_it_is_doing(project: Project) -> None:
    for number in range(300):
        project.write("work", f"src/{number}.txt", "")
    said: list[str] = []
    project.snapshots.freeze(FreezeInput(round="r", workspace=str(project.work), base=str(project.base)), said.append)
    assert said == ["reading files: 200 of 303"]
