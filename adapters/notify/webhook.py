"""JSON for machines: one POST, with an HMAC over when it was sent and what was. It follows no redirect.

The receiver counts `HMAC-SHA256(secret, timestamp + "." + body)` itself, compares, and takes no timestamp that is old
and no delivery twice (docs/notifications.md).
"""

from __future__ import annotations

import hashlib
import hmac
import logging
from datetime import datetime

import httpx
from pydantic import JsonValue

from domain.base import canonical_json
from domain.notifications import Delivery, Notice, text_of

for name in ("httpx", "httpcore"):
    # At INFO and below they write URLs, in which a token may be.
    logging.getLogger(name).setLevel(logging.WARNING)

DELIVERY, TIMESTAMP, SIGNATURE = "Countersign-Delivery", "Countersign-Timestamp", "Countersign-Signature"
STEP_SECONDS = 10.0
"""For each step of a request: connecting, sending, and the first line of the answer."""


def document(delivery: Delivery, notice: Notice, at: datetime) -> dict[str, JsonValue]:
    """What is sent: the facts, and the text that people get."""
    return {
        "id": delivery.id,
        "kind": notice.kind,
        "number": notice.number,
        "session": notice.session,
        "todo": notice.todo,
        "status": notice.status,
        "trigger": notice.trigger,
        "reason": notice.reason,
        "title": notice.title,
        "since": notice.since.isoformat(timespec="seconds"),
        "attempt": notice.attempt,
        "by": notice.by,
        "how": notice.how,
        "next": notice.next_step,
        "text": text_of(notice),
        "at": at.isoformat(timespec="seconds"),
    }


def signed(secret: bytes, body: bytes, at: datetime, delivery: str) -> dict[str, str]:
    """The headers of `body`."""
    timestamp = str(int(at.timestamp()))
    digest = hmac.new(secret, timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    return {
        "Content-Type": "application/json",
        DELIVERY: delivery,
        TIMESTAMP: timestamp,
        SIGNATURE: f"sha256={digest}",
    }


async def post(url: str, secret: bytes, facts: dict[str, JsonValue], at: datetime) -> str:
    """Send it; why it was not taken, empty for taken, which every 2xx is. Nothing of the answer's body is read.

    The reason is without the URL, which may have a token in it.
    """
    body = canonical_json(facts)
    headers = signed(secret, body, at, str(facts["id"]))
    try:
        async with (
            httpx.AsyncClient(follow_redirects=False, timeout=STEP_SECONDS) as client,
            client.stream("POST", url, content=body, headers=headers) as answer,
        ):
            return "" if answer.is_success else f"it answered {answer.status_code}"
    except httpx.TimeoutException:
        return "no answer in time"
    except httpx.ConnectError:
        return "it cannot be reached"
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, OSError) as error:
        return f"no answer that is HTTP ({type(error).__name__})"
