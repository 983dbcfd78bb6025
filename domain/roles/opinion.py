"""What the auditor may answer, field by field: the shape alone. Whether an answer holds up is `citations`' to say.

Source: seed `auditor` 3.3 (verdict schema) and 3.0.3 (follow-up), seed `authority` 4.4, DESIGN 4 "Vocabulary" and 8.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Confidence = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]
Text = Annotated[str, Field(min_length=1, max_length=4000)]
EvidenceId = Annotated[str, Field(min_length=1, max_length=200)]
Word = Literal["PASS", "FAIL", "UNPROVED"]

MOST = 100
"""Entries of any list of an answer."""


class Said(BaseModel):
    """A part of an answer: an unknown field is an error, which the model is told of."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Quote(Said):
    """Words of a piece of evidence, exactly as they stand there."""

    evidence_id: EvidenceId
    quote: Text


class Assessment(Said):
    """One criterion. PASS and FAIL need a quote; what cannot be shown either way is UNPROVED."""

    criterion: str
    assessment: Word
    confidence: Confidence
    reason: Text
    quotes: Annotated[list[Quote], Field(max_length=MOST)] = []


class FirstLook(Said):
    """What the blind pass comes to: the criteria as the observed facts show them, and what to look into."""

    assessments: Annotated[list[Assessment], Field(max_length=MOST)]
    suspicions: Annotated[list[Text], Field(max_length=MOST)] = []


class AtomicClaim(Said):
    """One thing that the worker says, and what proves it: null is "unproved"."""

    claim: Text
    proof: Quote | None = None


class GivenReason(Said):
    """Seed `auditor` 3.3 `reasons`."""

    reason: Text
    evidence_id: EvidenceId


class RequiredAction(Said):
    """Seed `auditor` 3.3 `required_actions`."""

    action: Text
    priority: Literal["high", "medium", "low"]


class Opinion(Said):
    """The auditor's verdict. Seed `auditor` 3.3, with `failed` (seed `authority` HARD_FAIL) beside its three."""

    verdict: Literal["approved", "changes_requested", "failed", "blocked"]
    confidence: Confidence
    reasons: Annotated[list[GivenReason], Field(max_length=MOST)]
    required_actions: Annotated[list[RequiredAction], Field(max_length=MOST)] = []
    evidence_citations: Annotated[list[EvidenceId], Field(max_length=MOST)]
    assessments: Annotated[list[Assessment], Field(max_length=MOST)]
    claims: Annotated[list[AtomicClaim], Field(max_length=MOST)] = []


class Question(Said):
    """A follow-up question to the worker: it names the evidence that it wants. Seed `auditor` 3.0.3."""

    question: Text
    evidence_requested: Annotated[list[Text], Field(min_length=1, max_length=10)]
    reason: Text
