"""A server on loopback that speaks OpenAI's chat completions and Anthropic's messages, answering as it is told to.

It runs in the test's own process, so that it outlives every worker that is killed, and counts what each sent.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any, Literal

from tests.listening import listening

Protocol = Literal["openai", "anthropic"]
PATHS: Mapping[str, Protocol] = {"/v1/chat/completions": "openai", "/v1/messages": "anthropic"}
USAGE = (100, 20)
"""Tokens in and out, of a turn that says none."""

HANG_SECONDS = 120.0


@dataclass(frozen=True)
class Received:
    """One request as it came. `at`: seconds of this process's clock."""

    protocol: Protocol
    headers: dict[str, str]
    body: dict[str, Any]
    at: float
    number: int

    @property
    def text(self) -> str:
        """All of the body, for what may stand nowhere in it; nothing in it is escaped that need not be."""
        return json.dumps(self.body, ensure_ascii=False)

    @property
    def key(self) -> str:
        """The key that it came with."""
        return self.headers.get("x-api-key", "") or self.headers.get("authorization", "").removeprefix("Bearer ")

    @property
    def answered(self) -> int:
        """How many answers of a model the conversation has so far."""
        return sum(1 for message in self.body["messages"] if message["role"] == "assistant")

    @property
    def tools(self) -> dict[str, Any]:
        """The tools that are offered, by name, each with the schema of its arguments."""
        if self.protocol == "anthropic":
            return {tool["name"]: tool["input_schema"] for tool in self.body.get("tools", [])}
        functions = (tool["function"] for tool in self.body.get("tools", []))
        return {function["name"]: function["parameters"] for function in functions}

    @property
    def system(self) -> str:
        """What the model is told before the conversation."""
        said = [message["content"] for message in self.body["messages"] if message["role"] in ("system", "developer")]
        return "\n".join(_plain(part) for part in (*said, self.body.get("system", "")))

    @property
    def user(self) -> str:
        """All that the conversation gives to the model: prompts, and what tools answered."""
        kept = (message for message in self.body["messages"] if message["role"] in ("user", "tool"))
        return "\n".join(_plain(message["content"]) for message in kept)


@dataclass(frozen=True)
class Turn:
    """One answer: a model's `text` and `calls`, or `output`, a structured one; or `status` and `raw`, which is none.

    `cut`: half of it is sent, then the connection ends. `hang`: nothing is, for long. `drop`: the connection ends
    at once. `pause`: seconds before the answer.
    """

    text: str = ""
    calls: tuple[tuple[str, Any], ...] = ()
    output: Mapping[str, Any] | None = None
    usage: tuple[int, int] | None = USAGE
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    raw: str | None = None
    cut: bool = False
    hang: bool = False
    drop: bool = False
    pause: float = 0.0


def text(words: str, **more: Any) -> Turn:
    """An answer in words: where a structured one is wanted, one that cannot be parsed."""
    return Turn(text=words, **more)


def call(name: str, /, arguments: Any = None, **more: Any) -> Turn:
    """A call of one tool. Arguments that are text are sent as they are, which may be no JSON (OpenAI's protocol)."""
    return Turn(calls=((name, {} if arguments is None else arguments),), **more)


def calls(*named: tuple[str, Any], **more: Any) -> Turn:
    """Calls of several tools at once."""
    return Turn(calls=named, **more)


def output(answer: Mapping[str, Any], **more: Any) -> Turn:
    """A structured answer, through the tool that is offered for its shape."""
    return Turn(output=answer, **more)


def fault(status: int, **headers: str) -> Turn:
    """An error of the provider; `Retry_After="2"` is a header."""
    body = json.dumps({"type": "error", "error": {"type": "a_fault", "message": f"fault {status}", "code": None}})
    return Turn(
        status=status, headers=tuple((name.replace("_", "-"), said) for name, said in headers.items()), raw=body
    )


HTML = Turn(raw="<!doctype html><title>Sign in</title>", headers=(("Content-Type", "text/html"),))
NOT_JSON = Turn(raw='{"id": "x", "choices": [')
HANG = Turn(hang=True)
DROP = Turn(drop=True)
CUT = Turn(text="cut in the middle of " * 40, cut=True)

Script = Callable[[Received], Turn]


@dataclass
class Provider:
    """The server: what it was sent, and what it answers."""

    port: int = 0
    received: list[Received] = field(default_factory=list)
    script: Script = field(default=lambda _: fault(500))
    over: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def openai_url(self) -> str:
        """The `base_url` of its OpenAI side."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def anthropic_url(self) -> str:
        """The `base_url` of its Anthropic side."""
        return f"http://127.0.0.1:{self.port}"

    def plays(self, *turns: Turn) -> None:
        """Answer in order of arrival, from the next request on; the last turn repeats."""
        first = len(self.received)
        self.script = lambda received: turns[min(received.number - first, len(turns) - 1)]

    def answers(self, script: Script) -> None:
        """Answer each request by what it is, so that one that comes twice is answered alike."""
        self.script = script

    def take(self, protocol: Protocol, headers: dict[str, str], body: dict[str, Any]) -> Received:
        """Note a request."""
        with self.lock:
            received = Received(protocol, headers, body, time.monotonic(), len(self.received))
            self.received.append(received)
            return received

    def wait_for(self, count: int, seconds: float = 120.0) -> None:
        """Until so many requests have come in all. Raises `AssertionError`."""
        ends = time.monotonic() + seconds
        while len(self.received) < count:
            assert time.monotonic() < ends, f"{len(self.received)} requests after {seconds} s, not {count}"
            time.sleep(0.02)


def by_turn(*turns: Turn) -> Script:
    """Answer by how many answers the conversation has; the last turn repeats."""
    return lambda received: turns[min(received.answered, len(turns) - 1)]


def by_stage(**stages: Sequence[Turn]) -> Script:
    """Answer by the words in the system prompt that name a stage, and within it by how many answers there are."""

    def script(received: Received) -> Turn:
        for stage, turns in stages.items():
            if stage in received.system:
                return by_turn(*turns)(received)
        raise AssertionError(f"no stage of {sorted(stages)} in {received.system[:400]!r}")

    return script


@contextmanager
def providing() -> Iterator[Provider]:
    """A provider for as long as this lasts."""
    provider = Provider()
    with listening(_handler(provider)) as provider.port:
        try:
            yield provider
        finally:
            provider.over.set()


def _handler(provider: Provider) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            protocol = PATHS.get(self.path.partition("?")[0])
            if protocol is None:
                self._send(404, {}, b"{}", cut=False)
                return
            headers = {name.lower(): value for name, value in self.headers.items()}
            received = provider.take(protocol, headers, body)
            turn = provider.script(received)
            if turn.pause or turn.hang:
                provider.over.wait(HANG_SECONDS if turn.hang else turn.pause)
            if turn.hang or turn.drop:
                self.close_connection = True
                return
            kind, answer = _answer(received, turn)
            self._send(turn.status, {"Content-Type": kind, **dict(turn.headers)}, answer, cut=turn.cut)

        def _send(self, status: int, headers: dict[str, str], body: bytes, *, cut: bool) -> None:
            try:
                self.send_response(status)
                for name, value in {"Content-Length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body[: len(body) // 2] if cut else body)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True  # whoever asked was killed, or had waited long enough

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: it would go to the tests' output."""

    return Handler


def _answer(received: Received, turn: Turn) -> tuple[str, bytes]:
    """The content's type, and the bytes of the body."""
    if turn.raw is not None:
        return "application/json", turn.raw.encode()
    calls, words = list(turn.calls), turn.text
    if turn.output is not None:
        name = _output_tool(received, turn.output)
        calls, words = ([*calls, (name, turn.output)], words) if name else (calls, json.dumps(turn.output))
    identified = [(f"call_{received.number}_{place}", name, given) for place, (name, given) in enumerate(calls)]
    if received.protocol == "openai":
        return "application/json", json.dumps(_openai(received, words, identified, turn.usage)).encode()
    message = _anthropic(received, words, identified, turn.usage)
    if received.body.get("stream"):
        return "text/event-stream", _streamed(message)
    return "application/json", json.dumps(message).encode()


def _output_tool(received: Received, answer: Mapping[str, Any]) -> str | None:
    """The tool that takes such an answer: the one whose schema has most of its fields. None where none is offered."""
    offered = received.tools
    return max(offered, key=lambda name: len(answer.keys() & offered[name].get("properties", {}).keys()), default=None)


Calls = list[tuple[str, str, Any]]


def _openai(received: Received, words: str, calls: Calls, usage: tuple[int, int] | None) -> dict[str, Any]:
    asked = [
        {"id": id, "type": "function", "function": {"name": name, "arguments": _arguments(given)}}
        for id, name, given in calls
    ]
    message: dict[str, Any] = {
        "role": "assistant",
        "content": words or None,
        **({"tool_calls": asked} if asked else {}),
    }
    used = {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)} if usage else None
    return {
        "id": f"chatcmpl-{received.number}",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": received.body["model"],
        "choices": [{"index": 0, "finish_reason": "tool_calls" if asked else "stop", "message": message}],
        **({"usage": used} if used else {}),
    }


def _anthropic(received: Received, words: str, calls: Calls, usage: tuple[int, int] | None) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": words}] if words else []
    content += [{"type": "tool_use", "id": id, "name": name, "input": given} for id, name, given in calls]
    used = usage or (0, 0)
    return {
        "id": f"msg_{received.number}",
        "type": "message",
        "role": "assistant",
        "model": received.body["model"],
        "content": content,
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": used[0], "output_tokens": used[1]},
    }


def _streamed(message: dict[str, Any]) -> bytes:
    """A message as the events of a stream."""
    empty = {**message, "content": [], "stop_reason": None, "usage": {**message["usage"], "output_tokens": 0}}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": empty}]
    for index, block in enumerate(message["content"]):
        spoken = block["type"] == "text"
        start = {**block, "text": ""} if spoken else {**block, "input": {}}
        delta = (
            {"type": "text_delta", "text": block["text"]}
            if spoken
            else {"type": "input_json_delta", "partial_json": _arguments(block["input"])}
        )
        events += [
            {"type": "content_block_start", "index": index, "content_block": start},
            {"type": "content_block_delta", "index": index, "delta": delta},
            {"type": "content_block_stop", "index": index},
        ]
    ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    events.append({"type": "message_delta", "delta": ended, "usage": message["usage"]})
    events.append({"type": "message_stop"})
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()


def _arguments(given: Any) -> str:
    return given if isinstance(given, str) else json.dumps(given)


def _plain(content: Any) -> str:
    """The words of a message's content, whichever way its protocol writes them."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(_plain(part) for part in content)
    if isinstance(content, dict):
        return _plain(content.get("text") or content.get("content") or "")
    return ""
