"""What a tool of a role is: typed arguments in, text out. None can write, run a free command or choose where it reads.

Source: seed `auditor` 3.2, DESIGN 1.4 "Authority is structural".
"""

from __future__ import annotations

from typing import Protocol

from pydantic import BaseModel, ConfigDict


class Arguments(BaseModel):
    """A tool's arguments as the model gives them: an unknown one is an error, which it is told of."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ToolRefused(Exception):
    """The call is refused, and goes to the trail. `code` is stable: outside_tree, not_found, host_not_allowed, ..."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code, self.reason = code, reason


class Tool(Protocol):
    """One tool. `lasting`: the same call gives the same answer for ever, so that it need not be remembered."""

    @property
    def name(self) -> str:
        """As the model calls it."""
        ...

    @property
    def description(self) -> str:
        """What the model is told of it."""
        ...

    @property
    def arguments(self) -> type[Arguments]:
        """What it takes."""
        ...

    @property
    def lasting(self) -> bool:
        """Whether it reads what never changes."""
        ...

    async def call(self, arguments: Arguments) -> str:
        """The answer, in whole; whoever runs it cuts it. Raises `ToolRefused`, and `Unavailable` for what is away."""
        ...
