"""Reads a script: the turns that are played in place of a model's. Refuses what is none, each problem with its line.

Whether an answer has the shape that a role asks for is not checked here: a script may answer wrongly on purpose.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, JsonValue, ValidationError, model_validator

from adapters.config.explain import explain
from adapters.config.problems import Place, shown_as
from adapters.config.text_file import read_text_file
from adapters.config.yaml_document import Document, parse
from domain.base import Part
from domain.errors import Malformed, Problem
from domain.fields import wrong
from domain.roles.names import Role, Stage

CONTENT = "a list of turns in YAML or JSON"
SAID = ("tool", "tools", "answer", "text", "fault")

Fault = Literal[400, 401, 403, 404, 408, 429, 500, 502, 503, 529, "hang", "refused", "unreadable"]


class Use(Part):
    """A call of a tool."""

    name: Annotated[str, Field(min_length=1)]
    arguments: dict[str, JsonValue] = {}


class Turn(Part):
    """One turn of a model: what it says, which is exactly one of five. Without a role or stage it is any's.

    `part`: which pass of the stage it is of, from 0: the judge's second hearing, the strategist's second plan are 1.
    `cost_usd`: what the turn is pretended to cost, US dollars, so that budgets can be tried without a provider.
    """

    role: Role | None = None
    stage: Stage | None = None
    part: Annotated[int, Field(ge=0)] | None = None
    tool: Use | None = None
    tools: Annotated[list[Use], Field(min_length=1)] | None = None
    answer: dict[str, JsonValue] | None = None
    text: str | None = None
    fault: Fault | None = None
    cost_usd: Annotated[float, Field(ge=0, le=1_000_000, allow_inf_nan=False)] | None = None

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        said = [name for name in SAID if getattr(self, name) is not None]
        if len(said) != 1:
            raise wrong(f"says {' and '.join(said) or 'nothing'}", f"exactly one of {', '.join(SAID)}")
        if self.fault is not None and self.cost_usd is not None:
            raise wrong("a fault with cost_usd", "a fault alone: it costs what a provider's would", at=("cost_usd",))
        return self

    @property
    def uses(self) -> list[Use]:
        """The tools that it calls."""
        return [self.tool] if self.tool else self.tools or []


class Script(Part):
    """All turns, in the order in which they are played."""

    turns: Annotated[list[Turn], Field(min_length=1)]

    def turn(self, role: Role, stage: Stage, answered: int, part: int = 0) -> Turn | None:
        """What follows so many answers of a conversation; the last turn repeats. None without any of that stage.

        Turns of just this part stand for those that name none.
        """
        all_parts = [turn for turn in self.turns if _is(turn.role, role) and _is(turn.stage, stage)]
        of_part = [turn for turn in all_parts if turn.part == part]
        own = of_part or [turn for turn in all_parts if turn.part is None]
        return own[min(answered, len(own) - 1)] if own else None


def _is(said: str | None, wanted: str) -> bool:
    return said in (None, wanted)


@dataclass(frozen=True)
class _Listed(Document):
    """A document whose root is the list itself."""

    def problem(self, place: Place, what: str, expected: str, *, at_key: bool = False) -> Problem:
        """As the file has it, in which nothing is called `turns`."""
        return super().problem(place[1:], what, expected, at_key=at_key)

    def is_spoiled(self, place: Place) -> bool:
        """As `Document` says, of the place in the file."""
        return super().is_spoiled(place[1:])


def read_script(path: Path) -> Script:
    """The script at `path`. Raises `Malformed` with every problem, sorted by line."""
    shown = shown_as(path)
    document = parse(read_text_file(path, shown, CONTENT), shown, CONTENT)
    data: JsonValue = {"turns": document.data}
    listed = _Listed(data, document.values, document.keys, shown, document.problems, document.spoiled)
    problems = list(document.problems)
    try:
        script = Script.model_validate_json(json.dumps(data))
    except ValidationError as error:
        problems += explain(error, Script, listed)
    if problems:
        raise Malformed(sorted(problems, key=lambda problem: problem.line))
    return script
