"""Asks a search service whose address a human has configured; no model has a say in it.

Raises `Unavailable` (service_unavailable) for whatever is no answer. Its address has to be in the allow-list, too.
"""

from __future__ import annotations

import httpx

from adapters.checkers.plain_data import printable
from adapters.checkers.remote import Question, ask, gone, origin
from adapters.roles.web.allow_list import AllowList

ASK_SECONDS = 20.0
MAX_REDIRECTS = 3


async def asked(url: httpx.URL, accept: str, allow: AllowList) -> bytes:
    """The body of the answer. Raises `ToolRefused` (host_not_allowed) too; no redirect leads to another service."""
    allow.permitted(str(url))
    answer = await ask(
        Question(
            url=url,
            headers=lambda _: httpx.Headers(
                {"accept": accept, "accept-encoding": "identity", "user-agent": "countersign"}
            ),
            may=lambda target: origin(target) == origin(url),
            redirects=MAX_REDIRECTS,
            timeout=ASK_SECONDS,
        )
    )
    if answer.stopped:
        raise gone(url, f"leads to {answer.target}, which was not asked")
    if answer.status != httpx.codes.OK:
        raise gone(url, f"answered with status {answer.status}")
    if answer.truncated:
        raise gone(url, f"answered with more than {len(answer.body)} bytes")
    return answer.body


def line(text: str, most: int) -> str:
    """`text` on one line, and no longer than `most` characters."""
    plain = printable(" ".join(text.split()))
    return plain if len(plain) <= most else f"{plain[: most - 3]}..."
