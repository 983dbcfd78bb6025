"""Large values as small text: canonical JSON without defaults, compressed, in base64. It reads what it wrote."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable
from typing import TypeVar

from domain.base import Message, canonical_json

M = TypeVar("M", bound=Message)

LEVEL = 6


def packed(value: Message | Iterable[Message]) -> str:
    """The text of a value, or of an array of them."""
    one = isinstance(value, Message)
    values = [value] if isinstance(value, Message) else list(value)
    plain = [each.model_dump(mode="json", exclude_defaults=True) for each in values]
    return base64.b64encode(zlib.compress(canonical_json(plain[0] if one else plain), LEVEL)).decode()


def unpacked(text: str, kind: type[M]) -> M:
    """The value. Raises `ValueError` for what is none."""
    return kind.model_validate_json(_json(text))


def unpacked_all(text: str, kind: type[M]) -> tuple[M, ...]:
    """The array. Raises `ValueError` for what is none."""
    return tuple(kind.model_validate(one) for one in json.loads(_json(text)))


def _json(text: str) -> bytes:
    return zlib.decompress(base64.b64decode(text))
