"""A required check in which no test passes is never green: by the real server, engine and runners, as a person asks."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import Project

SKIPPED = "import pytest\n\n\n@pytest.mark.skip\ndef test_a():\n    assert True\n"
PASSES = "def test_a():\n    assert 1 + 1 == 2\n"
WAY_OUT = "required: false"

Files = dict[str, str]


def laid(root: Path, files: Files) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def verified(project: Project, name: str, base: Files, work: Files, *checks: dict[str, Any], **fields: Any) -> Any:
    """The exit code, what is printed, and the report of a round on `work`, laid over the files of `base`."""
    laid(project.root / name / "base", {"a.txt": "before\n", **base})
    laid(project.root / name / "work", {"a.txt": "after\n", **base, **work})
    where = {"base": f"{name}/base", "workspace": f"{name}/work"}
    order = project.order(id=name, **where, **fields, verification={"checks": list(checks), "objective_only": True})
    result = project.run("verify", order, "--output", f"{name}.json")
    said = " ".join((result.stdout + result.stderr).split())  # lines are broken where the terminal ends
    return result.returncode, said, json.loads((project.root / f"{name}.json").read_text())


def a_check(command: str = "python -m pytest -q", **fields: Any) -> dict[str, Any]:
    return {"name": "tests", "command": command, **fields}


EMPTY: dict[str, tuple[Files, Files]] = {
    "no-tests": ({}, {}),
    "all-skipped": ({"tests/test_a.py": SKIPPED}, {}),
    "only-the-workers-own": ({}, {"tests/test_mine.py": PASSES}),
    "skipped-and-the-workers-own": ({"tests/test_a.py": SKIPPED}, {"tests/test_mine.py": PASSES}),
}


@pytest.mark.parametrize("name", EMPTY)
def test_pytest_that_constrains_nothing_needs_a_person(shared: Project, name: str) -> None:
    code, said, report = verified(shared, name, *EMPTY[name], a_check())
    assert code == 4, said
    assert [reason["code"] for reason in report["reasons"]] == ["nothing_to_check"]
    (check,) = report["checks"]
    assert (check["outcome"], check["code"], check["passed"]) == ("could_not_run", "nothing_to_check", False)
    assert "? tests" in said
    assert WAY_OUT in said


def test_a_check_that_passed_beside_it_makes_it_no_pass(shared: Project) -> None:
    other = {"name": "other", "command": "grep -q after a.txt"}
    code, said, report = verified(shared, "beside-another", {}, {}, a_check(), other)
    assert code == 4, said
    assert [check["outcome"] for check in report["checks"]] == ["could_not_run", "passed"]
    code, said, report = verified(shared, "advisory", {}, {}, a_check(required=False), other)
    assert code == 0, said
    assert report["checks"][0]["outcome"] == "could_not_run"
    assert "? tests (advisory)" in said


def test_tests_that_the_work_lost_are_its_failure(shared: Project) -> None:
    collect_none = {"conftest.py": "collect_ignore_glob = ['*']\n"}
    scope = {"unprotect": ["conftest.py", "tests/**"]}
    base = {"tests/test_a.py": PASSES}
    code, said, report = verified(shared, "lost", base, collect_none, a_check(), scope=scope)
    assert (code, report["checks"][0]["code"]) == (1, "no_tests"), said
    code, said, report = verified(shared, "skips-now", base, {"tests/test_a.py": SKIPPED}, a_check(), scope=scope)
    assert (code, report["checks"][0]["outcome"]) == (1, "failed"), said


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_a_base_that_was_moved_to_where_everything_is_skipped(shared: Project) -> None:
    """The agent commits a bug with all tests skipped, and has its own commit for the base."""
    work = shared.root / "moved"
    laid(work, {"calc.py": "def add(a, b):\n    return a - b\n", "tests/test_a.py": SKIPPED})
    git(work, "init", "-q", "-b", "main")
    git(work, "add", ".")
    git(work, "commit", "-q", "-m", "done")
    base = {"repository": "moved", "revision": git(work, "rev-parse", "HEAD")}
    order = shared.order(
        id="moved", workspace="moved", base=base, verification={"checks": [a_check()], "objective_only": True}
    )
    result = shared.run("verify", order, "--json")
    assert result.returncode == 4, result.stderr
    assert json.loads(result.stdout)["checks"][0]["code"] == "nothing_to_check"


TAP = 'n=0; for c in $(cat cases); do n=$((n+1)); echo "ok $n - $c"; done; echo "1..$n"\n'
CASE = "import unittest\n\n\nclass T(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(1, 1)\n"
NODE = "require('node:test')('adds', () => require('node:assert').strictEqual(1 + 1, 2));\n"
BY_COMMAND: dict[str, tuple[str, Files, Files]] = {
    "unittest": ("python -m unittest", {"tests/__init__.py": ""}, {}),
    "unittest-workers-own": ("python -m unittest", {"tests/__init__.py": ""}, {"tests/test_a.py": CASE}),
    "tap": ("sh tests/run.sh", {"tests/run.sh": TAP, "cases": ""}, {}),
    "tap-workers-own": ("sh tests/run.sh", {"tests/run.sh": TAP, "cases": ""}, {"cases": "one two"}),
}


@pytest.mark.parametrize("name", BY_COMMAND)
def test_a_command_that_constrains_nothing_needs_a_person(shared: Project, name: str) -> None:
    command, base, work = BY_COMMAND[name]
    code, said, report = verified(shared, name, base, work, a_check(command))
    assert code == 4, said
    assert report["checks"][0]["code"] == "nothing_to_check"
    assert WAY_OUT in said


def test_node_without_tests(shared: Project) -> None:
    node = {"environment": {"image": "node"}}
    script = {"package.json": '{"name": "a", "version": "1.0.0", "scripts": {"test": "node --test"}}\n'}
    code, said, report = verified(shared, "node", script, {}, a_check("node --test"), **node)
    assert (code, report["checks"][0]["code"]) == (4, "nothing_to_check"), said
    hollow = {**script, "test/a.test.js": "// nothing here yet\n"}
    code, said, report = verified(shared, "node-hollow", hollow, {}, a_check("npm test"), **node)
    assert (code, report["checks"][0]["code"]) == (4, "nothing_to_check"), said
    full = {**script, "test/a.test.js": NODE}
    code, said, report = verified(shared, "node-full", full, {}, a_check("npm test"), **node)
    assert code == 0, said


def test_fewer_tests_than_on_the_base_are_the_works_failure(shared: Project) -> None:
    base = {"tests/run.sh": TAP, "cases": "one two three"}
    for name, cases, code in (("fewer", "one two", 1), ("none", "", 1), ("as-many", "four five six", 0)):
        got, said, report = verified(shared, f"tap-{name}", base, {"cases": cases}, a_check("sh tests/run.sh"))
        assert got == code, said
        if code:
            assert report["checks"][0]["code"] == ("nothing_passed" if name == "none" else "tests_missing")
            assert "3 did" in said or name == "none"


@pytest.mark.parametrize(
    ("name", "command"), [("shell", "bats tests"), ("module", "python -m nose2"), ("pytest", "python3.1 -m pytest")]
)
def test_a_runner_that_nobody_has_is_not_the_works_doing(shared: Project, name: str, command: str) -> None:
    code, said, report = verified(shared, f"no-runner-{name}", {}, {}, a_check(command))
    assert (code, report["checks"][0]["code"]) == (3, "command_not_found"), said
    assert "environment" in report["checks"][0]["next_step"]
    assert report["checks"][0]["next_step"].split(".")[0] in said


def test_a_runner_that_only_the_work_has_not_is_its_failure(shared: Project) -> None:
    base = {"run-tests.sh": "sh bin/runner\n", "bin/runner": "exit 0\n"}
    code, said, report = verified(
        shared, "lost-runner", base, {"bin/runner": "bats tests\n"}, a_check("sh run-tests.sh")
    )
    assert (code, report["checks"][0]["outcome"]) == (1, "failed"), said
