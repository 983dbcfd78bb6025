"""Refuses an order that holds a secret: it is stored, sent and shown, and masking it would change what it does."""

from __future__ import annotations

import os
from collections.abc import Iterator

from pydantic import JsonValue

from adapters.config.problems import Place, Source
from adapters.masking.known import KNOWN, values_of
from adapters.masking.strength import why_unfit
from domain.errors import Problem
from domain.order import Order

_NAMES: Place = ("environment", "secrets")


def secrets_in(order: Order, document: Source) -> list[Problem]:
    """Where the order holds the value of a secret, or names one that cannot be masked.

    It is asked for the secrets of the process, and its own, which are known from now on.
    """
    problems = learn_names(order, document)
    return problems + list(held(order.model_dump(mode="json", by_alias=True), document, "an order"))


def learn_names(order: Order, document: Source) -> list[Problem]:
    """The secrets that the order names are known from now on; those that cannot be masked are told of."""
    names = order.environment.secrets
    problems = [
        document.problem((*_NAMES, place), f"{name} {what}", "expected one that can be masked")
        for place, name in enumerate(names)
        if (what := why_unfit(name, os.environ.get(name, "")))
    ]
    KNOWN.learn(values_of(names))
    return problems


def held(value: JsonValue, document: Source, what: str) -> Iterator[Problem]:
    """Where `value`, the content of `document`, holds a secret that this process knows; `what` names such a file."""
    for place, text in _texts(value, ()):
        name = KNOWN.named_in(text)
        if name is not None:
            said = f"holds the value of the secret {name}"
            found = document.problem(place, said, f"expected none: {what} is stored and shown")
            yield found.model_copy(update={"field": KNOWN.text(found.field)})


def _texts(value: JsonValue, place: Place) -> Iterator[tuple[Place, str]]:
    """Every text, number and name of a field, and where it is."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield (*place, key), key
            yield from _texts(item, (*place, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _texts(item, (*place, index))
    elif value is not None and not isinstance(value, bool):
        yield place, str(value)
