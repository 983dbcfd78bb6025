"""What models cost: own prices first, then the library's, and sums that are exact."""

from __future__ import annotations

import socket
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.roles.prices import dollars, micros, price_of, tokens_in
from domain.roles.agents import ModelEntry, Price


def entry(model: str, **more: object) -> ModelEntry:
    return ModelEntry.model_validate({"provider": "openai", "model": model, **more})


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a price is no reason to connect")

    monkeypatch.setattr(socket.socket, "connect", refuse)


def test_the_entry_s_own_price_is_first() -> None:
    own = Price(input=0.5, output=1.5)
    assert price_of(entry("gpt-4o", price=own)) == own


def test_the_library_knows_what_is_sold() -> None:
    assert price_of(entry("gpt-4o")) == Price(input=2.5, output=10)
    assert price_of(ModelEntry(provider="anthropic", model="claude-3-5-haiku-latest")) == Price(input=0.8, output=4)


def test_a_server_that_sells_it_has_its_own_price() -> None:
    there = price_of(entry("deepseek-chat", base_url="https://api.deepseek.com"))
    assert there is not None
    assert price_of(entry("deepseek-chat")) is None
    assert price_of(entry("gpt-4o", base_url="http://127.0.0.1:1/v1")) == price_of(entry("gpt-4o"))


def test_what_nobody_sells_has_no_price() -> None:
    assert price_of(entry("a-model-that-nobody-sells")) is None


def test_a_large_request_is_dearer_where_the_provider_says_so() -> None:
    model = ModelEntry(provider="anthropic", model="claude-sonnet-4-5")
    small, edge, large = (price_of(model, tokens) for tokens in (0, 200_000, 200_001))
    assert small == edge == Price(input=3, output=15)
    assert large == Price(input=6, output=22.5)


@pytest.mark.parametrize(
    ("price", "tokens", "cost"),
    [
        ((2.0, 10.0), (100, 20), 400),
        ((1.1, 0.0), (10, 0), 11),
        ((0.05, 0.4), (1, 1), 1),
        ((0.0, 0.0), (10**6, 10**6), 0),
        ((2.0, 10.0), (-1, -1), 0),
        ((1.0, 0.0), (10**30, 0), 10**9),
    ],
)
def test_tokens_come_to_millionths(price: tuple[float, float], tokens: tuple[int, int], cost: int) -> None:
    assert micros(Price(input=price[0], output=price[1]), *tokens) == cost


@given(st.integers(-(10**12), 10**12), st.integers(-(10**12), 10**12), st.floats(0, 1000), st.floats(0, 1000))
def test_no_request_earns_money_and_none_costs_less_than_its_tokens(
    into: int, out: int, price_in: float, price_out: float
) -> None:
    cost = micros(Price(input=price_in, output=price_out), into, out)
    counted = [min(max(tokens, 0), 10**9) for tokens in (into, out)]
    exact = counted[0] * Fraction(str(price_in)) + counted[1] * Fraction(str(price_out))
    assert exact <= cost < exact + 1


@pytest.mark.parametrize(("size", "tokens"), [(0, 0), (1, 1), (3, 1), (4, 2)])
def test_an_estimate_is_rounded_up(size: int, tokens: int) -> None:
    assert tokens_in(size) == tokens


@pytest.mark.parametrize(
    ("amount", "shown"), [(0, "$0.00"), (1, "$0.000001"), (42_100, "$0.0421"), (5_000_000, "$5.00"), (-1, "$-0.000001")]
)
def test_an_amount_is_shown_in_dollars(amount: int, shown: str) -> None:
    assert dollars(amount) == shown
