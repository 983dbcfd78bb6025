"""Loads what the advocate, the critic and the judge are shown from the evidence store.

What they may be shown is `domain.roles.hearing`'s to say. Source: seed `pipeline` "Advocate", "Critic", "Judge".
"""

from __future__ import annotations

from collections.abc import Iterator

from adapters.roles.packets import load_packet
from adapters.roles.tooling import ANSWER_BYTES, origin_of, tool_piece
from domain.ports import EvidenceStore
from domain.references import tool_answers
from domain.roles.argued import Case
from domain.roles.hearing import Heard, argument_packet, auditor_pieces, judgement_packet
from domain.roles.opinion import Opinion
from domain.roles.packet import Packet, Piece
from domain.roles.passes import PassInput
from domain.roles.pieces import ALL_OUTPUTS_BYTES, FEWEST_BYTES, cut_end


def load_argued(store: EvidenceStore, request: PassInput) -> Packet:
    """What both sides are given alike. Raises `Unavailable` (store_unavailable) for a blob that is not there."""
    words: tuple[Piece, ...] = ()
    if request.opinion:
        opinion = Opinion.model_validate_json(store.get(request.opinion))
        words = auditor_pieces(origin_of(request), opinion, request.opinion, request.disputes)
    return argument_packet(load_packet(store, request), request.disputes, request.round.order, request.results, words)


def load_judged(store: EvidenceStore, request: PassInput) -> Packet:
    """What the judge is given: the same, then both sides in the order of `request.cases`. Raises as above."""
    cases = [Heard(given.side, Case.model_validate_json(store.get(given.said)), given.said) for given in request.cases]
    quoted = {quote.evidence_id for heard in cases for one in heard.case.arguments for quote in one.quotes}
    found = [piece for piece in _found(store, request) if piece.id in quoted]
    room = max(FEWEST_BYTES, min(ANSWER_BYTES, ALL_OUTPUTS_BYTES // max(len(found), 1)))
    shown = [piece.model_copy(update={"text": cut_end(piece.text, room, "Read and grep show it")}) for piece in found]
    return judgement_packet(load_argued(store, request), origin_of(request), cases, shown)


def _found(store: EvidenceStore, request: PassInput) -> Iterator[Piece]:
    """What the tools of both sides found."""
    for given in request.cases:
        for told in tool_answers(store.get(given.messages)) if given.messages else ():
            text = store.get(told.digest).decode(errors="replace")
            yield tool_piece(origin_of(request), told.what, told.title, told.digest, text)
