"""The adversarial stage and the drafting of a round as they are recorded, by hand. No model is asked."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from domain.answers import Words
from domain.criteria import Criterion
from domain.drafts.record import DraftRecord, Rejected
from domain.roles.argued import Case, Judgement
from domain.roles.designed import Specification, TestPlan
from domain.roles.disputes import Dispute
from domain.roles.names import Side
from domain.roles.opinion import Said
from domain.roles.results import DisputeRecord, Hearing, PassResult, Provenance
from domain.verdict import Ruled, Tiebreak, TiebreakOutcome
from tests.fakes.audits import SEEN, one_pass

FOR, AGAINST, FIRST, SECOND, DESIGN, PLAN = (letter * 64 for letter in "de0123")
QUOTES = [{"evidence_id": SEEN, "quote": "ValueError: Input must be positive"}]
SCRIPT = Provenance(model="script:roles.yaml", scripted=True)


def case(side: Side, *criteria: str) -> Case:
    """What one side argues of each of these."""
    word = "met" if side == "advocate" else "not met"
    return Case.model_validate(
        {
            "arguments": [
                {
                    "criterion": criterion,
                    "argument": f"{criterion} is {word}",
                    "objections": f"{side}: they may say otherwise",
                    "quotes": QUOTES,
                }
                for criterion in criteria
            ]
        }
    )


def ruling(criterion: str, verdict: str = "FAIL", confidence: float = 0.9, **more: Any) -> dict[str, Any]:
    """One ruling, with a quote."""
    reasoning = f"{criterion}: different is not more"
    given = {"criterion": criterion, "verdict": verdict, "confidence": confidence}
    return {**given, "reasoning": reasoning, "quotes": QUOTES, **more}


def heard(first: Side, said: str, *rulings: dict[str, Any]) -> tuple[Hearing, Judgement]:
    """One hearing and the judge's whole answer in it; the record has the reasoning cut."""
    answer = Judgement.model_validate({"rulings": list(rulings)})
    short = tuple(
        Ruled(
            criterion=each.criterion,
            verdict=each.verdict,
            confidence=each.confidence,
            reasoning=each.reasoning[:1000],
            evidence=(SEEN,),
        )
        for each in answer.rulings
    )
    return Hearing(first=first, result=one_pass(said=said, rulings=short)), answer


def disputed(
    *rulings: dict[str, Any], again: tuple[dict[str, Any], ...] = (), **more: Any
) -> tuple[DisputeRecord, Words]:
    """A whole stage with its answers: both sides, one hearing, and a second one where `again` says what came of it."""
    ids = [each["criterion"] for each in rulings]
    hearings = [heard("critic", FIRST, *rulings)]
    if again:
        hearings.append(heard("advocate", SECOND, *again))
    flipped = [a["criterion"] for a, b in zip(rulings, again, strict=bool(again)) if a["verdict"] != b["verdict"]]
    settled = tuple(each["criterion"] for each in rulings if again and each["confidence"] < 0.7)
    judged = Tiebreak(outcome=TiebreakOutcome.JUDGED, rulings=hearings[0][0].result.rulings, settled=settled)
    said_both = {"outcome": TiebreakOutcome.INCONCLUSIVE, "feedback": "the judge was not sure, and said both"}
    lost = judged.model_copy(update=said_both)
    fields: dict[str, Any] = {
        "disputes": tuple(Dispute(criterion=id, why=("unsure", "disagreement"), required=True) for id in ids),
        "advocate": one_pass(said=FOR),
        "critic": one_pass(said=AGAINST),
        "hearings": tuple(hearing for hearing, _ in hearings),
        "tiebreak": lost if flipped else judged,
        "seconds": 4.0,
    }
    words: dict[str, Said] = {FOR: case("advocate", *ids), AGAINST: case("critic", *ids)}
    for hearing, answer in hearings:
        words[hearing.result.said] = answer
    return DisputeRecord(**{**fields, **more}), words


CRITERIA: TypeAdapter[Criterion] = TypeAdapter(Criterion)
CHECK = {"id": "AC-2", "type": "command_exit_zero", "params": {"command": "python -m solution 7"}}
SPECIFICATION = Specification.model_validate(
    {
        "summary": "A checker of primes",
        "requirements": [
            {"id": "R1", "text": "returns True for a prime"},
            {"id": "R2", "text": "is readable"},
            {"id": "R3", "text": "keeps its command", "new": False},
        ],
        "edge_cases": ["0 and 1", "negative numbers"],
        "criteria": [
            {"id": "AC-1", "text": "7 is prime", "requirements": ["R1"]},
            {"id": "AC-2", "text": "the code reads well", "requirements": ["R2"], "testable": False},
        ],
    }
)
TESTS = TestPlan.model_validate(
    {
        "checks": [{**CHECK, "id": "AC-1"}],
        "untestable": [{"criterion": "AC-2", "reason": "a matter of taste"}],
    }
)
JOINED = tuple(
    CRITERIA.validate_python(fields)
    for fields in (
        {**CHECK, "description": "7 is prime"},
        {"id": "AC-3", "type": "subjective", "description": "the code reads well"},
    )
)
VACUOUS = Rejected(criterion="AC-4", check="true", code="vacuous", reason="passes on an empty tree")
FLAKY = Rejected(criterion="AC-5", check="echo $RANDOM", code="flaky", reason="three runs, three outputs")


def drafted(**more: Any) -> tuple[DraftRecord, Words]:
    """A whole drafting: ids that the order has already are not taken again, one check was mended, one was dropped."""
    passes: tuple[PassResult, ...] = (
        one_pass(said=DESIGN, specification=SPECIFICATION),
        one_pass(said=PLAN, plan=TESTS),
    )
    fields: dict[str, Any] = {
        "passes": passes,
        "specification": DESIGN,
        "summary": "A checker of primes",
        "criteria": JOINED,
        "returned": (FLAKY,),
        "dropped": (VACUOUS,),
        "uncovered": ("R3",),
        "seconds": 3.0,
    }
    return DraftRecord(**{**fields, **more}), {DESIGN: SPECIFICATION, PLAN: TESTS}
