"""What a person sees of a round: nothing that a worker wrote may steer the terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from domain.claims.claim import Contradiction
from domain.decision import RoundOutcome
from domain.messages import ProbeSeen, Progress, Step
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
    assert len(shown(report(outcome)).strip().splitlines()[0]) > 10
    assert next_step(report(outcome)).endswith(".")


def test_long_output_is_cut_unless_verbose() -> None:
    check = report(RoundOutcome.FAILED).checks[0].model_copy(update={"output": "\n".join(map(str, range(100)))})
    long = report(RoundOutcome.FAILED).model_copy(update={"checks": (check,)})
    assert "  42\n" not in shown(long)
    assert "88 lines before" in shown(long)
    assert "  42" in shown(long, verbose=True)


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
