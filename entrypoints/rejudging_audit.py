"""Holds the stored answers of a round's roles against the stored evidence, as they were held when they were given.

No model is asked. It needs every blob that the record and the conversations name.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from adapters.roles.packets import load_packet, ran_pieces
from adapters.roles.tooling import Toolbox
from domain.audit_report import Staged, in_stages
from domain.events import TrailRow
from domain.messages import RoundRecord
from domain.ports import EvidenceStore
from domain.references import tests_told, tool_answers
from domain.rejudge import Drift, differences, of_answer
from domain.roles.citations import asked_of, assessed_of, audit_of, faults
from domain.roles.opinion import FirstLook, Opinion
from domain.roles.packet import Piece
from domain.roles.passes import PassInput, RanTest
from entrypoints.rejudging_roles import answers_in, answers_of


async def audit_again(store: EvidenceStore, record: RoundRecord, rows: Sequence[TrailRow]) -> tuple[Drift, ...]:
    """Where what is recorded of the roles does not follow from their answers, or an answer from the evidence.

    Raises `Unavailable` for a blob that is gone.
    """
    audit, found = record.audit, list[Drift]()
    if audit is None:
        return ()
    said = answers_in(store, audit)
    asked = asked_of(record.order, record.results, record.effective.authored)
    staged = [each for each in in_stages(audit.passes) if each.result.outcome == "answered"]
    look = next((each.result.said for each in staged if each.stage == "blind"), "")
    for each in staged:
        answer, where = said.get(each.result.said), f"{each.stage}/{each.part}"
        if answer is None:
            found.append(Drift(where="audit", field=f"{where}.said", said="answered", found="no answer is stored"))
            continue
        pieces = await _pieces(store, _input(store, record, rows, each, look), each.result.messages)
        wrong = faults(answer, pieces, asked)
        found += differences("audit", _plain(each.result.assessed), _plain(assessed_of(answer)), f"{where}.assessed")
        if isinstance(answer, Opinion) and each.result.audit is not None:
            found += of_answer(each.result.audit, audit_of(answer, pieces, asked), wrong)
            found += differences("audit", audit.audit, each.result.audit, "verdict")
        elif isinstance(answer, FirstLook):
            found += (
                Drift(where="audit", field=f"{where}: {fault}", said="held up", found="a fault") for fault in wrong
            )
    return tuple(found)


def _input(store: EvidenceStore, record: RoundRecord, rows: Sequence[TrailRow], each: Staged, look: str) -> PassInput:
    """What that stage was told, with all answers that there were in the end."""
    assert record.frozen is not None, "what was audited was frozen"
    assert record.scope is not None, "nobody is asked without a tree"
    blind = each.stage == "blind"
    return PassInput(
        round=record.effective.model_copy(update={"claim": None}) if blind else record.effective,
        frozen=record.frozen,
        scope=record.scope,
        results=record.results,
        contradictions=() if blind else record.contradictions,
        stage=each.stage,
        part=each.part,
        first_look="" if blind else look,
        answers=() if blind else tuple(answer for _, answer in answers_of(store, record, rows)),
        limit=record.input.order.safeguards.audit_timeout,
    )


async def _pieces(store: EvidenceStore, request: PassInput, messages: str) -> dict[str, Piece]:
    """Everything that the role was shown and could cite: its packet, and what tools and checks told it."""
    pieces = dict(load_packet(store, request).by_id)
    box = Toolbox((), store, request)
    conversation = store.get(messages) if messages else b"[]"
    for told in tool_answers(conversation):
        await box.found(told.what, told.title, told.digest)
    for ran in tests_told(conversation):
        again = request.model_copy(update={"ran": (RanTest.model_validate_json(json.dumps(ran)),)})
        for each in ran_pieces(store, again).values():
            pieces |= {piece.id: piece for piece in each}
    return pieces | box.pieces


def _plain(parts: Sequence[object]) -> list[object]:
    return [part.model_dump(mode="json") if hasattr(part, "model_dump") else part for part in parts]
