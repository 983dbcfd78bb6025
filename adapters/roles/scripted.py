"""Plays a script in place of a model: the turn follows from the conversation alone, whoever plays it, however often.

It has no clock of its own and keeps nothing, so a pass that was killed goes on where it was.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterable, Iterator
from decimal import Decimal

from pydantic import JsonValue
from pydantic_ai.exceptions import ModelAPIError, ModelConnectionError, ModelHTTPError
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ModelResponsePart, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.tools import ToolDefinition

from adapters.config.text_file import refusal
from adapters.roles.script import CONTENT, Fault, Script, Turn
from domain.roles.models import script_of
from domain.roles.names import Role, Stage
from domain.roles.spending import MICROS

FOREVER = 86_400.0
"""Seconds that a script hangs, if nobody gives up before."""

EVIDENCE = "evidence: "
"""What a text of a scripted answer begins with that stands for an id: of the evidence with the words that follow."""

COST = "cost_usd"
"""What the cost of an answer is called in what the library keeps beside it, which no model is sent."""

_BLOCK = re.compile(r"^<data id=([0-9a-f]+) what=\w+>\n(.*?)\n</data id=\1>$", re.DOTALL | re.MULTILINE)


def playing(name: str, script: Script, role: Role, stage: Stage, part: int = 0) -> FunctionModel:
    """The model that plays `script` in a pass of a role. Asked for one without a turn, it raises `Malformed`."""

    async def play(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        answered = sum(1 for message in messages if isinstance(message, ModelResponse))
        turn = script.turn(role, stage, answered, part)
        if turn is None:
            raise refusal(script_of(name) or name, f"has no turn of {role}, {stage}", CONTENT)
        if turn.fault is not None:
            await _fail(name, turn.fault)
        parts = list(_parts(turn, answered, messages, info.output_tools))
        return ModelResponse(parts=parts, metadata=None if turn.cost_usd is None else {COST: str(turn.cost_usd)})

    return FunctionModel(play, model_name=name)


def pretended(response: ModelResponse) -> int:
    """Micros that an answer of a script is pretended to cost."""
    return int(Decimal((response.metadata or {}).get(COST, "0")) * MICROS)


async def _fail(name: str, fault: Fault) -> None:
    if fault == "hang":
        await asyncio.sleep(FOREVER)
        raise TimeoutError
    if fault == "refused":
        raise ModelConnectionError(name, "refused, as the script says", phase="connect")
    if fault == "unreadable":
        raise ModelAPIError(name, "as the script says")
    raise ModelHTTPError(fault, name, {"message": "as the script says"})


def _parts(
    turn: Turn, answered: int, messages: list[ModelMessage], outputs: list[ToolDefinition]
) -> Iterator[ModelResponsePart]:
    for place, use in enumerate(turn.uses):
        yield ToolCallPart(use.name, use.arguments, tool_call_id=f"script-{answered}-{place}")
    if turn.text is not None:
        yield TextPart(turn.text)
    if turn.answer is not None:
        answer = _named(turn.answer, messages)
        assert isinstance(answer, dict)
        tool = _fitting(answer, outputs)
        if tool is None:
            yield TextPart(json.dumps(answer))
        else:
            yield ToolCallPart(tool.name, answer, tool_call_id=f"script-{answered}-answer")


def _fitting(answer: dict[str, JsonValue], outputs: Iterable[ToolDefinition]) -> ToolDefinition | None:
    """The shape of answer that has these fields, else the first: that the fields are wrong is for others to find."""
    offered = list(outputs)
    fitting = [tool for tool in offered if answer.keys() <= tool.parameters_json_schema.get("properties", {}).keys()]
    return next(iter([*fitting, *offered]), None)


def _named(value: JsonValue, messages: list[ModelMessage]) -> JsonValue:
    """The value with the ids that its texts stand for; one that stands for nothing is left as it is."""
    if isinstance(value, str) and value.startswith(EVIDENCE):
        return _cited(value.removeprefix(EVIDENCE), messages) or value
    if isinstance(value, list):
        return [_named(one, messages) for one in value]
    if isinstance(value, dict):
        return {name: _named(one, messages) for name, one in value.items()}
    return value


def _cited(words: str, messages: list[ModelMessage]) -> str | None:
    """The id of the first piece of evidence in the conversation that has `words` in its title or in a line of it."""
    for text in _texts(messages):
        for block in _BLOCK.finditer(text):
            piece = json.loads(block[2])
            if "evidence_id" in piece and any(words in line for line in (piece["title"], *piece["text"])):
                return str(piece["evidence_id"])
    return None


def _texts(messages: list[ModelMessage]) -> Iterator[str]:
    """What the model was sent, in its order."""
    for message in messages:
        if isinstance(message, ModelRequest):
            for part in message.parts:
                content = getattr(part, "content", None)
                yield from (
                    one for one in (content if isinstance(content, list) else [content]) if isinstance(one, str)
                )
