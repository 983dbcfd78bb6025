"""Whether the models that the settings choose can be asked at all: known price, readable script, a key. Asks none.

What speaks to them is loaded only where a model is chosen.
"""

from __future__ import annotations

from collections.abc import Iterable

from adapters.config.settings import Settings
from domain.authority import Authority
from domain.base import canonical_json, sha256_hex
from domain.errors import Malformed, Problem
from domain.order import Order
from domain.roles.models import chosen, key_variables, script_of
from domain.roles.names import STAGES, Role
from entrypoints.names import code_version


def problems_of(settings: Settings) -> tuple[Problem, ...]:
    """All that is missing, keys too; nothing where no model is chosen."""
    if not chosen(settings.agents):
        return ()
    from adapters.roles.providers import missing  # noqa: PLC0415 - for those who have a model

    return missing(settings.agents, settings.project)


def keys_not_set(settings: Settings, roles: Iterable[Role] = STAGES) -> tuple[Problem, ...]:
    """Of the problems of these roles' models those that another environment would not have."""
    variables = key_variables(settings.agents, roles)
    return tuple(problem for problem in problems_of(settings) if problem.field in variables)


def require_models(settings: Settings) -> None:
    """Refuse models that no environment could ask, or whose cost nobody knows. Raises `Malformed`.

    A key that is not set is none of it: people act on todos from shells that have none, and a pass says it.
    """
    missing = keys_not_set(settings)
    if refused := [problem for problem in problems_of(settings) if problem not in missing]:
        raise Malformed(refused)


def require_keys(settings: Settings, order: Order) -> None:
    """Refuse to begin a round of `order` where it may ask a model whose key is not set. Raises `Malformed`."""
    if missing := keys_not_set(settings, roles_of(order)):
        raise Malformed(missing)


def roles_of(order: Order) -> tuple[Role, ...]:
    """The roles that a round of `order`, or its fix loop, may ask; which of them follows from what is seen."""
    asked = order.verification
    given = asked.checks or any(one.deterministic for one in order.acceptance_criteria)
    drafts = asked.enabled and not asked.objective_only and asked.draft == "auto" and not given
    found: list[Role] = ["designer", "strategist"] if drafts else []
    if asked.asks_auditor:
        found += ["auditor"] if asked.adversarial == "never" else ["auditor", "advocate", "critic", "judge"]
    if asked.enabled and order.fix_loop.enabled:
        found.append("fix_builder")
    return tuple(found)


def in_force(authority: Authority, settings: Settings, order: Order) -> Authority:
    """`authority` with the version of this program, and the models where `order` may ask some."""
    models = ""
    if roles := roles_of(order):
        scripts = [settings.project / path for model in chosen(settings.agents, roles) if (path := script_of(model))]
        digests = [sha256_hex(path.read_bytes()) if path.is_file() else "" for path in scripts]
        models = sha256_hex(canonical_json([settings.agents.model_dump(mode="json"), digests]))
    return authority.model_copy(update={"program": code_version(), "models": models})
