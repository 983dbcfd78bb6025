"""Searches arXiv by its Atom API; an arXiv id finds that paper.

Nothing in the answer is expanded or fetched: a document type in it is refused.
Source: seed `auditor` 3.2, arXiv's "API User's Manual", RFC 4287 (Atom).
"""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element, ParseError

import httpx
from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import fromstring

from adapters.checkers.remote import gone
from adapters.roles.web.allow_list import AllowList
from adapters.roles.web.asking import asked, line

RESULTS = 10
PATH = "/api/query"
SUMMARY_CHARS = 1500

_ATOM = "{http://www.w3.org/2005/Atom}"
_ID = re.compile(r"(?:arxiv:)?(\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Z]{2})?/\d{7})(v\d+)?", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+(?:[-.'][^\W_]+)*")


async def search(service: str, query: str, allow: AllowList) -> str:
    """The first papers: id, title, authors, published, summary. Raises `Unavailable`, `ToolRefused`."""
    wanted = _wanted(query)
    if not wanted:
        return "Nothing was found."
    url = httpx.URL(service.rstrip("/").removesuffix(PATH) + PATH)
    body = await asked(url.copy_merge_params({**wanted, "max_results": str(RESULTS)}), "application/atom+xml", allow)
    try:
        feed = fromstring(body, forbid_dtd=True)
    except (ParseError, DefusedXmlException):
        raise gone(url, "did not answer in Atom") from None
    if feed.tag != f"{_ATOM}feed":
        raise gone(url, "did not answer in Atom")
    return "\n".join(_shown(entry) for entry in feed.findall(f"{_ATOM}entry")[:RESULTS]) or "Nothing was found."


def _wanted(query: str) -> dict[str, str]:
    """What to ask for: the papers with all the words, whatever else arXiv could read into a query."""
    if found := _ID.fullmatch(query.strip()):
        return {"id_list": found[1] + (found[2] or "")}
    words = _WORD.findall(query)
    return {"search_query": " AND ".join(f"all:{word}" for word in words)} if words else {}


def _shown(entry: Element) -> str:
    authors = ", ".join(_text(author, "name", 100) for author in entry.findall(f"{_ATOM}author")[:20])
    return (
        f"{_text(entry, 'id', 200)}\n    {_text(entry, 'title', 300)}\n    {authors or '(no author)'}\n"
        f"    published {_text(entry, 'published', 40)}\n    {_text(entry, 'summary', SUMMARY_CHARS)}"
    )


def _text(element: Element, name: str, most: int) -> str:
    return line(element.findtext(f"{_ATOM}{name}") or "", most)
