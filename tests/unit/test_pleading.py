"""What keeps a case and a judgement from standing, and what a sound judgement comes to."""

from __future__ import annotations

from typing import Any

import pytest

from domain.roles.argued import Case, Judgement
from domain.roles.citations import MOST_FAULTS
from domain.roles.packet import Piece
from domain.roles.pleading import REASONING_CHARACTERS, faults_of_case, faults_of_judgement, ruled_of

SEEN, ARGUED, MADE_UP = "ev-" + "1" * 16, "ev-" + "2" * 16, "ev-" + "3" * 16
PIECES = {
    SEEN: Piece(id=SEEN, what="result", title="t", text="outcome: failed\nseen: ValueError", observed=True),
    ARGUED: Piece(id=ARGUED, what="advocate", title="t", text="It is better than asked for.", observed=False),
}
DISPUTED = ("AC-4", "S-1")


def quote(words: str = "seen: ValueError", id: str = SEEN) -> dict[str, str]:
    return {"evidence_id": id, "quote": words}


def case(*criteria: str, quotes: list[dict[str, str]] | None = None) -> Case:
    given = [{"criterion": id, "argument": "so it is", "quotes": quotes or [quote()]} for id in criteria]
    return Case.model_validate({"arguments": given})


def judgement(*criteria: str, verdict: str = "PASS", quotes: list[dict[str, str]] | None = None) -> Judgement:
    said = {"verdict": verdict, "confidence": 0.9, "reasoning": "as seen", "quotes": quotes or [quote()]}
    return Judgement.model_validate({"rulings": [{"criterion": id, **said} for id in criteria]})


def test_sound_ones_have_no_fault() -> None:
    assert faults_of_case(case(*DISPUTED, quotes=[quote(), quote("better than", ARGUED)]), PIECES, DISPUTED) == ()
    assert faults_of_judgement(judgement(*DISPUTED), PIECES, DISPUTED) == ()


ONCE: list[tuple[tuple[str, ...], str]] = [
    (("AC-4",), "'S-1' is not {}: each disputed criterion exactly once"),
    (("AC-4", "S-1", "S-1"), "'S-1' is {} 2 times: each disputed criterion exactly once"),
    (("AC-4", "S-1", "AC-9"), "'AC-9' is not disputed; what is disputed: AC-4, S-1"),
]


@pytest.mark.parametrize(("criteria", "fault"), ONCE)
def test_what_is_disputed_comes_once_and_nothing_else(criteria: tuple[str, ...], fault: str) -> None:
    assert faults_of_case(case(*criteria), PIECES, DISPUTED) == (fault.format("argued"),)
    assert faults_of_judgement(judgement(*criteria), PIECES, DISPUTED) == (fault.format("ruled on"),)


@pytest.mark.parametrize("verdict", ["PASS", "FAIL"])
@pytest.mark.parametrize(
    ("bad", "fault"),
    [(quote(id=MADE_UP), "no evidence has that id"), (quote("seen: True"), "quotes 'seen: True', which is not in")],
)
def test_every_quote_stands_where_it_says(bad: dict[str, str], fault: str, verdict: str) -> None:
    quotes = [quote(), bad]
    (told,) = faults_of_case(case("AC-4", quotes=quotes), PIECES, ("AC-4",))
    assert told.startswith("the argument on 'AC-4'")
    assert fault in told
    (told,) = faults_of_judgement(judgement("AC-4", verdict=verdict, quotes=quotes), PIECES, ("AC-4",))
    assert told.startswith("the ruling on 'AC-4'")
    assert fault in told


def test_pass_rests_on_what_was_observed_and_fail_may_rest_on_an_argument() -> None:
    argued = [quote("It is better than asked for.", ARGUED)]
    (told,) = faults_of_judgement(judgement("AC-4", quotes=argued), PIECES, ("AC-4",))
    assert told == (
        "the ruling on 'AC-4' is PASS and quotes nothing that the harness observed itself: quote that, or rule FAIL"
    )
    assert faults_of_judgement(judgement("AC-4", quotes=[*argued, quote()]), PIECES, ("AC-4",)) == ()
    assert faults_of_judgement(judgement("AC-4", verdict="FAIL", quotes=argued), PIECES, ("AC-4",)) == ()


def test_an_argument_without_a_quote_has_not_its_shape() -> None:
    for shape, name in ((Case, "arguments"), (Judgement, "rulings")):
        whole: Any = case("AC-4") if shape is Case else judgement("AC-4")
        (one,) = whole.model_dump()[name]
        with pytest.raises(ValueError, match="at least 1 item"):
            shape.model_validate({name: [{**one, "quotes": []}]})


def test_so_many_faults_are_told_at_once() -> None:
    found = faults_of_case(case(*(f"AC-{number}" for number in range(100, 150))), PIECES, DISPUTED)
    assert len(found) == MOST_FAULTS + 1
    assert found[-1] == f"and {50 + 2 - MOST_FAULTS} more faults like these"


def test_what_a_judgement_comes_to() -> None:
    quotes = [quote(), quote("better than", ARGUED), quote("outcome: failed")]
    given = judgement("AC-4", verdict="FAIL", quotes=quotes).rulings[0]
    (ruled,) = ruled_of(Judgement(rulings=[given.model_copy(update={"reasoning": "x" * 4000})]))
    assert ruled.model_dump() == {
        "criterion": "AC-4",
        "verdict": "FAIL",
        "confidence": 0.9,
        "reasoning": "x" * REASONING_CHARACTERS,
        "evidence": (SEEN, ARGUED),
    }
