"""The secrets that this process knows: of its settings, and of the orders that it was given. It masks nothing itself.

One masker a process, that only ever learns: what is named later is masked from then on, and nothing is forgotten.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from adapters.masking.masker import Masker
from adapters.masking.strength import why_unfit
from domain.addresses import variables as notification_variables
from domain.roles.models import key_variables

if TYPE_CHECKING:  # what only prints must not load the settings
    from adapters.config.settings import Settings

KNOWN = Masker()

GITHUB_TOKENS = ("COUNTERSIGN_GITHUB_TOKEN", "GITHUB_TOKEN")
TEMPORAL_KEYS = ("TEMPORAL_API_KEY", "TEMPORAL_TLS_CLIENT_KEY_DATA")
AWS_KEYS = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
"""Secrets where evidence is in a bucket."""

URLS = {
    "database_url": "DATABASE_PASSWORD",
    "database_owner_url": "DATABASE_OWNER_PASSWORD",
    "docker_host": "DOCKER_HOST_PASSWORD",
}
"""Settings whose passwords are secrets, and what these are called."""


def masker_of(settings: Settings) -> Masker:
    """This process's masker, which knows the secrets of the settings from now on."""
    KNOWN.learn(secrets_of(settings))
    return KNOWN


def secrets_of(settings: Settings) -> dict[str, bytes]:
    """The values that the settings name, by what they are called. A variable that is not set has none."""
    told = notification_variables(settings.notifications)
    found = values_of((*settings.secrets, *GITHUB_TOKENS, *TEMPORAL_KEYS, *key_variables(settings.agents), *told))
    if settings.github_token is not None and not found.keys() & set(GITHUB_TOKENS):
        found["GITHUB_TOKEN"] = settings.github_token.get_secret_value().encode()
    if settings.evidence_url is not None:
        found |= values_of(AWS_KEYS)
    for field, name in URLS.items():
        found |= _passwords(name, getattr(settings, field))
    for name in told:
        found |= _passwords(f"{name}_PASSWORD", os.environ.get(name))
    return found


def variables_with_secrets(settings: Settings) -> tuple[str, ...]:
    """The variables that a host must have as a command has them: named as secrets, or URLs with a password."""
    return (
        *settings.secrets,
        *(AWS_KEYS if settings.evidence_url is not None else ()),
        *(f"COUNTERSIGN_{field.upper()}" for field in URLS if _passwords("", getattr(settings, field))),
    )


def values_of(names: Iterable[str]) -> dict[str, bytes]:
    """The values of variables, without those that are not set and those that cannot be masked: settings refuse these.

    As bytes: a variable may hold anything.
    """
    return {
        name: os.fsencode(value)
        for name in names
        if (value := os.environ.get(name, "")).strip() and not why_unfit(name, value)
    }


def named_by(message: object) -> tuple[str, ...]:
    """The variables that a message says hold secrets: itself, or the order in it."""
    order = getattr(message, "order", None) or getattr(getattr(message, "input", None), "order", None)
    owner = message if order is None else getattr(order, "environment", None)
    names = getattr(owner, "secrets", ())
    return tuple(name for name in names if isinstance(name, str)) if isinstance(names, list | tuple) else ()


def _passwords(name: str, url: str | None) -> dict[str, bytes]:
    """The URL's user with the password; the password alone, too, if it is none that stands in other texts."""
    if url is None or "@" not in url:
        return {}
    try:
        credentials = urlsplit(url).netloc.rpartition("@")[0]
    except ValueError:
        return {}
    password = credentials.partition(":")[2]
    if not password:
        return {}
    found = {f"{name}_AND_USER": f"{credentials}@".encode()}
    plain = unquote(password)
    if not plain.isalpha() and not why_unfit(name, plain):
        found[name] = plain.encode()
    return found
