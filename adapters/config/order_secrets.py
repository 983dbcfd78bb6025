"""Refuses an order that holds a secret: it is stored, sent and shown, and masking it would change what it does."""

from __future__ import annotations

import os
from collections.abc import Iterator

from pydantic import JsonValue

from adapters.config.problems import Place, dotted
from adapters.config.yaml_document import Document
from adapters.masking.known import KNOWN, values_of
from adapters.masking.strength import why_unfit
from domain.errors import Problem
from domain.order import Order

_NAMES: Place = ("environment", "secrets")


def secrets_in(order: Order, document: Document, shown: str) -> list[Problem]:
    """Where the order holds the value of a secret, or names one that cannot be masked.

    It is asked for the secrets of the process, and its own, which are known from now on.
    """
    names = order.environment.secrets
    problems = [
        Problem(
            file=shown,
            line=document.line((*_NAMES, place)),
            field=dotted((*_NAMES, place)),
            what=f"{name} {what}",
            expected="expected one that can be masked",
        )
        for place, name in enumerate(names)
        if (what := why_unfit(name, os.environ.get(name, "")))
    ]
    KNOWN.learn(values_of(names))
    return problems + list(_held(order.model_dump(mode="json", by_alias=True), document, shown))


def _held(value: JsonValue, document: Document, shown: str) -> Iterator[Problem]:
    for place, text in _texts(value, ()):
        name = KNOWN.named_in(text)
        if name is not None:
            yield Problem(
                file=shown,
                line=document.line(place),
                field=KNOWN.text(dotted(place)),
                what=f"holds the value of the secret {name}",
                expected="expected none: an order is stored and shown",
            )


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
