"""Flaky checks and controls from the command line: one that is caught and one that is taken of each, and replayed."""

from __future__ import annotations

import json
import subprocess

import pytest
from docker import APIClient

from tests.integration.conftest import LIMIT_SECONDS, Project, wait_for
from tests.integration.engines import checks_of, inside


def same_again(project: Project, todo: str) -> None:
    """Judged on the evidence alone, the round comes to the same."""
    found = project.answer("rejudge", todo, "--objective", "--json")
    assert (found["drift"], found["damaged"], found["compared"]) == ([], {}, [])


def first_fails(project: Project, engine: APIClient, verify: subprocess.Popen[str]) -> None:
    """The check is told to fail in the first container that it runs in, and to pass in those after it."""
    containers: list[str] = []

    def over() -> bool:
        for container in checks_of(engine, project):
            if container["Id"] not in containers:
                containers.append(container["Id"])
            word = "pass" if containers.index(container["Id"]) else "fail"
            inside(engine, container, f"test -s /tmp/go || echo {word} >/tmp/go")
        return verify.poll() is not None

    wait_for(over, LIMIT_SECONDS)


@pytest.mark.slow
@pytest.mark.parametrize("on_flaky", ["fail", "pass"])
def test_a_check_that_fails_and_then_passes(shared: Project, engine: APIClient, on_flaky: str) -> None:
    todo, taken = f"wo-flaky-{on_flaky}", on_flaky == "pass"
    command = 'until test -s /tmp/go; do sleep 0.1; done; [ "$(cat /tmp/go)" = pass ] || { echo early; exit 1; }'
    verification = {"checks": [{"name": "now", "command": command}], "on_flaky": on_flaky}
    ended = shared.start("verify", shared.order(id=todo, verification=verification), "--json")
    first_fails(shared, engine, ended)
    (check,) = json.loads(ended.communicate(timeout=LIMIT_SECONDS)[0])["checks"]
    assert (ended.returncode, check["code"], check["passed"]) == (0 if taken else 1, "flaky", taken), check
    assert check["output"] == ("" if taken else "early")
    (row,) = [row for row in shared.rows(todo) if row["action"] == "check_completed"]
    assert row["payload"]["outcomes"] == ["failed", "passed"]
    same_again(shared, todo)


PATCH = """--- a/a.txt
+++ b/a.txt
@@ -1 +1 @@
-after
+something else
"""


@pytest.mark.parametrize(
    ("name", "command", "code", "outcome"),
    [
        ("looks", "grep -q after a.txt", 0, "noticed"),
        ("does-not", "true || grep -q after a.txt", 3, "not_applicable"),
        ("is-fooled", "grep -q before a.txt || [ -s a.txt ] && grep -qv before a.txt", 1, "missed"),
    ],
)
def test_a_check_whose_control_is_a_patch(shared: Project, name: str, command: str, code: int, outcome: str) -> None:
    todo = f"wo-control-{name}"
    shared.write(break_dot_patch=PATCH if code != 3 else PATCH.replace("after", "before"))
    check = {"name": "says", "command": command, "control": {"patch": "break.patch"}}
    ended = shared.run("verify", shared.order(id=todo, verification={"checks": [check]}), "--json")
    (found,) = json.loads(ended.stdout)["checks"]
    assert (ended.returncode, found["control"]["kind"], found["control"]["outcome"]) == (code, "patch", outcome), found
    same_again(shared, todo)
