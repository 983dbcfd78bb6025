"""The adversarial part of a round: who is asked what and when, what is in the trail, what it comes to. All scripted."""

from __future__ import annotations

from typing import Any

import pytest

from domain.decision import RoundOutcome
from domain.errors import Cause, Unavailable
from domain.messages import RoundRecord, RoundResult
from domain.roles.results import Assessed, DisputeRecord, PassResult
from domain.verdict import Audit, AuditorOutcome, TiebreakOutcome
from tests.workflow.conftest import FAILED, House, order_of
from tests.workflow.scripted_role import APPROVED, ARGUED, CAPPED, LOOKED, NO_MODEL, OPINION, arguing, ruling
from workflows.options import WORKFLOWS_QUEUE
from workflows.verification import VerificationWorkflow

AC_4: Any = {"id": "AC-4", "type": "command_exit_zero", "params": {"command": "is_prime 0"}}
AC_8: Any = {"id": "AC-8", "type": "subjective", "description": "the code follows PEP 8"}
CHECKED: Any = {"checks": [{"name": "tests", "command": "run tests"}]}
BROKE = Unavailable(Cause.SYSTEM_ERROR, "a defect", "report it")


def audited(outcome: AuditorOutcome = AuditorOutcome.APPROVED, objects_to: tuple[str, ...] = (), **words: Any) -> Any:
    """Both passes of an auditor; each criterion is PASS unless `words` has another one."""
    assessed = tuple(
        Assessed(criterion=id.replace("_", "-"), assessment=word, confidence=0.9) for id, word in words.items()
    )
    audit = Audit(outcome=outcome, cited=True, confidence=0.9, feedback="told", objects_to=objects_to)
    return [LOOKED, APPROVED.model_copy(update={"audit": audit, "assessed": assessed})]


async def decide(house: House, name: str, criteria: list[Any], **verification: Any) -> RoundResult:
    order = order_of(f"wo-{name}", acceptance_criteria=criteria, verification={**CHECKED, **verification})
    request = house.round(order)
    return await house.client.execute_workflow(
        VerificationWorkflow.run, request, id=request.workflow_id, task_queue=WORKFLOWS_QUEUE
    )


def record_of(house: House) -> RoundRecord:
    *_, decided = house.trail.rows()
    return RoundRecord.model_validate_json(house.store.get(str(decided.payload["record"])))


def dispute_of(house: House) -> DisputeRecord:
    dispute = record_of(house).dispute
    assert dispute is not None
    return dispute


def rows(house: House, action: str) -> list[tuple[str, dict[str, Any]]]:
    """Whose each is, and its payload."""
    return [(row.actor.identity, dict(row.payload)) for row in house.trail.rows() if row.action == action]


def codes(result: RoundResult) -> list[str]:
    return [reason.code for reason in result.decision.reasons]


@pytest.mark.parametrize("verdict", ["FAIL", "PASS"])
async def test_a_criterion_whose_check_failed_is_argued_and_stays_failed(house: House, verdict: Any) -> None:
    """AC-4 of seed `pipeline`: also with a judge that says PASS."""
    house.script.items = {"AC-4": [FAILED]}
    house.script.auditor.passes = audited(AuditorOutcome.CHANGES_REQUESTED, AC_4="PASS")
    house.script.auditor.by_role = arguing(ruling(AC_4=verdict))
    result = await decide(house, f"ac4-{verdict.lower()}", [AC_4])
    assert result.decision.outcome is RoundOutcome.CHANGES_REQUESTED
    expected = ["exit_code", "auditor_changes_requested", *(["judge_failed"] if verdict == "FAIL" else [])]
    assert codes(result) == expected
    advocate, critic, judge = sorted(house.script.auditor.others_asked, key=lambda asked: asked.role)
    assert [(d.criterion, d.why, d.required) for d in judge.disputes] == [("AC-4", ("disagreement",), True)]
    assert advocate.disputes == critic.disputes == judge.disputes
    assert {asked.stage for asked in (advocate, critic)} == {"argument"}
    assert advocate.limit == critic.limit == 270.0, "both at once: neither waits for what the other one takes"
    assert advocate.opinion == critic.opinion == judge.opinion != ""
    assert house.store.get(judge.opinion) == OPINION
    assert judge.limit == 260.0
    said = {case.side: case.said for case in judge.cases}
    assert said == {side: result.said for side, result in ARGUED.items()}
    dispute = dispute_of(house)
    assert (dispute.advocate, dispute.critic) == (ARGUED["advocate"], ARGUED["critic"])
    assert [hearing.first for hearing in dispute.hearings] == [judge.cases[0].side], "the order is recorded"
    assert dispute.tiebreak is not None
    assert [(ruled.criterion, ruled.verdict) for ruled in dispute.tiebreak.rulings] == [("AC-4", verdict)]
    assert (dispute.seconds, len(dispute.passes)) == (17.0, 3)
    ((whose, told),) = rows(house, "criterion_judged")
    assert (whose, told["criterion"], told["verdict"], told["first"]) == ("judge", "AC-4", verdict, judge.cases[0].side)
    completed = [(whose, payload["role"]) for whose, payload in rows(house, "role_pass_completed")]
    assert completed[:2] == [("", "auditor"), ("", "auditor")]
    assert sorted(completed[2:4]) == [("advocate", "advocate"), ("critic", "critic")]
    assert completed[4:] == [("judge", "judge")]
    (notice,) = [notice for notice in record_of(house).notices if "scripted" in notice]
    assert "the auditor, the advocate, the critic and the judge are scripted" in notice


@pytest.mark.parametrize(
    ("name", "second", "outcome", "code"),
    [
        ("agrees", ruling(confidence=0.4, AC_8="PASS"), RoundOutcome.VERIFIED, "all_required_passed"),
        ("flips", ruling(confidence=0.9, AC_8="FAIL"), RoundOutcome.INCONCLUSIVE, "judge_inconclusive"),
        ("breaks", BROKE, RoundOutcome.CHANGES_REQUESTED, "judge_unavailable"),
    ],
)
async def test_a_judge_that_is_not_sure_hears_both_once_more_in_the_other_order(
    house: House, name: str, second: PassResult | Exception, outcome: RoundOutcome, code: str
) -> None:
    house.script.auditor.passes = audited(AC_8="PASS")
    house.script.auditor.by_role = arguing(ruling(confidence=0.6, AC_8="PASS"), second)
    result = await decide(house, f"swap-{name}", [AC_8])
    assert (result.decision.outcome, codes(result)[0]) == (outcome, code)
    first, again = (asked for asked in house.script.auditor.others_asked if asked.role == "judge")
    assert first.cases == tuple(reversed(again.cases))
    assert (first.part, again.part) == (0, 1)
    assert first.key != again.key
    dispute = dispute_of(house)
    assert [hearing.first for hearing in dispute.hearings] == [first.cases[0].side, again.cases[0].side]
    assert len(rows(house, "criterion_judged")) == (1 if name == "breaks" else 2)
    passes = [payload["first"] for _, payload in rows(house, "role_pass_completed") if payload["role"] == "judge"]
    assert passes == [first.cases[0].side, again.cases[0].side]
    assert dispute.tiebreak is not None
    assert dispute.tiebreak.settled == (("AC-8",) if name == "agrees" else ())


@pytest.mark.parametrize(
    ("name", "sides", "hearings", "outcome", "code"),
    [
        ("broke", {"advocate": BROKE}, [], RoundOutcome.CHANGES_REQUESTED, "judge_unavailable"),
        ("capped", {"critic": CAPPED}, [], RoundOutcome.NEEDS_HUMAN, "cost_cap_exceeded"),
        (
            "late",
            {"critic": ARGUED["critic"].model_copy(update={"seconds": 300.0})},
            [],
            RoundOutcome.NEEDS_HUMAN,
            "judge_timed_out",
        ),
        (
            "muddled",
            {},
            [PassResult(outcome="inconclusive", why="no answer could be read")],
            RoundOutcome.INCONCLUSIVE,
            "judge_inconclusive",
        ),
    ],
)
async def test_a_dispute_that_nobody_settles_is_no_pass(
    house: House, name: str, sides: Any, hearings: list[Any], outcome: RoundOutcome, code: str
) -> None:
    house.script.auditor.passes = audited(AC_8="PASS")
    house.script.auditor.by_role = arguing(*hearings, **sides)
    result = await decide(house, f"unsettled-{name}", [AC_8])
    assert (result.decision.outcome, codes(result)[0]) == (outcome, code)
    asked = [each.role for each in house.script.auditor.others_asked]
    assert asked.count("judge") == len(hearings), "never on one side alone, and not without time"
    tiebreak = dispute_of(house).tiebreak
    assert tiebreak is not None
    assert tiebreak.outcome is not TiebreakOutcome.JUDGED


async def test_without_a_model_for_one_role_the_auditors_word_stands_and_a_notice_says_so(house: House) -> None:
    house.script.auditor.passes = audited(AC_4="UNPROVED")
    house.script.auditor.by_role = arguing(NO_MODEL)
    result = await decide(house, "no-judge", [AC_4])
    assert result.decision.outcome is RoundOutcome.VERIFIED
    dispute = dispute_of(house)
    assert (dispute.tiebreak, dispute.why) == (None, "no model is configured for the judge")
    (notice,) = [notice for notice in record_of(house).notices if "not argued" in notice]
    assert "AC-4" in notice
    assert dispute.why in notice
    assert "judge" not in [whose for whose, _ in rows(house, "role_pass_completed")], "nobody was asked"


async def test_where_everything_is_to_be_argued_a_role_without_a_model_needs_a_human(house: House) -> None:
    house.script.auditor.passes = audited(AC_4="PASS")
    house.script.auditor.by_role = arguing(advocate=NO_MODEL)
    result = await decide(house, "always-no-advocate", [AC_4], adversarial="always")
    assert (result.decision.outcome, result.decision.trigger) == (RoundOutcome.NEEDS_HUMAN, "not_judged")
    assert "no model is configured for the advocate" in result.decision.reasons[0].text


async def test_everything_is_argued_without_an_auditor_too(house: House) -> None:
    house.script.auditor.by_role = arguing(ruling(AC_4="PASS", AC_8="PASS", tests="PASS"))
    result = await decide(house, "always-alone", [AC_4, AC_8], adversarial="always")
    assert result.decision.outcome is RoundOutcome.VERIFIED, "AC-8 is judged"
    asked = house.script.auditor.others_asked
    assert {each.opinion for each in asked} == {""}
    assert [dispute.criterion for dispute in asked[0].disputes] == ["AC-4", "AC-8", "tests"]
    *_, decided = house.trail.rows()
    assert str(decided.actor) == "auditor", "a judge has a word on the work"


@pytest.mark.parametrize(
    ("name", "items", "passes", "verification"),
    [
        ("never", {}, audited(AC_8="PASS"), {"adversarial": "never"}),
        ("undisputed", {}, audited(AC_4="PASS"), {}),
        ("silent", {}, [LOOKED, CAPPED], {"adversarial": "always"}),
        ("unknown", {"AC-4": [BROKE]}, audited(AC_4="UNPROVED"), {"adversarial": "always"}),
    ],
)
async def test_nobody_argues_where_nothing_is_disputed_or_nothing_can_be_told(
    house: House, name: str, items: Any, passes: Any, verification: Any
) -> None:
    house.script.items = items
    house.script.auditor.passes = passes
    house.script.auditor.by_role = arguing(ruling(AC_4="FAIL"))
    await decide(house, f"unargued-{name}", [AC_8 if name == "never" else AC_4], **verification)
    assert house.script.auditor.others_asked == []
    assert record_of(house).dispute is None
    assert [notice for notice in record_of(house).notices if "argued" in notice] == []


async def test_an_objection_is_overruled_criterion_by_criterion(house: House) -> None:
    house.script.auditor.passes = audited(AuditorOutcome.CHANGES_REQUESTED, ("AC-4",), AC_4="FAIL")
    house.script.auditor.by_role = arguing(ruling(AC_4="PASS"))
    result = await decide(house, "overruled", [AC_4])
    assert result.decision.outcome is RoundOutcome.VERIFIED
    assert codes(result) == ["all_required_passed", "objection_overruled"]
