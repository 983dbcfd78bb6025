"""Claims held against what was seen, and the falsifiability probe, as a person runs them: one accepted, one caught."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.integration.conftest import Project

HONEST = "def double(number):\n    if number < 0:\n        return -double(-number)\n    return number + number\n"
BASE = "def double(number):\n    return None\n"
TESTED = "from src.app import double\n\n\ndef test_double():\n    assert (double(3), double(-3)) == (6, -6)\n"
TAUTOLOGY = "from src.app import double\n\n\ndef test_double():\n    assert double(3) == double(3)\n"
ELSEWHERE = "def test_sums():\n    assert 1 + 1 == 2\n"
COMMAND = "python -m pytest -q tests"


@pytest.fixture(autouse=True)
def trees(shared: Project) -> None:
    """A base whose function does nothing, and work that is right."""
    shared.write(base__src__app_dot_py=BASE, work__src__app_dot_py=HONEST)
    for tree in ("base", "work"):
        test = shared.root / tree / "tests" / "test_app.py"
        test.parent.mkdir(exist_ok=True)
        test.write_text(TESTED)


def write_tests(shared: Project, text: str) -> None:
    for tree in ("base", "work"):
        (shared.root / tree / "tests" / "test_app.py").write_text(text)


def order(shared: Project, name: str, **verification: Any) -> str:
    checks = {"checks": [{"name": "tests", "command": COMMAND, "env": {"PYTHONPATH": "."}}]}
    return shared.order(id=name, verification={**checks, **verification})


def claim(shared: Project, stdout: str, exit_code: int, **fields: Any) -> str:
    said = {
        "explanation": "double() adds the number to itself, and mirrors negative ones [out].",
        "evidence": [{"label": "out", "type": "command_output", "data": stdout}],
        "files_modified": ["src/app.py", "a.txt"],
        "commands_run": [{"command": "cd /repo && pytest -v tests/", "stdout": stdout, "exit_code": exit_code}],
        **fields,
    }
    (shared.root / "claim.json").write_text(json.dumps(said, indent=1))
    return "claim.json"


def test_a_true_claim_is_recorded_and_contradicts_nothing(shared: Project) -> None:
    said = claim(shared, "1 passed in 0.01s\n", 0)
    result = shared.run("verify", order(shared, "wo-true"), "--claim", said, "--json")
    assert result.returncode == 0, result.stdout + result.stderr
    assert json.loads(result.stdout)["contradictions"] == []
    assert [row for row in shared.rows("wo-true") if row["action"] == "claim_contradicted"] == []


def test_a_false_claim_is_told_with_both_sides(shared: Project) -> None:
    shared.write(work__src__app_dot_py=HONEST.replace("number + number", "number"))
    said = claim(shared, "1 passed in 0.01s\n", 0, files_modified=["src/app.py", "a.txt", "src/other.py"])
    result = shared.run("verify", order(shared, "wo-false"), "--claim", said, "--output", "report.json")
    assert result.returncode == 1, result.stdout + result.stderr
    report = json.loads((shared.root / "report.json").read_text())
    first, second = report["contradictions"]
    assert first["claimed"] == "cd /repo && pytest -v tests/: exit code 0, 1 passed"
    assert first["observed"].startswith("exit code 1")
    assert "1 failed" in first["observed"]
    assert (first["check"], first["evidence"]) == ("tests", report["checks"][0]["evidence"])
    assert (second["claimed"], second["observed"]) == ("modified src/other.py", "it is as in the base")
    assert first["claimed"] in " ".join(result.stdout.split())
    rows = [row["payload"] for row in shared.rows("wo-false") if row["action"] == "claim_contradicted"]
    assert [(row["claimed"], row["observed"]) for row in rows] == [
        (one["claimed"], one["observed"]) for one in report["contradictions"]
    ]


def test_a_contradiction_alone_fails_nothing(shared: Project) -> None:
    said = claim(shared, "3 passed in 0.01s\n", 0)
    result = shared.run("verify", order(shared, "wo-boast"), "--claim", said, "--json")
    assert result.returncode == 0, result.stdout + result.stderr
    (one,) = json.loads(result.stdout)["contradictions"]
    assert (one["claimed"].rpartition(": ")[2], one["observed"]) == ("exit code 0, 3 passed", "exit code 0, 1 passed")


def test_a_claim_that_is_none_is_refused_with_its_line_before_anything_runs(shared: Project) -> None:
    secret = {"COUNTERSIGN_SECRETS": "API_KEY", "API_KEY": "hunter2-hunter3"}
    for fields, told in (
        ({"explanation": "Done."}, "claim.json:2: explanation: 'Done.' says neither what was done nor how"),
        ({"explanation": "Adds the number [nope]."}, "claim.json:2: explanation: refers to [nope]"),
        ({"evidence": 3}, "claim.json:3: evidence: the number 3, expected a list"),
        ({"files_modified": ["hunter2-hunter3"]}, "claim.json:11: files_modified[0]: holds the value of the secret"),
    ):
        said = claim(shared, "", 0, **fields)
        result = shared.run("verify", order(shared, "wo-refused-claim"), "--claim", said, **secret)
        assert result.returncode == 2, result.stderr
        assert told in result.stderr
        assert "hunter2" not in result.stdout + result.stderr
    assert shared.rows("wo-refused-claim") == []


@pytest.mark.parametrize(
    ("how", "test", "code", "told"),
    [
        pytest.param("revert", TESTED, 0, "the change is undone", marks=pytest.mark.slow),
        ("mutate", TESTED, 0, "src/app.py:"),
        ("revert", ELSEWHERE, 1, "these checks do not test the change"),
        pytest.param("mutate", ELSEWHERE, 1, "these checks do not test the change", marks=pytest.mark.slow),
        pytest.param("revert", TAUTOLOGY, 1, "these checks do not test the change", marks=pytest.mark.slow),
    ],
    ids=["revert-tested", "mutate-tested", "revert-elsewhere", "mutate-elsewhere", "revert-tautology"],
)
def test_a_change_that_no_check_tests_is_found(shared: Project, how: str, test: str, code: int, told: str) -> None:
    write_tests(shared, test)
    name = f"wo-{how}-{code}-{len(test)}"
    result = shared.run("verify", order(shared, name, probe=how), "--json")
    assert result.returncode == code, result.stdout + result.stderr
    report = json.loads(result.stdout)
    assert report["probe"]["tested"] is (code == 0)
    assert told in report["probe"]["text"]
    assert [reason["code"] for reason in report["reasons"]] == ["change_not_tested" if code else "all_required_passed"]
    (row,) = [row for row in shared.rows(name) if row["action"] == "probe_completed"]
    assert (row["payload"]["how"], row["payload"]["tested"]) == (how, code == 0)
