"""A judge and a strategist over real connections, in both protocols: shapes as they are sent, answers as they come."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from adapters.roles.conversation import ANSWERS
from domain.roles.agents import Agents
from tests.fakes.role_answers import PLAN, judgement, pass_of
from tests.fakes.role_desk import PRICE, Desk
from tests.provider import Protocol, Provider, by_turn, output, providing, text

PROTOCOLS: tuple[Protocol, ...] = ("openai", "anthropic")
UNKNOWN = "ev-" + "0" * 16


@pytest.fixture(scope="module")
def server() -> Iterator[Provider]:
    with providing() as provider:
        yield provider


@pytest.fixture(params=PROTOCOLS)
def desk(server: Provider, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Desk:
    server.received.clear()
    urls = {"openai": server.openai_url, "anthropic": server.anthropic_url}
    entry = {"provider": request.param, "model": "m", "base_url": urls[request.param], "price": PRICE}
    table = {"models": {"mine": entry}, "judge": {"model": "mine"}, "strategist": {"model": "mine"}}
    return Desk(monkeypatch, agents=Agents.model_validate(table))


async def test_a_judge_that_cannot_be_parsed_is_inconclusive(server: Provider, desk: Desk) -> None:
    server.plays(text("VERDICT: PASS. Both arguments have merit."))
    result = await desk.run(pass_of(desk, "judge"))
    assert (result.outcome, result.rulings, result.said) == ("inconclusive", (), "")
    assert len(server.received) == result.usage.requests == ANSWERS


async def test_evidence_that_a_judge_made_up_goes_back_and_is_refused(server: Provider, desk: Desk) -> None:
    request = pass_of(desk, "judge")
    good = judgement(request)
    bad = {"rulings": [{**one, "quotes": [{"evidence_id": UNKNOWN, "quote": "yes"}]} for one in good["rulings"]]}
    server.answers(by_turn(output(bad), output(good)))
    result = await desk.run(request)
    assert (result.outcome, [one.verdict for one in result.rulings]) == ("answered", ["PASS", "PASS"])
    assert f"cites '{UNKNOWN}', and no evidence has that id" in server.received[1].user
    assert "You are the judge." in server.received[0].system
    server.answers(by_turn(output(bad)))
    result = await desk.run(request.model_copy(update={"take": "again"}))
    assert (result.outcome, result.rulings) == ("inconclusive", ())


async def test_a_strategist_s_checks_come_as_they_were_written(server: Provider, desk: Desk) -> None:
    """Their shape has unions and any JSON in it, which each protocol sends in its own way."""
    server.plays(output(PLAN))
    result = await desk.run(pass_of(desk, "strategist"))
    assert result.plan is not None, result.why
    assert [check.id for check in result.plan.checks] == ["AC-1", "AC-2"]
    assert server.received[0].tools["test_plan"]["required"] == ["checks"]


async def test_a_role_without_a_model_is_not_asked(server: Provider, desk: Desk) -> None:
    result = await desk.run(pass_of(desk, "advocate"))
    assert (result.outcome, server.received) == ("not_configured", [])
