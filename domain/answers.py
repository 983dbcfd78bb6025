"""What the roles of a round answered: which blobs of its record are answers, each with the shape that it has. Pure.

Reading them is left to whoever has the store.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from domain.audit_report import said_of
from domain.messages import RoundRecord
from domain.roles.argued import Case, Judgement
from domain.roles.designed import Specification, TestPlan
from domain.roles.opinion import Said
from domain.roles.results import PassResult

Words = Mapping[str, Said]
"""What roles answered, by the digest of its blob."""


def said_in(record: RoundRecord) -> Iterator[tuple[str, type[Said]]]:
    """The blobs of all answers of the round, each with what it is."""
    yield from said_of(record.audit)
    if record.dispute is not None:
        yield from _said((record.dispute.advocate, record.dispute.critic), Case)
        yield from _said((hearing.result for hearing in record.dispute.hearings), Judgement)
    if record.draft is not None:
        if record.draft.specification:
            yield record.draft.specification, Specification
        yield from _said((result for result in record.draft.passes if result.specification), Specification)
        yield from _said((result for result in record.draft.passes if result.plan), TestPlan)


def passes_of(record: RoundRecord) -> tuple[PassResult, ...]:
    """Every pass of every role, in the order of the stages."""
    parts = (record.draft, record.audit, record.dispute)
    return tuple(result for part in parts if part is not None for result in part.passes)


def _said(passes: Iterable[PassResult | None], shape: type[Said]) -> Iterator[tuple[str, type[Said]]]:
    for result in passes:
        if result is not None and result.said and result.outcome == "answered":
            yield result.said, shape
