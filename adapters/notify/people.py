"""People's addresses, as apprise knows them: chats, mail, desktops. Plain text; what apprise says is told without URLs.

It is loaded where there is an address, and by the worker that sends: it is large.
"""

from __future__ import annotations

import logging

import apprise

logging.getLogger(apprise.LOGGER_NAME).setLevel(logging.CRITICAL + 1)  # it has URLs in it, and what servers answered

MOST_SAID = 200
_WORTH_HIDING = 4


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
    if found.notify(body=text, title=title, body_format=apprise.NotifyFormat.TEXT):
        return ""
    return "apprise was not heard to the end"


def _service(url: str) -> apprise.NotifyBase | None:
    made = apprise.Apprise.instantiate(url, asset=_asset(), suppress_exceptions=True)
    return made if isinstance(made, apprise.NotifyBase) else None


def _asset() -> apprise.AppriseAsset:
    """Nothing is kept on disk, nothing of the text has a meaning, and no redirect leads elsewhere."""
    return apprise.AppriseAsset(app_id="Countersign", app_desc="Countersign", http_redirects=False)
