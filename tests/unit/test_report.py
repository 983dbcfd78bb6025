"""The report: its fields are the contract's, and it says of a round what the round's record says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from domain.checks import CheckResult, Outcome
from domain.claims.claim import Contradiction
from domain.decision import VERDICTS, Decision, Reason, RoundOutcome
from domain.events import Actor
from domain.feedback import RetryContext
from domain.messages import Frozen, RoundInput, RoundRecord, ScopeResult
from domain.order import Order
from domain.probes import ProbeSeen
from domain.report import Report, build
from domain.report_lines import Output
from domain.scope import ScopeReport, Violation
from domain.scrutiny import ControlSeen, Counts, Expectation
from domain.tree import Change, Dropped

CONTRACT = {
    *("work_order_id", "session", "attempt", "timestamp", "verdict", "outcome", "reasons", "snapshot", "scope"),
    *("criteria", "checks", "audits", "arguments", "judgement", "usage", "summary", "trail"),
}
DOCUMENTED_EXTRAS = {"content", "duration_ms", "trigger", "notices", "retry_context", "probe", "contradictions"}
DOCUMENTED_EXTRAS |= {"auditor", "authority", "remembered", "draft", "fix_loop", "headline", "next"}
ORDER = Order.model_validate(
    {
        "content": "Implement it",
        "acceptance_criteria": [
            {"id": "AC-1", "type": "command_output", "params": {"command": "python -m solution 7", "stdout": "True\n"}}
        ],
    }
)
START = datetime(2026, 1, 15, 10, 5, 1, tzinfo=UTC)

RESULTS = (
    CheckResult(
        id="AC-1",
        spelling="criterion",
        type="command_output",
        label="prints True",
        command="python -m solution 7",
        outcome=Outcome.PASSED,
        code="ok",
        text="exit code 0",
        exit_code=0,
        stdout="tail",
        duration_ms=12,
        isolation="out_of_process",
        evidence="e1",
    ),
    CheckResult(
        id="tests",
        spelling="check",
        type="command_exit_zero",
        command="pytest",
        outcome=Outcome.FAILED,
        code="exit_code",
        text="exit code 1, expected 0",
        exit_code=1,
        stdout="out\n",
        stderr="err\n",
        isolation="in_process",
        evidence="e2",
    ),
    CheckResult(
        id="lint",
        spelling="check",
        type="command_exit_zero",
        required=False,
        outcome=Outcome.COULD_NOT_RUN,
        code="image_missing",
    ),
)
SCOPE = ScopeReport(
    accepted=(Change(path="src/a.py", kind="modified"),),
    restored=("tests/test_a.py",),
    dropped=(Dropped(path="x.pth", reason="start-up"),),
)
FROZEN = Frozen(head="h", base="b", head_files=1, head_bytes=2, base_files=1, dropped="d")
TREE = ScopeResult(tree="t", tree_bytes=2, report="r", diff="f")


def record(outcome: RoundOutcome = RoundOutcome.CHANGES_REQUESTED, **more: Any) -> RoundRecord:
    fields: dict[str, Any] = {
        "input": RoundInput(
            session="local",
            todo="wo-1",
            attempt=2,
            order=ORDER,
            order_digest="o",
            host="h",
            actor=Actor(role="human", identity="ann"),
        ),
        "started_at": START,
        "ended_at": START + timedelta(seconds=1.5),
        "frozen": FROZEN,
        "scope": TREE,
        "results": RESULTS,
        "decision": Decision(outcome=outcome, reasons=(Reason(code="exit_code", text="tests: 1"),), trigger="t"),
        "notices": ("no auditor",),
        "head_sequence": 9,
        "head_hash": "hash",
    }
    return RoundRecord(**{**fields, **more})


def test_the_top_level_is_the_contracts_and_what_is_documented_beside_it() -> None:
    document = build(record(), {}, SCOPE, None).model_dump(mode="json")
    assert set(document) == CONTRACT | DOCUMENTED_EXTRAS
    assert CONTRACT.isdisjoint(DOCUMENTED_EXTRAS)


@pytest.mark.parametrize(
    ("part", "fields"),
    [
        ("criteria", {"id", "description", "test_type", "command", "passed", "outcome", "isolation", "evidence"}),
        (
            "checks",
            {
                *("name", "outcome", "passed", "exit_code", "output", "duration_ms", "required", "code", "isolation"),
                *("control", "expectation", "base_outcome", "tests"),
            },
        ),
    ],
)
def test_a_line_has_the_contracts_fields(part: str, fields: set[str]) -> None:
    (first, *_) = build(record(), {}, SCOPE, None).model_dump(mode="json")[part]
    assert fields <= set(first)


def test_the_other_parts_have_the_contracts_fields() -> None:
    document = build(record(), {}, SCOPE, None).model_dump(mode="json")
    assert set(document["summary"]) == {"total", "passed", "failed", "could_not_run", "audited"}
    assert {"digest", "base_digest", "order_digest", "changed", "restored", "dropped"} <= set(document["snapshot"])
    assert {"session", "head"} <= set(document["trail"])
    assert {"tokens", "cost_usd"} <= set(document["usage"])
    assert set(document["reasons"][0]) == {"code", "text", "evidence"}
    assert {"id", "exit_code", "stdout", "stderr"} <= set(document["criteria"][0]["evidence"])


def test_it_says_what_the_record_says() -> None:
    report = build(record(), {}, SCOPE, None)
    assert (report.work_order_id, report.session, report.attempt, report.content) == (
        *("wo-1", "local", 2, "Implement it"),
    )
    assert (report.timestamp, report.duration_ms) == (START + timedelta(seconds=1.5), 1500)
    assert (report.trigger, report.notices, report.reasons) == ("t", ("no auditor",), record().decision.reasons)
    assert (report.trail.session, report.trail.sequence, report.trail.head) == ("local", 9, "hash")


@pytest.mark.parametrize("outcome", RoundOutcome)
def test_the_verdict_is_the_word_for_the_outcome(outcome: RoundOutcome) -> None:
    report = build(record(outcome), {}, SCOPE, None)
    assert (report.outcome, report.verdict) == (outcome, VERDICTS[outcome])
    assert (report.verdict == "PASS") == (outcome is RoundOutcome.VERIFIED)


def test_criteria_and_checks_are_kept_apart_and_counted_together() -> None:
    report = build(record(), {}, SCOPE, None)
    assert [c.id for c in report.criteria] == ["AC-1"]
    assert [c.name for c in report.checks] == ["tests", "lint"]
    assert report.summary.model_dump() == {"total": 3, "passed": 1, "failed": 1, "could_not_run": 1, "audited": 0}


def test_a_criterion_line() -> None:
    line = build(record(), {}, SCOPE, None).criteria[0].model_dump(mode="json")
    assert line == {
        "tests": None,
        "control": None,
        "expectation": None,
        "failed_tests": None,
        "outcomes": [],
        "seed": None,
        "id": "AC-1",
        "description": "prints True",
        "test_type": "command_output",
        "command": "python -m solution 7",
        "required": True,
        "passed": True,
        "outcome": "passed",
        "code": "ok",
        "text": "exit code 0",
        "next_step": "",
        "isolation": "out_of_process",
        "base_outcome": "",
        "duration_ms": 12,
        "evidence": {"id": "e1", "exit_code": 0, "stdout": "tail", "stderr": "", "quotes": []},
        "audited": None,
        "judged": None,
        "drafted": False,
    }


def test_what_was_learned_of_a_check_itself() -> None:
    counts, control = Counts(expected=9, passed=9), ControlSeen(kind="canary", outcome="noticed", text="it failed")
    expectation = Expectation(tests=9, measured=4, constrained=3, unconstrained=("t.py::a",), seed=7)
    examined = RESULTS[1].model_copy(
        update={
            "type": "pytest",
            "tests": counts,
            "control": control,
            "expectation": expectation,
            "outcomes": (Outcome.FAILED, Outcome.PASSED),
            "seed": 7,
        }
    )
    given = record().model_copy(update={"results": (RESULTS[0], examined)})
    line = build(given, {}, SCOPE, None).checks[0]
    assert (line.tests, line.control, line.outcomes, line.seed) == (counts, control, ("failed", "passed"), 7)
    assert line.expectation
    assert (line.expectation.share, line.expectation.unconstrained) == (0.75, ("t.py::a",))
    unmeasured = examined.model_copy(update={"expectation": Expectation(tests=9)})
    nothing = build(given.model_copy(update={"results": (RESULTS[0], unmeasured)}), {}, SCOPE, None).checks[0]
    assert nothing.expectation
    assert nothing.expectation.share is None


def test_a_criterion_keeps_the_type_that_the_order_gives_it() -> None:
    """A command that runs pytest is judged by its tests, and stays a command for readers of the order."""
    written = {"id": "AC-1", "type": "command_exit_zero", "params": {"command": "pytest -q"}}
    order = Order.model_validate({"content": "x", "acceptance_criteria": [written]})
    ran = RESULTS[0].model_copy(update={"type": "pytest"})
    given = record()
    given = given.model_copy(update={"input": given.input.model_copy(update={"order": order}), "results": (ran,)})
    assert build(given, {}, SCOPE, None).criteria[0].test_type == "command_exit_zero"


def test_probe_and_contradictions_are_in_the_report() -> None:
    probe = ProbeSeen(how="revert", tested=False, text="these checks do not test the change", seed=3)
    found = Contradiction(check="tests", claimed="12 passed", observed="10 passed")
    report = build(record().model_copy(update={"probe": probe, "contradictions": (found,)}), {}, SCOPE, None)
    assert (report.probe, report.contradictions) == (probe, (found,))


def test_long_outputs_that_did_not_travel_replace_the_tails() -> None:
    outputs = {"AC-1": Output(stdout="whole"), "tests": Output(stderr="whole too\n")}
    report = build(record(), outputs, SCOPE, None)
    assert report.criteria[0].evidence.stdout == "whole"
    assert report.checks[0].output == "whole too"
    assert build(record(), {}, SCOPE, None).checks[0].output == "out\nerr"


def test_what_could_not_run_has_not_passed_and_has_no_exit_code() -> None:
    line = build(record(), {}, SCOPE, None).checks[1]
    assert (line.outcome, line.passed, line.exit_code, line.required, line.isolation) == (
        *("could_not_run", False, None, False, "not_run"),
    )


def test_the_snapshot_binds_the_verdict_to_trees_and_order() -> None:
    snapshot = build(record(), {}, SCOPE, None).snapshot
    assert snapshot is not None
    assert snapshot.model_dump() == {
        "digest": "t",
        "head_digest": "h",
        "base_digest": "b",
        "base": "",
        "order_digest": "o",
        "changed": ("src/a.py",),
        "restored": ("tests/test_a.py",),
        "dropped": ({"path": "x.pth", "reason": "start-up"},),
    }


def test_a_round_that_never_got_a_tree_says_so_with_nulls() -> None:
    report = build(record(frozen=None, scope=None, results=()), {}, None, None)
    assert report.snapshot is None
    assert report.scope is None
    assert report.summary.total == 0


def test_a_violation_is_told_and_is_no_passed_scope() -> None:
    violated = ScopeReport(violations=(Violation(path=".github/ci.yml", kind="denied"),))
    report = build(record(), {}, violated, None)
    assert report.scope is not None
    assert not report.scope.passed
    assert report.scope.violations == violated.violations
    assert build(record(), {}, SCOPE, None).scope == report.scope.model_copy(update={"passed": True, "violations": ()})


def test_a_report_survives_json() -> None:
    retry = RetryContext(attempt_number=3, max_attempts=3, outputs={"tests": "err"})
    report = build(record(), {}, SCOPE, retry)
    assert Report.model_validate_json(report.model_dump_json()) == report
    assert report.model_dump(mode="json")["retry_context"]["outputs"] == {"tests": "err"}
