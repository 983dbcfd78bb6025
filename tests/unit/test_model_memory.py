"""What makes two requests to a model the same one: all that it hears, and nothing of the moment."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage

from adapters.roles.memory import Memory, Remembered, as_json, bytes_of
from domain.roles.spending import Settled
from tests.fakes.evidence import MemoryStore
from tests.fakes.model_passes import a_pass

EARLY, LATE = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 2, 2, tzinfo=UTC)
SETTINGS = ModelSettings(max_tokens=100)
KEY = "a" * 64


def talk(at: datetime, run: str, ids: Sequence[str], words: str = "saw x") -> list[ModelMessage]:
    """The same conversation, whenever, in whichever run, with whichever ids of calls."""
    one, two = ids
    calls = [ToolCallPart("look", {"at": "x"}, tool_call_id=one), ToolCallPart("look", {"at": "y"}, tool_call_id=two)]
    returned = [
        ToolReturnPart("look", words, tool_call_id=one, timestamp=at),
        ToolReturnPart("look", "saw y", tool_call_id=two, timestamp=at),
    ]
    return [
        ModelRequest(
            parts=[SystemPromptPart("be just", timestamp=at), UserPromptPart("look", timestamp=at)],
            timestamp=at,
            run_id=run,
            instructions="be brief",
        ),
        ModelResponse(
            parts=calls, timestamp=at, run_id=run, provider_response_id=run, usage=RequestUsage(input_tokens=len(run))
        ),
        ModelRequest(parts=returned, timestamp=at, run_id=run, conversation_id=run, instructions="be brief"),
    ]


def tools(description: str = "looks") -> ModelRequestParameters:
    return ModelRequestParameters(function_tools=[ToolDefinition(name="look", description=description)])


def test_times_runs_and_ids_make_no_other_request() -> None:
    one = bytes_of(talk(EARLY, "r", ("c1", "c2")), SETTINGS, tools())
    assert one == bytes_of(talk(LATE, "another", ("d9", "d8")), SETTINGS, tools())
    waiting = ModelSettings(max_tokens=100, timeout=3.0)
    assert one == bytes_of(talk(EARLY, "r", ("c1", "c2")), waiting, tools())


@pytest.mark.parametrize(
    ("messages", "settings", "parameters"),
    [
        (talk(EARLY, "r", ("c1", "c2"), words="saw z"), SETTINGS, tools()),
        (talk(EARLY, "r", ("c1", "c2"))[:2], SETTINGS, tools()),
        (talk(EARLY, "r", ("c1", "c2")), ModelSettings(max_tokens=101), tools()),
        (talk(EARLY, "r", ("c1", "c2")), ModelSettings(max_tokens=100, temperature=0.0), tools()),
        (talk(EARLY, "r", ("c1", "c2")), SETTINGS, tools("looks well")),
        (talk(EARLY, "r", ("c1", "c2")), SETTINGS, ModelRequestParameters()),
    ],
    ids=["an answer of a tool", "a message", "a limit", "a temperature", "a tool's description", "no tools"],
)
def test_what_the_model_hears_makes_another(
    messages: list[ModelMessage], settings: ModelSettings, parameters: ModelRequestParameters
) -> None:
    assert bytes_of(messages, settings, parameters) != bytes_of(talk(EARLY, "r", ("c1", "c2")), SETTINGS, tools())


def test_what_is_in_arguments_is_the_model_s_own() -> None:
    def called(**arguments: Any) -> bytes:
        return bytes_of([ModelResponse(parts=[ToolCallPart("look", arguments)])], SETTINGS, tools())

    assert called(timestamp="1", id="2") != called(timestamp="3", id="2")
    assert called(timestamp="1", id="2") != called(timestamp="1", id="3")


def test_a_pass_has_its_own_memory() -> None:
    store = MemoryStore()

    def keys(models: tuple[str, ...] = ("m",), **more: Any) -> list[str]:
        memory = Memory(store, a_pass(**more), models)
        return [memory.key_of(b"asked"), memory.key_of(b"asked")]

    found = [
        keys(),
        keys(part=1),
        keys(stage="informed"),
        keys(take="anew"),
        keys(("m", "n")),
    ]
    assert keys() == found[0], "whoever runs the pass finds the same"
    assert len({key for pair in found for key in pair}) == 10


def remembered() -> Remembered:
    response = ModelResponse(parts=[TextPart("yes")], model_name="m", usage=RequestUsage(input_tokens=3))
    settled = Settled(key=KEY, input_tokens=3, output_tokens=1, micros=9)
    return Remembered(model="local", response=as_json(response), settled=settled)


def test_an_answer_is_recalled_as_it_was() -> None:
    memory = Memory(MemoryStore(), a_pass(), ("m",))
    assert memory.recall(KEY) is None
    kept = memory.remember(KEY, remembered())
    assert memory.recall(KEY) == kept == remembered().model_copy(update={"response": kept.response})
    (part,) = kept.answer.parts
    assert isinstance(part, TextPart)
    assert (part.content, kept.answer.usage.input_tokens, kept.settled.micros) == ("yes", 3, 9)


@pytest.mark.parametrize("data", [b"", b"{}", b'{"model": "m", "response": {"kind": "x"}, "settled": {}}'])
def test_what_cannot_be_read_was_never_answered(data: bytes) -> None:
    store = MemoryStore()
    store.remember(KEY, data)
    assert Memory(store, a_pass(), ("m",)).recall(KEY) is None
    of_another_version = remembered().model_copy(update={"response": {"kind": "response", "parts": "none"}})
    store.remember(KEY, of_another_version.model_dump_json().encode())
    assert Memory(store, a_pass(), ("m",)).recall(KEY) is None
    question = remembered().model_copy(update={"response": {"kind": "request", "parts": []}})
    store.remember(KEY, question.model_dump_json().encode())
    assert Memory(store, a_pass(), ("m",)).recall(KEY) is None
