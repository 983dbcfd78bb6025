"""Holds what is recorded of a round's dispute against what follows from its record and from the judge's answers. Pure.

What was argued and ruled stands as recorded: no model is asked. Source: issue "Replay of the record".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from domain.base import Message
from domain.messages import RoundRecord
from domain.rejudge import Drift, differences
from domain.roles.argued import Judgement
from domain.roles.disputing import disputes_of
from domain.roles.names import Side
from domain.roles.results import DisputeRecord, PassResult
from domain.roles.tiebreak import tiebreak_of

Judgements = Mapping[str, Judgement]
"""What a judge answered, by the digest of its blob."""


def judgements_in(dispute: DisputeRecord) -> tuple[str, ...]:
    """The blobs of the judge's answers."""
    return tuple(result.said for result in _heard(dispute))


def of_dispute(record: RoundRecord, judgements: Judgements) -> Iterator[Drift]:
    """What was disputed by the rest of the record, what each answer rules, and what it all comes to.

    None for a record without a dispute: a version may have made it that had none.
    """
    order, dispute = record.order, record.dispute
    if dispute is None:
        return
    disputes = disputes_of(order, record.results, (one.check for one in record.contradictions), record.audit)
    yield from differences("dispute", _plain(dispute.disputes), _plain(disputes), "disputes")
    for number, result in enumerate(_heard(dispute)):
        said = [[ruled.criterion, ruled.verdict, ruled.confidence] for ruled in result.rulings]
        answer = judgements.get(result.said)
        found = [[ruled.criterion, ruled.verdict, ruled.confidence] for ruled in answer.rulings] if answer else None
        yield from differences("dispute", said, found, f"judgement/{number}.rulings")
    if dispute.advocate and dispute.critic:
        cases: dict[Side, PassResult] = {"advocate": dispute.advocate, "critic": dispute.critic}
        came_to = tiebreak_of(disputes, cases, dispute.hearings, order.verification.confidence_threshold)
        yield from differences("dispute", _plain([dispute.tiebreak]), _plain([came_to]), "tiebreak")


def _heard(dispute: DisputeRecord) -> Iterator[PassResult]:
    return (hearing.result for hearing in dispute.hearings if hearing.result.outcome == "answered")


def _plain(models: Iterable[Message | None]) -> list[object]:
    return [model.model_dump(mode="json") if model is not None else None for model in models]
