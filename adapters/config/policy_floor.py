"""Holds an order against the project's policy floor; refuses what asks for less, at the line that does.

What is below a floor is `domain.policy_floor`'s to say; what it raises is a layer of `defaults`.
"""

from __future__ import annotations

from pydantic import JsonValue

from adapters.config.problems import Source, given
from domain.errors import Problem
from domain.order import Order
from domain.policy_floor import PolicyFloor, Shortfall, longest_session, negations, shortfalls


def protecting(floor: PolicyFloor, data: JsonValue) -> JsonValue:
    """What an order says, with the patterns of `floor` protected; what is no order yet is left as it is."""
    if not floor.protect or not isinstance(data, dict) or not isinstance(scope := data.get("scope", {}), dict):
        return data
    found = dict(scope)
    protect, unprotect = scope.get("protect", []), scope.get("unprotect", [])
    if isinstance(protect, list):
        found["protect"] = [*protect, *(pattern for pattern in floor.protect if pattern not in protect)]
    last = negations(floor)
    if isinstance(unprotect, list) and unprotect and tuple(unprotect[-len(last) :]) != last:
        found["unprotect"] = [*unprotect, *last]
    return {**data, "scope": found}


def problems_below(floor: PolicyFloor, order: Order, source: Source) -> list[Problem]:
    """Where `order`, written in `source`, asks for less than `floor`."""
    return [_problem(shortfall, source) for shortfall in shortfalls(floor, order)]


def problem_of_session(floor: PolicyFloor, timeout: float, source: Source) -> list[Problem]:
    """Where a session asks for more time, in seconds, than `floor` gives it."""
    found = longest_session(floor, timeout)
    return [_problem(found, source)] if found else []


def _problem(shortfall: Shortfall, source: Source) -> Problem:
    value = shortfall.value if isinstance(shortfall.value, str) else given(shortfall.value)
    return source.problem(shortfall.place, value, f"the project's policy floor asks for {shortfall.asked}")
