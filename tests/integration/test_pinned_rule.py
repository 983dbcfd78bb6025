"""A trusted order whose base is a rule: it moves with the remote, and with nothing that the worker moves."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import yaml

from tests.integration.conftest import Project
from tests.unit.test_snapshot_commits import commit
from tests.unit.test_snapshot_revision import git

RULE = "merge-base with origin/main"


def test_a_rule_moves_as_far_as_the_remote_says(project: Project, tmp_path: Path) -> None:
    bare, other, root = tmp_path / "origin.git", tmp_path / "other", project.root / "work"
    shutil.rmtree(root)
    git(tmp_path, "init", "--quiet", "--bare", "--initial-branch", "main", str(bare))
    git(tmp_path, "clone", "--quiet", str(bare), str(other))
    git(other, "checkout", "--quiet", "-b", "main")
    (other / "a.txt").write_text("before\n")
    git(other, "add", "--all")
    first = commit(other, "first")
    git(other, "push", "--quiet", "origin", "main")
    git(tmp_path, "clone", "--quiet", str(bare), str(root))
    git(root, "checkout", "--quiet", "-b", "work")
    checks = {"checks": [{"name": "new", "command": "grep -q after a.txt"}]}
    order = {"content": "x", "workspace": "..", "base": {"repository": "..", "rule": RULE}, "verification": checks}
    (root / ".countersign").mkdir()
    (root / ".countersign" / "order.yaml").write_text(yaml.safe_dump({"id": "wo-rule", **order}))
    (root / "a.txt").write_text("after\n")
    git(root, "add", "--all")
    done = commit(root, "the worker's")

    def verify() -> tuple[int, str, str]:
        """The exit code, the base in the report, and all that was said."""
        result = project.run("verify", "work/.countersign/order.yaml", "--json")
        answer = json.loads(result.stdout)
        base = answer["snapshot"]["base"] if "snapshot" in answer else ""
        return result.returncode, base, result.stdout + result.stderr

    assert verify()[0] == 4
    trusted = project.run("trust", "work/.countersign/order.yaml", "--as", "human:ann", "--yes")
    assert trusted.returncode == 0, trusted.stderr
    assert f"{RULE} = {first}; refs/remotes/origin/main is at {first}, main of {bare}" in trusted.stderr
    code, base, said = verify()
    assert (code, base, f"base {RULE} = {first}" in said) == (0, first, True), said

    git(root, "update-ref", "refs/remotes/origin/main", done)
    code, _, said = verify()
    assert (code, "order_changed" in said, "is not on main of" in said) == (4, True, True), said

    second = commit(other, "second")
    git(other, "push", "--quiet", "origin", "main")
    git(root, "fetch", "--quiet")
    git(root, "rebase", "--quiet", "origin/main")
    assert verify()[:2] == (0, second)

    bare.rename(tmp_path / "gone.git")
    code, _, said = verify()
    assert (code, "base_unproven" in said) == (4, True), said
