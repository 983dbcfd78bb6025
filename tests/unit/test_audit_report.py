"""What a report says of the roles: every pass, the auditor's word on each criterion, and what it cost."""

from __future__ import annotations

import json
from typing import Any

import pytest

from domain.audit_report import scripted
from domain.base import canonical_json
from domain.checks import Outcome
from domain.filing import assemble, document, folder_of
from domain.messages import RoundRecord
from domain.order import Order
from domain.report import Report, build
from domain.roles.results import AuditRecord, PassResult, Provenance
from domain.verdict import Audit, AuditorOutcome
from tests.fakes.audits import LOOK, OPINION, SEEN, assessment, audited, one_pass
from tests.unit.test_report import ORDER, RESULTS, SCOPE, record

JUDGED = Order.model_validate(
    {
        **json.loads(ORDER.model_dump_json()),
        "acceptance_criteria": [
            *json.loads(ORDER.model_dump_json())["acceptance_criteria"],
            {"id": "AC-2", "type": "subjective", "description": "reads well"},
        ],
    }
)


def of(audit: AuditRecord | None) -> RoundRecord:
    given = record()
    return given.model_copy(update={"input": given.input.model_copy(update={"order": JUDGED}), "audit": audit})


def report(*assessments: dict[str, Any], **more: Any) -> Report:
    audit, answers = audited(*assessments, **more)
    return build(of(audit), {}, SCOPE, None, answers)


def test_every_pass_is_told_with_its_stage_and_part() -> None:
    audits = report(assessment("AC-1"), assessment("AC-2")).audits
    assert [(audit.stage, audit.part, audit.outcome) for audit in audits] == [
        *(("blind", 0, "wants_tests"), ("blind", 1, "answered")),
        *(("informed", 0, "asks"), ("informed", 1, "answered")),
    ]
    assert [audit.said for audit in audits] == ["", LOOK, "", OPINION]
    assert (audits[0].tests, [call.code for call in audits[0].refused]) == (("tests",), ["no_such_tool"])
    assert audits[1].suspicions == ("the diff is small",)
    assert audits[1].verdict is None
    last = audits[-1].model_dump(mode="json")
    assert (last["verdict"], last["confidence"], last["model"], last["scripted"]) == (
        *("approved", 0.8, "openai:some", False),
    )
    assert [last[name] for name in ("prompt", "tools", "policy", "packet")] == ["p", "t", "o", "k"]
    assert [claim["proof"] for claim in last["claims"]] == [
        {"evidence_id": SEEN, "quote": "exit code 0"},
        "unproved",
    ]
    assert last["required_actions"] == [{"action": "add a test", "priority": "low"}]


def test_a_question_stands_beside_its_answer() -> None:
    (asked,) = [audit.question for audit in report(assessment("AC-1")).audits if audit.question]
    assert (asked.round, asked.question, asked.evidence_requested) == (1, "How often did it run?", ("a log",))
    assert (asked.answer, asked.evidence) == ("twice", ("ev-0000000000000002",))


def test_a_question_that_nobody_answered_has_no_answer() -> None:
    audit, answers = audited(assessment("AC-1"))
    (told,) = audit.dialogue
    silent = audit.model_copy(update={"dialogue": (told.model_copy(update={"answer": None, "evidence": ()}),)})
    (asked,) = [each.question for each in build(of(silent), {}, SCOPE, None, answers).audits if each.question]
    assert asked.answer is None


def test_what_it_cost_is_added_up() -> None:
    usage = report(assessment("AC-1")).usage
    assert (usage.requests, usage.remembered, usage.tokens, usage.cost_usd) == (8, 4, 4200, 0.005)


def test_a_criterion_of_the_harness_keeps_its_outcome_beside_the_auditors() -> None:
    line = report(assessment("AC-1", "FAIL"), assessment("AC-2")).criteria[0]
    assert (line.passed, line.outcome, line.code) == (True, "passed", "ok")
    assert line.audited
    assert (line.audited.assessment, line.audited.quotes[0].evidence_id) == ("FAIL", SEEN)


@pytest.mark.parametrize(
    ("word", "confidence", "expected"),
    [
        ("PASS", 0.7, ("passed", True, "judged")),
        ("PASS", 0.69, ("not_judged", False, "low_confidence")),
        ("FAIL", 0.2, ("failed", False, "judged")),
        ("UNPROVED", 1.0, ("not_judged", False, "unproved")),
    ],
)
def test_a_subjective_criterion_is_as_the_auditor_has_it(
    word: str, confidence: float, expected: tuple[str, bool, str]
) -> None:
    told = report(assessment("AC-1"), assessment("AC-2", word, confidence))
    line = told.criteria[1]
    assert (line.outcome, line.passed, line.code) == expected
    assert "AC-2 is shown" in line.text
    assert line.evidence.id == OPINION
    assert [quote.quote for quote in line.evidence.quotes] == ([] if word == "UNPROVED" else ["exit code 0"])
    judged = int(expected[0] != "not_judged")
    passed = int(expected[0] == "passed")
    assert told.summary.model_dump() == {
        **{"total": 4, "passed": 1 + passed, "failed": 1 + judged - passed, "could_not_run": 1, "audited": judged}
    }


def test_a_blind_first_look_judges_nothing() -> None:
    audit, answers = audited(assessment("AC-1"), assessment("AC-2"))
    away = Audit(outcome=AuditorOutcome.UNAVAILABLE, feedback="openai:some: 503")
    short = audit.model_copy(update={"passes": (*audit.passes[:2], one_pass("unavailable")), "audit": away})
    told = build(of(short), {}, SCOPE, None, answers)
    assert [line.audited for line in told.criteria] == [None, None]
    assert told.criteria[1].outcome == "not_judged"
    assert told.auditor
    assert (told.auditor.outcome, told.auditor.text, told.auditor.confidence) == (
        *("unavailable", "openai:some: 503", None),
    )


def test_without_a_model_there_is_no_audit() -> None:
    nobody = AuditRecord(passes=(PassResult(outcome="not_configured"),))
    told = build(of(nobody), {}, SCOPE, None)
    assert (told.audits, told.auditor, told.usage.requests) == ((), None, 0)


def test_a_script_is_named_wherever_it_answered() -> None:
    audit, answers = audited(assessment("AC-1"))
    last = audit.passes[-1].model_copy(update={"provenance": Provenance(model="script:a.yaml", scripted=True)})
    played = audit.model_copy(update={"passes": (*audit.passes[:-1], last)})
    told = build(of(played), {}, SCOPE, None, answers)
    assert told.auditor
    assert (told.auditor.scripted, told.audits[-1].scripted, told.audits[0].scripted) == (True, True, False)
    assert told.criteria[0].audited
    assert told.criteria[0].audited.scripted
    assert (scripted(played), scripted(audit)) == (True, False)


def test_answers_are_read_by_the_digests_of_the_record_and_filed_for_people() -> None:
    audit, answers = audited(assessment("AC-1"), assessment("AC-2"))
    blobs = {digest: answer.model_dump_json().encode() for digest, answer in answers.items()}
    blobs |= {"r": SCOPE.model_dump_json().encode(), "f": b"diff"}
    printed = canonical_json({"finding": {"stdout": "", "stderr": ""}})
    given = of(audit)
    filing = assemble(given, lambda digest: blobs.get(digest, printed))
    folder = folder_of(document(given), document(filing.report), filing.diff)
    index = json.loads(folder["audits/index.json"])
    assert [(line["stage"], line["verdict"]) for line in index] == [
        *(("blind", None), ("blind", None), ("informed", None), ("informed", "approved")),
    ]
    filed = json.loads(folder["audits/auditor.json"])
    assert filed["opinion"]["verdict"] == "approved"
    assert filed["opinion"]["reasons"] == [{"reason": "what was seen", "evidence_id": SEEN}]
    assert filed["first_look"]["suspicions"] == ["the diff is small"]
    assert filed["dialogue"][0]["answer"] == "twice"
    assert filed["refused"][0]["tool"] == "Write"
    assert len(filed["passes"]) == 4
    assert Report.model_validate_json(folder["verdict.json"]) == filing.report


def test_a_round_without_an_audit_files_no_audit() -> None:
    given = of(None)
    folder = folder_of(document(given), document(build(given, {}, SCOPE, None)), "")
    assert json.loads(folder["audits/index.json"]) == []
    assert "audits/auditor.json" not in folder


def test_what_the_harness_saw_is_counted_as_before() -> None:
    told = report(assessment("AC-1", "FAIL"), assessment("AC-2", "UNPROVED"))
    assert told.summary.passed == sum(result.outcome is Outcome.PASSED for result in RESULTS)
    assert told.summary.audited == 0
