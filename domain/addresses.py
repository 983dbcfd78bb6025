"""The `[notifications]` table: who is told that a todo waits for a person, of what, and when they are reminded.

Source: issue "Human authority", DESIGN 3. No secret is ever written here: an address that has one in it, and the key of
a webhook's signature, are in the environment variables that are named. Durations are seconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Annotated, Literal

from pydantic import Field

from domain.base import Part
from domain.fields import MAX_SECONDS, Url, VariableName

NoticeKind = Literal["escalated", "question", "reminder", "resolved"]
"""What people are told: work waits for them, a worker asks, they have not looked yet, somebody has."""

SECRETLESS = ("dbus", "gnome", "json", "jsons", "kde", "macosx", "qt", "syslog", "windows", "xml", "xmls")
"""Apprise's schemes whose URLs can do without a token or a password, so that a file may have them."""

After = Annotated[float, Field(ge=0, le=MAX_SECONDS, description="seconds: a number, 0 (never) to 604800")]
Pattern = Annotated[str, Field(min_length=1, max_length=100)]


class Destination(Part):
    """What every address says. `sessions`: patterns such as `release-*`, none for all; `second`: told by the second
    reminder, and of nothing before.
    """

    url_variable: VariableName | None = None
    events: list[NoticeKind] = ["escalated", "question", "reminder", "resolved"]
    sessions: list[Pattern] = []
    second: bool = False

    def hears(self, kind: NoticeKind, session: str) -> bool:
        """Whether it is told of this kind in that session."""
        named = not self.sessions or any(fnmatchcase(session, pattern) for pattern in self.sessions)
        return named and kind in self.events


class Address(Destination):
    """An address that apprise knows: its URL is in a variable, or here where there is no secret in it."""

    url: Annotated[str, Field(min_length=1)] | None = None


class Webhook(Destination):
    """Somewhere that takes JSON by POST, signed with the key that `secret_variable` has."""

    url: Url | None = None
    secret_variable: VariableName


class Notifications(Part):
    """The whole table. `remind_after` and `second_after` count from when the wait began; 0 is never."""

    remind_after: After = 3600.0
    second_after: After = 14_400.0
    addresses: dict[str, Address] = {}
    webhooks: dict[str, Webhook] = {}

    def by_name(self) -> dict[str, Address | Webhook]:
        """Every address, in the order of the table: people's, then machines'."""
        return {**self.addresses, **self.webhooks}


def variables(table: Notifications) -> tuple[str, ...]:
    """The environment variables that the table names, each once. All of them are secrets."""
    return tuple(dict.fromkeys(name for one in table.by_name().values() for name in variables_of(one)))


def variables_of(one: Address | Webhook) -> tuple[str, ...]:
    """Those that one address needs."""
    secret = one.secret_variable if isinstance(one, Webhook) else None
    return tuple(name for name in (one.url_variable, secret) if name is not None)


def without_meaning(table: Notifications) -> Iterator[tuple[tuple[str | int, ...], str, str]]:
    """What of the table means nothing: where it stands in it, what is wrong, what was expected."""
    if table.remind_after and 0 < table.second_after <= table.remind_after:
        yield ("second_after",), "is not after remind_after", "a longer time, or 0 for no second reminder"
    for kind, found in (("addresses", table.addresses), ("webhooks", table.webhooks)):
        for name, one in found.items():
            yield from (((kind, name, *place), what, expected) for place, what, expected in _wrong(name, one))
    for name in table.webhooks.keys() & table.addresses.keys():
        yield ("webhooks", name), "an address has the same name", "a name of its own: rows tell who was told by it"


def _wrong(name: str, one: Address | Webhook) -> Iterator[tuple[tuple[str | int, ...], str, str]]:
    if not name.replace("-", "").replace("_", "").isalnum() or not name.isascii() or len(name) > 100:
        yield (), "is no name of an address", "letters, digits, - and _, 100 at most"
    if one.url is not None and one.url_variable is not None:
        yield ("url",), "there is a url_variable, too", "one of them"
    elif one.url is None and one.url_variable is None:
        yield (), "has no URL", 'url_variable = "NAME", the variable with the URL'
    elif isinstance(one, Address) and one.url is not None and (what := _secret_in(one.url)):
        yield ("url",), what, 'url_variable = "NAME", the variable with the URL'
    if not one.events:
        yield ("events",), "is told of nothing", "at least one event, or none of this"
    if one.second and "reminder" not in one.events:
        yield ("second",), "is told by the second reminder, of which it hears nothing", 'events with "reminder"'


def _secret_in(url: str) -> str:
    """Why a file must not have this URL; empty where it may. What is wrong is said without it."""
    scheme, found, rest = url.partition("://")
    if not found:
        return "is no URL"
    if scheme.lower() not in SECRETLESS:
        return f"may have a secret in it, as it is none of {', '.join(SECRETLESS)}"
    if "@" in rest or "?" in rest:
        return "has a user, a password or parameters in it"
    return ""
