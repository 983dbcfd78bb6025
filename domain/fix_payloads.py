"""The payloads of a fix loop's rows. `event_kinds` has the table; source: seed `fix loop` 1 and 6."""

from __future__ import annotations

from typing import Literal

from domain.confidence import Confidence
from domain.event_payloads import Payload


class FixLoopStarted(Payload):
    """The loop of the round `attempt`; `loops` and `spent_usd` were used before it."""

    attempt: int
    domain: str
    confidence: Confidence
    loops: int
    max_loops: int
    spent_usd: float
    max_cost_usd: float


class FixIterationStarted(Payload):
    """The `loop`th repair of `of`, of the work of round `attempt`. `estimate_usd`: what it may cost."""

    loop: int
    of: int
    attempt: int
    estimate_usd: float
    spent_usd: float


class FixIterationCompleted(Payload):
    """What became of it. `attempt`: the round of its result, 0 where `why` says there was none.

    `feedback` and `patch` name blobs.
    """

    loop: int
    of: int
    answer: str
    edits: int
    refused: int
    paths: list[str]
    feedback: str
    patch: str
    attempt: int
    outcome: str
    confidence: Confidence | None
    cost_usd: float
    why: str


class PatchPlaced(Payload):
    """The patch, a blob, and what it changes. `reason`: why the workspace was left as it is, where it was."""

    patch: str
    paths: list[str]
    reason: str = ""


class FixLoopEnded(Payload):
    """How it ended. `loops` of `max_loops` are used; `last_verdict` is the last round's. `summary`: a blob."""

    ending: Literal["success", "success_with_notes", "escalated", "aborted"]
    trigger: str
    reason: str
    loops: int
    max_loops: int
    spent_usd: float
    last_verdict: str
    summary: str
