"""An auditor's part of a round as it is recorded: a first look, a question, an opinion. No model is asked."""

from __future__ import annotations

from typing import Any

from domain.audit_report import Answers
from domain.roles.opinion import FirstLook, Opinion, Question
from domain.roles.results import (
    Answered,
    Assessed,
    AuditRecord,
    PassOutcome,
    PassResult,
    PassUsage,
    Provenance,
    RefusedCall,
    WantedTest,
)
from domain.verdict import Audit, AuditorOutcome

SEEN = "ev-0000000000000001"
LOOK, OPINION = "a" * 64, "b" * 64
USAGE = PassUsage(requests=2, remembered=1, input_tokens=1000, output_tokens=50, micros=1250)
ASKED = Question(question="How often did it run?", evidence_requested=["a log"], reason="it is not shown")


def assessment(criterion: str, word: str = "PASS", confidence: float = 0.9) -> dict[str, Any]:
    """One assessment, with a quote."""
    quotes = [] if word == "UNPROVED" else [{"evidence_id": SEEN, "quote": "exit code 0"}]
    return {
        **{"criterion": criterion, "assessment": word, "confidence": confidence},
        **{"reason": f"{criterion} is shown", "quotes": quotes},
    }


def first_look(*assessments: dict[str, Any]) -> FirstLook:
    """What the blind stage says."""
    return FirstLook.model_validate({"assessments": list(assessments), "suspicions": ["the diff is small"]})


def opinion(*assessments: dict[str, Any], verdict: str = "approved", confidence: float = 0.8) -> Opinion:
    """What the informed stage says: one thing that the worker claims is proved, another is not."""
    return Opinion.model_validate(
        {
            "verdict": verdict,
            "confidence": confidence,
            "reasons": [{"reason": "what was seen", "evidence_id": SEEN}],
            "required_actions": [{"action": "add a test", "priority": "low"}],
            "evidence_citations": [SEEN],
            "assessments": list(assessments),
            "claims": [
                {"claim": "it prints True", "proof": {"evidence_id": SEEN, "quote": "exit code 0"}},
                {"claim": "it is fast"},
            ],
        }
    )


def one_pass(outcome: PassOutcome = "answered", said: str = "", **more: Any) -> PassResult:
    """One pass of a model."""
    given: dict[str, Any] = {
        "usage": USAGE,
        "provenance": Provenance(model="openai:some", prompt="p", tools="t", policy="o", packet="k"),
        "messages": "c" * 64,
        "seconds": 1.5,
    }
    return PassResult.model_validate({"outcome": outcome, "said": said, **given, **more})


def audited(*assessments: dict[str, Any], verdict: str = "approved") -> tuple[AuditRecord, Answers]:
    """A whole audit: blind, a test that was asked for, a question that was answered, an opinion; and its answers."""
    word = opinion(*assessments, verdict=verdict)
    judged = Audit(
        outcome=AuditorOutcome(verdict),
        cited=True,
        feedback="what was seen",
        confidence=word.confidence,
        passed_subjective={each.criterion: each.confidence for each in word.assessments if each.assessment == "PASS"},
    )
    short = tuple(
        Assessed(criterion=each.criterion, assessment=each.assessment, confidence=each.confidence, evidence=SEEN)
        for each in word.assessments
    )
    refused = RefusedCall(tool="Write", arguments='{"path": "a"}', code="no_such_tool", reason="there is none")
    passes = (
        one_pass("wants_tests", tests=(WantedTest(call="1", item="tests"),), refused=(refused,)),
        one_pass(said=LOOK),
        one_pass("asks", question=ASKED),
        one_pass(said=OPINION, audit=judged, assessed=short),
    )
    dialogue = (Answered(round=1, question=ASKED, answer="twice", evidence=("ev-0000000000000002",)),)
    record = AuditRecord(passes=passes, dialogue=dialogue, audit=judged, seconds=6.0)
    return record, {LOOK: first_look(*assessments), OPINION: word}
