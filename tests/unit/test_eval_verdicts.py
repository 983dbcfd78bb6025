"""What a verdict takes from a report: of the parts that are there, and nothing of those that are not."""

from __future__ import annotations

from typing import Any

import pytest

from domain.decision import RoundOutcome
from domain.evaluation.verdicts import Hearings, Item, LabelledClaim, told_by, verdict_of
from domain.report import build
from tests.unit.test_report import SCOPE, record

CLAIM = LabelledClaim(id="c", stratum="s", valid=True, order="order.yaml")
HEARD = {"order": ["critic", "advocate"], "rulings": [{"criterion": "AC-1", "verdict": "PASS"}]}
ID = "ev-0123456789abcdef"


def document(**parts: Any) -> dict[str, Any]:
    """A report as JSON, with further parts."""
    return build(record(), {}, SCOPE, None).model_dump(mode="json") | parts


def test_it_says_what_the_report_says() -> None:
    found = verdict_of(CLAIM, build(record(), {}, SCOPE, None), stored=True)
    assert (found.claim, found.outcome, found.trigger) == (CLAIM, RoundOutcome.CHANGES_REQUESTED, "t")
    assert (found.todo, found.attempt, found.stored, found.seconds) == ("wo-1", 2, True, 1.5)
    assert found.items == (
        Item(id="AC-1", kind="command_output", passed=True),
        Item(id="tests", passed=False),
        Item(id="lint", passed=None),
    )
    assert (found.hearings, found.arguments, found.requirements) == (None, (), None)
    assert (found.scripted, found.cost_usd) == (False, None)


@pytest.mark.parametrize(
    ("outcome", "verified", "decided", "untold"),
    [
        (RoundOutcome.VERIFIED, True, True, False),
        (RoundOutcome.CHANGES_REQUESTED, False, True, False),
        (RoundOutcome.FAILED, False, True, False),
        (RoundOutcome.NEEDS_HUMAN, False, False, False),
        (RoundOutcome.INCONCLUSIVE, False, False, True),
    ],
)
def test_each_outcome_is_one_of_four_things(outcome: RoundOutcome, verified: bool, decided: bool, untold: bool) -> None:
    found = told_by(CLAIM, document(outcome=outcome.value))
    assert (found.verified, found.decided, found.untold) == (verified, decided, untold)


@pytest.mark.parametrize(
    ("judgement", "expected"),
    [
        (None, None),
        ({"hearings": [], "flipped": []}, None),
        ({"hearings": [{"rulings": []}], "flipped": []}, None),
        ({"hearings": [HEARD], "flipped": []}, Hearings(twice=False, changed=False)),
        ({"hearings": [HEARD, {"rulings": []}], "flipped": []}, Hearings(twice=False, changed=False)),
        ({"hearings": [HEARD, HEARD], "flipped": []}, Hearings(twice=True, changed=False)),
        ({"hearings": [HEARD, HEARD], "flipped": ["AC-1"]}, Hearings(twice=True, changed=True)),
    ],
)
def test_hearings_are_those_of_the_judgement(judgement: Any, expected: Hearings | None) -> None:
    assert told_by(CLAIM, document(judgement=judgement)).hearings == expected


@pytest.mark.parametrize(
    ("ids", "cites"), [([ID], True), ([ID, ID], True), ([], False), (["made-up"], False), ([ID, "made-up"], False)]
)
def test_an_argument_has_evidence_where_all_that_it_quotes_is_minted(ids: list[str], cites: bool) -> None:
    argument = {"side": "critic", "criterion": "AC-1", "quotes": [{"evidence_id": name, "quote": "q"} for name in ids]}
    assert told_by(CLAIM, document(arguments=[argument])).arguments == (cites,)


def test_coverage_is_of_the_requirements_of_the_specification() -> None:
    specification = {"requirements": [{"id": "R1"}, {"id": "R2"}, {"id": "R3"}]}
    assert told_by(CLAIM, document(draft={"specification": specification, "uncovered": ["R2"]})).requirements == (2, 3)
    assert told_by(CLAIM, document(draft={"specification": None, "uncovered": []})).requirements is None
    assert told_by(CLAIM, document(draft=None)).requirements is None


def test_a_cost_is_that_of_models_not_of_scripts() -> None:
    usage = document()["usage"] | {"requests": 2, "cost_usd": 0.5}
    assert told_by(CLAIM, document(usage=usage, audits=[{"scripted": False}])).cost_usd == 0.5
    scripted = told_by(CLAIM, document(usage=usage, audits=[{"scripted": False}], judgement={"scripted": True}))
    assert (scripted.cost_usd, scripted.scripted) == (None, True)


def test_a_drafted_criterion_is_told_from_the_order_s_own() -> None:
    (line, *_) = document()["criteria"]
    found = told_by(CLAIM, document(criteria=[line, line | {"id": "AC-2", "drafted": True}]))
    assert [item.drafted for item in found.items[:2]] == [False, True]
