"""What a provider does wrong, over real connections: what is tried again, how often, who stands in, the cost."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic_ai.messages import TextPart

from adapters.roles import requests
from adapters.roles.faults import ModelGone, OutOfTime
from adapters.roles.requests import PAUSES
from domain.roles.agents import Agents
from tests.fakes.model_passes import Asking
from tests.provider import (
    CUT,
    DROP,
    HANG,
    HANG_SECONDS,
    HTML,
    NOT_JSON,
    Protocol,
    Provider,
    Turn,
    fault,
    providing,
    text,
)

PRICE = {"input": 2.0, "output": 10.0}
COST = 100 * 2 + 20 * 10
TRIES = len(PAUSES) + 1
PROTOCOLS: tuple[Protocol, ...] = ("openai", "anthropic")
YES = text("yes")


@pytest.fixture(scope="module")
def server() -> Iterator[Provider]:
    with providing() as provider:
        yield provider


@pytest.fixture(autouse=True)
def _forgets(server: Provider) -> None:
    server.received.clear()


@pytest.fixture
def hanging() -> Iterator[Provider]:
    """A server of the test's own, for requests that are given up: one may come in only when another test has begun."""
    with providing() as provider:
        yield provider


def asking(server: Provider, *models: str, seconds: float = 600.0, **auditor: Any) -> Asking:
    """By the names of protocols, the first of them first."""
    urls = {"openai": server.openai_url, "anthropic": server.anthropic_url}
    entries = {
        name: {"provider": name, "model": "a-model", "base_url": url, "price": PRICE} for name, url in urls.items()
    }
    first, *others = models
    limits = {"max_tokens": 256, "fallbacks": others, **auditor}
    return Asking(
        Agents.model_validate({"model": first, "models": entries, "auditor": limits, "caps": {"session": 1.0}}),
        seconds=seconds,
    )


def clocked(monkeypatch: pytest.MonkeyPatch, asked: Asking, then: float) -> None:
    """The pass's clock stands still until a request is sent, and after that is at `then` seconds."""

    def clock() -> float:
        return then if asked.told else 0.0

    asked.clock = clock
    monkeypatch.setattr(requests, "time", SimpleNamespace(monotonic=clock))


def page(body: object) -> Turn:
    """A status of 200, and JSON that is no answer."""
    return Turn(raw=json.dumps(body))


UNPAID = {f"{status}": fault(status) for status in (408, 429, 500, 502, 503, 504, 529)}
UNKNOWN = {
    "html": HTML,
    "not json": NOT_JSON,
    "empty": Turn(raw=""),
    "dropped": DROP,
    "cut": CUT,
    "null": page(None),
    "a list": page([]),
    "another object": page({"error": {"message": "sorry"}}),
    "no content": page({"choices": None, "content": None}),
    "content of another type": page({"choices": [{"message": 3}], "content": 3, "usage": 3}),
}
LASTING = (400, 401, 403, 404, 413, 422)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", [*UNPAID, *UNKNOWN])
async def test_what_may_pass_is_tried_again(server: Provider, protocol: Protocol, name: str) -> None:
    server.plays({**UNPAID, **UNKNOWN}[name], YES)
    asked = asking(server, protocol)
    model = asked.model()
    answer = await asked.ask(model=model)
    assert [part.content for part in answer.parts if isinstance(part, TextPart)] == ["yes"]
    assert len(server.received) == 2
    assert asked.slept == [PAUSES[0]]
    assert asked.spent.micros == COST
    assert (asked.spent.lost > 0) is (name in UNKNOWN), "what the provider may charge for stays counted"
    assert model.usage.micros == asked.spent.micros + asked.spent.lost
    assert model.usage.requests == 2


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("status", LASTING)
async def test_what_cannot_pass_is_not_tried_again(server: Provider, protocol: Protocol, status: int) -> None:
    server.plays(fault(status), YES)
    asked = asking(server, protocol)
    with pytest.raises(ModelGone, match=rf"^{protocol}: HTTP {status} \(fault {status}\)$"):
        await asked.ask()
    assert (len(server.received), asked.slept) == (1, [])
    assert (asked.spent.micros, asked.spent.lost) == (0, 0)


async def test_a_quota_that_is_used_up_is_no_matter_of_waiting(server: Provider) -> None:
    body = {"error": {"message": "no credit", "code": "insufficient_quota", "type": "insufficient_quota"}}
    server.plays(Turn(status=429, raw=json.dumps(body)))
    with pytest.raises(ModelGone, match=r"^openai: HTTP 429 \(no credit\)$"):
        await asking(server, "openai").ask()
    assert len(server.received) == 1


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_there_is_an_end_to_it(server: Provider, protocol: Protocol) -> None:
    server.plays(fault(500))
    asked = asking(server, protocol)
    with pytest.raises(ModelGone, match=rf"^{protocol}: HTTP 500 \(fault 500\), the last of {TRIES} tries$"):
        await asked.ask()
    assert (len(server.received), asked.slept) == (TRIES, [*PAUSES])
    assert asked.spent.lost == 0
    assert f"{protocol}: HTTP 500 (fault 500); again in 0.5 s" in asked.told


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_provider_that_asks_to_wait_is_waited_for(server: Provider, protocol: Protocol) -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=3600), usegmt=True)
    server.plays(fault(429, Retry_After="7"), fault(503, Retry_After=later), fault(429, Retry_After="soon"), YES)
    asked = asking(server, protocol, seconds=7200.0)
    await asked.ask()
    seconds, date, neither = asked.slept
    assert seconds == 7
    assert 1800 < date <= 3600
    assert neither == PAUSES[2]
    assert len(server.received) == 4


async def test_nobody_waits_longer_than_there_is_time(server: Provider) -> None:
    server.plays(fault(429, Retry_After="3600"))
    asked = asking(server, "openai")
    with pytest.raises(ModelGone, match=r"HTTP 429 \(fault 429\), and there is no time to wait 3600 s$"):
        await asked.ask()
    assert (len(server.received), asked.slept) == (1, [])


async def test_what_hangs_is_given_up_and_stays_counted(hanging: Provider) -> None:
    hanging.plays(HANG)
    asked = asking(hanging, "openai", request_timeout=0.5)
    with pytest.raises(ModelGone, match=rf"^openai: no answer in 0.5 s, the last of {TRIES} tries$"):
        await asked.ask()
    assert (asked.told.count("asking openai"), asked.slept) == (TRIES, [*PAUSES])
    assert asked.spent.requests == TRIES
    hanging.wait_for(1)
    assert len(hanging.received) <= TRIES, "one may have been given up before it came here"
    assert asked.spent.lost > 256 * 10 * len(hanging.received)


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_what_hangs_until_the_time_is_over_ends_the_pass(
    hanging: Provider, protocol: Protocol, monkeypatch: pytest.MonkeyPatch
) -> None:
    hanging.plays(HANG)
    asked = asking(hanging, protocol, seconds=0.4)
    clocked(monkeypatch, asked, then=0.5)
    begun = time.monotonic()
    with pytest.raises(OutOfTime, match=rf"^{protocol}: no answer in 0\.4 s"):
        await asked.ask()
    assert time.monotonic() - begun < HANG_SECONDS / 2
    with pytest.raises(OutOfTime, match="no time is left"):
        asked.seconds = 0.0
        await asked.ask("another")
    assert asked.spent.requests == 1
    assert not any("another" in received.user for received in hanging.received)


async def test_the_next_model_stands_in(server: Provider) -> None:
    server.answers(lambda received: fault(401) if received.protocol == "openai" else YES)
    asked = asking(server, "openai", "anthropic")
    model = asked.model()
    await asked.ask(model=model)
    assert [received.protocol for received in server.received] == ["openai", "anthropic"]
    assert model.model_name == "anthropic"
    again = asked.model()
    await asked.ask(model=again)
    assert again.model_name == "anthropic"
    assert len(server.received) == 2, "who answered is asked for nothing twice, and neither is who did not"


async def test_what_is_said_of_models_that_are_all_gone_names_each(server: Provider) -> None:
    server.answers(lambda received: fault(401) if received.protocol == "openai" else HTML)
    with pytest.raises(ModelGone) as gone:
        await asking(server, "openai", "anthropic").ask()
    one, other = str(gone.value).split("; ", 1)
    assert one == "openai: HTTP 401 (fault 401)"
    assert other.startswith("anthropic: an answer that cannot be read")


async def test_a_model_that_hangs_leaves_time_for_the_next(hanging: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has half of the time, and that is over when it has not answered; the next one may be tried again."""
    hanging.answers(lambda received: HANG if received.protocol == "openai" else YES)
    asked = asking(hanging, "openai", "anthropic", seconds=100.0, request_timeout=3.0)
    clocked(monkeypatch, asked, then=60.0)
    answer = await asked.ask()
    assert [part.content for part in answer.parts if isinstance(part, TextPart)] == ["yes"]
    assert asked.told[:2] == ["asking openai", "asking anthropic"]
    assert asked.told.count("asking openai") == 1


async def test_a_server_that_is_not_there_is_charged_nothing(server: Provider) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{held.getsockname()[1]}/v1"
        asked = asking(server, "openai")
        entry = asked.agents.models["openai"].model_copy(update={"base_url": address})
        asked.agents = asked.agents.model_copy(update={"models": {"openai": entry}})
        with pytest.raises(ModelGone, match="openai: the connection failed"):
            await asked.ask()
    assert len(asked.slept) == TRIES - 1
    assert (asked.spent.micros, asked.spent.lost) == (0, 0)


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_nobody_is_led_elsewhere(server: Provider, protocol: Protocol) -> None:
    with providing() as elsewhere:
        elsewhere.plays(YES)
        path = "/v1/chat/completions" if protocol == "openai" else "/v1/messages"
        address = f"http://127.0.0.1:{elsewhere.port}{path}"
        server.plays(Turn(status=307, headers=(("Location", address),), raw="{}"))
        with pytest.raises(ModelGone):
            await asking(server, protocol).ask()
        assert elsewhere.received == []
