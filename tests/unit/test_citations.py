"""What keeps an answer of the auditor's from standing, and what a sound one comes to."""

from __future__ import annotations

from typing import Any

import pytest

from domain.checks import CheckResult, Outcome
from domain.order import Order
from domain.roles.citations import (
    FEEDBACK_CHARACTERS,
    MOST_FAULTS,
    Asked,
    asked_of,
    assessed_of,
    audit_of,
    faults,
    feedback_of,
)
from domain.roles.opinion import FirstLook, Opinion, Question
from domain.roles.packet import Piece
from domain.verdict import AuditorOutcome

SEEN, SAID, MADE_UP = "ev-" + "1" * 16, "ev-" + "2" * 16, "ev-" + "3" * 16
PIECES = {
    SEEN: Piece(id=SEEN, what="diff", title="t", text="+def is_prime(n):\n+    return n > 1\n", observed=True),
    SAID: Piece(id=SAID, what="explanation", title="t", text="I wrote is_prime and all tests pass.", observed=False),
}
ASKED = Asked(criteria={"AC-1": True, "S-1": True, "S-2": False}, subjective=frozenset({"S-1", "S-2"}), questions=1)


def quote(words: str = "def is_prime(n):", id: str = SEEN) -> dict[str, str]:
    return {"evidence_id": id, "quote": words}


def assessment(criterion: str, word: str = "PASS", *quotes: dict[str, str], confidence: float = 0.9) -> dict[str, Any]:
    told = {"criterion": criterion, "assessment": word, "confidence": confidence, "reason": "as quoted"}
    return {**told, "quotes": list(quotes)}


def opinion(verdict: str = "approved", **more: Any) -> Opinion:
    fields: dict[str, Any] = {
        "verdict": verdict,
        "confidence": 0.8,
        "reasons": [{"reason": "it is there", "evidence_id": SEEN}],
        "evidence_citations": [SEEN],
        "assessments": [assessment(id, "PASS", quote()) for id in ASKED.criteria],
        "claims": [{"claim": "wrote is_prime", "proof": quote()}, {"claim": "all tests pass"}],
    }
    return Opinion.model_validate({**fields, **more})


def told(answer: FirstLook | Opinion | Question, asked: Asked = ASKED) -> list[str]:
    return list(faults(answer, PIECES, asked))


def test_a_sound_answer_has_no_fault() -> None:
    assert told(opinion()) == []
    assert told(FirstLook.model_validate({"assessments": opinion().model_dump()["assessments"]})) == []


@pytest.mark.parametrize("words", ["def is_prime(n):", "  def\tis_prime(n):\n", "is_prime(n): +\n return", "n > 1"])
def test_a_quote_may_differ_in_white_space_alone(words: str) -> None:
    assert told(opinion(claims=[{"claim": "x", "proof": quote(words)}])) == []


FILE = "a.py: lines 8 to 10 of 10\n     8\tdef a():\n     9\t    return {\n    10\t7\tof: 1}\n"


@pytest.mark.parametrize(
    "words", ["def a():\n    return {", "8 def a():\n9 return {", "return {\n7\tof", "return {\n    10\t7\tof: 1}"]
)
def test_the_numbers_that_read_shows_may_be_left_out_of_a_quote(words: str) -> None:
    read = Piece(id=SEEN, what="tool", title='Read {"path": "a.py"}', text=FILE, observed=True)
    answer = opinion(claims=[{"claim": "x", "proof": quote(words)}], assessments=[])
    assert list(faults(answer, {SEEN: read}, Asked(criteria={}))) == []


@pytest.mark.parametrize("words", ["return { of: 1}", "def a(): 7 of: 1}"])
def test_neither_a_number_of_the_file_nor_a_line_may_be_left_out(words: str) -> None:
    read = Piece(id=SEEN, what="tool", title='Read {"path": "a.py"}', text=FILE, observed=True)
    answer = opinion(claims=[{"claim": "x", "proof": quote(words)}], assessments=[])
    (fault,) = faults(answer, {SEEN: read}, Asked(criteria={}))
    assert "the proof of the claim 'x' quotes" in fault


@pytest.mark.parametrize("words", ["def is_composite(n):", "Def is_prime", "n", "  n  >  ", "defis_prime", "pass."])
def test_words_that_are_not_there_or_too_few_are_no_quote(words: str) -> None:
    (fault,) = told(opinion(claims=[{"claim": "x", "proof": quote(words)}]))
    assert "the proof of the claim 'x' quotes" in fault
    assert f"not in {SEEN}" in fault


ALL_PASS = [assessment(id, "PASS", quote()) for id in ASKED.criteria]
FAULTY: dict[str, tuple[dict[str, Any], str]] = {
    "an id that was made up, cited": (
        {"evidence_citations": [SEEN, MADE_UP]},
        f"evidence_citations cites '{MADE_UP}', and no evidence has that id: cite only ids that you were given",
    ),
    "an id that was made up, in a reason": (
        {"reasons": [{"reason": "trust me", "evidence_id": MADE_UP}]},
        f"the reason 'trust me' cites '{MADE_UP}', and no evidence has that id: cite only ids that you were given",
    ),
    "an id that was made up, in a quote": (
        {"assessments": [assessment("AC-1", "PASS", quote(), quote(id=MADE_UP)), *ALL_PASS[1:]]},
        f"the assessment of 'AC-1' cites '{MADE_UP}', and no evidence has that id: cite only ids that you were given",
    ),
    "a criterion left out": (
        {"assessments": ALL_PASS[1:]},
        "criterion 'AC-1' is not assessed: assess each criterion exactly once",
    ),
    "a criterion twice": (
        {"assessments": [*ALL_PASS, ALL_PASS[0]]},
        "criterion 'AC-1' is assessed 2 times: assess each criterion exactly once",
    ),
    "a criterion that was invented": (
        {"assessments": [*ALL_PASS, assessment("AC-9", "PASS", quote())]},
        "there is no criterion 'AC-9'; the criteria are: AC-1, S-1, S-2",
    ),
    "PASS without a quote": (
        {"assessments": [assessment("AC-1"), *ALL_PASS[1:]]},
        "the assessment of 'AC-1' is PASS and quotes nothing: quote evidence, or say UNPROVED",
    ),
    "PASS by the worker's word alone": (
        {"assessments": [assessment("AC-1", "PASS", quote("all tests pass", SAID)), *ALL_PASS[1:]]},
        "the assessment of 'AC-1' is PASS and quotes nothing that the harness observed itself: quote that,"
        " or say UNPROVED",
    ),
    "an advisory criterion fails without a quote": (
        {"assessments": [*ALL_PASS[:2], assessment("S-2", "FAIL")]},
        "the assessment of 'S-2' is FAIL and quotes nothing: quote evidence, or say UNPROVED",
    ),
    "an approval that cites nothing": (
        {"evidence_citations": []},
        "approved needs at least one id in evidence_citations of what the harness observed itself",
    ),
    "an approval that cites the worker alone": (
        {"evidence_citations": [SAID]},
        "approved needs at least one id in evidence_citations of what the harness observed itself",
    ),
    "an approval over a required criterion that is not shown": (
        {"assessments": [assessment("AC-1", "UNPROVED"), *ALL_PASS[1:]]},
        "criterion 'AC-1' is required and UNPROVED, so the work cannot be approved",
    ),
    "an approval over a required criterion that fails": (
        {"assessments": [ALL_PASS[0], assessment("S-1", "FAIL", quote()), ALL_PASS[2]]},
        "criterion 'S-1' is required and FAIL, so the work cannot be approved",
    ),
}


@pytest.mark.parametrize("name", FAULTY)
def test_what_keeps_an_answer_from_standing(name: str) -> None:
    changes, fault = FAULTY[name]
    answer = opinion(**changes)
    assert told(answer) == [fault]
    audit = audit_of(answer, PIECES, ASKED)
    assert (audit.outcome, audit.cited, audit.passed_subjective) == (AuditorOutcome.APPROVED, False, {})


def test_an_advisory_criterion_keeps_nothing_from_being_approved() -> None:
    assert told(opinion(assessments=[*ALL_PASS[:2], assessment("S-2", "UNPROVED")])) == []


def test_nothing_is_approved_over_a_required_check_that_failed() -> None:
    asked = ASKED._replace(failed=("tests",))
    assert told(opinion(), asked) == ["'tests' is required and failed, so the work cannot be approved"]
    assert told(opinion("changes_requested"), asked) == []


@pytest.mark.parametrize("verdict", ["changes_requested", "failed", "blocked"])
def test_who_does_not_approve_says_why(verdict: str) -> None:
    unsure = [assessment(id, "UNPROVED") for id in ASKED.criteria]
    assert told(opinion(verdict, assessments=unsure, evidence_citations=[])) == []
    assert told(opinion(verdict, reasons=[])) == [f"{verdict} needs at least one reason that cites evidence"]


@pytest.mark.parametrize(
    ("words", "wanted", "left", "count"),
    [
        ("Which test?", ["its output"], 1, 0),
        ("Which test?", ["its output"], 0, 1),
        (" ", ["a"], 1, 1),
        ("a", [" "], 1, 1),
    ],
)
def test_a_question_is_one_only_while_some_are_left(words: str, wanted: list[str], left: int, count: int) -> None:
    question = Question.model_validate({"question": words, "evidence_requested": wanted, "reason": "to know"})
    assert len(told(question, ASKED._replace(questions=left))) == count


def test_at_most_so_many_faults_are_told() -> None:
    many = [assessment(f"X-{n:02}", "UNPROVED") for n in range(50)]
    found = told(opinion(assessments=[*ALL_PASS, *many]))
    assert len(found) == MOST_FAULTS + 1
    assert found[-1] == f"and {50 - MOST_FAULTS} more faults like these"
    assert found[0].startswith("there is no criterion 'X-00'"), "in the same order each time"


def test_a_sound_opinion_is_what_decide_is_told() -> None:
    audit = audit_of(opinion(), PIECES, ASKED)
    assert (audit.outcome, audit.cited, audit.confidence) == (AuditorOutcome.APPROVED, True, 0.8)
    assert audit.passed_subjective == {"S-1": 0.9, "S-2": 0.9}
    assert audit.evidence == (SEEN,)


def test_the_feedback_has_the_reasons_and_what_is_to_be_done_by_urgency() -> None:
    actions = [{"action": "rename", "priority": "low"}, {"action": "fix", "priority": "high"}]
    said = feedback_of(opinion("changes_requested", required_actions=actions))
    assert said == f"- it is there [{SEEN}]\n- to do (high): fix\n- to do (low): rename"
    long = [{"reason": "x" * 4000, "evidence_id": SEEN}] * 5
    assert len(feedback_of(opinion(reasons=long))) < FEEDBACK_CHARACTERS + 20


def test_each_criterion_has_a_line() -> None:
    unsure = [*ALL_PASS[:2], assessment("S-2", "UNPROVED", confidence=0.2)]
    lines = [
        (one.criterion, one.assessment, one.confidence, one.evidence)
        for one in assessed_of(opinion(assessments=unsure))
    ]
    assert lines == [("AC-1", "PASS", 0.9, SEEN), ("S-1", "PASS", 0.9, SEEN), ("S-2", "UNPROVED", 0.2, "")]


def result(id: str, outcome: Outcome, spelling: Any = "criterion") -> CheckResult:
    return CheckResult(id=id, spelling=spelling, type="file_exists", outcome=outcome, code="c")


def order(**verification: Any) -> Order:
    exists = {"type": "file_exists", "params": {"path": "a"}}
    criteria = [
        {"id": "AC-1", **exists},
        {"id": "AC-2", **exists},
        {"id": "S-1", "type": "subjective", "description": "d"},
    ]
    verification = {"checks": [{"name": "tests", "command": "true"}], **verification}
    return Order.model_validate({"content": "x", "acceptance_criteria": criteria, "verification": verification})


def test_what_is_asked_is_what_decide_takes_for_failed() -> None:
    passed, failed = Outcome.PASSED, Outcome.FAILED
    results = (result("AC-1", passed), result("AC-2", failed), result("tests", passed, "check"))
    strict = asked_of(order(), results, questions=2)
    assert strict == Asked(
        criteria={"AC-1": True, "AC-2": True, "S-1": True}, failed=("AC-2",), subjective=frozenset({"S-1"}), questions=2
    )
    lenient = asked_of(order(require_all_pass=False, max_fail_rate=0.5), results)
    assert (lenient.failed, lenient.forgiven) == ((), frozenset({"AC-2"}))
    words = [
        assessment("AC-1", "PASS", quote()),
        assessment("AC-2", "FAIL", quote()),
        assessment("S-1", "PASS", quote()),
    ]
    assert told(opinion(assessments=words), lenient) == []
    assert told(opinion(assessments=words), strict) == ["'AC-2' is required and failed, so the work cannot be approved"]
