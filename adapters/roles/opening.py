"""How a pass begins: the packet for a new conversation, what a worker or a check answered for one that goes on.

Everything of it is delimited data. Pieces that joined in earlier passes of the stage may be cited again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from pydantic_ai import DeferredToolResults
from pydantic_ai.messages import ModelMessage, ToolReturn, ToolReturnPart

from adapters.roles.conversation import Opening, open_calls
from adapters.roles.packets import answer_pieces, ran_pieces
from adapters.roles.tooling import Toolbox
from domain.ports import EvidenceStore
from domain.roles.delimited import rendered_pieces
from domain.roles.passes import PassInput, RanTest

NOT_RUN = "This check was not run."


async def opening_of(
    store: EvidenceStore, request: PassInput, box: Toolbox, packet: str, history: Sequence[ModelMessage]
) -> Opening:
    """What the model is told first. `packet` is rendered. Raises `Unavailable` for a blob that is not there."""
    if not history:
        return Opening(packet)
    await _recall(store, request, box, history)
    if calls := open_calls(history):
        ran = {each.call: each for each in request.ran}
        told: dict[str, Any] = {
            call: await _ran(store, request, box, ran[call]) if call in ran else NOT_RUN for call in calls
        }
        return Opening(None, history, DeferredToolResults(calls=told))
    return Opening(await asyncio.to_thread(_answer, store, request), history)


async def _ran(store: EvidenceStore, request: PassInput, box: Toolbox, ran: RanTest) -> ToolReturn:
    """What a check came to, as pieces; its mark stays in the conversation for later passes."""
    pieces = (await asyncio.to_thread(ran_pieces, store, request.model_copy(update={"ran": (ran,)})))[ran.call]
    box.pieces.update((piece.id, piece) for piece in pieces)
    return ToolReturn(return_value=rendered_pieces(pieces), metadata={"ran": ran.model_dump(mode="json")})


async def _recall(store: EvidenceStore, request: PassInput, box: Toolbox, history: Sequence[ModelMessage]) -> None:
    """Give `box` the pieces that tools and checks found in earlier passes of the stage."""
    for message in history:
        for part in message.parts:
            match part:
                case ToolReturnPart(metadata={"what": str(what), "title": str(title), "digest": str(digest)}):
                    await box.found(what, title, digest)
                case ToolReturnPart(metadata={"ran": dict(ran)}):
                    await _ran(store, request, box, RanTest.model_validate(ran))


def _answer(store: EvidenceStore, request: PassInput) -> str:
    """What the worker said to the question that the pass before ended with, and how many more there may be."""
    if not request.answers:
        return "Nobody was asked. Go on with what there is."
    last = request.answers[-1]
    said = rendered_pieces(answer_pieces(store, request, last))
    left = {0: "No question is left: decide with what there is.", 1: "One more question may be asked."}
    return f"{said}\n\n{left.get(request.questions, f'{request.questions} more questions may be asked.')}"
