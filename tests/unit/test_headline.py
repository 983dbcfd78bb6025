"""The first line of a report: what failed and what was tampered with, counted right; and what an image lacks."""

from __future__ import annotations

from typing import Any

import pytest

from domain.decision import RoundOutcome
from domain.headline import WORDS, Line, headline
from domain.missing_tools import missing_tool
from domain.report_lines import CheckReport
from domain.scope import ScopeReport, Violation
from domain.tree import BUILT_IN, Dropped

CHANGES = RoundOutcome.CHANGES_REQUESTED


def check(name: str = "tests", **fields: Any) -> Line:
    given = {
        **{"name": name, "command": "c", "outcome": "failed", "passed": False, "exit_code": 1, "output": ""},
        **{"duration_ms": 1, "required": True, "code": "exit_code", "text": "t", "next_step": "", "evidence": ""},
        "isolation": "in_process",
    }
    return CheckReport.model_validate(given | fields)


def failing(count: int) -> dict[str, Any]:
    return {"failed_tests": {"count": count, "listed": [{"test": "a"}]}}


COUNTS = {"expected": 9, "passed": 6, "failed": 2, "errors": 1}
COUNTED: dict[str, Any] = {"tests": COUNTS, "code": "tests_failed"}
DROPPED = (Dropped(path="json.py", reason="hides another"), Dropped(path="n", reason=f"{BUILT_IN}: n"))


@pytest.mark.parametrize(
    ("lines", "scope", "contradictions", "expected"),
    [
        (
            [check(**failing(2))],
            ScopeReport(restored=("tests/a.js", "package.json")),
            0,
            "2 tests failed; 2 protected files were changed by the worker and restored",
        ),
        (
            [check(**failing(1))],
            ScopeReport(restored=("a",), dropped=DROPPED),
            1,
            "1 test failed; 1 protected file was changed by the worker and restored;"
            " 1 path of the worker's was left out; 1 statement of the claim contradicts what was seen",
        ),
        ([check(**COUNTED), check("node", **failing(2))], None, 0, "5 tests failed"),
        ([check("AC-4", code="wrong_result")], None, 0, "AC-4 failed"),
        ([check(**failing(1)), check("lint"), check("types")], None, 0, "1 test failed; lint and types failed"),
        ([check(name) for name in "abcde"], None, 0, "a, b, c and 2 more failed"),
        ([check(code="subverted", tests=COUNTS)], None, 0, "tests was subverted"),
        (
            [check(required=False, **failing(3))],
            None,
            2,
            "changes requested; 2 statements of the claim contradict what was seen",
        ),
        (
            [],
            ScopeReport(violations=(Violation(path="a", kind="denied"), Violation(path="b", kind="out_of_scope"))),
            0,
            "2 changes were not allowed",
        ),
        ([check(outcome="passed", passed=True)], ScopeReport(), 0, "changes requested"),
    ],
)
def test_a_refusal_says_what_failed_and_what_was_tampered_with(
    lines: list[Line], scope: ScopeReport | None, contradictions: int, expected: str
) -> None:
    assert headline(CHANGES, lines, scope, contradictions) == f"NOT VERIFIED: {expected}"


def test_other_outcomes_keep_their_words() -> None:
    scope = ScopeReport(restored=("a",))
    assert headline(RoundOutcome.VERIFIED, [], scope, 0) == "VERIFIED"
    assert headline(RoundOutcome.INCONCLUSIVE, [], scope, 0) == "COULD NOT TELL"
    told = headline(RoundOutcome.NEEDS_HUMAN, [check()], scope, 0)
    assert told == f"{WORDS[RoundOutcome.NEEDS_HUMAN]}; 1 protected file was changed by the worker and restored"
    assert headline(RoundOutcome.FAILED, [], None, 0) == "NOT VERIFIED: failed"


@pytest.mark.parametrize(
    ("output", "lacks"),
    [
        ("sh: 1: shellcheck: not found\n", "apt-get install -y shellcheck"),
        ("verify.sh: line 3: shellcheck: command not found\n", "apt-get install -y shellcheck"),
        ("/usr/bin/env: \u2018node\u2019: No such file or directory\n", "apt-get install -y node]"),
        ("make: eslint: No such file or directory\n", "apt-get install -y eslint"),
        ("/usr/local/bin/python: No module named pytest\n", "pip install pytest]"),
        ("ModuleNotFoundError: No module named 'requests.auth'\n", "the Python module requests is not in the image"),
        ("Error: Cannot find module '@scope/tape'\n", "npm ci], inputs: [package.json, package-lock.json]"),
        ("Error: Cannot find module './parse'\n", ""),
        ("404: page not found here\n", ""),
        ("tests failed\n", ""),
    ],
)
def test_what_an_image_lacks_is_recognised(output: str, lacks: str) -> None:
    found = missing_tool(f"before\n{output}after\n")
    assert lacks in found
    assert bool(found) == bool(lacks)
    assert not found or "environment.image" in found
