"""What a report says of the adversarial stage: both cases, every hearing, and which criteria a judge decides."""

from __future__ import annotations

import json
from typing import Any

import pytest

from domain.answers import said_in
from domain.audit_report import Answers
from domain.base import canonical_json
from domain.dispute_report import reasoning_of
from domain.filing import assemble, document, folder_of
from domain.messages import RoundRecord
from domain.references import of_record
from domain.report import Report, build
from domain.roles.results import AuditRecord, DisputeRecord, Hearing
from domain.said_files import file_names
from domain.verdict import Tiebreak, TiebreakOutcome
from tests.fakes.audits import SEEN, assessment, audited, one_pass
from tests.fakes.disputes import AGAINST, FIRST, FOR, SCRIPT, SECOND, disputed, drafted, ruling
from tests.unit.test_audit_report import of
from tests.unit.test_report import SCOPE


def with_dispute(dispute: DisputeRecord | None, audit: AuditRecord | None = None) -> RoundRecord:
    return of(audit).model_copy(update={"dispute": dispute})


def report(*rulings: dict[str, Any], audit: tuple[AuditRecord, Answers] | None = None, **more: Any) -> Report:
    dispute, words = disputed(*rulings, **more)
    heard, answers = audit or (None, {})
    return build(with_dispute(dispute, heard), {}, SCOPE, None, {**words, **answers})


def test_both_sides_stand_beside_each_other_criterion_by_criterion() -> None:
    told = report(ruling("AC-1"), ruling("AC-2"))
    assert [(each.criterion, each.side) for each in told.arguments] == [
        *(("AC-1", "advocate"), ("AC-1", "critic")),
        *(("AC-2", "advocate"), ("AC-2", "critic")),
    ]
    assert (told.arguments[0].argument, told.arguments[1].argument) == ("AC-1 is met", "AC-1 is not met")
    assert told.arguments[1].objections == "critic: they may say otherwise"
    assert [quote.evidence_id for quote in told.arguments[0].quotes] == [SEEN]
    assert (told.arguments[0].model, told.arguments[0].scripted) == ("openai:some", False)
    assert [each.said for each in told.arguments[:2]] == [FOR, AGAINST]


def test_a_judgement_has_its_rulings_and_the_order_of_its_hearing() -> None:
    judgement = report(ruling("AC-1"), ruling("AC-2", "PASS", 0.95)).judgement
    assert judgement
    assert (judgement.outcome, judgement.why, judgement.model) == ("judged", "", "openai:some")
    assert [(each.criterion, each.verdict, each.confidence) for each in judgement.rulings] == [
        *(("AC-1", "FAIL", 0.9), ("AC-2", "PASS", 0.95)),
    ]
    assert judgement.rulings[0].reasoning == "AC-1: different is not more"
    assert [quote.quote for quote in judgement.rulings[0].quotes] == ["ValueError: Input must be positive"]
    (hearing,) = judgement.hearings
    assert (hearing.order, judgement.flipped) == (("critic", "advocate"), ())
    assert [dispute.why for dispute in judgement.disputes] == [("unsure", "disagreement")] * 2
    assert [(each.role, each.stage) for each in judgement.passes] == [
        *(("advocate", "argument"), ("critic", "argument"), ("judge", "judgement")),
    ]
    assert judgement.duration_ms == 4000


def test_long_reasons_are_told_whole_though_the_record_has_them_cut() -> None:
    long = "because " * 400
    judgement = report(ruling("AC-1", reasoning=long)).judgement
    assert judgement
    assert judgement.rulings[0].reasoning == long


def test_what_was_said_twice_is_settled() -> None:
    told = report(ruling("AC-1", "FAIL", 0.4), again=(ruling("AC-1", "FAIL", 0.5),))
    assert told.judgement
    assert [each.settled for each in told.judgement.rulings] == [True]
    assert [hearing.order[0] for hearing in told.judgement.hearings] == ["critic", "advocate"]
    assert [each.said for hearing in told.judgement.hearings for each in hearing.rulings] == [FIRST, SECOND]
    assert told.judgement.flipped == ()


def test_a_flip_is_named_and_rules_nothing() -> None:
    told = report(
        *(ruling("AC-1", "FAIL", 0.4), ruling("AC-2", "PASS", 0.6)),
        again=(ruling("AC-1", "PASS", 0.4), ruling("AC-2", "PASS", 0.6)),
    )
    assert told.judgement
    assert (told.judgement.outcome, told.judgement.flipped, told.judgement.rulings) == ("inconclusive", ("AC-1",), ())
    assert told.judgement.why == "the judge was not sure, and said both"
    assert [line.judged for line in told.criteria] == [None, None]
    assert told.criteria[1].outcome == "not_judged"


@pytest.mark.parametrize(
    ("word", "confidence", "verdict", "expected"),
    [
        ("UNPROVED", 0.9, "PASS", ("passed", True)),
        ("FAIL", 0.9, "PASS", ("passed", True)),
        ("PASS", 0.9, "FAIL", ("failed", False)),
        ("PASS", 0.2, "PASS", ("passed", True)),
    ],
)
def test_a_subjective_criterion_is_as_the_judge_rules(
    word: str, confidence: float, verdict: str, expected: tuple[str, bool]
) -> None:
    audit = audited(assessment("AC-1"), assessment("AC-2", word, confidence))
    line = report(ruling("AC-2", verdict), audit=audit).criteria[1]
    assert (line.outcome, line.passed, line.code) == (*expected, "judged")
    assert line.text == "the judge: AC-2: different is not more"
    assert line.evidence.id == FIRST
    assert line.audited
    assert line.audited.assessment == word


def test_what_a_machine_can_tell_stays_what_was_seen() -> None:
    told = report(ruling("AC-1", "FAIL"), ruling("tests", "PASS"))
    line, check = told.criteria[0], told.checks[0]
    assert (line.outcome, line.passed, check.outcome, check.passed) == ("passed", True, "failed", False)
    assert line.judged
    assert check.judged
    assert (line.judged.verdict, check.judged.verdict) == ("FAIL", "PASS")


def test_what_it_cost_is_that_of_all_roles() -> None:
    audit = audited(assessment("AC-1"), assessment("AC-2"))
    alone = report(ruling("AC-2"))
    both = report(ruling("AC-2"), audit=audit)
    assert (alone.usage.requests, alone.usage.cost_usd) == (6, 0.00375)
    assert (both.usage.requests, both.usage.cost_usd) == (14, 0.00875)


@pytest.mark.parametrize("outcome", [each for each in TiebreakOutcome if each is not TiebreakOutcome.JUDGED])
def test_one_side_without_an_argument_is_told_with_the_reason(outcome: TiebreakOutcome) -> None:
    dispute, words = disputed(
        ruling("AC-2"),
        critic=one_pass("unavailable", why="openai:some: 503"),
        hearings=(),
        tiebreak=Tiebreak(outcome=outcome, feedback="the critic: openai:some: 503"),
    )
    told = build(with_dispute(dispute), {}, SCOPE, None, words)
    assert told.judgement
    assert (told.judgement.outcome, told.judgement.why) == (outcome, "the critic: openai:some: 503")
    assert (told.judgement.hearings, told.judgement.rulings, told.judgement.model) == ((), (), "")
    assert [each.side for each in told.arguments] == ["advocate"]
    assert [(each.role, each.outcome, each.why) for each in told.judgement.passes][1] == (
        *("critic", "unavailable", "openai:some: 503"),
    )


def test_a_role_without_a_model_leaves_the_stage_out_and_is_named() -> None:
    nobody = one_pass("not_configured")
    dispute, words = disputed(
        ruling("AC-2"), advocate=nobody, hearings=(), tiebreak=None, why="no model is configured for the advocate"
    )
    judgement = build(with_dispute(dispute), {}, SCOPE, None, words).judgement
    assert judgement
    assert (judgement.outcome, judgement.why) == (None, "no model is configured for the advocate")
    assert [each.role for each in judgement.passes] == ["critic"], "who was not asked is not listed"


@pytest.mark.parametrize("dispute", [None, DisputeRecord()])
def test_where_nothing_is_disputed_there_is_no_judgement(dispute: DisputeRecord | None) -> None:
    told = build(with_dispute(dispute), {}, SCOPE, None)
    assert (told.arguments, told.judgement) == ((), None)


def test_an_answer_that_does_not_parse_is_no_answer() -> None:
    broken = Hearing(first="advocate", result=one_pass("inconclusive", why="no JSON"))
    lost = Tiebreak(outcome=TiebreakOutcome.INCONCLUSIVE, feedback="the judge: no JSON")
    dispute, words = disputed(ruling("AC-2"), hearings=(broken,), tiebreak=lost)
    judgement = build(with_dispute(dispute), {}, SCOPE, None, words).judgement
    assert judgement
    assert [(each.outcome, each.why, each.rulings) for each in judgement.hearings] == [("inconclusive", "no JSON", ())]


def test_a_script_is_named_on_each_argument_and_on_the_whole() -> None:
    dispute, words = disputed(ruling("AC-2"))
    assert dispute.critic
    played = dispute.model_copy(update={"critic": dispute.critic.model_copy(update={"provenance": SCRIPT})})
    told = build(with_dispute(played), {}, SCOPE, None, words)
    assert told.judgement
    assert told.judgement.scripted
    assert [each.scripted for each in told.arguments] == [False, True]


def test_the_trail_has_the_judges_reasons_only_where_it_has_a_word() -> None:
    judged, _ = disputed(ruling("AC-1"), ruling("AC-2", "PASS"))
    flipped, _ = disputed(ruling("AC-1", "FAIL", 0.4), again=(ruling("AC-1", "PASS", 0.4),))
    assert reasoning_of(judged) == ("AC-1 FAIL: AC-1: different is not more\nAC-2 PASS: AC-2: different is not more")
    assert (reasoning_of(flipped), reasoning_of(None)) == ("", "")


def filed(given: RoundRecord, words: dict[str, Any]) -> tuple[Report, dict[str, bytes]]:
    """The report and the folder, from stored blobs."""
    blobs = {digest: answer.model_dump_json().encode() for digest, answer in words.items()}
    blobs |= {"r": SCOPE.model_dump_json().encode(), "f": b"diff"}
    printed = canonical_json({"finding": {"stdout": "", "stderr": ""}})
    filing = assemble(given, lambda digest: blobs.get(digest, printed))
    return filing.report, folder_of(document(given), document(filing.report), filing.diff)


def test_each_blob_is_read_as_what_it_is() -> None:
    dispute, words = disputed(ruling("AC-2", "PASS", 0.4), again=(ruling("AC-2", "PASS", 0.6),))
    given = with_dispute(dispute)
    assert dict(said_in(given)) == {digest: type(word) for digest, word in words.items()}
    told, _ = filed(given, dict(words))
    assert told == build(given, {}, SCOPE, told.retry_context, words).model_copy(
        update={"criteria": told.criteria, "checks": told.checks}
    )


def test_every_blob_of_every_role_belongs_to_the_round() -> None:
    dispute, words = disputed(ruling("AC-2", "PASS", 0.4), again=(ruling("AC-2", "PASS", 0.6),))
    draft, more = drafted()
    named = of_record(with_dispute(dispute).model_copy(update={"draft": draft}))
    assert {*words, *more, "c" * 64, "p", "k"} <= named, "answers, conversations, prompts and packets"


def test_the_folder_has_a_file_for_each_criterion_and_side() -> None:
    audit, answers = audited(assessment("AC-1"), assessment("AC-2", "UNPROVED"))
    dispute, words = disputed(ruling("AC-2"), ruling("tests"))
    told, folder = filed(with_dispute(dispute, audit), {**answers, **words})
    assert {name for name in folder if name.startswith(("audits", "arguments"))} == {
        *("audits/index.json", "audits/auditor.json", "audits/AC-1.json", "audits/AC-2.json", "audits/tests.json"),
        *("arguments/index.json", "arguments/advocate.json", "arguments/critic.json"),
    }
    one = json.loads(folder["audits/AC-2.json"])
    assert (one["criterion"], one["description"], one["outcome"]) == ("AC-2", "reads well", "failed")
    assert one["auditor"]["assessment"] == "UNPROVED"
    assert (one["judge"]["verdict"], one["disputed"]) == ("FAIL", ["unsure", "disagreement"])
    assert [each["side"] for each in one["arguments"]] == ["advocate", "critic"]
    assert json.loads(folder["audits/AC-1.json"])["judge"] is None
    side = json.loads(folder["arguments/critic.json"])
    assert (side["side"], side["pass"]["said"]) == ("critic", AGAINST)
    assert [each["criterion"] for each in side["arguments"]] == ["AC-2", "tests"]
    assert [(line["role"], line["criteria"], line["file"]) for line in json.loads(folder["arguments/index.json"])] == [
        ("advocate", ["AC-2", "tests"], "advocate.json"),
        ("critic", ["AC-2", "tests"], "critic.json"),
    ]
    assert json.loads(folder["audits/auditor.json"])["usage"]["requests"] == 8, "the auditor's alone"
    assert told.usage.requests == 14
    assert Report.model_validate_json(folder["verdict.json"]) == told


def test_a_criterion_takes_no_other_file_s_name() -> None:
    assert file_names(["AC-1", "plain.name"]) == {"AC-1": "AC-1", "plain.name": "plain.name"}
    names = file_names(["index", "Auditor", "AC-1", "ac-1"])
    assert len({name.casefold() for name in names.values()}) == 4
    assert {"index", "auditor"}.isdisjoint(name.casefold() for name in names.values())


def test_what_an_earlier_version_filed_is_made_again_as_it_was() -> None:
    audit, answers = audited(assessment("AC-1"), assessment("AC-2"))
    given = with_dispute(None, audit)
    told, _ = filed(given, dict(answers))
    old_report, old_record = json.loads(document(told)), json.loads(document(given))
    for line in old_report["criteria"]:
        line.pop("drafted")
    for line in (*old_report["criteria"], *old_report["checks"]):
        line.pop("judged")
    old_report.pop("draft")
    for name in ("draft", "dispute"):
        old_record.pop(name)
    for name in ("draft", "adversarial"):
        old_record["input"]["order"]["verification"].pop(name)
    stored = (json.dumps(old_report, indent=2) + "\n").encode()
    folder = folder_of(json.dumps(old_record).encode(), stored, "diff")
    assert {name for name in folder if name.startswith(("audits", "arguments"))} == {
        *("audits/index.json", "audits/auditor.json", "arguments/index.json"),
    }
    assert json.loads(folder["results.json"]) == [*old_report["criteria"], *old_report["checks"]]
    assert json.loads(folder["spec.json"]) == old_record["input"]["order"]
    assert folder["verdict.json"] == stored
    assert Report.model_validate_json(stored).judgement is None
