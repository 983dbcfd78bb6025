"""Which models the `[agents]` table chooses, and what each of their names means. It asks nobody, and reads no key.

Source: issue "The roles' runtime".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from domain.roles.agents import Agents, ModelEntry
from domain.roles.names import STAGES, Role

SCRIPT = "script:"
KEYS: dict[Literal["openai", "anthropic"], str] = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
"""Where each provider's own server finds its key, if the entry names no other variable."""


def chosen_by(agents: Agents, role: Role) -> tuple[str, ...]:
    """The role's models, the one that is asked first and those that stand in for it; none where it has none."""
    table = agents.of(role)
    first = table.model or agents.model
    return tuple(dict.fromkeys((first, *table.fallbacks))) if first else ()


def chosen(agents: Agents, roles: Iterable[Role] = STAGES) -> tuple[str, ...]:
    """Every model that some of the roles has, each once. Empty for all of them: rounds are objective only."""
    return tuple(dict.fromkeys(model for role in roles for model in chosen_by(agents, role)))


def script_of(model: str) -> str | None:
    """The file whose answers are played, None for a model that answers itself."""
    return model.removeprefix(SCRIPT) or None if model.startswith(SCRIPT) else None


def entry_of(agents: Agents, model: str) -> ModelEntry | None:
    """What stands behind a model's name: its entry, or a provider's own model. None for a script and for no model."""
    if model in agents.models:
        return agents.models[model]
    named, _, of_provider = model.partition(":")
    provider = next((known for known in KEYS if known == named), None)
    return ModelEntry(provider=provider, model=of_provider) if provider and of_provider else None


def key_of(entry: ModelEntry) -> str | None:
    """The variable with its key. A server of one's own is sent none but the one that the entry names."""
    return entry.api_key_env or (None if entry.base_url else KEYS[entry.provider])


def key_variables(agents: Agents, roles: Iterable[Role] = STAGES) -> tuple[str, ...]:
    """The variables with the keys of all models that these roles have, each once."""
    entries = (entry_of(agents, model) for model in chosen(agents, roles))
    return tuple(dict.fromkeys(key for entry in entries if entry and (key := key_of(entry))))


def without_meaning(agents: Agents) -> list[tuple[tuple[str | int, ...], str, str]]:
    """What of the table means nothing: where it stands in it, what is wrong, what was expected."""
    found: list[tuple[tuple[str | int, ...], str, str]] = [
        (("models", name), "the name has a ':' in it", "a name without, such as local")
        for name in agents.models
        if ":" in name
    ]
    found += [
        (place, f"{model!r} is no model", EXPECTED)
        for place, model in _named(agents)
        if model is not None and not is_model(agents, model)
    ]
    return found + [
        ((role, "fallbacks"), "they stand in for no model", "a model, too")
        for role in STAGES
        if agents.of(role).fallbacks and not chosen_by(agents, role)
    ]


def _named(agents: Agents) -> Iterator[tuple[tuple[str | int, ...], str | None]]:
    """Every place in the table that names a model, with what it names."""
    yield ("model",), agents.model
    for role in STAGES:
        table = agents.of(role)
        yield (role, "model"), table.model
        yield from (((role, "fallbacks", place), model) for place, model in enumerate(table.fallbacks))


EXPECTED = "openai:NAME, anthropic:NAME, script:FILE or the name of an entry of [agents.models]"
"""What a model may be called."""


def is_model(agents: Agents, model: str) -> bool:
    """Whether the name means something."""
    return script_of(model) is not None or entry_of(agents, model) is not None
