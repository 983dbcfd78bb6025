"""A base that is a rule: what a worker may do to its repository, and the remote that has the last say."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from adapters.config import base_rule
from adapters.config.base_rule import Moved, ResolvedBase, moved_within, resolve_rule, shown_url
from adapters.snapshot.references import Unresolved
from domain.errors import Unavailable
from tests.unit.test_base_names import forge_history
from tests.unit.test_snapshot_commits import commit
from tests.unit.test_snapshot_revision import git

RULE = "merge-base with origin/main"


class Line:
    """A clone of a bare repository on disk, where a worker has a branch, and what was pinned."""

    def __init__(self, folder: Path) -> None:
        self.bare, self.other, self.root = folder / "origin.git", folder / "other", folder / "clone"
        git(folder, "init", "--quiet", "--bare", "--initial-branch", "main", str(self.bare))
        git(folder, "clone", "--quiet", str(self.bare), str(self.other))
        git(self.other, "checkout", "--quiet", "-b", "main")
        self.first = self.pushed("first")
        git(folder, "clone", "--quiet", str(self.bare), str(self.root))
        git(self.root, "checkout", "--quiet", "-b", "work")
        self.done = commit(self.root, "the worker's")
        self.pinned = self.now()

    def pushed(self, message: str) -> str:
        made = commit(self.other, message)
        git(self.other, "push", "--quiet", "origin", "main")
        return made

    def now(self, rule: str = RULE, workspace: Path | None = None) -> ResolvedBase:
        return resolve_rule(workspace or self.root, self.root, rule)

    def moved(self) -> Moved | None:
        return moved_within(self.pinned, self.now())

    def rebased(self) -> str:
        """Somebody pushed, and the worker fetched and rebased."""
        second = self.pushed("second")
        git(self.root, "fetch", "--quiet")
        git(self.root, "rebase", "--quiet", "origin/main")
        return second


@pytest.fixture
def line(tmp_path: Path) -> Line:
    return Line(tmp_path)


def refused(moved: Moved | None, code: str, said: str) -> None:
    assert moved is not None
    assert (moved.code, said in moved.reason) == (code, True), moved
    assert moved.next_step


def test_a_rule_comes_to_where_head_left_the_branch(line: Line) -> None:
    assert line.pinned == ResolvedBase(
        workspace=str(line.root),
        repository=str(line.root),
        rule=RULE,
        revision=line.first,
        ref="refs/remotes/origin/main",
        tip=line.first,
        remote_url=str(line.bare),
        remote_branch="main",
    )
    assert line.now("merge-base with refs/remotes/origin/main").revision == line.first
    local = line.now("merge-base with main")
    assert (local.ref, local.remote_url, local.remote_branch) == ("refs/heads/main", "", "")


def test_the_same_base_asks_nobody(line: Line) -> None:
    line.bare.rename(line.bare.with_name("gone"))
    assert line.moved() is None
    commit(line.root, "more")
    assert line.moved() is None


def test_a_base_that_the_remote_has_moved_on_to_is_the_pinned_one(line: Line) -> None:
    second = line.rebased()
    assert line.now().revision == second
    assert line.moved() is None
    line.pushed("third")
    refused(line.moved(), "base_unproven", "which is not here")
    git(line.root, "fetch", "--quiet")
    assert line.moved() is None


def test_a_remote_tracking_reference_that_the_worker_moved_is_not_the_remote_s(line: Line) -> None:
    git(line.root, "update-ref", "refs/remotes/origin/main", line.done)
    assert line.now().revision == line.done
    refused(line.moved(), "order_changed", "that is not on main of")


def test_a_remote_that_the_worker_made_is_not_the_pinned_one(line: Line, tmp_path: Path) -> None:
    mine = tmp_path / "mine.git"
    git(tmp_path, "init", "--quiet", "--bare", str(mine))
    git(line.root, "push", "--quiet", str(mine), "work:main")
    git(line.root, "remote", "set-url", "origin", str(mine))
    git(line.root, "config", f"url.{mine}.insteadOf", str(line.bare))
    git(line.root, "fetch", "--quiet")
    assert line.now().revision == line.done
    refused(line.moved(), "order_changed", "that is not on main of")


def test_git_is_asked_without_what_a_worker_can_set(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    line.rebased()
    marker = line.root / "ran"
    for name, value in {
        "GIT_DIR": str(line.root / ".git"),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "url./nowhere.insteadOf",
        "GIT_CONFIG_VALUE_0": str(line.bare),
        "GIT_TRACE": str(marker),
        "GIT_ALLOW_PROTOCOL": "ext",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(line.root)
    assert line.moved() is None
    assert not marker.exists()
    line.pinned = line.pinned.model_copy(update={"remote_url": f"ext::touch {marker}"})
    refused(line.moved(), "base_unproven", "cannot be asked")
    assert not marker.exists()


def test_a_branch_of_the_worker_s_own_does_not_stand_for_the_remote_s(line: Line) -> None:
    git(line.root, "branch", "origin/main", line.done)
    with pytest.raises(Unresolved, match="ambiguous"):
        line.now()
    git(line.root, "update-ref", "-d", "refs/remotes/origin/main")
    refused(line.moved(), "order_changed", "means refs/heads/origin/main now")


def test_another_rule_is_another_base(line: Line) -> None:
    now = line.now("merge-base with main")
    refused(moved_within(line.pinned, now), "order_changed", "the rule 'merge-base with main' means refs/heads/main")


def test_a_local_branch_is_the_pinned_commit_alone(line: Line) -> None:
    line.pinned = line.now("merge-base with main")
    assert moved_within(line.pinned, line.now("merge-base with main")) is None
    git(line.root, "branch", "--force", "main", line.done)
    now = line.now("merge-base with main")
    refused(moved_within(line.pinned, now), "order_changed", "a local branch, which the worker could have moved")


def test_a_base_that_does_not_descend_from_the_pinned_one_is_another(line: Line) -> None:
    second = line.rebased()
    line.pinned = line.now()
    git(line.root, "reset", "--quiet", "--hard", line.first)
    refused(line.moved(), "order_changed", f"leads to {line.first} now, and to {second} when it was trusted")


def test_grafts_and_replaced_commits_make_no_base(line: Line) -> None:
    second = line.rebased()
    git(line.root, "checkout", "--quiet", "--orphan", "other")
    stranger = commit(line.root, "stranger")
    forge_history(line.root, stranger, second)
    git(line.root, "checkout", "--quiet", "work")
    assert line.now().revision == second
    assert line.moved() is None
    git(line.root, "checkout", "--quiet", "other")
    with pytest.raises(Unresolved, match="have no commit in common"):
        line.now()


def test_a_tag_does_not_stand_in_a_rule(line: Line) -> None:
    git(line.root, "tag", "v1")
    with pytest.raises(Unresolved, match="names no branch of the repository; tried refs/heads/v1, refs/remotes/v1"):
        line.now("merge-base with v1")
    with pytest.raises(Unresolved, match="tried nothing"):
        line.now("merge-base with refs/tags/v1")
    with pytest.raises(Unresolved, match="is not a rule"):
        line.now("origin/main")


def test_a_linked_work_tree_has_its_own_head(line: Line, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    git(line.root, "worktree", "add", "--quiet", "--detach", str(linked), "origin/main")
    second = line.pushed("second")
    git(line.root, "fetch", "--quiet")
    git(linked, "checkout", "--quiet", "--detach", "origin/main")
    assert line.now(workspace=linked).revision == second
    assert line.now().revision == line.first
    assert resolve_rule(linked, linked, RULE).remote_url == str(line.bare)


def test_a_submodule_has_its_own_remote(line: Line, tmp_path: Path) -> None:
    outer = tmp_path / "outer"
    outer.mkdir()
    git(outer, "init", "--quiet")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(line.bare), "inner")
    inner = outer / "inner"
    commit(inner, "in the submodule")
    found = resolve_rule(inner, inner, RULE)
    assert (found.revision, found.remote_url) == (line.first, str(line.bare))


def test_a_rule_of_another_repository_reads_its_branch_and_the_workspace_s_head(line: Line) -> None:
    found = resolve_rule(line.root, line.other, RULE)
    assert (found.repository, found.revision) == (str(line.other), line.first)
    with pytest.raises(Unresolved, match="is in no repository"):
        resolve_rule(line.root.parent, line.other, RULE)


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("gone", "does not appear to be a git repository"),
        ("no branch", "has no branch main"),
        ("no url", "the pin names no remote"),
        ("inside", "where the worker can write"),
        ("link inside", "where the worker can write"),
        ("git's folder", "where the worker can write"),
        ("file url", "where the worker can write"),
        ("option", "cannot be asked"),
        ("no git", "git cannot be run"),
    ],
)
def test_a_remote_that_proves_nothing(line: Line, what: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    line.rebased()
    inside = line.root / "inside.git"
    git(line.root, "clone", "--quiet", "--bare", str(line.bare), str(inside))
    (line.root / "link").symlink_to(line.bare)
    urls = {
        "no url": "",
        "inside": str(inside),
        "link inside": str(line.root / "link"),
        "git's folder": str(line.root / ".git"),
        "file url": f"file://{line.root}/%69nside.git",
        "option": "--upload-pack=touch",
    }
    line.pinned = line.pinned.model_copy(update={"remote_url": urls.get(what, str(line.bare))})
    if what == "gone":
        line.bare.rename(line.bare.with_name("elsewhere.git"))
    if what == "no branch":
        git(line.bare, "branch", "-m", "main", "renamed")
    if what == "no git":
        monkeypatch.setenv("PATH", "/nonexistent")
    refused(line.moved(), "base_unproven", said)


def test_a_remote_that_does_not_answer_is_left_with_all_that_it_started(
    line: Line, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line.rebased()
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    started = tmp_path / "started"
    os.mkfifo(tmp_path / "never")
    program.write_text(f"#!/bin/sh\ncat {tmp_path}/never &\necho $! > {started}\nwait\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setattr(base_rule, "REMOTE_SECONDS", 1.0)
    refused(line.moved(), "base_unproven", "did not answer within 1 s")
    process = int(started.read_text())
    assert not psutil.pid_exists(process) or psutil.Process(process).status() == psutil.STATUS_ZOMBIE


def test_a_shallow_clone_proves_nothing_beyond_its_end(line: Line, tmp_path: Path) -> None:
    line.rebased()
    line.pushed("third")
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "--quiet", "--depth", "1", f"file://{line.bare}", str(shallow))
    git(shallow, "checkout", "--quiet", "-b", "work")
    commit(shallow, "the worker's")
    now = resolve_rule(shallow, shallow, RULE)
    pinned = line.pinned.model_copy(update={"workspace": str(shallow), "repository": str(shallow)})
    moved = moved_within(pinned, now)
    refused(moved, "base_unproven", "not there, or damaged")
    assert moved is not None
    assert "git fetch --unshallow" in moved.next_step
    git(shallow, "update-ref", "refs/remotes/origin/main", now.revision)
    git(shallow, "checkout", "--quiet", "--orphan", "other")
    commit(shallow, "stranger")
    with pytest.raises(Unavailable, match="unshallow"):
        resolve_rule(shallow, shallow, RULE)


def test_a_password_in_the_url_is_not_shown() -> None:
    assert shown_url("https://user:secret@host.example/x.git") == "https://host.example/x.git"
    assert shown_url("git@host.example:x.git") == "git@host.example:x.git"


def test_a_relative_remote_is_beside_the_repository(line: Line) -> None:
    git(line.root, "remote", "set-url", "origin", "../origin.git")
    assert line.now().remote_url == str(line.bare)
    git(line.root, "remote", "set-url", "origin", "host.example:x.git")
    assert line.now().remote_url == "host.example:x.git"


def test_the_worker_s_program_is_not_run_by_asking(line: Line) -> None:
    """A hook, a filter or a helper of the workspace's repository, and of the remote on disk."""
    line.rebased()
    marker = line.root.parent / "marker"
    for repository in (line.root / ".git", line.bare):
        for key in ("core.sshCommand", "core.fsmonitor", "credential.helper", "uploadpack.packObjectsHook"):
            subprocess.run(["git", "config", "--file", repository / "config", key, f"!touch {marker}"], check=True)
        hook = repository / "hooks" / "post-checkout"
        hook.write_text(f"#!/bin/sh\ntouch {marker}\n")
        hook.chmod(0o755)
    assert line.moved() is None
    assert not marker.exists(), sys.platform
