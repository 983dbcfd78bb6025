"""Passes of designer, strategist, advocate, critic and judge: what each may do, answer and be shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest

from adapters.roles.conversation import ANSWERS
from adapters.roles.runtime import ROLES
from domain.drafts.record import Rejected
from domain.roles.agents import Agents
from domain.roles.argued import Case, Judgement
from domain.roles.designed import Specification, TestPlan
from domain.roles.names import STAGES, Role, Side
from domain.roles.passes import PassInput
from domain.roles.results import PassResult
from tests.fakes.role_answers import (
    CALLED,
    CALLS,
    PLAN,
    SPECIFICATION,
    answer_of,
    blob,
    case,
    diff_id,
    judgement,
    pass_of,
    quote,
)
from tests.fakes.role_desk import EXPLANATION, Desk, FakeTool, call, text

FIVE: tuple[Role, ...] = tuple(role for role in STAGES if role not in ("auditor", "fix_builder"))
SIDES: tuple[Side, ...] = get_args(Side)
SHAPES: dict[str, Any] = {
    "specification": Specification,
    "test_plan": TestPlan,
    "case": Case,
    "judgement": Judgement,
}
UNKNOWN = "ev-" + "0" * 16


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Desk:
    return Desk(monkeypatch)


async def ran(desk: Desk, role: Role, answer: dict[str, Any], request: PassInput | None = None) -> PassResult:
    desk.plays([call(CALLED[role], **answer)])
    return await desk.run(request or pass_of(desk, role))


@pytest.mark.parametrize("role", FIVE)
async def test_an_answer_that_holds_up_is_kept(desk: Desk, role: Role) -> None:
    request = pass_of(desk, role)
    answer = answer_of(role, request)
    result = await ran(desk, role, answer, request)
    assert (result.outcome, result.why, result.usage.requests) == ("answered", "", 1)
    kept = SHAPES[CALLED[role]].model_validate_json(desk.store.get(result.said))
    assert kept == SHAPES[CALLED[role]].model_validate(answer)
    assert (result.audit, result.assessed, result.question) == (None, (), None)
    filled = {name for name in ("rulings", "specification", "plan") if getattr(result, name)}
    assert filled == {"designer": {"specification"}, "strategist": {"plan"}, "judge": {"rulings"}}.get(role, set())
    assert PassResult.model_validate_json(result.model_dump_json()) == result


@pytest.mark.parametrize("role", FIVE)
async def test_none_writes_runs_a_check_or_asks(desk: Desk, role: Role) -> None:
    desk.tools = [FakeTool({"a": "found"}, name=name) for name in ("Read", "Write", "git_diff", "git_log")]
    request = pass_of(desk, role)
    played = desk.plays(
        [call("run_tests", name="prints"), call("question", question="?"), call("Write", path="a")],
        [call("Read", path="a"), call("git_log", path="a")],
        [call(CALLED[role], **answer_of(role, request))],
    )
    result = await desk.run(request)
    assert result.outcome == "answered"
    refused = [each.tool for each in result.refused if each.code == "no_such_tool"]
    assert refused[:3] == ["run_tests", "question", "Write"]
    assert ("git_log" in refused) == (role in ("designer", "strategist", "judge"))
    offered = {tool.name for tool in played.asked[0][1].function_tools}
    assert offered == ROLES[role].tools & {"Read", "git_diff", "git_log"}
    assert ROLES[role].tools <= {"Read", "grep", "glob", "git_diff", "git_log"}


@pytest.mark.parametrize("role", FIVE)
@pytest.mark.parametrize("words", [True, False], ids=["words", "no such shape"])
async def test_what_cannot_be_read_is_inconclusive(desk: Desk, role: Role, words: bool) -> None:
    played = desk.plays(text("It is fine.") if words else [call(CALLED[role], verdict="PASS")])
    result = await desk.run(pass_of(desk, role))
    assert (result.outcome, result.said, result.rulings, result.plan) == ("inconclusive", "", (), None)
    assert len(played.asked) == ANSWERS
    assert "had not the form that was asked for" in result.why


def without_the_second(answer: dict[str, Any], name: str) -> dict[str, Any]:
    return {**answer, name: answer[name][:1]}


def made_up(answer: dict[str, Any], name: str) -> dict[str, Any]:
    first, *others = answer[name]
    return {**answer, name: [{**first, "quotes": [{"evidence_id": UNKNOWN, "quote": "yes"}]}, *others]}


FAULTY: list[tuple[Role, Any, str]] = [
    ("advocate", lambda a: without_the_second(a, "arguments"), "'S-1' is not argued"),
    ("critic", lambda a: made_up(a, "arguments"), f"cites '{UNKNOWN}', and no evidence has that id"),
    ("judge", lambda a: without_the_second(a, "rulings"), "'S-1' is not ruled on"),
    ("judge", lambda a: made_up(a, "rulings"), f"cites '{UNKNOWN}', and no evidence has that id"),
    ("designer", lambda a: without_the_second(a, "criteria"), "no criterion is of requirement 'R2'"),
    ("strategist", lambda a: without_the_second(a, "checks"), "criterion 'AC-2' is not there"),
]


@pytest.mark.parametrize(("role", "broken", "told"), FAULTY)
async def test_what_does_not_hold_up_goes_back_and_is_refused(desk: Desk, role: Role, broken: Any, told: str) -> None:
    request = pass_of(desk, role)
    bad = broken(answer_of(role, request))
    played = desk.plays([call(CALLED[role], **bad)], [call(CALLED[role], **answer_of(role, request))])
    assert (await desk.run(request)).outcome == "answered"
    assert told in played.told()
    played = desk.plays([call(CALLED[role], **bad)])
    result = await desk.run(request.model_copy(update={"take": "again"}))
    assert (result.outcome, len(played.asked), result.said) == ("inconclusive", ANSWERS, "")
    assert told in result.why


async def test_a_shape_s_own_fault_is_told_in_words(desk: Desk) -> None:
    nothing_expected = {**CALLS, "params": {**CALLS["params"], "cases": [{"args": [2]}]}}
    played = desk.plays([call("test_plan", checks=[nothing_expected])], [call("test_plan", **PLAN)])
    assert (await desk.run(pass_of(desk, "strategist"))).outcome == "answered"
    assert "neither returns nor raises, expected one of the two in a case" in played.told()


async def test_a_judge_s_rulings_are_for_the_decision(desk: Desk) -> None:
    request = pass_of(desk, "judge")
    answer = judgement(request, "FAIL")
    answer["rulings"][0] |= {"reasoning": "x" * 3000, "quotes": [quote(request), quote(request, "+++ b/src/app.py")]}
    result = await ran(desk, "judge", answer, request)
    assert [(one.criterion, one.verdict, one.confidence, one.evidence) for one in result.rulings] == [
        ("prints", "FAIL", 0.8, (diff_id(request),)),
        ("S-1", "FAIL", 0.8, (diff_id(request),)),
    ]
    assert len(result.rulings[0].reasoning) == 1000


async def test_both_sides_are_told_the_same(desk: Desk) -> None:
    told = []
    for side in SIDES:
        played = desk.plays([call("case", **case(pass_of(desk, side)))])
        await desk.run(pass_of(desk, side))
        told.append(played.told())
    assert told[0] == told[1]
    assert EXPLANATION in told[0]
    assert "who could tell" in told[0]
    assert "only a judge can tell" in told[0]


async def test_a_judge_is_told_both_sides_in_the_order_that_was_drawn(desk: Desk) -> None:
    request = pass_of(desk, "judge")
    told = []
    for cases in (request.cases, request.cases[::-1]):
        played = desk.plays([call("judgement", **judgement(request))])
        result = await desk.run(request.model_copy(update={"cases": cases}))
        assert result.outcome == "answered"
        told.append(played.told())
    critic, advocate = "as the critic sees it", "as the advocate sees it"
    assert told[0].index(critic) < told[0].index(advocate)
    assert told[1].index(advocate) < told[1].index(critic)
    assert "the critic's argument that prints is not met" in told[0]


async def test_what_a_side_s_own_tool_found_and_it_quotes_is_shown_to_the_judge(desk: Desk) -> None:
    desk.tools = [FakeTool({"a": "the whole truth", "b": "beside the point"})]
    first = pass_of(desk, "critic")
    found = desk.plays([call("Read", path="a"), call("Read", path="b")], [call("case", **case(first))])
    await desk.run(first)
    (cited,) = [one["evidence_id"] for one in pieces(found.told()) if one["text"] == ["the whole truth"]]
    quoted = case(first)
    quoted["arguments"][0]["quotes"] = [{"evidence_id": cited, "quote": "the whole truth"}]
    again = first.model_copy(update={"take": "again"})
    desk.plays([call("Read", path="a"), call("Read", path="b")], [call("case", **quoted)])
    argued = await desk.run(again)
    assert argued.outcome == "answered", argued.why
    heard = [
        {"side": "critic", "said": argued.said, "messages": argued.messages},
        {"side": "advocate", "said": blob(desk, case(first))},
    ]
    request = PassInput.model_validate({**pass_of(desk, "judge").model_dump(), "cases": heard})
    answer = judgement(request)
    answer["rulings"][0]["quotes"] = [{"evidence_id": cited, "quote": "whole truth"}]
    desk.tools = []
    played = desk.plays([call("judgement", **answer)])
    assert (await desk.run(request)).outcome == "answered"
    assert "the whole truth" in played.told()
    assert "beside the point" not in played.told()


def pieces(told: str) -> list[dict[str, Any]]:
    blocks = [block.partition("\n")[2].partition("\n</data")[0] for block in told.split("<data id=")[1:]]
    return [piece for piece in map(json.loads, blocks) if "evidence_id" in piece]


@pytest.mark.parametrize("role", ["designer", "strategist"])
async def test_who_drafts_sees_the_base_and_the_order_alone(desk: Desk, role: Role) -> None:
    """Of the work there is no blob that could be read; what the round knows of it is in no text."""
    request = pass_of(desk, role, order={"content": "Write is_prime.", "domain": "finance"})
    played = desk.plays([call(CALLED[role], **answer_of(role, request))])
    await desk.run(request)
    assert [path in played.told() for path in ("src/prime.py", "Write is_prime.", "finance")] == [True] * 3
    for secret in (request.frozen.head, EXPLANATION, "print('yes')", "a" * 64):
        assert secret not in played.told()


async def test_a_strategist_is_told_what_was_rejected_and_answers_for_that_alone(desk: Desk) -> None:
    gone = Rejected(criterion="AC-1", check="true", code="vacuous", reason="it passes on an empty tree")
    request = pass_of(desk, "strategist", rejected=(gone,))
    played = desk.plays([call("test_plan", **PLAN)], [call("test_plan", checks=[CALLS])])
    result = await desk.run(request)
    assert "it passes on an empty tree" in played.told(0)
    assert "'AC-2' is no criterion that is asked for" in played.told()
    assert result.plan is not None
    assert [check.id for check in result.plan.checks] == ["AC-1"]


SCRIPT = [
    {"role": "designer", "answer": SPECIFICATION},
    {"stage": "strategy", "answer": PLAN},
    {
        "stage": "argument",
        "answer": {
            "arguments": [
                {
                    "criterion": criterion,
                    "argument": "It is.",
                    "quotes": [{"evidence_id": "evidence: the change from the base", "quote": "+print('yes')"}],
                }
                for criterion in ("prints", "S-1")
            ]
        },
    },
    {
        "role": "judge",
        "stage": "judgement",
        "answer": {
            "rulings": [
                {
                    "criterion": criterion,
                    "verdict": "PASS",
                    "confidence": 0.9,
                    "reasoning": "It is.",
                    "quotes": [
                        {"evidence_id": "evidence: what check prints came to", "quote": "outcome: passed"},
                        {"evidence_id": f"evidence: the critic's argument that {criterion}", "quote": "as the critic"},
                        {"evidence_id": "evidence: as the advocate sees it", "quote": "the advocate"},
                    ],
                }
                for criterion in ("prints", "S-1")
            ]
        },
    },
]


@pytest.mark.parametrize("role", FIVE)
async def test_a_script_plays_each(desk: Desk, role: Role, tmp_path: Path) -> None:
    (tmp_path / "play.json").write_text(json.dumps(SCRIPT))
    desk.agents = Agents(model="script:play.json")
    result = await desk.run(pass_of(desk, role), root=tmp_path)
    assert (result.outcome, result.why, result.provenance.scripted) == ("answered", "", True)
    nobody = desk.pass_of()
    assert (await desk.run(nobody, root=tmp_path)).outcome == "not_configured", "no turn is the auditor's"


async def test_a_script_that_has_no_turn_of_a_role_is_no_model_of_it(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "play.yaml").write_text("- {stage: blind, text: x}\n")
    desk.agents = Agents(model="script:play.yaml")
    for role in FIVE:
        result = await desk.run(pass_of(desk, role), used=2.0, root=tmp_path)
        assert (result.outcome, result.seconds, result.messages) == ("not_configured", 2.0, "")
        assert result.why.endswith(f"has no turn of the {role}")


@pytest.mark.parametrize("role", FIVE)
async def test_each_role_has_its_own_limits(desk: Desk, role: Role) -> None:
    desk.agents = Agents.model_validate({**desk.agents.model_dump(), role: {"max_requests": 2}})
    desk.tools = [FakeTool({"a": "again"})]
    played = desk.plays([call("Read", path="a")])
    assert (await desk.run(pass_of(desk, role))).outcome == "inconclusive"
    assert len(played.asked) == 2
