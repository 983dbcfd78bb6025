"""What the `[agents]` table has to hold beyond its shape: models that mean something, URLs with one reading.

It refuses nothing itself: whoever reads the table tells the problems. Prices are `entrypoints.models`' to look at.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from adapters.config.problems import Place
from domain.fields import quoted
from domain.roles.agents import Agents, ModelId, RoleTable
from domain.roles.models import SCRIPT, script_of, without_meaning
from domain.roles.names import STAGES

Wrong = tuple[Place, str, str]
"""Where in the table, what is wrong, what was expected."""


def wrong_with(agents: Agents, service: TypeAdapter[str]) -> list[Wrong]:
    """Everything. `service` validates a URL that others are held under, or that is asked."""
    return [*without_meaning(agents), *_ambiguous(agents, service)]


def from_root(agents: Agents, root: Path) -> Agents:
    """The table with its scripts as absolute paths: relative ones are so to the project."""

    def absolute(model: ModelId) -> ModelId:
        file = script_of(model)
        return model if file is None else f"{SCRIPT}{root / Path(file).expanduser()}"

    def own(table: RoleTable) -> RoleTable:
        fallbacks = [absolute(model) for model in table.fallbacks]
        return table.model_copy(update={"model": table.model and absolute(table.model), "fallbacks": fallbacks})

    tables: dict[str, RoleTable] = {role: own(agents.of(role)) for role in STAGES}
    return agents.model_copy(update={"model": agents.model and absolute(agents.model), **tables})


def _ambiguous(agents: Agents, service: TypeAdapter[str]) -> Iterator[Wrong]:
    named: list[tuple[Place, str | None]] = [
        *((("models", name, "base_url"), entry.base_url) for name, entry in agents.models.items()),
        *((("web", "allow", place), url) for place, url in enumerate(agents.web.allow)),
        (("web", "search_url"), agents.web.search_url),
        (("web", "arxiv_url"), agents.web.arxiv_url),
    ]
    for place, url in named:
        try:
            _ = url and service.validate_python(url)
        except ValidationError as error:
            context = error.errors()[0].get("ctx", {})
            yield place, context.get("what", f"{quoted(url or '')} is no URL"), context.get("expected", "a URL")
