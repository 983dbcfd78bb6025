"""The commits that a workspace has beyond its base, from repositories made by git and then damaged by hand."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from adapters.checkers.git_commits import GitCommitExistsChecker
from adapters.snapshot import commits as module
from adapters.snapshot.commits import CommitLog, read_commits
from adapters.snapshot.snapshots import FileSnapshots
from domain.checks import Item, Outcome
from domain.criteria import GitCommitExists
from domain.messages import FreezeInput, ScopeInput
from domain.order import BaseRevision, Resources, Scope
from domain.ports import CheckContext
from tests.fakes.evidence import MemoryStore
from tests.unit.test_snapshot_revision import git


def commit(root: Path, message: str) -> str:
    git(root, "commit", "--quiet", "--allow-empty", "--message", message)
    return git(root, "rev-parse", "HEAD")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch", "main")
    commit(folder, "root")
    return folder


def log(root: Path, since: str | None = None, workspace: Path | None = None) -> CommitLog:
    base = BaseRevision(repository=str(root), revision=since) if since else str(root)
    return read_commits(workspace or root, base, lambda _: None)


def messages(found: CommitLog) -> list[str]:
    return [c.message.strip() for c in found.commits]


def test_commits_since_the_base_nearest_first_with_full_ids_and_messages(root: Path) -> None:
    base = commit(root, "base")
    assert log(root, base) == CommitLog()
    commit(root, "one\n\nits body")
    last = commit(root, "two")
    found = log(root, base)
    assert messages(found) == ["two", "one\n\nits body"]
    assert (found.commits[0].id, found.note) == (last, "")


def test_without_a_base_revision_all_that_head_leads_to_counts(root: Path) -> None:
    commit(root, "one")
    assert messages(log(root)) == ["one", "root"]


def test_a_workspace_below_the_root_finds_its_repository(root: Path) -> None:
    (root / "a/b").mkdir(parents=True)
    assert messages(log(root, workspace=root / "a/b")) == ["root"]


@pytest.mark.parametrize("how", ["packed", "detached", "worktree", "branch in a folder"])
def test_head_is_found_however_it_is_kept(root: Path, tmp_path: Path, how: str) -> None:
    base = git(root, "rev-parse", "HEAD")
    workspace = root
    if how == "worktree":
        workspace = tmp_path / "linked"
        git(root, "worktree", "add", "--quiet", "-b", "topic/x", str(workspace))
    if how == "branch in a folder":
        git(root, "checkout", "--quiet", "-b", "topic/deep/x")
    commit(workspace, "new")
    if how == "packed":
        git(root, "gc", "--quiet")
        assert not (root / ".git/refs/heads/main").exists()
    if how == "detached":
        git(root, "checkout", "--quiet", "--detach")
    assert messages(log(root, base, workspace)) == ["new"]


def test_a_merge_of_an_old_branch_brings_in_nothing_that_the_base_has(root: Path) -> None:
    git(root, "checkout", "--quiet", "-b", "old")
    commit(root, "on old")
    git(root, "checkout", "--quiet", "main")
    commit(root, "on main")
    git(root, "merge", "--quiet", "--no-edit", "old")
    base = git(root, "rev-parse", "HEAD")
    git(root, "checkout", "--quiet", "old")
    commit(root, "late on old")
    git(root, "checkout", "--quiet", "main")
    git(root, "merge", "--quiet", "--no-edit", "-m", "again", "old")
    found = log(root, base)
    assert sorted(messages(found)) == ["again", "late on old"]
    assert found.note == ""


def test_a_head_behind_the_base_or_beside_it_has_only_what_is_not_the_base_s(root: Path) -> None:
    first = git(root, "rev-parse", "HEAD")
    base = commit(root, "base")
    git(root, "checkout", "--quiet", first)
    assert log(root, base) == CommitLog()
    commit(root, "beside")
    assert messages(log(root, base)) == ["beside"]
    git(root, "checkout", "--quiet", "--orphan", "other")
    commit(root, "orphan")
    assert messages(log(root, base)) == ["orphan"]


def test_old_commits_are_no_new_ones_when_the_base_is_cut_out(root: Path) -> None:
    """The base's history cannot be walked, so what may be part of it does not count."""
    old = git(root, "rev-parse", "HEAD")
    base = commit(root, "base")
    loose(root, base).unlink()
    (root / ".git/refs/heads/main").write_text(old + "\n")
    found = log(root, base)
    assert found.commits == ()
    assert "may be older than the base" in found.note


def loose(root: Path, name: str) -> Path:
    return root / ".git/objects" / name[:2] / name[2:]


def overwrite(path: Path, data: bytes) -> None:
    path.unlink()
    path.write_bytes(data)


def test_a_missing_or_damaged_commit_ends_the_way_and_is_noted(root: Path) -> None:
    middle = commit(root, "middle")
    commit(root, "last")
    for harm in (
        lambda path: overwrite(path, b"damaged"),
        Path.unlink,
        os.mkfifo,
        lambda path: (path.unlink(), path.symlink_to(path.name)),
    ):
        harm(loose(root, middle))
        found = log(root)
        assert messages(found) == ["last"]
        assert f"{middle[:12]} is missing or damaged" in found.note


def test_a_forged_commit_is_not_taken(root: Path) -> None:
    last = commit(root, "honest")
    forged = commit(root, "forged")
    git(root, "reset", "--quiet", "--hard", last)
    data = loose(root, forged).read_bytes()
    overwrite(loose(root, last), data)
    assert log(root).commits == ()


def written(root: Path, data: bytes) -> str:
    """The id of a commit object with these bytes, made HEAD; git's own checks are left out."""
    name = git(root, "hash-object", "-t", "commit", "-w", "--literally", "--stdin", data=data)
    git(root, "update-ref", "--no-deref", "HEAD", name)
    return name


def test_a_commit_is_read_as_git_reads_it(root: Path) -> None:
    parent = git(root, "rev-parse", "HEAD")
    tree = git(root, "rev-parse", "HEAD^{tree}")
    who = "a <a> 0 +0000"
    head = f"tree {tree}\nparent {parent}\nauthor {who}\ngpgsig x\n y\nparent {'1' * 40}\ncommitter {who}\n\n".encode()
    written(root, head + b"caf\xe9\n\nsecond\n\n" + b"x" * 70_000)
    found = log(root)
    assert (len(found.commits), found.note) == (2, "")
    assert found.commits[0].message.startswith("caf\ufffd\n\nsecond\n\nxxx")
    assert len(found.commits[0].message) <= module.MAX_MESSAGE_BYTES


def test_a_parent_that_is_a_path_is_no_parent(root: Path) -> None:
    name = written(root, f"tree {'0' * 40}\nparent ../../../../../../etc/passwd\n\nodd".encode())
    assert "missing or damaged" in log(root).note  # loose, where the library looks
    git(root, "pack-objects", "--quiet", ".git/objects/pack/pack", data=f"{name}\n".encode())
    loose(root, name).unlink()
    found = log(root)
    assert (messages(found), found.note) == (["odd"], "")


def test_the_bounds_are_said(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(6):
        commit(root, f"number {number} {'x' * 100}")
    monkeypatch.setattr(module, "MAX_COMMITS", 4)
    found = log(root)
    assert len(found.commits) == 4
    assert "reading stopped after 4 commits" in found.note
    monkeypatch.setattr(module, "MAX_COMMITS", 100)
    monkeypatch.setattr(module, "MAX_KEPT_BYTES", 250)
    assert "reading stopped after 3 commits" in log(root).note


def harmed(path: Path, what: str) -> None:
    path.unlink(missing_ok=True)
    if what == "fifo":
        os.mkfifo(path)
    elif what == "folder":
        path.mkdir()
    elif what.startswith("->"):
        path.symlink_to(what[2:])
    elif what != "gone":
        path.write_bytes(what.encode("latin-1"))


@pytest.mark.parametrize(
    "what",
    [
        *("gone", "fifo", "folder", "", "\xff\0", "ref: refs/heads/none", "ref: refs/../../../x", "ref: /etc/passwd"),
        *(
            "ref: refs/heads//x",
            "->/etc/passwd",
            "->refs/heads/main",
            "->HEAD",
            "0" * 40,
            "f" * 64,
            "ref: refs/heads/a\0b",
        ),
    ],
)
def test_a_head_that_leads_nowhere_is_noted(root: Path, what: str) -> None:
    harmed(root / ".git/HEAD", what)
    found = log(root)
    assert found.commits == ()
    assert found.note
    found.model_dump_json()


@pytest.mark.parametrize("what", ["fifo", "->/etc/passwd", "->main", "ref: refs/heads/main", "nonsense"])
def test_a_branch_that_leads_nowhere_is_noted(root: Path, what: str) -> None:
    harmed(root / ".git/refs/heads/main", what)
    found = log(root)
    assert (found.commits, bool(found.note)) == ((), True)


def test_references_are_not_followed_out_of_git_s_folder(root: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    shutil.move(root / ".git/refs/heads", elsewhere)
    (root / ".git/refs/heads").symlink_to(elsewhere)
    found = log(root)
    assert (found.commits, bool(found.note)) == ((), True)


@pytest.mark.parametrize("what", ["fifo", "nonsense", "gitdir: /nowhere", "gitdir: \xff", "gitdir: a\0b", "->nowhere"])
def test_a_pointer_that_leads_nowhere_is_noted(root: Path, what: str) -> None:
    shutil.rmtree(root / ".git")
    harmed(root / ".git", what)
    found = log(root)
    assert (found.commits, bool(found.note)) == ((), True)
    found.model_dump_json()


@pytest.mark.parametrize("what", ["fifo", "folder", "a\0b", "/nowhere\xff"])
def test_borrowed_objects_that_cannot_be_read_do_no_harm(root: Path, what: str) -> None:
    harmed(root / ".git/objects/info/alternates", what)
    log(root).model_dump_json()


def test_a_pipe_among_the_packs_with_an_odd_name_is_noted(root: Path) -> None:
    os.mkfifo(os.fsencode(root / ".git/objects/pack") + b"/\xff")
    found = log(root)
    assert (found.commits, "not a regular file" in found.note) == ((), True)
    found.model_dump_json()


def test_a_reference_does_not_climb_out_of_git_s_folder(root: Path) -> None:
    (root / "outside").write_text(git(root, "rev-parse", "HEAD"))
    harmed(root / ".git/HEAD", "ref: refs/../../outside")
    assert log(root).commits == ()


def test_what_is_behind_the_base_is_not_read(root: Path) -> None:
    base = commit(root, "base")
    commit(root, "new")
    loose(root, base).unlink()
    found = log(root, base)
    assert (messages(found), found.note) == (["new"], "")


# freeze, and the checker


async def checked(store: MemoryStore, commits: str, message: str) -> tuple[Outcome, str, str]:
    criterion = GitCommitExists.model_validate(
        {"id": "AC-1", "type": "git_commit_exists", "params": {"message": message}}
    )
    context = CheckContext(round="r", tree="f" * 64, image="i", resources=Resources(), commits=commits)
    finding = await GitCommitExistsChecker(store).check(Item(spelling="criterion", criterion=criterion), context)
    assert finding.out_of_process
    return finding.outcome, finding.code, finding.text


def frozen(store: MemoryStore, root: Path, base: str, commits: bool = True) -> str:
    since = BaseRevision(repository=str(root), revision=base)
    request = FreezeInput(round="r", workspace=str(root), base=since, commits=commits)
    return FileSnapshots(store).freeze(request, lambda _: None).commits


async def test_a_frozen_workspace_s_commit_is_found_by_its_message(root: Path) -> None:
    store = MemoryStore()
    base = git(root, "rev-parse", "HEAD")
    name = commit(root, "Fix #12: \x1b[2Jprimes\n\nCloses 12")
    digest = frozen(store, root, base)
    assert await checked(store, digest, "Closes 12") == (Outcome.PASSED, "ok", f"{name[:12]} Fix #12: \\x1b[2Jprimes")
    assert await checked(store, digest, "closes") == (
        Outcome.FAILED,
        "no_commit",
        "none of 1 commits has 'closes' in its message",
    )
    assert (await checked(store, digest, "root"))[1] == "no_commit"
    assert frozen(store, root, base, commits=False) == ""


async def test_a_workspace_without_a_repository_fails_with_the_reason(tmp_path: Path) -> None:
    store = MemoryStore()
    request = FreezeInput(round="r", workspace=str(tmp_path), base=str(tmp_path), commits=True)
    digest = FileSnapshots(store).freeze(request, lambda _: None).commits
    outcome, code, text = await checked(store, digest, "x")
    assert (outcome, code) == (Outcome.FAILED, "no_commit")
    assert "has a .git" in text


# the inputs of a set-up


@pytest.mark.parametrize(
    ("inputs", "changed"),
    [
        ((), []),
        (("requirements.txt",), ["requirements.txt"]),
        (("./requirements.txt/",), ["requirements.txt"]),
        (("locks",), ["locks/a", "locks/deep/b", "locks/new"]),
        (("./locks/deep/", "lock"), ["locks/deep/b"]),
        ((".",), ["dropped.txt", "locks/a", "locks/deep/b", "locks/new", "requirements.txt"]),
        (("dropped.txt",), ["dropped.txt"]),
        (("same.txt", "nowhere"), []),
    ],
)
def test_changed_inputs_are_told(tmp_path: Path, inputs: tuple[str, ...], changed: list[str]) -> None:
    base, work, store = tmp_path / "base", tmp_path / "work", MemoryStore()
    for path in ("requirements.txt", "locks/a", "locks/deep/b", "same.txt", "dropped.txt"):
        (base / path).parent.mkdir(parents=True, exist_ok=True)
        (base / path).write_text(path)
    shutil.copytree(base, work)
    (work / "requirements.txt").write_text("evil")
    (work / "locks/a").unlink()
    (work / "locks/deep/b").chmod(0o755)
    (work / "locks/new").write_text("")
    (work / "dropped.txt").unlink()
    (work / "dropped.txt").symlink_to("/etc/passwd")
    snapshots = FileSnapshots(store)
    frozen = snapshots.freeze(FreezeInput(round="r", workspace=str(work), base=str(base)), lambda _: None)
    result = snapshots.assess(ScopeInput(frozen=frozen, scope=Scope(deny=["requirements.txt"]), inputs=inputs))
    assert list(result.changed_inputs) == changed
