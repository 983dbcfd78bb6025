"""One pass of a role as a report has it: how it ended, what it follows from, what it cost. What it says is elsewhere.

The auditor's passes have a shape of their own, `domain.audit_report`.
"""

from __future__ import annotations

from domain.audit_report import NEVER_ASKED, Usage, used
from domain.base import Message
from domain.roles.names import Role, Stage
from domain.roles.results import PassOutcome, PassResult, RefusedCall


class PassReport(Message):
    """One pass. `why`: in words, where nothing was answered. `scripted`: a file answered, and no model.

    `prompt`, `tools`, `policy` and `packet` are digests of what the answer follows from, beside `model`; `said` and
    `messages` name the blobs of the answer and of the conversation.
    """

    role: Role
    stage: Stage
    outcome: PassOutcome
    why: str
    model: str
    scripted: bool
    refused: tuple[RefusedCall, ...] = ()
    usage: Usage
    duration_ms: int
    prompt: str
    tools: str
    policy: str
    packet: str
    said: str
    messages: str


def asked(result: PassResult) -> bool:
    """Whether a model, or a file in its place, was asked at all."""
    return result.outcome not in NEVER_ASKED


def pass_of(role: Role, stage: Stage, result: PassResult) -> PassReport:
    """The line of one pass."""
    provenance = result.provenance
    return PassReport(
        role=role,
        stage=stage,
        outcome=result.outcome,
        why=result.why,
        model=provenance.model,
        scripted=provenance.scripted,
        refused=result.refused,
        usage=used((result.usage,)),
        duration_ms=int(result.seconds * 1000),
        prompt=provenance.prompt,
        tools=provenance.tools,
        policy=provenance.policy,
        packet=provenance.packet,
        said=result.said,
        messages=result.messages,
    )
