"""What is disputed, so that both sides argue about it and a judge rules: the shape. What is, is `disputing`'s to say.

Source: DESIGN 4: the adversarial stage is a tiebreak, per disputed criterion.
"""

from __future__ import annotations

from typing import Literal

from domain.base import Message

Why = Literal["always", "subjective", "unsure", "contradicted", "disagreement"]
"""`always`: the order wants everything argued; `unsure`: the auditor says UNPROVED, or is not as sure as the order
wants it; `contradicted`: the claim says something else than was seen; `disagreement`: auditor and check differ."""


class Dispute(Message):
    """One criterion or check that is argued about, by its id, and why."""

    criterion: str
    why: tuple[Why, ...]
    required: bool
