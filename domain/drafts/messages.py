"""What drafting asks of its activities, and what is remembered of a draft from one attempt to the next."""

from __future__ import annotations

from domain.base import Message, canonical_json, sha256_hex
from domain.drafts.record import DraftRecord
from domain.order import Order
from domain.roles.designed import DraftedCheck, Specification


def draft_key(order: Order, base: str) -> str:
    """What a draft follows from: the order and the base, a tree's digest. Neither the attempt nor the model is in it.

    The next attempt of the same order is so checked by the same checks, whoever would draft others by then.
    """
    return sha256_hex(canonical_json(["draft", order.digest, base]))


class DraftAsked(Message):
    """The key of a draft."""

    key: str


class DraftFound(Message):
    """What is there: the digest of an empty tree, the draft of an earlier attempt, or its specification alone."""

    empty: str
    specification: Specification | None = None
    record: DraftRecord | None = None


class DraftKept(Message):
    """What is to be remembered under `key`. `record`: only of a draft that was made to its end."""

    key: str
    specification: Specification
    checks: tuple[DraftedCheck, ...] = ()
    record: DraftRecord | None = None


class DraftStored(Message):
    """The blobs of a specification and of its checks."""

    specification: str
    checks: str
