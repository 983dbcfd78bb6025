"""The `[agents]` table: which model plays which role, what it may cost, and what of the web it may see.

Source: issue "The roles' runtime", CONTRACT "An order" (precedence). No key is ever written here: a model's is in the
environment variable that `api_key_env` names. Durations are seconds, prices US dollars a million tokens.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from domain.base import Part
from domain.fields import Seconds, Url, VariableName
from domain.roles.names import Role

Dollars = Annotated[float, Field(ge=0)]
ModelId = Annotated[str, Field(min_length=1, max_length=200)]
"""`openai:NAME`, `anthropic:NAME`, `script:FILE`, or the name of an entry of `[agents.models]`."""


class Price(Part):
    """What a million tokens cost, in and out."""

    input: Dollars
    output: Dollars


class ModelEntry(Part):
    """A model by a name of one's own. `base_url`: any server that speaks the provider's protocol.

    `price` is needed where the library of prices does not know the model.
    """

    provider: Literal["openai", "anthropic"]
    model: Annotated[str, Field(min_length=1)]
    base_url: Url | None = None
    api_key_env: VariableName | None = None
    price: Price | None = None


class Caps(Part):
    """The most that may be spent, in US dollars; None is no cap. What is under way counts by its estimate."""

    request: Dollars | None = None
    role: Dollars | None = None
    todo: Dollars | None = 5.0
    session: Dollars | None = 50.0


class RoleTable(Part):
    """One role: its model, those that stand in for it, and the limits of one pass."""

    model: ModelId | None = None
    fallbacks: list[ModelId] = []
    max_requests: Annotated[int, Field(ge=1, le=100)] = 20
    max_tokens: Annotated[int, Field(ge=256, le=200_000)] = 8_192
    request_timeout: Seconds = 120.0


class WebTable(Part):
    """What a role may see of the web; nothing where this is empty. `search_url` speaks SearXNG's JSON."""

    allow: list[Url] = []
    search_url: Url | None = None
    arxiv_url: Url | None = None


class Agents(Part):
    """The whole table. `model` is every role's that names none; without any, rounds are objective only."""

    model: ModelId | None = None
    models: dict[str, ModelEntry] = {}
    caps: Caps = Caps()
    designer: RoleTable = RoleTable()
    strategist: RoleTable = RoleTable()
    auditor: RoleTable = RoleTable()
    advocate: RoleTable = RoleTable()
    critic: RoleTable = RoleTable()
    judge: RoleTable = RoleTable()
    fix_builder: RoleTable = RoleTable()
    web: WebTable = WebTable()

    def of(self, role: Role) -> RoleTable:
        """What is configured for a role."""
        table: RoleTable = getattr(self, role)
        return table
