"""Searches the web by a service that speaks SearXNG's JSON; it opens none of what it finds.

Source: seed `auditor` 3.2, SearXNG's "Search API" (`q`, `format=json`).
"""

from __future__ import annotations

import httpx
from pydantic import BaseModel, ValidationError

from adapters.checkers.remote import gone
from adapters.roles.web.allow_list import AllowList
from adapters.roles.web.asking import asked, line

RESULTS = 10


class _Result(BaseModel):
    url: str
    title: str = ""
    content: str | None = None


class _Answer(BaseModel):
    results: list[_Result]


async def search(service: str, query: str, allow: AllowList) -> str:
    """The first results, each with title, URL and snippet. Raises `Unavailable`, `ToolRefused` (host_not_allowed)."""
    url = httpx.URL(service).copy_merge_params({"q": query, "format": "json"})
    body = await asked(url, "application/json", allow)
    try:
        results = _Answer.model_validate_json(body).results[:RESULTS]
    except ValidationError:
        # Without its text, which quotes the answer.
        why = "did not answer in SearXNG's JSON (which its settings have to name: search.formats)"
        raise gone(httpx.URL(service), why) from None
    return "\n".join(_shown(number, result) for number, result in enumerate(results, 1)) or "Nothing was found."


def _shown(number: int, result: _Result) -> str:
    snippet = f"\n    {line(result.content, 500)}" if result.content else ""
    return f"[{number}] {line(result.title, 200) or '(no title)'}\n    {line(result.url, 500)}{snippet}"
