"""A worker process that runs passes of a role, on a store in memory, and a model that plays what a test tells it to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, ModelResponsePart, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from adapters.roles.earlier import Said
from adapters.roles.requests import RoleModel
from adapters.roles.runtime import LlmRoles
from adapters.roles.tool import Arguments, Tool
from domain.base import canonical_json
from domain.checks import CheckResult, Outcome
from domain.claims.claim import Claim
from domain.events import Actor
from domain.messages import Frozen, RoundInput, ScopeResult
from domain.order import Order
from domain.ports import Progress
from domain.roles.agents import Agents
from domain.roles.passes import PassInput
from domain.roles.results import PassResult
from domain.scope import ScopeReport
from domain.tree import Change
from tests.fakes.evidence import MemoryStore
from tests.fakes.ledger import MemoryLedger

DIFF = "--- a/src/app.py\n+++ b/src/app.py\n@@ -1 +1 @@\n-print('no')\n+print('yes')\n"
EXPLANATION = "I changed the word that is printed, see [log]."
MODEL = "a-model"
PRICE = {"input": 1.0, "output": 2.0}
AGENTS = Agents.model_validate(
    {
        "model": MODEL,
        "models": {MODEL: {"provider": "openai", "model": "x", "base_url": "http://127.0.0.1:9/v1", "price": PRICE}},
        "auditor": {"max_requests": 6},
    }
)
LOOKED: dict[str, Any] = {"assessments": [], "suspicions": []}
"""A first look that holds up, where the order has no criterion."""

UNFRAMED = ("blind", "design", "strategy")
"""Stages that are sent no claim."""

Turn = ModelResponse | Sequence[ModelResponsePart] | BaseException | Callable[[], Awaitable[Any]]


def call(name: str, call_id: str = "", /, **arguments: Any) -> ToolCallPart:
    """A call of a tool, or an answer."""
    return ToolCallPart(name, arguments, tool_call_id=call_id) if call_id else ToolCallPart(name, arguments)


def text(said: str) -> list[ModelResponsePart]:
    """A turn of words alone."""
    return [TextPart(said)]


async def forever() -> None:
    """A model that does not answer."""
    await asyncio.sleep(3600)


@dataclass
class Played:
    """Answers with its turns, one a request, the last of them for ever; `asked` is what it was sent."""

    turns: Sequence[Turn]
    asked: list[tuple[list[ModelMessage], AgentInfo]] = field(default_factory=list)

    async def answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        """The next turn."""
        self.asked.append((messages, info))
        turn = self.turns[min(len(self.asked), len(self.turns)) - 1]
        if isinstance(turn, BaseException):
            raise turn
        if isinstance(turn, ModelResponse):
            return turn
        if isinstance(turn, Sequence):
            return ModelResponse(parts=turn)
        await turn()
        raise AssertionError("what a test waits for here does not end by itself")

    def told(self, place: int = -1) -> str:
        """All that the model was told in a request, the system prompt left out."""
        parts = (part for message in self.asked[place][0] for part in message.parts if message.kind == "request")
        return "\n".join(str(getattr(part, "content", "")) for part in parts)


@dataclass
class Desk:
    """What a worker process has: a store, a ledger, tools; `plays` stands in for the model that is configured."""

    monkeypatch: pytest.MonkeyPatch
    store: MemoryStore = field(default_factory=MemoryStore)
    ledger: MemoryLedger = field(default_factory=MemoryLedger)
    tools: Sequence[Tool] = ()
    agents: Agents = AGENTS
    earlier: tuple[Said, ...] = ()
    said: list[str] = field(default_factory=list)

    def plays(self, *turns: Turn) -> Played:
        """From now on the model answers with these turns."""
        played = Played(turns)

        @asynccontextmanager
        async def speaker(*_: object) -> AsyncIterator[FunctionModel]:
            yield FunctionModel(played.answer)

        self.monkeypatch.setattr(RoleModel, "_speaker", speaker)
        return played

    async def run(self, request: PassInput, used: float = 0.0, root: Path | None = None) -> PassResult:
        """One try of a pass, by a worker process of its own."""

        @asynccontextmanager
        async def tools(_: PassInput, __: Progress) -> AsyncIterator[Sequence[Tool]]:
            yield self.tools

        roles = LlmRoles(self.agents, self.store, self.ledger, tools=tools, earlier=lambda _: self.earlier, root=root)
        return await roles.run(request, self.said.append, used)

    def pass_of(self, stage: str = "blind", **more: Any) -> PassInput:
        """A pass of a round in which one check passed. `order`: its fields."""
        fields = {"id": "todo", "content": "Print yes.", "base": "/base", "workspace": "/work"}
        checks = [{"name": "prints", "command": "python src/app.py"}]
        given = more.pop("order", {})
        verification = {"checks": checks, **given.pop("verification", {})}
        order = Order.model_validate_json(canonical_json({**fields, "verification": verification, **given}))
        asked = RoundInput(
            session="local",
            todo="todo",
            attempt=1,
            order=order,
            order_digest=order.digest,
            host="here",
            actor=Actor(role="worker"),
            claim=None if stage in UNFRAMED else Claim(explanation=EXPLANATION),
        )
        frozen = Frozen(head="a" * 64, base="b" * 64, head_files=1, head_bytes=1, base_files=1, dropped="")
        known = {"round": asked, "frozen": frozen, "scope": self.scope(), "results": (self.result(),)}
        return PassInput.model_validate({**known, "stage": stage, "limit": 600.0, **more})

    def scope(self) -> ScopeResult:
        """One file was changed."""
        report = ScopeReport(accepted=(Change(path="src/app.py", kind="modified"),))
        return ScopeResult(
            tree="c" * 64,
            tree_bytes=10,
            report=self.store.put(report.model_dump_json().encode()),
            diff=self.store.put(DIFF.encode()),
        )

    def result(self, stdout: str = "yes\n", outcome: Outcome = Outcome.PASSED) -> CheckResult:
        """What `prints` came to."""
        seen = self.store.put(canonical_json({"finding": {"stdout": stdout, "stderr": ""}}))
        return CheckResult(
            id="prints", spelling="check", type="command_exit_zero", outcome=outcome, code="exit_code", evidence=seen
        )


class OnePath(Arguments):
    """A path."""

    path: str


@dataclass
class FakeTool:
    """A tool that answers by a table, or raises what is in it; `calls` are those that reached it."""

    answers: dict[str, Any]
    name: str = "Read"
    description: str = "Reads a file."
    lasting: bool = False
    arguments: type[Arguments] = OnePath
    calls: list[str] = field(default_factory=list)

    async def call(self, arguments: Arguments) -> str:
        """What the table has for the path; a number is for how many seconds nothing comes."""
        assert isinstance(arguments, OnePath)
        self.calls.append(arguments.path)
        found = self.answers[arguments.path]
        if isinstance(found, Exception):
            raise found
        if isinstance(found, float):
            await asyncio.sleep(found)
            return "late"
        return str(found)
