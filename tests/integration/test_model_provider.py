"""Requests to models over real connections, to a server that answers as it is told: what is sent, and what it costs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.messages import TextPart
from pydantic_ai.settings import ModelSettings

from adapters.roles.faults import CostCap, ModelGone
from adapters.roles.prices import micros
from domain.errors import Cause, Unavailable
from domain.roles.agents import Agents, Price
from domain.roles.results import PassUsage
from domain.roles.spending import Settled
from tests.fakes.model_passes import Asking, a_pass
from tests.provider import HANG, Protocol, Provider, Turn, by_turn, call, output, providing, text

PRICE = Price(input=2.0, output=10.0)
COST = micros(PRICE, 100, 20)
"""Of an answer of the server that says nothing else of its usage."""


class KilledError(BaseException):
    """What nobody catches, as a process that ends catches nothing."""


PROTOCOLS: tuple[Protocol, ...] = ("openai", "anthropic")


@pytest.fixture(scope="module")
def server() -> Iterator[Provider]:
    with providing() as provider:
        yield provider


@pytest.fixture(autouse=True)
def _forgets(server: Provider) -> None:
    server.received.clear()


def agents(server: Provider, protocol: Protocol = "openai", **more: Any) -> Agents:
    """Both protocols by name; the one that is asked is `protocol`'s."""
    urls = {"openai": server.openai_url, "anthropic": server.anthropic_url}
    entries = {
        name: {"provider": name, "model": "a-model", "base_url": url, "price": PRICE} for name, url in urls.items()
    }
    return Agents.model_validate({"model": protocol, "models": entries, **more})


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_an_answer_is_paid_for_as_the_provider_says(server: Provider, protocol: Protocol) -> None:
    server.plays(text("I am here.", usage=(1000, 7)))
    asking = Asking(agents(server, protocol, auditor={"max_tokens": 321}))
    model = asking.model()
    answer = await asking.ask("are you there?", model)
    assert [part.content for part in answer.parts if isinstance(part, TextPart)] == ["I am here."]
    assert len(server.received) == 1
    assert "are you there?" in server.received[0].user
    assert server.received[0].body["max_tokens"] == 321
    assert asking.spent.micros == 1000 * 2 + 7 * 10
    assert model.usage == PassUsage(requests=1, input_tokens=1000, output_tokens=7, micros=2070)
    assert (model.model_name, model.scripted) == (protocol, False)


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_pass_that_was_killed_hears_again_what_it_was_answered_and_pays_once(
    server: Provider, protocol: Protocol
) -> None:
    server.answers(by_turn(call("look", {"at": "x"}), text("done"), text("too many")))
    asking, looked = Asking(agents(server, protocol)), []

    def look(at: str) -> str:
        looked.append(at)
        if len(looked) == 1:
            raise KilledError
        return f"saw {at}"

    with pytest.raises(KilledError):
        await Agent(asking.model(), tools=[look]).run("look, please")
    again = asking.model()
    assert (await Agent(again, tools=[look]).run("look, please")).output == "done"
    assert len(server.received) == 2, "the first request was not sent again"
    assert again.usage == PassUsage(requests=1, remembered=1, input_tokens=200, output_tokens=40, micros=2 * COST)
    assert (asking.spent.micros, asking.spent.lost, asking.spent.requests) == (2 * COST, 0, 2)
    third = asking.model()
    assert (await Agent(third, tools=[look]).run("look, please")).output == "done"
    assert (third.usage.requests, third.usage.remembered, len(server.received)) == (0, 2, 2)


async def test_what_differs_is_sent(server: Provider) -> None:
    server.plays(text("yes"))
    asking = Asking(agents(server))
    model = asking.model()
    await asking.ask("same", model)
    await asking.ask("same", model)
    assert len(server.received) == 2, "the second request of a pass is another one"
    await asking.ask("same", settings=ModelSettings(temperature=0.5))
    await asking.ask("same", settings=ModelSettings(temperature=0.5))
    await asking.ask("other")
    await asking.ask("same", asking.model(a_pass(part=1)))
    await asking.ask("same", asking.model(a_pass(take="anew")))
    await asking.ask("same", asking.model(a_pass(model="anthropic")))
    assert len(server.received) == 7
    await asking.ask("same", settings=ModelSettings(timeout=3))
    assert len(server.received) == 7, "how long somebody waits makes no other request"


async def test_what_a_request_may_come_to_is_reserved_before_it_is_sent(server: Provider) -> None:
    reserved: list[int] = []
    asking = Asking(agents(server, auditor={"max_tokens": 1000}))

    def script(_: object) -> Turn:
        reserved.append(asking.spent.lost)
        return text("yes")

    server.answers(script)
    await asking.ask("x" * 3000)
    assert reserved[0] >= 1000 * 2 + 1000 * 10
    assert (asking.spent.lost, asking.spent.micros) == (0, COST)


@pytest.mark.parametrize("cap", ["request", "role", "todo", "session"])
async def test_a_cap_is_held_before_anything_is_sent(server: Provider, cap: str) -> None:
    server.plays(text("yes"))
    least = {"max_tokens": 256}
    estimate_and_more = 0.005
    asking = Asking(agents(server, auditor=least, caps={"todo": None, "session": None, cap: estimate_and_more}))
    model = asking.model()
    sent = 0
    with pytest.raises(CostCap, match=rf"the cap of a {cap} is \$0.005"):
        for sent in range(10):
            await asking.ask("x" * (100 if cap != "request" else 100 * 10**sent), model)
    assert len(server.received) == sent >= 1
    assert asking.spent.micros + asking.spent.lost <= 5000 or cap == "request"
    assert asking.spent.lost == 0


async def test_a_price_that_changes_counts_from_then_on(server: Provider) -> None:
    server.plays(text("yes"))
    asking = Asking(agents(server))
    await asking.ask("one")
    dearer = agents(server)
    asking.agents = dearer.model_copy(
        update={"models": {"openai": dearer.models["openai"].model_copy(update={"price": Price(input=4, output=20)})}}
    )
    await asking.ask("one")
    assert asking.spent.micros == COST, "what was answered before costs what it cost then"
    await asking.ask("two")
    assert asking.spent.micros == 3 * COST


@pytest.mark.parametrize(("usage", "cost"), [((10**6, 10**6), 12 * 10**6), ((10**30, 0), 2 * 10**9)])
async def test_what_a_provider_says_is_what_it_cost(server: Provider, usage: tuple[int, int], cost: int) -> None:
    server.plays(text("yes", usage=usage))
    asking = Asking(agents(server))
    await asking.ask()
    assert (asking.spent.micros, asking.spent.lost) == (cost, 0)
    assert asking.spent.input_tokens == min(usage[0], 10**9), "what a database can hold"


@pytest.mark.filterwarnings("ignore:Failed to extract usage")
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("usage", [None, (0, 0), (-5, -5), (100, -5)])
async def test_a_request_whose_usage_nobody_can_tell_costs_its_estimate(
    server: Provider, protocol: Protocol, usage: tuple[int, int] | None
) -> None:
    server.plays(text("yes", usage=usage))
    asking = Asking(agents(server, protocol, auditor={"max_tokens": 1000}))
    await asking.ask()
    assert 10_000 < asking.spent.micros < 11_000
    assert asking.spent.lost == 0


async def test_a_request_that_was_under_way_when_its_worker_died_stays_counted(server: Provider) -> None:
    server.plays(HANG, text("yes"))
    asking = Asking(agents(server))
    under_way = asyncio.ensure_future(asking.ask())
    await asyncio.to_thread(server.wait_for, 1)
    under_way.cancel()
    with pytest.raises(asyncio.CancelledError):
        await under_way
    lost = asking.spent.lost
    assert lost > 8192 * 10
    await asking.ask()
    assert len(server.received) == 2
    assert (asking.spent.micros, asking.spent.lost) == (COST, lost)


async def test_who_died_before_settling_settles_when_it_remembers(server: Provider) -> None:
    server.plays(text("yes"))
    asking = Asking(agents(server))
    model = asking.model()
    settle, asking.ledger.settle = asking.ledger.settle, _killed  # type: ignore[method-assign]  # dies there
    with pytest.raises(Unavailable):
        await asking.ask(model=model)
    assert asking.spent.micros == 0
    asking.ledger.settle = settle  # type: ignore[method-assign]  # as above
    await asking.ask()
    assert len(server.received) == 1
    assert (asking.spent.micros, asking.spent.lost) == (COST, 0)


def _killed(settled: Settled) -> None:
    raise Unavailable(Cause.STORE_UNAVAILABLE, "gone", "wait")


async def test_a_ledger_that_is_away_is_nobody_s_answer(server: Provider) -> None:
    server.plays(text("yes"))
    asking = Asking(agents(server))
    asking.ledger.book.trouble = Unavailable(Cause.STORE_UNAVAILABLE, "gone", "wait")
    with pytest.raises(Unavailable):
        await asking.ask()
    assert server.received == []


async def test_a_secret_in_an_answer_is_the_same_the_first_time_as_when_it_is_remembered(server: Provider) -> None:
    server.plays(text("the key is hunter2hunter2"))
    asking = Asking(agents(server))
    kept = asking.store.remember

    def masked(key: str, data: bytes) -> None:
        kept(key, data.replace(b"hunter2hunter2", b"[masked]"))

    asking.store.remember = masked  # type: ignore[method-assign]  # as the store with masks does
    first, again = await asking.ask(), await asking.ask()
    assert [part.content for part in first.parts if isinstance(part, TextPart)] == ["the key is [masked]"]
    assert first.parts == again.parts


async def test_a_server_of_one_s_own_is_sent_no_key_that_is_not_its_own(
    server: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.setenv(name, "a-key-for-others")
    server.plays(text("yes"))
    for protocol in PROTOCOLS:
        await Asking(agents(server, protocol)).ask()
    assert [received.key for received in server.received] == ["none", "none"]
    assert not any("a-key-for-others" in str(received.headers) for received in server.received)


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_the_key_is_in_the_variable_that_the_entry_names(server: Provider, protocol: Protocol) -> None:
    server.plays(text("yes"))
    named = agents(server, protocol)
    entry = named.models[protocol].model_copy(update={"api_key_env": "MY_KEY"})
    asking = Asking(named.model_copy(update={"models": {protocol: entry}}), environment={"MY_KEY": "k-1"})
    await asking.ask()
    assert server.received[0].key == "k-1"
    asking.environment = {"MY_KEY": " "}
    with pytest.raises(ModelGone, match=f"{protocol}: environment:1: MY_KEY: is not set"):
        await asking.ask("another")
    assert len(server.received) == 1
    assert (asking.spent.lost, asking.spent.requests) == (0, 1)


class Said(BaseModel):
    word: str


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_structured_answer_comes_through_the_library(server: Provider, protocol: Protocol) -> None:
    server.plays(output({"word": "so"}))
    said = await Agent(Asking(agents(server, protocol)).model(), output_type=Said).run("say it")
    assert said.output.word == "so"
