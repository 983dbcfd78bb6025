"""Evidence that a worker brought, as the harness names it. What it says is in its blob. Source: DESIGN 3 "Claims"."""

from __future__ import annotations

from domain.base import Message


class MintedEvidence(Message):
    """Evidence that a worker brought, under the id that the harness gave it. `digest` names its blob.

    `news` is the SHA-256 of what it says, without what is different each time: what monotonicity compares.
    """

    id: str
    label: str
    type: str
    digest: str
    news: str
