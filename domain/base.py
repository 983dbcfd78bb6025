"""The shapes every value in the domain has; it knows no value in particular."""

from __future__ import annotations

import hashlib
import json
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict


class Value(BaseModel):
    """A frozen value that knows its fields: an unknown field is an error, in an order as in a message."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Part(Value):
    """A part of an order: strict, so that 'yes' is no boolean and '60' no number."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    other_names: ClassVar[dict[str, str]] = {}
    """Further spellings of fields that a file may use."""


class Message(BaseModel):
    """A frozen value that crosses a process boundary: changes are additive, so an unknown field is skipped."""

    model_config = ConfigDict(frozen=True, extra="ignore")


def canonical_json(value: Any) -> bytes:
    """JSON with sorted keys and no spaces, UTF-8: equal values give equal bytes.

    Serves digests of our own values (strings, integers, lists, objects). The trail's rows, which strangers
    check, use RFC 8785 in `adapters/trail`.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def sha256_hex(data: bytes) -> str:
    """The lower-case hexadecimal SHA-256 of `data`: how everything in the evidence store is named."""
    return hashlib.sha256(data).hexdigest()
