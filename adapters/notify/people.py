"""People's addresses, as apprise knows them: chats, mail, desktops. Plain text; what apprise says is told without URLs.

It is loaded where there is an address, and by the worker that sends: it is large.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable

import apprise
from apprise.logger import LOGGER_NAME

_LOGGER = logging.getLogger(LOGGER_NAME)
_LOGGER.propagate = False  # what it says may have URLs with tokens in it, and what servers answered
_LOGGER.addHandler(logging.NullHandler())

_STATUS = re.compile(r"\berror=([1-5][0-9]{2})\b")


def is_known(url: str) -> bool:
    """Whether apprise makes an address of it."""
    return _service(url) is not None


def tell(url: str, title: str, text: str) -> str:
    """Send it; why it was not taken, empty for taken. Apprise's own limits of time are seconds for each step."""
    service = _service(url)
    if service is None:
        return "its URL is none that apprise knows"
    found = apprise.Apprise(asset=_asset())
    found.add(service)
    sent = found.notify(body=text, title=title, body_format=apprise.NotifyFormat.TEXT)
    return "" if sent else _why(entry.message for entry in sent.logs())


def _why(said: Iterable[str]) -> str:
    """What is known of it: the status of an answer. What else apprise says may have more in it than is to be told."""
    status = next((found[1] for line in said if (found := _STATUS.search(line))), None)
    return f"it answered {status}" if status else "it cannot be reached, or does not answer"


def _service(url: str) -> apprise.NotifyBase | None:
    made = apprise.Apprise.instantiate(url, asset=_asset(), suppress_exceptions=True)
    return made if isinstance(made, apprise.NotifyBase) else None


def _asset() -> apprise.AppriseAsset:
    """Nothing is kept on disk, nothing of the text has a meaning, and no redirect leads elsewhere."""
    return apprise.AppriseAsset(app_id="Countersign", app_desc="Countersign", http_redirects=False)
