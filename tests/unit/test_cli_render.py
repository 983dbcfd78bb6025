"""What a person sees of a round: nothing that a worker wrote may steer the terminal."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from domain.claims.claim import Contradiction
from domain.decision import RoundOutcome
from domain.headline import WORDS
from domain.messages import Progress, Step
from domain.probes import ProbeSeen
from domain.report import Report
from entrypoints.cli.common import split_todo, visible
from entrypoints.cli.render import Watcher, next_step, show_report

HOSTILE = "\x1b[2J[red]\x07evil"


def report(outcome: RoundOutcome, **fields: object) -> Report:
    given = {
        "work_order_id": "wo-1",
        "session": "local",
        "attempt": 1,
        "content": HOSTILE,
        "timestamp": "2026-01-15T10:05:01Z",
        "duration_ms": 10,
        "verdict": "FAIL",
        "outcome": outcome,
        "trigger": "",
        "reasons": [{"code": "exit_code", "text": HOSTILE}],
        "notices": [HOSTILE],
        "snapshot": {
            "digest": "d",
            "head_digest": "h",
            "base_digest": "b",
            "order_digest": "o",
            "changed": [HOSTILE],
            "restored": [HOSTILE],
            "dropped": [{"path": HOSTILE, "reason": HOSTILE}],
        },
        "scope": {"passed": False, "violations": [{"path": HOSTILE, "kind": "denied"}]},
        "criteria": [],
        "checks": [
            {
                "name": "tests",
                "command": HOSTILE,
                "outcome": "failed",
                "passed": False,
                "exit_code": 1,
                "output": f"{HOSTILE}\nlast line",
                "duration_ms": 5,
                "required": True,
                "code": "exit_code",
                "text": HOSTILE,
                "next_step": "",
                "isolation": "in_process",
                "evidence": "e",
            }
        ],
        "summary": {"total": 1, "passed": 0, "failed": 1, "could_not_run": 0},
        "retry_context": {"attempt_number": 2, "max_attempts": 3, "specific_failures": [HOSTILE]},
        "trail": {"session": "local", "sequence": 1, "head": "h"},
    }
    return Report.model_validate(given | fields)


def shown(of: Report, verbose: bool = False) -> str:
    stream = io.StringIO()
    show_report(Console(file=stream, width=120), of, "/evidence", "http://ui", verbose)
    return stream.getvalue()


def test_hostile_text_is_shown_and_does_nothing() -> None:
    text = shown(report(RoundOutcome.CHANGES_REQUESTED))
    assert "\x1b" not in text
    assert "\x07" not in text
    assert text.count("\\x1b[2J[red]\\x07evil") >= 8
    assert "last line" in text


def test_a_round_that_compared_nothing_out_of_process_says_so() -> None:
    inside = report(RoundOutcome.VERIFIED)
    assert "judged   in the process of the code under test (in_process)" in shown(inside)
    (check,) = inside.checks
    outside = check.model_copy(update={"name": "cases", "isolation": "out_of_process"})
    assert "in the process" not in shown(inside.model_copy(update={"checks": (check, outside)}))
    advisory = outside.model_copy(update={"required": False})
    assert "in the process" in shown(inside.model_copy(update={"checks": (check, advisory)}))


def test_probe_and_contradictions_are_shown_as_text() -> None:
    probe = ProbeSeen(how="revert", tested=False, text=f"all pass {HOSTILE}", seed=3)
    found = Contradiction(check="tests", claimed=f"12 passed {HOSTILE}", observed=f"10 passed {HOSTILE}")
    plain = shown(report(RoundOutcome.VERIFIED))
    text = shown(report(RoundOutcome.VERIFIED, probe=probe, contradictions=(found,)))
    assert "probe" not in plain
    assert "revert: all pass" in text
    assert "the claim says 12 passed" in text
    assert text.count("\\x1b[2J[red]\\x07evil") == plain.count("\\x1b[2J[red]\\x07evil") + 3


@pytest.mark.parametrize("outcome", RoundOutcome)
def test_every_outcome_has_a_headline_and_a_next_step(outcome: RoundOutcome) -> None:
    first, second = shown(report(outcome)).strip().splitlines()[:2]
    assert first == WORDS[outcome]
    assert second == "wo-1, attempt 1"
    said = "NOT VERIFIED: 2 tests failed"
    assert shown(report(outcome, headline=said)).strip().splitlines()[0] == said
    assert next_step(report(outcome)).endswith(".")


def test_long_output_is_cut_unless_verbose() -> None:
    check = report(RoundOutcome.FAILED).checks[0].model_copy(update={"output": "\n".join(map(str, range(100)))})
    long = report(RoundOutcome.FAILED).model_copy(update={"checks": (check,)})
    assert "  42\n" not in shown(long)
    assert "  [... what is left out: countersign evidence show wo-1 --attempt 1 --log tests]\n  88\n" in shown(long)
    assert "  42" in shown(long, verbose=True)


FAILURE = "exit code 1, expected 0; 1 test failed: adds (expected 3, actual 2; a.js:3)"
FAILED_TESTS = {"count": 1, "listed": [{"test": "adds", "message": "expected 3, actual 2", "place": "a.js:3"}]}


def failing(failures: tuple[str, ...] = (f"tests: {FAILURE}",), **fields: Any) -> Report:
    """A round whose only check names a failing test; `failures` is what the next attempt is told."""
    plain = report(RoundOutcome.CHANGES_REQUESTED)
    own = {"text": FAILURE, "output": "noise\nnot ok 1 adds", "failed_tests": FAILED_TESTS}
    check = {**plain.checks[0].model_dump(), **own, **fields.pop("check", {})}
    given = {
        "checks": [check],
        "reasons": [{"code": "exit_code", "text": f"tests: {FAILURE}"}],
        "retry_context": {"attempt_number": 2, "max_attempts": 3, "specific_failures": failures},
    }
    return report(RoundOutcome.CHANGES_REQUESTED, **given | fields)


def test_a_failure_is_shown_once_by_its_tests() -> None:
    text = shown(failing())
    assert text.count("expected 3, actual 2") == 1
    assert "\ntests: 1 test failed\n  ✗ adds\n    expected 3, actual 2\n    a.js:3\n" in text
    assert "  all of it: countersign evidence show wo-1 --attempt 1 --log tests\n" in text
    assert "why      tests failed, as above [exit_code]" in text
    assert "is told" not in text
    assert "noise" not in text
    assert "  noise\n" in shown(failing(), verbose=True)


def test_what_is_not_shown_above_is_told_under_retry() -> None:
    other = "tests: divides (expected 1, actual 0)"
    text = shown(failing((f"tests: {FAILURE}", other)))
    told = text[text.index("attempt 2 is told beside the above:") :]
    assert f"- {other}" in told
    assert "adds" not in told


def test_a_failure_without_named_tests_is_shown_where_the_table_has_no_room() -> None:
    long = "is_prime(0): " + "raised ValueError, " * 20
    reasons = [{"code": "wrong_result", "text": f"tests: {long}"}]
    text = shown(failing(check={"text": long, "failed_tests": None}, reasons=reasons))
    assert "raised ValueError,  [wrong_result]" in text[text.index("why") :]
    short = failing(check={"text": "raised", "failed_tests": None}, reasons=[{"code": "x", "text": "tests: raised"}])
    assert "why      tests failed, as above [x]" in shown(short)


STEP = "shellcheck is not in the image. Install it (environment: {setup: [x]})"


@pytest.mark.parametrize(
    ("check", "changed", "told"),
    [
        ({"next_step": STEP}, (), f"the order or the environment is wrong. {STEP}."),
        ({}, (), "If the work is still to be done, do it; if not, the order or the environment is wrong"),
        ({"next_step": STEP}, ("a.js",), f"{STEP}; change what is named above"),
        ({"next_step": f"{STEP}."}, (), f"the order or the environment is wrong. {STEP}."),
        ({"next_step": f"{STEP}."}, ("a.js",), f"{STEP}; change what is named above"),
        ({"next_step": STEP, "base_outcome": "passed"}, (), "change what is named above"),
    ],
)
def test_where_the_base_fails_the_same_way_the_next_step_says_so(
    check: dict[str, str], changed: tuple[str, ...], told: str
) -> None:
    snapshot = {**report(RoundOutcome.FAILED).model_dump()["snapshot"], "changed": changed}
    scope = {"passed": True, "violations": []}
    given = failing(check={"base_outcome": "failed", **check}, snapshot=snapshot, scope=scope)
    assert told in next_step(given)
    assert next_step(given).startswith("nothing was changed") == (not changed and "base_outcome" not in check)


def test_progress_is_a_line_for_each_change() -> None:
    stream = io.StringIO()
    step = Step(id="tests", parent="checks", label="pytest")
    with Watcher(Console(file=stream, width=100)) as watcher:
        for status in ("waiting", "running", "running", "passed"):
            watcher.see(Progress(steps=(step.model_copy(update={"status": status}),)))
    assert [line.split()[0] for line in stream.getvalue().splitlines()] == ["▸", "✓"]


def test_names_of_todos() -> None:
    assert split_todo("s/t") == ("s", "t")
    assert split_todo("t") == ("local", "t")
    assert visible("a\x9bb\n") == "a\\x9bb\n"


def test_the_commands_by_which_a_person_decides_stand_on_a_line_each() -> None:
    long = f"countersign override local/wo-1 --kind check {'--acknowledge some-check ' * 12}--reason TEXT"
    lines = [
        line.strip() for line in shown(report(RoundOutcome.NEEDS_HUMAN, next=("countersign review", long))).split("\n")
    ]
    at = lines.index("countersign review")
    assert lines[at + 1] == long
