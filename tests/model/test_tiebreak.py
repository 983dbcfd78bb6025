"""The adversarial stage, enumerated over what each of its passes can come to: who is heard, and what is made of it."""

from __future__ import annotations

import itertools
import random
from typing import Literal, get_args

import pytest

from domain.roles.disputes import Dispute
from domain.roles.names import Side
from domain.roles.results import Hearing, PassOutcome, PassResult
from domain.roles.tiebreak import first_of, missing, other, tiebreak_of, wants_hearing, why_not
from domain.verdict import Ruled, Tiebreak, TiebreakOutcome

OUTCOMES: tuple[PassOutcome, ...] = get_args(PassOutcome)
THRESHOLD = 0.7
DISPUTES = tuple(Dispute(criterion=id, why=("unsure",), required=True) for id in ("AC-4", "S-1"))
Word = tuple[Literal["PASS", "FAIL"], float]
WORDS: tuple[Word, ...] = (("PASS", 0.9), ("PASS", 0.3), ("FAIL", 0.9), ("FAIL", 0.3))
ANSWERED = PassResult(outcome="answered", said="a" * 64)
JUDGED = TiebreakOutcome.JUDGED
NO_WORD = {
    "unavailable": TiebreakOutcome.UNAVAILABLE,
    "cost_cap_exceeded": TiebreakOutcome.COST_CAP,
    "timed_out": TiebreakOutcome.TIMED_OUT,
}


def rulings(*words: Word) -> PassResult:
    ruled = (
        Ruled(criterion=dispute.criterion, verdict=verdict, confidence=confidence)
        for dispute, (verdict, confidence) in zip(DISPUTES, words, strict=True)
    )
    return ANSWERED.model_copy(update={"rulings": tuple(ruled)})


def sides(advocate: PassOutcome, critic: PassOutcome) -> dict[Side, PassResult]:
    return {
        "advocate": PassResult(outcome=advocate, why="for a reason"),
        "critic": PassResult(outcome=critic, why="for another"),
    }


BOTH = sides("answered", "answered")
JUDGES = (
    *(rulings(*words) for words in itertools.product(WORDS, repeat=2)),
    *(PassResult(outcome=outcome) for outcome in OUTCOMES),
)
"""What a judge may come to: every pair of rulings, and every way to have none."""


def heard(*results: PassResult) -> tuple[Hearing, ...]:
    order: tuple[Side, ...] = ("critic", "advocate", "critic")
    return tuple(Hearing(first=first, result=result) for first, result in zip(order, results, strict=False))


def stage(cases: dict[Side, PassResult], judges: list[PassResult]) -> tuple[Tiebreak | None, list[Hearing]]:
    """The stage as a round runs it, with a judge that answers one after the other."""
    hearings: list[Hearing] = []
    first: Side = "critic"
    while wants_hearing(DISPUTES, cases, hearings, THRESHOLD):
        hearings.append(Hearing(first=first, result=judges.pop(0)))
        first = other(first)
    return tiebreak_of(DISPUTES, cases, hearings, THRESHOLD), hearings


@pytest.mark.parametrize(("advocate", "critic"), sorted({*itertools.product(OUTCOMES, OUTCOMES)}))
def test_a_judge_never_hears_one_side_alone(advocate: PassOutcome, critic: PassOutcome) -> None:
    cases = sides(advocate, critic)
    came_to, hearings = stage(cases, [rulings(WORDS[0], WORDS[0])])
    silent = {advocate, critic} - {"answered"}
    assert bool(hearings) == (not silent)
    if "not_configured" in silent:
        assert came_to is None
        assert missing(cases, ()) != ()
    elif silent:
        assert came_to is not None
        assert came_to.outcome is not JUDGED
        assert came_to.rulings == ()
        assert ("for a reason" in came_to.feedback) == (advocate != "answered")
        assert ("for another" in came_to.feedback) == (critic != "answered")
        if len(silent) == 1:
            assert came_to.outcome is NO_WORD.get(silent.pop(), TiebreakOutcome.INCONCLUSIVE)
    else:
        assert came_to is not None
        assert came_to.outcome is JUDGED


def test_every_judge_once_and_twice() -> None:
    """Sure: heard once. Not sure: once more in the other order; the same word is settled, another is inconclusive."""
    for first, second in itertools.product(JUDGES, JUDGES):
        came_to, hearings = stage(BOTH, [first, second])
        case = (first, second, came_to)
        assert [hearing.first for hearing in hearings] == ["critic", "advocate"][: len(hearings)], case
        unsure = {ruled.criterion: ruled.verdict for ruled in first.rulings if ruled.confidence < THRESHOLD}
        assert len(hearings) == (2 if unsure else 1), case
        last = second if unsure else first
        if last.outcome == "not_configured":
            assert came_to is None, case
            continue
        assert came_to is not None, case
        if not last.rulings:
            assert came_to.outcome is NO_WORD.get(last.outcome, TiebreakOutcome.INCONCLUSIVE), case
            assert came_to.rulings == (), case
            continue
        again = {ruled.criterion: ruled.verdict for ruled in second.rulings}
        agreed = all(again[id] == verdict for id, verdict in unsure.items())
        assert (came_to.outcome is JUDGED) == agreed, case
        assert (came_to.rulings == first.rulings) == agreed, case
        assert set(came_to.settled) == (set(unsure) if agreed else set()), case


@pytest.mark.parametrize(
    "ruled",
    [
        (),
        ("AC-4",),
        ("AC-4", "S-1", "S-1"),
        ("AC-4", "AC-4"),
        ("AC-4", "S-1", "AC-9"),
    ],
)
def test_a_judge_who_does_not_rule_on_each_dispute_once_has_no_word(ruled: tuple[str, ...]) -> None:
    result = ANSWERED.model_copy(
        update={"rulings": tuple(Ruled(criterion=id, verdict="PASS", confidence=0.3) for id in ruled)}
    )
    came_to, hearings = stage(BOTH, [result])
    assert came_to is not None
    assert (came_to.outcome, len(hearings)) == (TiebreakOutcome.INCONCLUSIVE, 1)


def test_what_was_cut_short_is_no_word() -> None:
    unsure = rulings(WORDS[1], WORDS[0])
    for hearings in ((), heard(unsure)):
        came_to = tiebreak_of(DISPUTES, BOTH, hearings, THRESHOLD)
        assert came_to is not None
        assert came_to.outcome is TiebreakOutcome.INCONCLUSIVE
    assert not wants_hearing(DISPUTES, BOTH, heard(unsure, unsure), THRESHOLD), "never a third time"


def test_the_roles_that_are_missing_are_named() -> None:
    none = PassResult(outcome="not_configured")
    assert why_not(missing(sides("not_configured", "answered"), ())) == "no model is configured for the advocate"
    both = missing(sides("not_configured", "not_configured"), ())
    assert why_not(both) == "no model is configured for the advocate and the critic"
    assert why_not(missing(BOTH, heard(none))) == "no model is configured for the judge"
    assert why_not(missing(BOTH, heard(ANSWERED))) == ""


def test_either_side_is_read_first() -> None:
    drawn = [first_of(random.Random(seed).random()) for seed in range(40)]
    assert set(drawn) == {"advocate", "critic"}
    assert [first_of(draw) for draw in (0.0, 0.499, 0.5, 0.999)] == ["advocate", "advocate", "critic", "critic"]
