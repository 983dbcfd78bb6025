"""The tools of a pass as the library of models wants them. What a model is told of a call, and what of it is kept.

A piece of evidence leaves its mark in the conversation, by which `opening` finds it again in later passes of the stage.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.exceptions import CallDeferred
from pydantic_ai.messages import ToolReturn
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from adapters.roles.tooling import Heard, Toolbox, as_text, shortened
from domain.roles.delimited import rendered_pieces

RUN_TESTS = "run_tests"

_ANYTHING = SchemaValidator(core_schema.any_schema())
_NO_LIMIT = 1_000
"""Bad calls of one tool are bounded by the requests of a pass, like everything else."""


class PassTools(AbstractToolset[None]):
    """A toolbox, and `run_tests` for the checks that may be asked for: that one is run elsewhere, after the pass."""

    def __init__(self, box: Toolbox, tests: Collection[str]) -> None:
        self._box = box
        self._tests = tests

    @property
    def id(self) -> str:
        """For the library's messages."""
        return "tools"

    async def get_tools(
        self,
        ctx: RunContext[None],  # noqa: ARG002 - the library's signature
    ) -> dict[str, ToolsetTool[None]]:
        """All of them, one after the other where a model calls several at once: what is remembered has an order."""
        return {
            definition.name: ToolsetTool(
                toolset=self, tool_def=definition, max_retries=_NO_LIMIT, args_validator=_ANYTHING
            )
            for definition in self.definitions()
        }

    def definitions(self) -> list[ToolDefinition]:
        """What the model is told of each."""
        found = [
            ToolDefinition(
                name=tool.name,
                description=tool.description,
                parameters_json_schema=tool.arguments.model_json_schema(),
                sequential=True,
            )
            for tool in self._box.tools.values()
        ]
        return [*found, _run_tests(sorted(self._tests))] if self._tests else found

    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, Any],
        ctx: RunContext[None],  # noqa: ARG002 - the library's signature
        tool: ToolsetTool[None],  # noqa: ARG002 - as above
    ) -> ToolReturn | str:
        """What the model is told. Raises `CallDeferred` for a check that there is."""
        if name != RUN_TESTS:
            return told(await self._box.call(name, tool_args))
        if set(tool_args) == {"name"} and tool_args["name"] in self._tests:
            raise CallDeferred
        asked = f"there is no check of that name; there are {', '.join(sorted(self._tests))}, and nothing else is run"
        return self._box.refuse(name, as_text(tool_args), "no_such_test", asked)


def told(heard: Heard) -> ToolReturn | str:
    """A piece as delimited data, or the words that stand in for it."""
    if heard.piece is None:
        return heard.words
    shown = heard.piece.model_copy(update={"text": shortened(heard.piece, heard.digest)})
    return ToolReturn(
        return_value=rendered_pieces([shown]),
        metadata={"what": heard.what, "title": heard.piece.title, "digest": heard.digest},
    )


def _run_tests(names: list[str]) -> ToolDefinition:
    return ToolDefinition(
        name=RUN_TESTS,
        description="Runs one of the order's checks once more on the snapshot, in a sandbox, and says what came of it.",
        parameters_json_schema={
            "type": "object",
            "properties": {"name": {"type": "string", "enum": names}},
            "required": ["name"],
            "additionalProperties": False,
        },
        sequential=True,
    )
