"""What a request to a model needs: what its name means, its price, its key, and a client that speaks its protocol.

Refuses, as `Malformed`, names that mean nothing and what is not set. No client retries: `requests` does.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from adapters.roles.prices import FREE, price_of
from adapters.roles.script import Script, read_script
from domain.errors import Malformed, Problem
from domain.fields import quoted
from domain.roles.agents import Agents, ModelEntry, Price
from domain.roles.models import EXPECTED, chosen, chosen_by, entry_of, key_of, script_of
from domain.roles.names import STAGES, Role
from domain.roles.passes import PassInput

if TYPE_CHECKING:
    from pydantic_ai.models import Model

NOT_CONFIGURED = "no model is configured"
CONFIGURATION = "countersign.toml"
ENVIRONMENT = "environment"
NO_KEY = "none"
"""Goes to a server of one's own that asks for no key: the libraries look for one elsewhere when they are given none."""

CLIENTS = {"openai": "adapters.roles.openai_client", "anthropic": "adapters.roles.anthropic_client"}
"""By protocol. They take seconds to load, which only who has such a model waits for."""


@dataclass(frozen=True)
class Known:
    """What a model's name means: a provider's model, or a script."""

    name: str
    entry: ModelEntry | None = None
    script: Path | None = None

    def price(self, input_tokens: int = 0) -> Price:
        """What it costs now, by the size of the request. Raises `Malformed` where nobody knows."""
        price = FREE if self.entry is None else price_of(self.entry, input_tokens)
        if price is None:
            raise Malformed([_no_price(self)])
        return price

    def key(self, environment: Mapping[str, str]) -> str:
        """Its key. Raises `Malformed` where the variable that should have it is not set."""
        variable = key_of(self.entry) if self.entry else None
        if variable is None:
            return NO_KEY
        if not (key := environment.get(variable, "").strip()):
            raise Malformed([_problem(variable, "is not set", f"the key of {quoted(self.name)}", ENVIRONMENT)])
        return key

    def played(self) -> Script | None:
        """The script, None for a provider's model. Raises `Malformed` for a file that is none."""
        return None if self.script is None else read_script(self.script)


def known(agents: Agents, name: str, root: Path | None = None) -> Known:
    """What `name` means; a script's path is relative to `root`. Raises `Malformed` where it means nothing."""
    if script := script_of(name):
        return Known(name, script=(root or Path.cwd()) / script)
    if entry := entry_of(agents, name):
        return Known(name, entry=entry)
    raise Malformed([_problem("agents", f"{quoted(name)} is no model", EXPECTED)])


def asked(agents: Agents, request: PassInput) -> tuple[str, ...]:
    """The models of a pass, in the order that they are asked in; empty where none is configured."""
    return (request.model,) if request.model else chosen_by(agents, request.role)


def why_nobody(agents: Agents, request: PassInput, root: Path | None = None) -> str:
    """Why nobody plays the role of a pass, in words; empty where somebody does.

    A script that has no turn of a role is no model of it. One that cannot be read is, and fails when it is asked.
    """
    if not (names := asked(agents, request)):
        return NOT_CONFIGURED
    if all(_is_silent(agents, name, request.role, root) for name in names):
        return f"{NOT_CONFIGURED}: {', '.join(names)} has no turn of the {request.role}"
    return ""


def _is_silent(agents: Agents, name: str, role: Role, root: Path | None) -> bool:
    try:
        script = known(agents, name, root).played()
    except Malformed:
        return False
    return script is not None and not any(script.turn(role, stage, 0) for stage in STAGES[role])


def missing(
    agents: Agents, root: Path | None = None, environment: Mapping[str, str] = os.environ
) -> tuple[Problem, ...]:
    """What the models that are configured lack, each once: a meaning, a price, a key, a script. Nothing is sent.

    A problem's `file` is `countersign.toml` (without its line), `environment`, or the script.
    """
    found = (problem for name in chosen(agents) for problem in _lacking(agents, name, root, environment))
    return tuple({str(problem): problem for problem in found}.values())


def _lacking(agents: Agents, name: str, root: Path | None, environment: Mapping[str, str]) -> Iterator[Problem]:
    try:
        model = known(agents, name, root)
    except Malformed as error:
        yield from error.problems
        return
    looks: tuple[Callable[[], object], ...] = (model.price, partial(model.key, environment), model.played)
    for look in looks:
        try:
            look()
        except Malformed as error:
            yield from error.problems


@asynccontextmanager
async def speaking(model: Known, seconds: float, environment: Mapping[str, str] = os.environ) -> AsyncIterator[Model]:
    """The library's model of a provider's, and its connections for as long as this lasts. `seconds`: its time-out.

    Raises `Malformed` where its key is not set.
    """
    assert model.entry is not None
    key = model.key(environment)
    client = await asyncio.to_thread(import_module, CLIENTS[model.entry.provider])
    opened: AbstractAsyncContextManager[Model] = client.speaking(model.entry, key, seconds)
    async with opened as speaker:
        yield speaker


def _no_price(model: Known) -> Problem:
    assert model.entry is not None
    table = "price = {input = DOLLARS, output = DOLLARS}, for a million tokens each"
    if ":" not in model.name:
        return _problem(f"agents.models.{model.name}.price", "is missing, and the library knows none", table)
    entry = f'an entry with provider = "{model.entry.provider}", model = "{model.entry.model}" and {table}'
    return _problem("agents.models", f"{quoted(model.name)} has no known price", entry)


def _problem(field: str, what: str, expected: str, file: str = CONFIGURATION) -> Problem:
    return Problem(file=file, line=1, field=field, what=what, expected=f"expected {expected}")
