"""The course of an audit: who is asked, what is left of its time, what the pass that ends it comes to."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from domain.base import canonical_json
from domain.checks import CheckResult, Outcome
from domain.messages import ScopeResult
from domain.order import Order
from domain.probes import ProbeSeen
from domain.roles.course import audit_of, follow_up, most_passes, time_left, unasked
from domain.roles.opinion import Question
from domain.roles.results import PassOutcome, PassResult
from domain.verdict import Audit, AuditorOutcome

SCOPE = ScopeResult(tree="t" * 64, tree_bytes=1, report="r" * 64, diff="d" * 64)
VIOLATED = SCOPE.model_copy(update={"violations_total": 1})
PROBED = ProbeSeen(how="revert", tested=None, text="", seed=1)


def order(**fields: Any) -> Order:
    return Order.model_validate_json(canonical_json({"content": "x", **fields}))


def result(outcome: Outcome, required: bool = True) -> CheckResult:
    return CheckResult(id="c", spelling="check", type="command", outcome=outcome, code="x", required=required)


EMPTY = result(Outcome.COULD_NOT_RUN).model_copy(update={"code": "nothing_to_check"})


@pytest.mark.parametrize(
    ("verification", "scope", "results", "unknown", "why"),
    [
        ({}, SCOPE, [], False, ""),
        ({}, SCOPE, [result(Outcome.PASSED)], False, ""),
        ({}, SCOPE, [result(Outcome.FAILED)], False, ""),
        ({"enabled": False}, SCOPE, [], False, "not asked for"),
        ({"auditor": {"enabled": False}}, SCOPE, [], False, "not asked for"),
        ({"objective_only": True}, SCOPE, [], False, "not asked for"),
        ({}, None, [], False, "no tree to look at"),
        ({}, VIOLATED, [], False, "the changes are out of scope"),
        ({}, SCOPE, [result(Outcome.COULD_NOT_RUN)], False, "what could not run is tried again first"),
        ({}, SCOPE, [result(Outcome.COULD_NOT_RUN, required=False)], False, ""),
        ({}, SCOPE, [result(Outcome.COULD_NOT_RUN), result(Outcome.FAILED)], False, ""),
        ({}, SCOPE, [EMPTY, result(Outcome.PASSED)], False, "a required check has nothing to check: a person decides"),
        ({}, SCOPE, [EMPTY, result(Outcome.FAILED)], False, ""),
        ({}, SCOPE, [EMPTY.model_copy(update={"required": False})], False, ""),
        ({}, SCOPE, [result(Outcome.PASSED)], True, "what could not run is tried again first"),
    ],
)
def test_whether_the_auditor_is_asked(
    verification: Any, scope: ScopeResult | None, results: list[CheckResult], unknown: bool, why: str
) -> None:
    probe = PROBED.model_copy(update={"unknown": unknown})
    assert unasked(order(verification=verification), scope, results, probe) == why
    if not unknown:
        assert unasked(order(verification=verification), scope, results) == why


def test_only_passes_take_of_the_audits_time() -> None:
    given = order(safeguards={"audit_timeout": 60})
    assert time_left(given, ()) == 60
    assert time_left(given, [PassResult(outcome="asks", seconds=20.5), PassResult(outcome="answered")]) == 39.5


def test_a_stage_has_a_pass_for_each_pause_and_one_to_answer() -> None:
    assert most_passes(order(safeguards={"follow_ups": 2})) == 13


def test_a_question_is_put_with_the_orders_terms() -> None:
    asked = Question(question="which?", evidence_requested=["the log"], reason="nothing shows it")
    put = follow_up(order(safeguards={"follow_ups": 2, "follow_up_timeout": 7}), 4, 1, asked)
    assert (put.attempt, put.round, put.of, put.timeout) == (4, 1, 2, 7.0)
    assert (put.question, put.evidence_requested, put.reason) == ("which?", ("the log",), "nothing shows it")


@pytest.mark.parametrize("outcome", get_args(PassOutcome))
def test_only_an_answer_that_was_heard_is_a_word_on_the_work(outcome: PassOutcome) -> None:
    word = Audit(outcome=AuditorOutcome.APPROVED, cited=True)
    found = audit_of(PassResult(outcome=outcome, why="since", audit=word))
    no_word = {
        "unavailable": AuditorOutcome.UNAVAILABLE,
        "inconclusive": AuditorOutcome.INCONCLUSIVE,
        "cost_cap_exceeded": AuditorOutcome.COST_CAP,
        "timed_out": AuditorOutcome.TIMED_OUT,
        "asks": AuditorOutcome.INCONCLUSIVE,
        "wants_tests": AuditorOutcome.INCONCLUSIVE,
    }
    if outcome == "not_configured":
        assert found is None
    elif outcome == "answered":
        assert found == word
    else:
        assert found == Audit(outcome=no_word[outcome], feedback="since")


def test_an_answer_that_says_nothing_is_inconclusive() -> None:
    found = audit_of(PassResult(outcome="answered"))
    assert found is not None
    assert (found.outcome, found.cited) == (AuditorOutcome.INCONCLUSIVE, False)
    assert "ended with 'answered'" in found.feedback
