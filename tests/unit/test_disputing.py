"""What is disputed: by the order's word, the auditor's doubts, the claim and the checks; every reason that applies."""

from __future__ import annotations

from typing import Any

import pytest

from domain.base import canonical_json
from domain.checks import CheckResult, Outcome, items_of
from domain.order import Order
from domain.roles.disputing import assessed_of, disputes_of
from domain.roles.results import Assessed, AuditRecord, PassResult
from domain.verdict import Audit, AuditorOutcome


def order(**verification: Any) -> Order:
    criteria = [
        {"id": "AC-2", "type": "file_exists", "params": {"path": "a"}},
        {"id": "AC-1", "type": "subjective", "description": "reads well", "required": False},
        {"id": "AC-4", "type": "file_exists", "params": {"path": "b"}},
    ]
    checks = [{"name": "tests", "command": "run"}, {"name": "lint", "command": "run", "required": False}]
    given = {"content": "x", "acceptance_criteria": criteria, "verification": {"checks": checks, **verification}}
    return Order.model_validate_json(canonical_json(given))


def results(**outcomes: Outcome) -> tuple[CheckResult, ...]:
    return tuple(
        CheckResult(
            id=item.id,
            spelling=item.spelling,
            type=item.criterion.type,
            outcome=outcomes.get(item.id.replace("-", "_"), Outcome.PASSED),
            code="c",
        )
        for item in items_of(order())
    )


def audit(outcome: AuditorOutcome = AuditorOutcome.APPROVED, **words: tuple[Any, float]) -> AuditRecord:
    said = {"AC_2": ("PASS", 0.9), "AC_1": ("PASS", 0.9), "AC_4": ("PASS", 0.9), **words}
    assessed = tuple(
        Assessed(criterion=id.replace("_", "-"), assessment=word, confidence=confidence)
        for id, (word, confidence) in said.items()
    )
    unsure = tuple(one.model_copy(update={"assessment": "UNPROVED"}) for one in assessed)
    blind = PassResult(outcome="answered", assessed=unsure)
    word = Audit(outcome=outcome, cited=True)
    return AuditRecord(passes=(blind, PassResult(outcome="answered", audit=word, assessed=assessed)), audit=word)


def named(*args: Any, contradicted: tuple[str, ...] = (), **verification: Any) -> dict[str, tuple[str, ...]]:
    found = disputes_of(order(**verification), args[0], contradicted, args[1])
    return {dispute.criterion: dispute.why for dispute in found}


def test_what_only_a_judge_can_tell_is_always_argued_and_the_rest_where_nobody_doubts_it_is_not() -> None:
    (dispute,) = disputes_of(order(), results(), (), audit())
    assert (dispute.criterion, dispute.why, dispute.required) == ("AC-1", ("subjective",), False)


@pytest.mark.parametrize(
    ("words", "outcomes", "contradicted", "why"),
    [
        ({"AC_4": ("PASS", 0.69)}, {}, (), ("unsure",)),
        ({"AC_4": ("PASS", 0.7)}, {}, (), None),
        ({"AC_4": ("UNPROVED", 0.9)}, {}, (), ("unsure",)),
        ({}, {}, ("AC-4", ""), ("contradicted",)),
        ({"AC_4": ("FAIL", 0.9)}, {}, (), ("disagreement",)),
        ({}, {"AC_4": Outcome.FAILED}, (), ("disagreement",)),
        ({"AC_4": ("FAIL", 0.9)}, {"AC_4": Outcome.FAILED}, (), None),
        ({}, {"AC_4": Outcome.COULD_NOT_RUN}, (), None),
        ({"AC_4": ("FAIL", 0.2)}, {}, ("AC-4",), ("unsure", "contradicted", "disagreement")),
    ],
)
def test_why_a_criterion_is_disputed(
    words: Any, outcomes: Any, contradicted: tuple[str, ...], why: tuple[str, ...] | None
) -> None:
    found = named(results(**outcomes), audit(**words), contradicted=contradicted)
    assert found.get("AC-4") == why
    assert list(found) == ["AC-1", *(["AC-4"] if why else [])], "in the order of the order"


def test_a_check_is_disputed_where_the_claim_says_something_else() -> None:
    assert named(results(), audit(), contradicted=("lint",)) == {"AC-1": ("subjective",), "lint": ("contradicted",)}


def test_always_is_everything_with_every_reason() -> None:
    found = named(results(), audit(AC_2=("UNPROVED", 0.1)), contradicted=("tests",), adversarial="always")
    assert list(found.items()) == [
        ("AC-2", ("always", "unsure")),
        ("AC-1", ("always", "subjective")),
        ("AC-4", ("always",)),
        ("tests", ("always", "contradicted")),
        ("lint", ("always",)),
    ]


@pytest.mark.parametrize(
    "verification", [{"adversarial": "never"}, {"objective_only": True}, {"auditor": {"enabled": False}}]
)
def test_nothing_is_where_the_order_asks_nobody(verification: Any) -> None:
    assert named(results(), audit(AC_2=("UNPROVED", 0.1)), **verification) == {}
    always = {"adversarial": "always", **verification}
    assert named(results(), audit(), **always) == {}


@pytest.mark.parametrize("mode", ["auto", "always"])
@pytest.mark.parametrize("outcome", [*AuditorOutcome])
def test_an_auditor_without_a_word_leaves_no_tie_to_break(mode: str, outcome: AuditorOutcome) -> None:
    words = {"approved", "changes_requested", "failed", "blocked"}
    assert bool(named(results(), audit(outcome), adversarial=mode)) == (outcome.value in words)


def test_without_a_model_for_the_auditor_only_always_argues() -> None:
    assert named(results(), None, adversarial="always") == {}, "a round in which nobody was to be asked"
    unconfigured = AuditRecord(passes=(PassResult(outcome="not_configured"),))
    assert named(results(), unconfigured) == {}
    assert len(named(results(), unconfigured, adversarial="always")) == 5


def test_the_last_word_of_the_auditor_counts_and_no_blind_look() -> None:
    assert {one.assessment for one in assessed_of(audit())} == {"PASS"}
    assert assessed_of(AuditRecord(passes=audit().passes[:1])) == ()
