"""What a person sees of the auditor's part: its word, why there is none, and nothing that steers the terminal."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from domain.decision import Facts, Policy, Reason, decide
from domain.report import Report, build
from domain.roles.results import AuditRecord, PassResult, Provenance
from domain.verdict import Audit, AuditorOutcome, Tiebreak, TiebreakOutcome
from entrypoints.cli.evidence import _ids
from entrypoints.cli.render import FOR_WANT_OF_A_RULING, FOR_WANT_OF_A_WORD, next_step, show_report
from entrypoints.cli.render_audit import WORDS
from tests.fakes.audits import LOOK, OPINION, assessment, audited, one_pass
from tests.unit.test_audit_report import of
from tests.unit.test_report import SCOPE

HOSTILE = "\x1b[2J\x07evil"


def shown(report: Report) -> str:
    stream = io.StringIO()
    show_report(Console(file=stream, width=160), report, "/evidence", "", verbose=False)
    return stream.getvalue()


def told(*assessments: dict[str, Any], **more: Any) -> Report:
    audit, answers = audited(*assessments, **more)
    return build(of(audit), {}, SCOPE, None, answers)


def test_the_auditors_word_is_shown_criterion_by_criterion() -> None:
    text = shown(told(assessment("AC-1"), assessment("AC-2", "UNPROVED", 0.4), verdict="changes_requested"))
    assert "changes requested, confidence 0.80" in text
    assert "8 requests, 4,200 tokens, $0.0050 (4 more answered from memory)" in text
    assert "✓ AC-1  0.90  AC-1 is shown" in text
    assert "? AC-2  0.40" in text
    assert "unproved: it is fast" in text
    assert "asked: How often did it run? answered: twice" in text
    assert "refused: Write (no_such_tool)" in text
    assert "scripted" not in text


def test_every_answer_and_conversation_can_be_looked_up() -> None:
    named = _ids(told(assessment("AC-1"), assessment("AC-2")))
    assert (named["auditor/blind/1 said"], named["auditor/informed/1 said"]) == (LOOK, OPINION)
    assert "auditor/blind/0 said" not in named
    assert named["auditor/blind/0 messages"] == "c" * 64


def test_a_script_is_called_one() -> None:
    audit, answers = audited(assessment("AC-1"))
    last = audit.passes[-1].model_copy(update={"provenance": Provenance(model="script:a.yaml", scripted=True)})
    played = audit.model_copy(update={"passes": (*audit.passes[:-1], last)})
    assert "scripted: no model judged" in shown(build(of(played), {}, SCOPE, None, answers))


@pytest.mark.parametrize("outcome", AuditorOutcome)
def test_every_outcome_has_a_word_and_those_without_one_say_why(outcome: AuditorOutcome) -> None:
    word = WORDS[outcome][0]
    audit = AuditRecord(passes=(one_pass("unavailable"),), audit=Audit(outcome=outcome, feedback="the reason why"))
    text = shown(build(of(audit), {}, SCOPE, None))
    assert word in text
    no_word = outcome in ("unavailable", "inconclusive", "cost_cap_exceeded", "timed_out")
    assert ("the reason why" in text) is no_word


@pytest.mark.parametrize("code", FOR_WANT_OF_A_WORD)
def test_where_only_a_word_is_missing_the_next_step_is_about_that(code: str) -> None:
    missing = Reason(code=code, text="there is none")
    alone = build(of(None), {}, SCOPE, None).model_copy(update={"reasons": (missing,)})
    assert next_step(alone) == FOR_WANT_OF_A_WORD[code]
    failed = alone.model_copy(update={"reasons": (Reason(code="exit_code", text="exit code 1"), missing)})
    assert next_step(failed) != FOR_WANT_OF_A_WORD[code]


def test_every_code_without_a_word_is_one_of_the_decision_s() -> None:
    audits = {outcome: Audit(outcome=outcome) for outcome in AuditorOutcome}
    ruled = {outcome: Tiebreak(outcome=outcome) for outcome in TiebreakOutcome}
    facts = [*(Facts(audit=audit) for audit in audits.values()), *(Facts(tiebreak=one) for one in ruled.values())]
    codes = {reason.code for each in facts for reason in decide(each, Policy()).reasons}
    assert set(FOR_WANT_OF_A_WORD) | set(FOR_WANT_OF_A_RULING) <= codes


def test_where_nobody_judged_nothing_is_said_of_it() -> None:
    nobody = AuditRecord(passes=(PassResult(outcome="not_configured"),))
    assert "auditor" not in shown(build(of(nobody), {}, SCOPE, None).model_copy(update={"notices": ()}))


def test_a_model_cannot_steer_the_terminal() -> None:
    report = told({**assessment("AC-1"), "reason": HOSTILE})
    text = shown(report)
    assert "\x1b" not in text
    assert "\\x1b[2J\\x07evil" in text
