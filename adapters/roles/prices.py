"""What models cost: the price of a configured one, and the money that tokens come to. Nothing is downloaded.

Discounts (cached input, batches) are left out: a cap may stop early, never late.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from domain.roles.agents import ModelEntry, Price
from domain.roles.spending import MICROS

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, TieredPrices

FREE = Price(input=0.0, output=0.0)
"""Of a script."""

BYTES_A_TOKEN = 3
"""Text in English, or code, has about four bytes a token: an estimate is rather too high."""

MOST_TOKENS = 10**9
"""What a provider says beyond that of one request is no number to calculate with."""


def price_of(entry: ModelEntry, input_tokens: int = 0) -> Price | None:
    """What a request of so many tokens costs now: the entry's own price, else as the library of prices has it.

    None where that knows no such model, neither at the server's address nor of the provider whose protocol it speaks.
    """
    if entry.price is not None:
        return entry.price
    from genai_prices.data_snapshot import get_snapshot  # noqa: PLC0415 - its data are for those who have a model

    for provider, address in ((None, entry.base_url), (entry.provider, None)):
        if provider or address:
            try:
                _, found = get_snapshot().find_provider_model(entry.model, None, provider, address)
            except LookupError:
                continue
            return _now(found, input_tokens)
    return None


def _now(found: ModelInfo, input_tokens: int) -> Price | None:
    prices = found.get_prices(datetime.now(UTC))
    into, out = (getattr(prices, name, None) for name in ("input_mtok", "output_mtok"))
    if into is None or out is None:
        return None
    return Price(input=float(_of_tier(into, input_tokens)), output=float(_of_tier(out, input_tokens)))


def _of_tier(price: Decimal | TieredPrices, input_tokens: int) -> Decimal:
    """Providers charge all tokens of a request by the tier that its input is in."""
    if isinstance(price, Decimal):
        return price
    reached = [tier.price for tier in price.tiers if input_tokens > tier.start]
    return reached[-1] if reached else price.base


def micros(price: Price, input_tokens: int, output_tokens: int) -> int:
    """What the tokens cost, in millionths of a dollar, rounded up. Never negative, whatever a provider says it used."""
    into, out = (min(max(count, 0), MOST_TOKENS) for count in (input_tokens, output_tokens))
    # Dollars a million tokens are millionths of a dollar a token.
    return math.ceil(into * Fraction(str(price.input)) + out * Fraction(str(price.output)))


def tokens_in(size: int) -> int:
    """About how many tokens so many bytes are, rounded up."""
    return math.ceil(size / BYTES_A_TOKEN)


def dollars(amount: int) -> str:
    """An amount in millionths as a person reads it: `$0.0421`."""
    text = f"{Decimal(amount) / MICROS:.6f}".rstrip("0")
    whole, _, cents = text.partition(".")
    return f"${whole}.{cents:0<2}"
