"""`verify --base NAME` end to end, in a clone of a bare repository on disk that a worker means ill with."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.conftest import Project, make_project
from tests.unit.test_base_names import forge_history
from tests.unit.test_snapshot_commits import commit
from tests.unit.test_snapshot_revision import git


class Cloned:
    """A project whose workspace `work` is a clone; on `main` a test that the worker's commit breaks."""

    def __init__(self, project: Project, bare: Path) -> None:
        self.project, self.root = project, project.root / "work"
        shutil.rmtree(self.root)
        git(bare.parent, "init", "--quiet", "--bare", "--initial-branch", "main", str(bare))
        git(bare.parent, "clone", "--quiet", str(bare), str(self.root))
        git(self.root, "checkout", "--quiet", "-b", "main")
        (self.root / "value.txt").write_text("right\n")
        (self.root / "tests").mkdir()
        (self.root / "tests" / "verify.sh").write_text("grep -q right value.txt\n")
        git(self.root, "add", "--all")
        self.first = commit(self.root, "first")
        git(self.root, "tag", "--annotate", "--message", "one", "v1")
        git(self.root, "push", "--quiet", "origin", "main", "v1")
        git(self.root, "fetch", "--quiet")
        git(self.root, "checkout", "--quiet", "-b", "work")
        (self.root / "value.txt").write_text("wrong\n")
        (self.root / "tests" / "verify.sh").write_text("true\n")
        git(self.root, "add", "--all")
        self.wrong = commit(self.root, "the worker's")
        checks = {"checks": [{"name": "tests", "command": "sh tests/verify.sh"}]}
        self.order = project.order(id="wo-base", base=None, verification=checks)

    def verify(self, base: str) -> tuple[int, str, dict[str, object]]:
        """The exit code, what is on stderr, and the snapshot in the report."""
        result = self.project.run("verify", self.order, "--base", base, "--json")
        answer = json.loads(result.stdout)
        return result.returncode, result.stderr, answer.get("snapshot", answer)


@pytest.fixture(scope="module")
def cloned(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloned]:
    project = make_project(tmp_path_factory.mktemp("cloned"), tmp_path_factory.mktemp("state"))
    yield Cloned(project, tmp_path_factory.mktemp("remote") / "origin.git")
    assert project.close().returncode == 0


@pytest.mark.parametrize("name", ["origin/main", "short", "v1", "merge-base with origin/main"])
def test_a_name_is_the_commit_that_it_leads_to_now(cloned: Cloned, name: str) -> None:
    name = cloned.first[:8] if name == "short" else name
    code, said, snapshot = cloned.verify(name)
    assert code == 1
    assert f"base {name} = {cloned.first}" in said.splitlines()
    assert (snapshot["base"], snapshot["restored"]) == (cloned.first, ["tests/verify.sh"])
    stored = cloned.project.run("evidence", "show", "wo-base", "--json")
    assert json.loads(stored.stdout)["snapshot"]["base"] == cloned.first


def test_what_is_beside_the_objects_moves_no_base(cloned: Cloned) -> None:
    """Replaced commits, grafts and a history that is cut: an id is the tree that hashes to it."""
    forge_history(cloned.root, cloned.wrong, cloned.first)
    try:
        for name in (cloned.first, "HEAD~1", "origin/main"):
            code, _, snapshot = cloned.verify(name)
            assert (code, snapshot["base"], snapshot["restored"]) == (1, cloned.first, ["tests/verify.sh"])
    finally:
        git(cloned.root, "update-ref", "-d", f"refs/replace/{cloned.first}")
        (cloned.root / ".git/info/grafts").unlink()
        (cloned.root / ".git/shallow").unlink()


def test_a_name_that_the_worker_moved_is_shown_with_what_it_leads_to(cloned: Cloned) -> None:
    """The command says which commit it took, and that this is the work itself."""
    for name, whole in (
        ("main", "refs/heads/main"),
        ("v1", "refs/tags/v1"),
        ("origin/main", "refs/remotes/origin/main"),
    ):
        before = git(cloned.root, "rev-parse", whole)
        git(cloned.root, "update-ref", whole, cloned.wrong)
        _, said, snapshot = cloned.verify(name)
        assert f"base {name} = HEAD = {cloned.wrong}" in said.splitlines()
        assert snapshot["base"] == cloned.wrong
        git(cloned.root, "update-ref", whole, before)


def test_what_a_worker_makes_ambiguous_is_malformed(cloned: Cloned) -> None:
    git(cloned.root, "branch", "origin/main", cloned.wrong)
    try:
        code, _, answer = cloned.verify("origin/main")
        assert (code, answer["error"]) == (2, "malformed")
        assert "is ambiguous: refs/heads/origin/main = " in json.dumps(answer)
    finally:
        git(cloned.root, "branch", "--quiet", "-D", "origin/main")


def test_a_name_or_an_unpinned_rule_in_a_file_is_malformed(cloned: Cloned) -> None:
    for base, said in (
        ({"revision": cloned.first[:10]}, "a full commit id of 40 hexadecimal digits"),
        ({"revision": "origin/main"}, "is a name that can move"),
        ({"rule": "merge-base with origin/main"}, "counts only in an order that a person trusts"),
        ({"rule": "origin/main"}, "'merge-base with REMOTE/BRANCH'"),
    ):
        order = cloned.project.order(id="wo-file", base={"repository": "work", **base})
        result = cloned.project.run("verify", order)
        assert (result.returncode, said in result.stderr) == (2, True), result.stderr
    assert cloned.project.rows("wo-file") == []


def test_a_base_directory_behind_the_workspace_is_malformed(cloned: Cloned) -> None:
    (cloned.root / "out").symlink_to(cloned.project.root / "base")
    try:
        code, _, answer = cloned.verify("work/out")
        assert (code, "which the worker can write" in json.dumps(answer)) == (2, True)
    finally:
        (cloned.root / "out").unlink()


def test_a_linked_work_tree_and_a_shallow_clone(cloned: Cloned, tmp_path: Path) -> None:
    linked, shallow = tmp_path / "linked", tmp_path / "shallow"
    git(cloned.root, "worktree", "add", "--quiet", "--detach", str(linked), "work")
    result = cloned.project.run("verify", cloned.order, "--workspace", str(linked), "--base", "HEAD~1")
    assert (result.returncode, f"base HEAD~1 = {cloned.first}" in result.stderr) == (1, True), result.stderr
    git(tmp_path, "clone", "--quiet", "--depth", "1", f"file://{cloned.root}", str(shallow))
    result = cloned.project.run("verify", cloned.order, "--workspace", str(shallow), "--base", "HEAD~1")
    assert (result.returncode, "git fetch --unshallow" in result.stderr) == (2, True), result.stderr
