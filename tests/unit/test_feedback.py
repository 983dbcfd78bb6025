"""What the next attempt is told: what comes first, what is cut, and when there is nothing to tell."""

from __future__ import annotations

from typing import Any

import pytest

from domain.checks import CheckResult, Outcome
from domain.decision import Decision, Reason, RoundOutcome
from domain.failing_tests.failed_test import FailedTest
from domain.failing_tests.readers import LISTED, NAMED, FailedTests
from domain.feedback import (
    DIFF_CHARACTERS,
    DIFF_LINES,
    DROPPED_PATHS,
    FROM_THE_AUDITOR,
    NAMED_PATHS,
    TOLD,
    Attempt,
    RetryContext,
    head,
    is_objection,
    retry_context,
    tail,
)
from domain.order import Retry
from domain.scope import ScopeReport
from domain.tree import BUILT_IN, IGNORED, Dropped

ATTEMPT = Attempt(session="local", todo="wo-1", number=1)
SHOW = "countersign evidence show wo-1 --attempt 1 --log"
CHANGES = Decision(outcome=RoundOutcome.CHANGES_REQUESTED, reasons=(Reason(code="exit_code", text="tests: exit"),))


def result(id: str = "tests", outcome: Outcome = Outcome.FAILED, **more: Any) -> CheckResult:
    fields = {"type": "command_exit_zero", "code": "exit_code", "text": "exit code 1, expected 0", **more}
    return CheckResult(id=id, spelling="check", outcome=outcome, **fields)


def context(
    results: tuple[CheckResult, ...] = (),
    restored: tuple[str, ...] = (),
    diff: str = "",
    dropped: tuple[Dropped, ...] = (),
    decision: Decision = CHANGES,
    retry: Retry = Retry(),  # noqa: B008 - frozen
) -> RetryContext:
    told = retry_context(ATTEMPT, retry, decision, results, ScopeReport(restored=restored, dropped=dropped), diff)
    assert told is not None
    return told


@pytest.mark.parametrize("outcome", [o for o in RoundOutcome if o not in TOLD])
def test_a_round_that_asks_nothing_of_anybody_tells_nothing(outcome: RoundOutcome) -> None:
    decision = Decision(outcome=outcome, reasons=())
    assert retry_context(ATTEMPT, Retry(), decision, (result(),), ScopeReport(), "diff") is None


def test_a_round_that_a_person_decides_tells_what_was_seen_and_why_it_waits() -> None:
    reasons = (
        Reason(code="tests_failed", text="tests: 1 test failed"),
        Reason(code="not_judged", text="AC-9: nobody judged it"),
        Reason(code="auditor_blocked", text="which of the two?"),
    )
    decision = Decision(outcome=RoundOutcome.NEEDS_HUMAN, reasons=reasons)
    results = (
        result(text="1 test failed", stdout="boom"),
        result("lint", Outcome.COULD_NOT_RUN, stderr="no engine"),
        result("ok", Outcome.PASSED, stdout="fine"),
    )
    told = context(results, decision=decision, diff="+a\n")
    assert told.specific_failures == ("tests: 1 test failed", "AC-9: nobody judged it")
    assert told.verifier_feedback == "the auditor: which of the two?"
    assert told.outputs == {"tests": "boom", "lint": "no engine"}
    assert (told.prior_diff, told.attempt_number) == ("+a\n", 2)


def test_the_tests_that_the_text_has_no_room_for_are_told_one_by_one() -> None:
    listed = tuple(FailedTest(test=f"t{n}", message="no", place=f"a.js:{n}") for n in range(LISTED))
    failing = FailedTests(count=LISTED + 3, listed=listed)
    told = retry_context(
        ATTEMPT, Retry(), CHANGES, (result(text=f"exit code 1; {failing}"),), None, "", failing={"tests": failing}
    )
    assert told is not None
    first, *others, last = told.specific_failures
    assert "t0 (no; a.js:0)" in first
    assert others == [f"tests: t{n} (no; a.js:{n})" for n in range(NAMED, LISTED)]
    assert last == f"tests: 3 more failing tests: {SHOW} tests"


def test_the_next_attempt_is_counted_against_the_cap() -> None:
    told = context(retry=Retry(max_attempts=5))
    assert (told.attempt_number, told.max_attempts) == (2, 5)


def test_restored_files_are_told_first_when_something_failed() -> None:
    told = context((result("tests"), result("lint", required=False)), restored=("tests/test_a.py", "conftest.py"))
    assert told.specific_failures == (
        "your changes to protected files were not used, the base's were: tests/test_a.py, conftest.py",
        "tests: exit code 1, expected 0",
        "lint (advisory): exit code 1, expected 0",
    )
    assert told.restored_paths == ("tests/test_a.py", "conftest.py")


def test_restored_files_are_no_failure_when_nothing_failed() -> None:
    told = context((result(outcome=Outcome.PASSED),), restored=("conftest.py",))
    assert told.specific_failures == ()
    assert told.restored_paths == ("conftest.py",)


def test_what_was_dropped_is_told_after_what_was_restored_and_before_what_failed() -> None:
    dropped = (Dropped(path="json.py", reason="hides another"), Dropped(path="tests/conftest.py", reason="protected"))
    usual = (
        Dropped(path="node_modules", reason=f"{BUILT_IN}: node_modules"),
        Dropped(path="out", reason=f"{IGNORED} (in the base)"),
    )
    told = context((result(),), restored=("tests/test_a.py",), dropped=(*usual, *dropped))
    assert told.dropped_paths == dropped
    assert told.specific_failures[1:] == (
        "what you have at these paths was not used: json.py (hides another), tests/conftest.py (protected)",
        "tests: exit code 1, expected 0",
    )


def test_dropped_paths_are_no_failure_when_nothing_failed_and_they_are_cut() -> None:
    dropped = tuple(Dropped(path=f"a{n}", reason="a socket") for n in range(DROPPED_PATHS + 10))
    told = context((result(outcome=Outcome.PASSED),), dropped=dropped)
    assert told.specific_failures == ()
    assert told.dropped_paths == dropped[:DROPPED_PATHS]
    assert context((result(),), dropped=dropped).specific_failures[0].count("a socket") == NAMED_PATHS


def test_a_round_without_trees_has_nothing_restored() -> None:
    told = retry_context(ATTEMPT, Retry(), CHANGES, (result(),), None, "")
    assert told is not None
    assert (told.restored_paths, told.dropped_paths) == ((), ())


def test_at_most_ten_restored_files_are_named_in_the_sentence() -> None:
    told = context((result(),), restored=tuple(f"tests/test_{n}.py" for n in range(30)))
    assert told.specific_failures[0].count("tests/test_") == 10
    assert len(told.restored_paths) == 30


def test_only_failures_are_carried() -> None:
    results = (result("a"), result("b", Outcome.PASSED), result("c", Outcome.COULD_NOT_RUN))
    assert [r.id for r in context(results).check_results] == ["a"]


@pytest.mark.parametrize("code", ["scope_violation", "workspace_refused"])
def test_why_a_tree_was_not_let_in_is_a_failure_of_its_own(code: str) -> None:
    decision = Decision(outcome=RoundOutcome.CHANGES_REQUESTED, reasons=(Reason(code=code, text="ci.yml is denied"),))
    assert context((result(),), decision=decision).specific_failures[-1] == "ci.yml is denied"


def test_outputs_are_the_last_lines_of_what_failed_and_printed() -> None:
    printed = "".join(f"line {n}\n" for n in range(200))
    told = context((result("a", stdout=printed, stderr="boom"), result("b"), result("c", Outcome.PASSED, stdout="x")))
    assert set(told.outputs) == {"a"}
    lines = told.outputs["a"].splitlines()
    assert lines[0] == f"[... what is left out: {SHOW} a]"
    assert lines[-1] == "boom"


def test_lines_with_errors_come_before_the_end() -> None:
    printed = [f"noise {n}" for n in range(500)]
    printed[100] = "src/a.ts(3,5): error TS2322: no such type"
    lines = context((result("a", stdout="\n".join(printed)),)).outputs["a"].splitlines()
    assert lines[:8] == ["[...]", *printed[97:104]]
    assert lines[8:] == [f"[... what is left out: {SHOW} a]", *printed[-20:]]


def test_an_order_may_keep_the_output_to_itself() -> None:
    assert context((result(stdout="secret"),), retry=Retry(include_check_output=False)).outputs == {}


def test_a_long_diff_is_cut_by_lines_and_by_characters() -> None:
    assert context(diff="+a\n" * DIFF_LINES).prior_diff == "+a\n" * DIFF_LINES
    cut = context(diff="+a\n" * (DIFF_LINES + 7)).prior_diff
    assert cut.splitlines()[DIFF_LINES:] == [f"[... 21 characters after this: {SHOW} changes.diff]"]
    assert len(context(diff="x" * 10 * DIFF_CHARACTERS).prior_diff) < DIFF_CHARACTERS + 100


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        (Reason(code="auditor_changes_requested", text="rename it"), "the auditor: rename it"),
        (Reason(code="verifier_unavailable", text="verifier unavailable"), "verifier unavailable"),
        (Reason(code="uncited_approval", text="no citation"), "no citation"),
        (Reason(code="judge_failed", text="AC-4: it raises"), "the judge: AC-4: it raises"),
        (Reason(code="advised_against", text="AC-9: slow"), "the judge, as advice: AC-9: slow"),
        (Reason(code="judge_unavailable", text="the critic: 503"), "the critic: 503"),
        (Reason(code="exit_code", text="tests: exit code 1"), None),
    ],
)
def test_what_the_auditor_said_is_told_unless_the_order_says_no(reason: Reason, told: str | None) -> None:
    decision = Decision(outcome=RoundOutcome.CHANGES_REQUESTED, reasons=(reason,))
    assert context(decision=decision).verifier_feedback == told
    assert context(decision=decision, retry=Retry(include_verifier_feedback=False)).verifier_feedback is None


def test_what_the_judge_rules_is_told_as_the_judges() -> None:
    ruled = Reason(code="judge_failed", text="AC-4: it raises")
    advice = Reason(code="advised_against", text="AC-8: long lines")
    decision = CHANGES.model_copy(update={"reasons": (*CHANGES.reasons, ruled, advice)})
    assert context(decision=decision).verifier_feedback == (
        "the judge: AC-4: it raises\nthe judge, as advice: AC-8: long lines"
    )
    assert is_objection("judge_failed")
    assert not is_objection("advised_against"), "it holds nothing back, so nobody overrides it"
    assert "judge_unavailable" in FROM_THE_AUDITOR, "none of the work's doing"


@pytest.mark.parametrize(
    ("code", "objects"),
    [("auditor_changes_requested", True), ("judge_failed", True), ("advised_against", False), ("exit_code", False)],
)
def test_a_ruling_that_holds_back_is_an_objection_that_a_human_may_overrule(code: str, *, objects: bool) -> None:
    assert is_objection(code) is objects


@pytest.mark.parametrize(
    "text", ["", "\n", "a", "a\n", "a\nb\n", "a\r\nb", "a\fb\u2028c", "\n" * 50, "x\n" * 50, "x" * 16_384]
)
def test_what_is_short_enough_is_not_touched(text: str) -> None:
    assert tail(text, "show") == text
    assert head(text, "show") == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\nb\nc", "[... 2 characters before this: show]\nb\nc"),
        ("a\nb\nc\n", "[... 2 characters before this: show]\nb\nc\n"),
        ("0123456789abc", "[... 3 characters before this: show]\n3456789abc"),
    ],
)
def test_a_tail_says_how_much_it_lacks(text: str, expected: str) -> None:
    assert tail(text, "show", lines=2, characters=10) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\nb\nc", "a\nb\n[... 2 characters after this: show]"),
        ("a\nb\nc\n", "a\nb\n[... 2 characters after this: show]"),
        ("0123456789abc", "0123456789\n[... 3 characters after this: show]"),
    ],
)
def test_a_head_says_how_much_it_lacks(text: str, expected: str) -> None:
    assert head(text, "show", lines=2, characters=10) == expected


def test_the_fields_are_the_contracts() -> None:
    assert list(RetryContext.model_fields) == [
        *("attempt_number", "max_attempts", "human_feedback", "restored_paths", "dropped_paths", "specific_failures"),
        *("check_results", "verifier_feedback", "prior_attempts", "prior_diff", "outputs", "contradictions"),
        "question",
    ]


def test_outputs_are_told_once() -> None:
    told = context((result("a", stdout="printed", stderr="too"),))
    assert told.outputs == {"a": "printed\ntoo"}
    assert [(r.stdout, r.stderr) for r in told.check_results] == [("", "")]
