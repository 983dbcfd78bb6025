"""Flaky checks and controls from the command line: one that is caught and one that is taken of each, and replayed."""

from __future__ import annotations

import json
import time

import pytest

from tests.integration.conftest import LIMIT_SECONDS, Project

LATER = 30.0  # seconds until the checks pass: their first runs begin before, on a host that is up


def same_again(project: Project, todo: str) -> None:
    """Judged on the evidence alone, the round comes to the same."""
    found = project.answer("rejudge", todo, "--objective", "--json")
    assert (found["drift"], found["damaged"], found["compared"]) == ([], {}, [])


@pytest.mark.slow
def test_a_check_that_fails_and_then_passes(shared: Project) -> None:
    shared.answer("up", "--json")
    at = int(time.time() + LATER)
    fails_until_then = f'left=$(({at} - $(date +%s))); [ "$left" -le 0 ] || {{ sleep "$left"; echo early; exit 1; }}'
    rounds = {}
    for on_flaky in ("fail", "pass"):
        verification = {"checks": [{"name": "now", "command": fails_until_then}], "on_flaky": on_flaky}
        order = shared.order(id=f"wo-flaky-{on_flaky}", verification=verification)
        rounds[on_flaky] = shared.start("verify", order, "--json")
    for on_flaky, ended in rounds.items():
        (check,) = json.loads(ended.communicate(timeout=LIMIT_SECONDS)[0])["checks"]
        taken = on_flaky == "pass"
        assert (ended.returncode, check["code"], check["passed"]) == (0 if taken else 1, "flaky", taken), check
        assert check["output"] == ("" if taken else "early")
        todo = f"wo-flaky-{on_flaky}"
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
