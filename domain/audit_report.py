"""What a report says of the roles: each pass as it went, what it all came to, and what it cost.

Pure: it is given the record, and the answers that the record names. Source: CONTRACT "The report", seed `auditor` 3.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

from domain.base import Message
from domain.roles.opinion import Assessment, FirstLook, GivenReason, Opinion, Quote, RequiredAction, Said, Word
from domain.roles.results import Answered, AuditRecord, PassOutcome, PassResult, PassUsage, RefusedCall
from domain.roles.spending import MICROS
from domain.verdict import AuditorOutcome

UNPROVED: Literal["unproved"] = "unproved"
NEVER_ASKED: tuple[PassOutcome, ...] = ("not_configured",)
"""How a pass ends that asked no model; the report lists none of them."""

Answers = Mapping[str, FirstLook | Opinion]
"""What auditors answered, by the digest of its blob; those of other roles may stand beside them (`domain.answers`)."""


class Staged(NamedTuple):
    """A pass of the record, with where it stands: its stage, and its place in it from 0."""

    stage: Literal["blind", "informed"]
    part: int
    result: PassResult


class Usage(Message):
    """What the roles used. `cost_usd` is in US dollars; `requests` were sent, `remembered` had been answered before."""

    tokens: int = 0
    cost_usd: float = 0.0
    requests: int = 0
    remembered: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


class ClaimReport(Message):
    """One thing that the worker says, and the words that prove it."""

    claim: str
    proof: Quote | Literal["unproved"]


class FollowUpReport(Message):
    """A question to the worker; `answer` is null where nobody answered in time, `evidence` are ids of ours."""

    round: int
    question: str
    evidence_requested: tuple[str, ...]
    reason: str
    answer: str | None
    evidence: tuple[str, ...] = ()


class AuditReport(Message):
    """One pass of a role. `why`: in words, where nothing was answered. `scripted`: a file answered, and no model.

    `question`: what the pass ended with, where it asked the worker; `tests`: the checks that it asked to be run.
    `prompt`, `tools`, `policy` and `packet` are digests of what the answer follows from, beside `model`; `said` and
    `messages` name the blobs of the answer and of the conversation. What a stage does not say is empty or null.
    """

    role: Literal["auditor"] = "auditor"
    stage: Literal["blind", "informed"]
    part: int
    outcome: PassOutcome
    why: str
    model: str
    scripted: bool
    verdict: Literal["approved", "changes_requested", "failed", "blocked"] | None = None
    confidence: float | None = None
    assessments: tuple[Assessment, ...] = ()
    suspicions: tuple[str, ...] = ()
    claims: tuple[ClaimReport, ...] = ()
    reasons: tuple[GivenReason, ...] = ()
    required_actions: tuple[RequiredAction, ...] = ()
    evidence_citations: tuple[str, ...] = ()
    question: FollowUpReport | None = None
    tests: tuple[str, ...] = ()
    refused: tuple[RefusedCall, ...] = ()
    usage: Usage
    duration_ms: int
    prompt: str
    tools: str
    policy: str
    packet: str
    said: str
    messages: str


class AuditorReport(Message):
    """What the auditor's part came to, as `decide` was told. `text`: its word to the worker, or why there is none."""

    outcome: AuditorOutcome
    text: str
    model: str
    scripted: bool
    confidence: float | None
    duration_ms: int


class CriterionAudit(Message):
    """The auditor on one criterion, beside what the harness saw."""

    assessment: Word
    confidence: float
    reason: str
    quotes: tuple[Quote, ...]
    scripted: bool
    said: str


def in_stages(passes: Iterable[PassResult]) -> Iterator[Staged]:
    """The passes with their stages: all are blind up to the one that answers, all after it are informed."""
    stage: Literal["blind", "informed"] = "blind"
    part = 0
    for result in passes:
        yield Staged(stage, part, result)
        part += 1
        if stage == "blind" and result.outcome == "answered":
            stage, part = "informed", 0


def said_of(audit: AuditRecord | None) -> Iterator[tuple[str, type[FirstLook] | type[Opinion]]]:
    """The blobs of the answers, each with what it is."""
    for staged in in_stages(audit.passes if audit else ()):
        if staged.result.said:
            yield staged.result.said, FirstLook if staged.stage == "blind" else Opinion


def opinion_of(audit: AuditRecord | None, answers: Mapping[str, Said]) -> tuple[PassResult, Opinion] | None:
    """The pass that `decide` heard, and its answer; None where the auditor came to none."""
    for result in audit.passes if audit else ():
        answer = answers.get(result.said)
        if result.outcome == "answered" and isinstance(answer, Opinion):
            return result, answer
    return None


def audits_of(audit: AuditRecord | None, answers: Mapping[str, Said]) -> tuple[AuditReport, ...]:
    """Every pass that asked a model, in its order, with the answers of the worker beside the questions."""
    if audit is None:
        return ()
    dialogue = iter(audit.dialogue)
    staged = [each for each in in_stages(audit.passes) if each.result.outcome not in NEVER_ASKED]
    return tuple(_audit(each, answers.get(each.result.said), dialogue) for each in staged)


def auditor_of(audit: AuditRecord | None, answers: Mapping[str, Said]) -> AuditorReport | None:
    """What it all came to; None where nobody judged."""
    if audit is None or audit.audit is None:
        return None
    asked = [result for result in audit.passes if result.outcome not in NEVER_ASKED]
    heard = opinion_of(audit, answers)
    return AuditorReport(
        outcome=audit.audit.outcome,
        text=audit.audit.feedback,
        model=asked[-1].provenance.model if asked else "",
        scripted=scripted(audit),
        confidence=heard[1].confidence if heard else None,
        duration_ms=int(audit.seconds * 1000),
    )


def scripted(audit: AuditRecord | None) -> bool:
    """Whether a file answered in a model's place."""
    return audit is not None and any(result.provenance.scripted for result in audit.passes)


def criteria_of(audit: AuditRecord | None, answers: Mapping[str, Said]) -> dict[str, CriterionAudit]:
    """The auditor on each criterion, by its id, once it knew everything; the blind first look counts for none."""
    heard = opinion_of(audit, answers)
    if heard is None:
        return {}
    result, opinion = heard
    return {
        each.criterion: CriterionAudit(
            assessment=each.assessment,
            confidence=each.confidence,
            reason=each.reason,
            quotes=tuple(each.quotes),
            scripted=result.provenance.scripted,
            said=result.said,
        )
        for each in opinion.assessments
    }


def used(usage: Iterable[PassUsage]) -> Usage:
    """The sum over passes."""
    listed = list(usage)
    came_in, went_out = sum(each.input_tokens for each in listed), sum(each.output_tokens for each in listed)
    return Usage(
        tokens=came_in + went_out,
        cost_usd=sum(each.micros for each in listed) / MICROS,
        requests=sum(each.requests for each in listed),
        remembered=sum(each.remembered for each in listed),
        input_tokens=came_in,
        output_tokens=went_out,
    )


def summed(usages: Iterable[Usage]) -> Usage:
    """The sum of what some roles used, in whole millionths of a dollar."""
    listed = list(usages)
    fields = {name: sum(getattr(each, name) for each in listed) for name in Usage.model_fields if name != "cost_usd"}
    return Usage(**fields, cost_usd=sum(round(each.cost_usd * MICROS) for each in listed) / MICROS)


def _audit(staged: Staged, answer: Said | None, dialogue: Iterator[Answered]) -> AuditReport:
    result, provenance = staged.result, staged.result.provenance
    question = _follow_up(result, next(dialogue, None)) if result.outcome == "asks" else None
    report = AuditReport(
        stage=staged.stage,
        part=staged.part,
        outcome=result.outcome,
        why=result.why,
        model=provenance.model,
        scripted=provenance.scripted,
        question=question,
        tests=tuple(test.item for test in result.tests),
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
    return report.model_copy(update=_told(answer)) if answer else report


def _told(answer: Said) -> dict[str, object]:
    """The fields of a pass's report that its answer fills."""
    if isinstance(answer, FirstLook):
        return {"assessments": tuple(answer.assessments), "suspicions": tuple(answer.suspicions)}
    if not isinstance(answer, Opinion):
        return {}
    return {
        "verdict": answer.verdict,
        "confidence": answer.confidence,
        "assessments": tuple(answer.assessments),
        "claims": tuple(ClaimReport(claim=each.claim, proof=each.proof or UNPROVED) for each in answer.claims),
        "reasons": tuple(answer.reasons),
        "required_actions": tuple(answer.required_actions),
        "evidence_citations": tuple(answer.evidence_citations),
    }


def _follow_up(result: PassResult, answered: Answered | None) -> FollowUpReport | None:
    question = result.question or (answered.question if answered else None)
    if question is None:
        return None
    return FollowUpReport(
        round=answered.round if answered else 0,
        question=question.question,
        evidence_requested=tuple(question.evidence_requested),
        reason=question.reason,
        answer=answered.answer if answered else None,
        evidence=answered.evidence if answered else (),
    )
