"""Which criteria are disputed, so that both sides argue about them and a judge rules. Pure.

Source: DESIGN 4: the adversarial stage is a tiebreak, per disputed criterion.
"""

from __future__ import annotations

from typing import Literal

from domain.base import Message

Why = Literal["always", "subjective", "unsure", "contradicted", "disagreement"]
"""`always`: the order wants every criterion argued; `unsure`: the auditor's confidence is below the threshold;
`contradicted`: the claim says something else than was seen; `disagreement`: the auditor and the check differ."""


class Dispute(Message):
    """One criterion or check that is argued about, by its id, and why."""

    criterion: str
    why: tuple[Why, ...]
    required: bool
