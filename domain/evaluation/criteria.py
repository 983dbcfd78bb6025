"""Which criteria and checks tell the claims of a data set apart, and which say nothing that others do not say. Pure.

Only the claims that share an order's file can be compared, and only what its order says itself: a drafted criterion is
another one in each round. Definitions: docs/evaluation.md "Criteria".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from domain.base import Message
from domain.evaluation.verdicts import Verdict

Seen = Mapping[str, Mapping[int, bool]]
"""What was told of each criterion of one order, in which of its verdicts."""

FEWEST_CLAIMS = 2
"""Of an order, to compare its criteria."""


class Redundant(Message):
    """A criterion that came out as another one of its order did, `same_as`, wherever either was told."""

    order: str
    criterion: str
    same_as: str


class NeverFailed(Message):
    """A criterion that passed wherever it was told, invalid claims included."""

    order: str
    criterion: str


def compared(verdicts: Sequence[Verdict]) -> int:
    """How many criteria there are to compare: of orders that several claims have, told at least once."""
    return sum(len(seen) for _, seen, _ in _orders(verdicts))


def redundant(verdicts: Sequence[Verdict]) -> tuple[Redundant, ...]:
    """Each criterion with the first one before it that says the same, where both passed here and failed there."""
    found = []
    for order, seen, _ in _orders(verdicts):
        first: dict[tuple[tuple[int, bool], ...], str] = {}
        for criterion, told in seen.items():
            if len(set(told.values())) < 2:
                continue
            same_as = first.setdefault(tuple(sorted(told.items())), criterion)
            if same_as != criterion:
                found.append(Redundant(order=order, criterion=criterion, same_as=same_as))
    return tuple(found)


def never_failed(verdicts: Sequence[Verdict]) -> tuple[NeverFailed, ...]:
    """The criteria that passed each time, at least once on a claim that is not valid."""
    return tuple(
        NeverFailed(order=order, criterion=criterion)
        for order, seen, invalid in _orders(verdicts)
        for criterion, told in seen.items()
        if all(told.values()) and any(verdict in invalid for verdict in told)
    )


def _orders(verdicts: Sequence[Verdict]) -> Iterator[tuple[str, Seen, set[int]]]:
    """Each order that several claims have, what was seen in its verdicts, and which of those are on invalid claims."""
    for order in dict.fromkeys(verdict.claim.order for verdict in verdicts):
        own = [verdict for verdict in verdicts if verdict.claim.order == order]
        if len({verdict.claim.id for verdict in own}) < FEWEST_CLAIMS:
            continue
        seen: dict[str, dict[int, bool]] = {}
        for number, verdict in enumerate(own):
            for item in verdict.items:
                if item.passed is not None and not item.drafted:
                    seen.setdefault(item.id, {})[number] = item.passed
        yield order, seen, {number for number, verdict in enumerate(own) if not verdict.claim.valid}
