"""Remembers what each request to a model was answered, so that a pass that was killed pays for nothing twice.

What a request is known by leaves out times, ids of runs and ids that a library makes at random.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pydantic import JsonValue, ValidationError
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelRequest, ModelResponse
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_core import to_jsonable_python

from domain.base import Message, canonical_json, sha256_hex
from domain.ports import EvidenceStore
from domain.roles.passes import PassInput
from domain.roles.spending import Settled

CHANCE = frozenset({"timestamp", "id", "provider_details", "provider_name", "metadata"})
"""What of a part depends on the moment, or is the library's own."""

UNHEARD = frozenset({"timeout", "request_timeout", "first_event_timeout", "max_retries"})
"""Settings that no model hears of."""


class Remembered(Message):
    """An answer, as the library's JSON, and what it came to; `model` is the name in the configuration that gave it."""

    model: str
    response: JsonValue
    settled: Settled

    @property
    def answer(self) -> ModelResponse:
        """The answer as the library has it. Raises `ValueError` for one that this version of it cannot read."""
        (response,) = ModelMessagesTypeAdapter.validate_python([self.response])
        if not isinstance(response, ModelResponse):
            raise ValueError("a request was remembered in place of an answer")
        return response


def as_json(response: ModelResponse) -> JsonValue:
    """An answer as it is remembered."""
    (dumped,) = ModelMessagesTypeAdapter.dump_python([response], mode="json")
    value: JsonValue = dumped
    return value


def bytes_of(
    messages: Sequence[ModelMessage], settings: ModelSettings | None, parameters: ModelRequestParameters
) -> bytes:
    """All that a model is asked, in one spelling: the same for the same request, whichever process makes it."""
    said = {
        "messages": _messages(messages),
        "settings": {name: value for name, value in (settings or {}).items() if name not in UNHEARD},
        "tools": [_tool(tool) for tool in (*parameters.function_tools, *parameters.output_tools)],
        "instructions": [part.content for part in parameters.instruction_parts or ()],
        "output": [parameters.output_mode, parameters.allow_text_output, parameters.output_object],
    }
    return canonical_json(to_jsonable_python(said, fallback=repr))


def _tool(tool: Any) -> list[Any]:
    return [tool.name, tool.description, tool.parameters_json_schema]


def _messages(messages: Sequence[ModelMessage]) -> list[Any]:
    """The messages without what depends on the moment; calls are named by the order in which they appear."""
    calls: dict[str, str] = {}
    found: list[Any] = []
    for message, dumped in zip(
        messages, ModelMessagesTypeAdapter.dump_python(list(messages), mode="json"), strict=True
    ):
        instructions = message.instructions if isinstance(message, ModelRequest) else None
        found.append([message.kind, instructions, [_part(part, calls) for part in dumped["parts"]]])
    return found


def _part(part: dict[str, Any], calls: dict[str, str]) -> dict[str, Any]:
    kept = {name: value for name, value in part.items() if name not in CHANCE}
    if isinstance(call := kept.get("tool_call_id"), str):
        kept["tool_call_id"] = calls.setdefault(call, f"call {len(calls)}")
    return kept


class Memory:
    """The answers of one pass, in the evidence store. `key_of` counts its requests."""

    def __init__(self, store: EvidenceStore, request: PassInput, models: Sequence[str]) -> None:
        self._store = store
        self._pass = [request.take, request.key, list(models)]
        self._next = 0

    def key_of(self, asked: bytes) -> str:
        """What the next request of the pass is remembered under."""
        key = sha256_hex(canonical_json(["model request", *self._pass, self._next, sha256_hex(asked)]))
        self._next += 1
        return key

    def recall(self, key: str) -> Remembered | None:
        """The answer, None where there is none that can be read. Raises `Unavailable`."""
        if (data := self._store.recall(key)) is None:
            return None
        try:
            remembered = Remembered.model_validate_json(data)
            _ = remembered.answer
        except (ValidationError, ValueError):
            return None  # of another version of the library: it is asked again
        return remembered

    def remember(self, key: str, answer: Remembered) -> Remembered:
        """Keep an answer, and give it as it will be recalled: a secret in it is masked from the first time on."""
        self._store.remember(key, json.dumps(answer.model_dump(mode="json")).encode())
        return self.recall(key) or answer
