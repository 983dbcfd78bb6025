"""What `doctor` says of those who are told that work waits for people: each address, and what is missing for it.

Nothing is sent, unless somebody asks for that.
"""

from __future__ import annotations

import asyncio
import os
import uuid
from datetime import UTC, datetime

from adapters.config.settings import Settings
from adapters.masking.known import masker_of
from adapters.notify.notifier import ConfiguredNotifier
from domain.addresses import Address, Webhook, variables_of
from domain.errors import Unavailable
from domain.notifications import Delivery, Notice
from entrypoints.cli.finding import Finding

NAME = "notifications"
NONE = "nobody is told: no address in [notifications] of countersign.toml (docs/notifications.md)"


def notifications(settings: Settings, *, send: bool = False) -> list[Finding]:
    """A line each. `send`: each that lacks nothing is sent a message that says that it is a test."""
    named = settings.notifications.by_name()
    if not named:
        return [Finding(NAME, True, NONE)]
    found = {name: _missing(name, one) for name, one in named.items()}
    ready = [name for name, missing in found.items() if missing is None]
    tested = asyncio.run(_tested(settings, ready)) if send else {}
    return [missing or tested.get(name) or _ready(name, named[name]) for name, missing in found.items()]


def _missing(name: str, one: Address | Webhook) -> Finding | None:
    for variable in variables_of(one):
        if not os.environ.get(variable, "").strip():
            fix = f"export {variable}=... where workers of the queue notifications are started"
            return Finding(NAME, False, f"{name}: the variable {variable} is not set here", fix)
    if isinstance(one, Webhook):
        return None
    from adapters.notify.people import is_known  # noqa: PLC0415 - apprise: for those who have an address

    if is_known((one.url or os.environ[one.url_variable or ""]).strip()):
        return None
    where = f"in {one.url_variable}" if one.url_variable else f"{one.url!r}"
    return Finding(NAME, False, f"{name}: the URL {where} is none that apprise knows", "one as apprise's manual has it")


def _ready(name: str, one: Address | Webhook) -> Finding:
    kind = "webhook, signed" if isinstance(one, Webhook) else "apprise"
    where = f"in {one.url_variable}" if one.url_variable else str(one.url)
    told = ", ".join(one.events) + (", from the second reminder on" if one.second else "")
    of = f" of {', '.join(one.sessions)}" if one.sessions else ""
    return Finding(NAME, True, f"{name} ({kind}, {where}): {told}{of}")


async def _tested(settings: Settings, names: list[str]) -> dict[str, Finding]:
    notifier = ConfiguredNotifier(settings.notifications, masker_of(settings))
    try:
        return dict(zip(names, await asyncio.gather(*(_sent(notifier, name) for name in names)), strict=True))
    finally:
        notifier.close()


async def _sent(notifier: ConfiguredNotifier, name: str) -> Finding:
    reason = "a test by countersign doctor: nothing waits for anybody"
    notice = Notice(kind="resolved", session="doctor", status="test", reason=reason, since=datetime.now(UTC))
    try:
        await notifier.send(Delivery(id=f"test/{name}/{uuid.uuid4().hex}", address=name, notice=notice))
    except Unavailable as error:
        return Finding(NAME, False, error.reason, "see the URL, the secret, and that this machine reaches it")
    return Finding(NAME, True, f"{name} has taken a test message")
