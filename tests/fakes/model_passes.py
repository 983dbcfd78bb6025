"""Passes of which only the requests to models matter, and how those are asked without the runtime around them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, UserPromptPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings

from adapters.roles.requests import RoleModel, opened
from domain.events import SYSTEM
from domain.messages import Frozen, RoundInput, ScopeResult
from domain.order import Order
from domain.roles.agents import Agents
from domain.roles.passes import PassInput
from domain.roles.spending import Spent
from tests.fakes.evidence import MemoryStore
from tests.fakes.ledger import MemoryLedger


def a_pass(**more: Any) -> PassInput:
    """The first pass of a round."""
    order = Order.model_validate({"id": "wo", "content": "Do it.", "workspace": "/w", "base": "/b"})
    blob = "0" * 64
    return PassInput(
        **{
            "round": RoundInput(
                session="s", todo="t", attempt=1, order=order, order_digest=blob, host="h", actor=SYSTEM
            ),
            "frozen": Frozen(head=blob, base=blob, head_files=0, head_bytes=0, base_files=0, dropped=blob),
            "scope": ScopeResult(tree=blob, tree_bytes=0, report=blob, diff=blob),
            "results": (),
            "stage": "blind",
            "limit": 300.0,
            **more,
        }
    )


def prompt(text: str = "hello") -> list[ModelMessage]:
    """A conversation that begins."""
    return [ModelRequest(parts=[UserPromptPart(text)])]


@dataclass
class Asking:
    """What outlives a worker that is killed: store and ledger. `slept`: the pauses that would have been made.

    `clock`: what the pass's deadline, in `seconds`, is by.
    """

    agents: Agents
    store: MemoryStore = field(default_factory=MemoryStore)
    ledger: MemoryLedger = field(default_factory=MemoryLedger)
    environment: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 600.0
    clock: Callable[[], float] = time.monotonic
    slept: list[float] = field(default_factory=list)
    told: list[str] = field(default_factory=list)

    def model(self, request: PassInput | None = None) -> RoleModel:
        """The model of a pass that begins, or begins again."""
        return opened(
            self.agents,
            request or a_pass(),
            self.store,
            self.ledger,
            self.told.append,
            self.clock() + self.seconds,
            environment=self.environment,
            sleep=self._sleep,
        )

    async def ask(
        self, text: str = "hello", model: RoleModel | None = None, settings: ModelSettings | None = None
    ) -> ModelResponse:
        """One request, by a pass of its own if no model is given."""
        return await (model or self.model()).request(prompt(text), settings, ModelRequestParameters())

    @property
    def spent(self) -> Spent:
        """What the ledger has of the session."""
        return self.ledger.spent("s")

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
