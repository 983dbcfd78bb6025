"""The figures of an evaluation: against values worked out by hand, and what holds of any verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.decision import RoundOutcome
from domain.evaluation.measures import Figures, Rates, figures, rates, spread, wilson
from domain.evaluation.verdicts import Hearings, Item, LabelledClaim, Verdict

VERIFIED, REFUSED, FAILED = RoundOutcome.VERIFIED, RoundOutcome.CHANGES_REQUESTED, RoundOutcome.FAILED
HUMAN, UNKNOWN = RoundOutcome.NEEDS_HUMAN, RoundOutcome.INCONCLUSIVE


def verdict(name: str, valid: bool, outcome: RoundOutcome | None, **fields: Any) -> Verdict:
    about = {"stratum": "s", "order": name, **fields.pop("claim", {})}
    return Verdict(claim=LabelledClaim.model_validate({"id": name, "valid": valid, **about}), outcome=outcome, **fields)


def told(order: str, name: str, valid: bool, **items: bool | None) -> Verdict:
    """A verdict on a claim of `order` with the outcomes of its criteria."""
    listed = tuple(Item(id=key, kind="python_call", passed=passed) for key, passed in items.items())
    return verdict(name, valid, VERIFIED if valid else REFUSED, claim={"order": order}, items=listed)


TEN = [
    *(verdict(f"v{n}", True, VERIFIED) for n in range(4)),
    verdict("v4", True, REFUSED),
    verdict("v5", True, HUMAN, trigger="not_judged"),
    verdict("i0", False, VERIFIED),
    verdict("i1", False, REFUSED),
    verdict("i2", False, FAILED),
    verdict("i3", False, UNKNOWN),
    verdict("i4", False, None, why="the engine is gone"),
]


def test_the_rates_are_those_that_a_hand_counts() -> None:
    found = rates(TEN)
    assert (found.claims, found.verdicts, found.verified, found.refused) == (11, 11, 5, 3)
    assert (found.needs_human, found.untold) == (1, 2)
    assert [
        (rate.count, rate.of, rate.share)
        for rate in (found.true_positive, found.false_positive, found.false_discovery, found.false_negative)
    ] == [(4, 5, 0.8), (1, 3, 1 / 3), (1, 5, 0.2), (1, 5, 0.2)]
    assert (found.for_humans, found.not_told) == (("v5",), ("i3", "i4"))
    assert (found.wrongly_verified, found.wrongly_refused) == (("i0",), ("v4",))


@pytest.mark.parametrize(
    ("share", "trials", "low", "high"),
    [
        # worked out from (2np + z² ± z·sqrt(z² + 4np(1 - p))) / 2(n + z²)
        (0.8, 10, 0.4902, 0.9433),
        (0.1, 100, 0.0552, 0.1744),
        (0.0, 10, 0.0, 0.2775),
        (1.0, 1, 0.2065, 1.0),
        (0.5, 4, 0.1500, 0.8500),
    ],
)
def test_intervals_are_wilson_s(share: float, trials: int, low: float, high: float) -> None:
    assert wilson(share, trials) == pytest.approx((low, high), abs=5e-5)


@given(st.integers(1, 5000), st.data())
def test_an_interval_has_its_share_in_it_and_narrows(trials: int, data: st.DataObject) -> None:
    share = data.draw(st.integers(0, trials)) / trials
    low, high = wilson(share, trials)
    assert 0 <= low <= share <= high <= 1
    assert low < high
    mirrored = wilson(1 - share, trials)
    assert mirrored == pytest.approx((1 - high, 1 - low), abs=1e-9)
    more_low, more_high = wilson(share, 4 * trials)
    assert more_high - more_low < high - low


def test_rounds_of_one_claim_are_no_further_trials() -> None:
    once, thrice = rates([verdict("a", True, VERIFIED)]), rates([verdict("a", True, VERIFIED)] * 3)
    assert (thrice.true_positive.of, thrice.true_positive.claims) == (3, 1)
    assert (thrice.true_positive.low, thrice.true_positive.high) == (once.true_positive.low, once.true_positive.high)


OUTCOMES = st.sampled_from([*RoundOutcome, None])
VERDICTS = st.lists(
    st.builds(
        lambda name, valid, outcome, stratum: verdict(f"{name}{valid}", valid, outcome, claim={"stratum": stratum}),
        st.sampled_from("abcdef"),
        st.booleans(),
        OUTCOMES,
        st.sampled_from(["one", "two"]),
    ),
    max_size=30,
)


def shares(found: Rates) -> list[float | None]:
    rates_of = (found.true_positive, found.false_positive, found.false_discovery, found.false_negative)
    return [rate.share for rate in rates_of]


@given(VERDICTS)
def test_what_holds_of_any_verdicts(verdicts: list[Verdict]) -> None:
    found = figures(verdicts)
    whole = found.all
    assert whole.verified + whole.refused + whole.needs_human + whole.untold == whole.verdicts == len(verdicts)
    for name in ("verified", "refused", "needs_human", "untold", "verdicts"):
        assert sum(getattr(part, name) for part in found.strata.values()) == getattr(whole, name)
    assert whole.true_positive.count + whole.false_positive.count == whole.verified
    if whole.true_positive.share is not None and whole.false_negative.share is not None:
        assert whole.true_positive.share + whole.false_negative.share == pytest.approx(1)
    assert (whole.true_positive.of == 0) == (whole.true_positive.share is None)


@given(VERDICTS, st.randoms())
def test_the_order_of_verdicts_changes_no_rate(verdicts: list[Verdict], random: Any) -> None:
    shuffled = random.sample(verdicts, len(verdicts))
    assert shares(rates(shuffled)) == shares(rates(verdicts))


@given(VERDICTS, st.booleans())
def test_what_was_not_decided_changes_no_rate(verdicts: list[Verdict], valid: bool) -> None:
    more = [*verdicts, verdict("new", valid, HUMAN), verdict("newer", valid, UNKNOWN), verdict("newest", valid, None)]
    assert shares(rates(more)) == shares(rates(verdicts))


def test_without_data_there_is_no_figure() -> None:
    for found in (figures([]), figures([verdict("a", True, None)])):
        document = found.model_dump()
        assert shares(found.all) == [None] * 4
        for name in ("judge_flips", "verdict_flips", "shell_testable", "redundant", "never_failed"):
            assert document[name]["share"] is None, name
        assert document["requirement_coverage"]["share"] is None
        assert document["arguments_with_evidence"]["share"] is None
        assert document["seconds"] == document["cost_usd"] == {"verdicts": 0, "median": None, "p90": None, "sum": None}


def test_a_judge_flips_where_it_was_asked_twice_and_said_something_else() -> None:
    heard = [(False, False), (True, False), (True, True), (True, False)]
    found = figures(
        [
            verdict(f"c{n}", True, VERIFIED, hearings=Hearings(twice=twice, changed=changed))
            for n, (twice, changed) in enumerate(heard)
        ]
    )
    assert (found.judge_flips.count, found.judge_flips.of) == (1, 3)


def test_a_verdict_flips_where_rounds_of_a_claim_differ() -> None:
    found = figures(
        [
            *(verdict("a", True, outcome) for outcome in (VERIFIED, REFUSED, VERIFIED)),
            *(verdict("b", True, outcome) for outcome in (VERIFIED, VERIFIED)),
            *(verdict("c", True, outcome) for outcome in (VERIFIED, UNKNOWN)),
            verdict("d", True, HUMAN),
            *(verdict("e", True, outcome) for outcome in (HUMAN, REFUSED)),
        ]
    )
    assert (found.verdict_flips.count, found.verdict_flips.of) == (2, 3)
    assert found.changing == ("a", "e")


def names(found: Figures) -> list[tuple[str, str]]:
    return [(each.criterion, each.same_as) for each in found.redundant_criteria]


def test_a_criterion_is_redundant_that_says_what_another_says() -> None:
    found = figures(
        [
            told("o", "right", True, first=True, second=True, third=True, always=True, other=True),
            told("o", "wrong", False, first=False, second=False, third=True, always=True, other=True),
            told("o", "odd", False, first=True, second=True, third=False, always=True, other=None),
        ]
    )
    assert names(found) == [("second", "first")]
    assert (found.redundant.count, found.redundant.of) == (1, 5)
    assert [each.criterion for each in found.never_failed_criteria] == ["always", "other"]
    assert (found.never_failed.count, found.never_failed.of) == (2, 5)


@pytest.mark.parametrize(
    "verdicts",
    [
        pytest.param([told("o", "a", True, x=True, y=True), told("p", "b", False, x=False, y=False)], id="two orders"),
        pytest.param([told("o", "a", False, x=n, y=n) for n in (True, False)], id="one claim"),
        pytest.param(
            [told("o", "a", False, x=False, y=False), told("o", "b", False, x=False, y=False)], id="never passed"
        ),
        pytest.param(
            [told("o", "a", True, x=True, y=None), told("o", "b", False, x=False, y=False)], id="told elsewhere"
        ),
    ],
)
def test_what_cannot_be_compared_is_not_called_redundant(verdicts: Sequence[Verdict]) -> None:
    assert names(figures(verdicts)) == []


def test_what_never_failed_is_named_only_where_something_was_wrong() -> None:
    right = [told("o", "a", True, x=True), told("o", "b", True, x=True)]
    assert figures(right).never_failed_criteria == ()
    assert [each.criterion for each in figures([*right, told("o", "c", False, x=True)]).never_failed_criteria] == ["x"]


def test_a_drafted_criterion_is_compared_with_none() -> None:
    items = tuple(Item(id=name, kind="cli_io", passed=False, drafted=True) for name in ("x", "y"))
    drafted = [verdict(name, False, REFUSED, claim={"order": "o"}, items=items) for name in ("a", "b")]
    assert figures(drafted).redundant.of == 0
    assert figures(drafted).shell_testable.of == 2


def test_shell_testable_counts_each_criterion_of_an_order_once_and_no_check() -> None:
    items = (
        Item(id="a", kind="cli_io", passed=True),
        Item(id="b", kind="subjective", passed=None),
        Item(id="c", passed=True),
    )
    twice = [verdict(name, True, VERIFIED, claim={"order": "o"}, items=items) for name in ("one", "two")]
    found = figures([*twice, verdict("three", True, VERIFIED, items=items[:1])]).shell_testable
    assert (found.count, found.of) == (2, 3)


def test_coverage_and_arguments_are_shares_of_all_that_there_are() -> None:
    found = figures(
        [
            verdict("a", True, VERIFIED, requirements=(2, 3), arguments=(True, False)),
            verdict("b", True, VERIFIED, requirements=(3, 3), arguments=(True,)),
            verdict("c", True, VERIFIED),
        ]
    )
    assert (found.requirement_coverage.count, found.requirement_coverage.of) == (5, 6)
    assert (found.arguments_with_evidence.count, found.arguments_with_evidence.of) == (2, 3)


@pytest.mark.parametrize(
    ("values", "median", "p90", "total"),
    [
        ([3.0], 3.0, 3.0, 3.0),
        ([1.0, 2.0, None, 4.0, 3.0], 2.5, 4.0, 10.0),
        ([float(n) for n in range(1, 11)], 5.5, 9.0, 55.0),
        ([float(n) for n in range(1, 12)], 6.0, 10.0, 66.0),
    ],
)
def test_a_spread_is_over_what_is_known(values: list[float | None], median: float, p90: float, total: float) -> None:
    found = spread(values)
    assert (found.median, found.p90, found.sum) == (median, p90, total)
    assert found.verdicts == len([value for value in values if value is not None])


def test_a_trigger_that_was_not_expected_is_named() -> None:
    expected = {"trigger": "nothing_to_check"}
    found = figures(
        [
            verdict("as-said", True, HUMAN, trigger="nothing_to_check", claim=expected),
            verdict("other", True, HUMAN, trigger="not_judged", claim=expected),
            verdict("none", True, VERIFIED, claim=expected),
            verdict("unasked", True, HUMAN, trigger="timeout"),
        ]
    )
    assert found.unexpected == ("other", "none")
