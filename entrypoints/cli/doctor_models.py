"""What `doctor` says of language models and of the web that roles may see. No request is sent, no browser started."""

from __future__ import annotations

from collections.abc import Iterator

from adapters.config.project_file import PROJECT_FILE
from adapters.config.settings import ENVIRONMENT, Settings
from adapters.roles.web.chromium import HOW_TO_INSTALL, program
from domain.errors import Problem
from domain.roles.agents import Price, WebTable
from domain.roles.models import chosen, chosen_by, entry_of, key_of
from domain.roles.names import STAGES
from entrypoints.cli.finding import Finding
from entrypoints.role_models import problems_of

NONE = "none is configured: rounds are objective only ([agents] model = ... in countersign.toml, or COUNTERSIGN_MODEL)"


def models(settings: Settings) -> list[Finding]:
    """Each role's models in the order in which they are asked, or all that is missing for them."""
    agents = settings.agents
    if not chosen(agents):
        return [Finding("models", True, NONE)]
    if problems := problems_of(settings):
        return [_missing(problem) for problem in problems]
    chains: dict[tuple[str, ...], list[str]] = {}
    for role in STAGES:
        chains.setdefault(chosen_by(agents, role), []).append(role)
    return [Finding("models", True, _chain(settings, chain, roles)) for chain, roles in chains.items()]


def web(settings: Settings) -> list[Finding]:
    """What the roles' web tools need, where there are any."""
    table = settings.agents.web
    if not table.allow:
        return [Finding("web tools", True, "off: [agents.web] allows nothing"), *_never_asked(table)]
    browser = program()
    if browser is None:
        found = Finding("web tools", False, "no Chromium on PATH, which pages are looked at with", HOW_TO_INSTALL)
    else:
        found = Finding("web tools", True, f"{len(table.allow)} allowed, looked at with {browser}")
    return [found, *_unlisted(table)]


def _missing(problem: Problem) -> Finding:
    known = problem.file in (ENVIRONMENT, PROJECT_FILE)
    where = "" if known else f"{problem.file}:{problem.line}: "
    return Finding("models", False, f"{where}{problem.field}: {problem.what}", problem.expected)


def _chain(settings: Settings, chain: tuple[str, ...], roles: list[str]) -> str:
    """One model after the other; whose they are, where the roles have different ones."""
    said = ", then ".join(_shown(settings, model) for model in chain) or "none"
    return said if len(roles) == len(STAGES) else f"{', '.join(roles)}: {said}"


def _shown(settings: Settings, model: str) -> str:
    entry = entry_of(settings.agents, model)
    if entry is None:
        return f"{model} (scripted: no model answers)"
    from adapters.roles.prices import price_of  # noqa: PLC0415 - its data are for those who have a model

    price = price_of(entry)
    assert price is not None, "problems_of has looked"
    key = key_of(entry)
    said = [f"key in {key}" if key else "no key", _cost(price), *([f"at {entry.base_url}"] if entry.base_url else [])]
    return f"{model} ({', '.join(said)})"


def _cost(price: Price) -> str:
    return f"${price.input:g} in and ${price.output:g} out a million tokens"


def _unlisted(table: WebTable) -> Iterator[Finding]:
    """Searches that the allow-list would refuse."""
    from adapters.checkers.remote import allowed, parsed  # noqa: PLC0415 - httpx, for those who allow something

    for name, address in _searches(table).items():
        url = parsed(address)
        if url is None or not allowed(url, tuple(table.allow)):
            yield Finding("searches", False, f"{name} is not under [agents.web] allow", f"{address} in allow, too")


def _searches(table: WebTable) -> dict[str, str]:
    named = {"search_url": table.search_url, "arxiv_url": table.arxiv_url}
    return {name: address for name, address in named.items() if address is not None}


def _never_asked(table: WebTable) -> list[Finding]:
    """Tools that are configured and that no role has."""
    named = list(_searches(table))
    fix = 'allow = ["https://..."] in [agents.web], or leave them out'
    text = f"{' and '.join(named)}: no role has web tools, since nothing is allowed"
    return [Finding("searches", False, text, fix)] if named else []
