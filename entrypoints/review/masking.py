"""Masks what goes to the screen: it is drawn past the streams that mask everything else that a command prints."""

from __future__ import annotations

from typing import TypeVar

from adapters.masking.known import KNOWN
from domain.base import Message

M = TypeVar("M", bound=Message)


def masked(message: M) -> M:
    """The same with the secrets masked that this process knows."""
    if not KNOWN:
        return message
    return type(message).model_validate(KNOWN.value(message.model_dump(mode="json")))
