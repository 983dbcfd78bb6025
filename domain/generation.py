"""Makes the cases that strategies describe: small edge values first, then random ones. Pure: a seed gives the same.

Source: DESIGN 8 "Out of process". What is done with the cases is the checkers'.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from domain.base import canonical_json, sha256_hex
from domain.strategies import Inputs, Integers, Lists, Numbers, Strategy, Texts

TRIES = 20
"""For each case that is wanted: then there are no more different ones, or too few to look for."""

EDGE_SHARE = 0.2
MAX_EDGES = 12
_WIDE = 1000


@dataclass(frozen=True)
class Case:
    """The arguments of one call: plain data."""

    args: list[Any] = field(default_factory=list)
    kwargs: dict[str, Any] = field(default_factory=dict)


def derived_seed(tree: str, item: str, order_files: str) -> int:
    """A seed that is there only once the tree is frozen, and the same for the same tree, item and files of the order.

    `tree` and `order_files` are digests. Whoever cannot read the order's files cannot try trees until one suits.
    """
    return int(sha256_hex(canonical_json(["cases", tree, item, order_files]))[:8], 16)


def cases(inputs: Inputs, seed: int) -> tuple[Case, ...]:
    """At most `inputs.count` different cases: first those in which every argument is an edge value."""
    rng = random.Random(seed)  # noqa: S311 - chooses test cases, and a seed has to bring them back
    strategies = [*inputs.args, *inputs.kwargs.values()]
    found: dict[str, list[Any]] = {}
    columns = [edges(strategy) for strategy in strategies]
    for values in itertools.chain(_rows(columns), _random(strategies, columns, rng, TRIES * inputs.count)):
        found.setdefault(json.dumps(values, sort_keys=True), values)
        if len(found) == inputs.count:
            break
    split = len(inputs.args)
    return tuple(
        Case(values[:split], dict(zip(inputs.kwargs, values[split:], strict=True))) for values in found.values()
    )


def _rows(columns: Sequence[list[Any]]) -> Iterator[list[Any]]:
    """Rows that have each value of every column at least once; a short column begins again."""
    for row in range(max(map(len, columns), default=1)):
        yield [column[row % len(column)] for column in columns]


def _random(
    strategies: Sequence[Strategy], columns: Sequence[list[Any]], rng: random.Random, tries: int
) -> Iterator[list[Any]]:
    """Random values, and some edges among them: so that each edge meets what the others did not have beside it."""
    for _ in range(tries):
        yield [
            rng.choice(column) if rng.random() < EDGE_SHARE else value(strategy, rng)
            for strategy, column in zip(strategies, columns, strict=True)
        ]


def edges(strategy: Strategy) -> list[Any]:
    """The values where mistakes hide, inside the strategy's bounds, at most `MAX_EDGES`, never none."""
    match strategy:
        case Strategy(integer=Integers(min=low, max=high)):
            return _within(low, high, [low, high, 0, 1, -1, low + 1, high - 1])
        case Strategy(number=Numbers(min=low, max=high)):
            return _within(low, high, [low + 0.0, high + 0.0, 0.0, 1.0, -1.0])  # no negative zero: it equals zero
        case Strategy(boolean=bool_) if bool_ is not None:
            return [False, True]
        case Strategy(text=Texts(alphabet=alphabet, min_length=least, max_length=most)):
            return _texts(alphabet, least, most)
        case Strategy(one_of=[*values]):
            return values[:MAX_EDGES]
        case Strategy(list_=Lists() as lists):
            return _lists(lists)
        case Strategy(object_=dict(members)):
            return [dict(zip(members, row, strict=True)) for row in _rows([edges(m) for m in members.values()])]
    return [strategy.value]


def _within(low: Any, high: Any, candidates: list[Any]) -> list[Any]:
    return list(dict.fromkeys(candidate for candidate in candidates if low <= candidate <= high))


def _texts(alphabet: str, least: int, most: int) -> list[Any]:
    lengths = dict.fromkeys(length for length in (least, 1, most) if least <= length <= most)
    return [(alphabet * (length // len(alphabet) + 1))[:length] for length in lengths]


def _lists(lists: Lists) -> list[Any]:
    elements = edges(lists.of)
    found = [[elements[0]] * lists.min_length]
    if lists.min_length <= 1 <= lists.max_length:
        found += [[element] for element in elements]
    found.append([elements[n % len(elements)] for n in range(lists.max_length)])
    return list({json.dumps(found_one, sort_keys=True): found_one for found_one in found}.values())[:MAX_EDGES]


def value(strategy: Strategy, rng: random.Random) -> Any:
    """A random value: numbers of every magnitude, texts and lists of every length."""
    match strategy:
        case Strategy(integer=Integers(min=low, max=high)):
            return _integer(low, high, rng)
        case Strategy(number=Numbers(min=low, max=high)):
            return _number(low, high, rng)
        case Strategy(boolean=bool_) if bool_ is not None:
            return rng.random() < 0.5
        case Strategy(text=Texts(alphabet=alphabet, min_length=least, max_length=most)):
            return "".join(rng.choice(alphabet) for _ in range(rng.randint(least, most)))
        case Strategy(one_of=[*values]):
            return rng.choice(values)
        case Strategy(list_=Lists(of=element, min_length=least, max_length=most)):
            return [value(element, rng) for _ in range(rng.randint(least, most))]
        case Strategy(object_=dict(members)):
            return {name: value(member, rng) for name, member in members.items()}
    return strategy.value


def _integer(low: int, high: int, rng: random.Random) -> int:
    """Half of them near the value that is closest to zero: chosen evenly, nearly all of a wide range are large."""
    if high - low < _WIDE or rng.random() < 0.5:
        return rng.randint(low, high)
    middle = min(max(0, low), high)
    reach = 1 << rng.randint(1, (high - low).bit_length())
    return rng.randint(max(low, middle - reach), min(high, middle + reach))


def _number(low: float, high: float, rng: random.Random) -> float:
    """Half of them are rounded to hundredths, as people write numbers."""
    share = rng.random()
    found = low * (1 - share) + high * share
    rounded = round(found, 2)
    found = rounded if rng.random() < 0.5 and low <= rounded <= high else found
    return min(max(found, low), high) + 0.0
