"""The tools by which a role sees the web, made for one pass: those that are configured, none without an allow-list.

They read. Source: seed `auditor` 3.2, issue "The roles' runtime".
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from adapters.roles.tool import Arguments, Tool
from adapters.roles.web import arxiv, search
from adapters.roles.web.allow_list import AllowList
from adapters.roles.web.browser import Browser
from domain.ports import Progress
from domain.roles.agents import WebTable


class Address(Arguments):
    """Of a page."""

    url: Annotated[str, Field(min_length=1, max_length=2000, description="an absolute URL, http or https")]


class Nothing(Arguments):
    """No arguments."""


class Query(Arguments):
    """What to search for."""

    query: Annotated[str, Field(min_length=1, max_length=400, description="words to search for")]


@dataclass(frozen=True)
class WebTool:
    """One of them; what it reads changes, so that each answer has to be remembered."""

    name: str
    description: str
    arguments: type[Arguments]
    answer: Callable[[Any], Awaitable[str]]
    lasting: bool = False

    async def call(self, arguments: Arguments) -> str:
        """See `adapters.roles.tool.Tool`."""
        return await self.answer(arguments)


@asynccontextmanager
async def web_tools(web: WebTable, say: Progress) -> AsyncIterator[list[Tool]]:
    """Those of `web`; in the end nothing of them is left: no process, no profile, no connection."""
    if not web.allow:
        yield []
        return
    allow = AllowList(web.allow)
    browser = Browser(allow, say)
    try:
        yield [*_browsing(web, browser), *_searching(web, allow, say)]
    finally:
        await browser.close()


def _browsing(web: WebTable, browser: Browser) -> list[Tool]:
    listed = ", ".join(web.allow)
    return [
        WebTool(
            "browser_navigate",
            f"Open a web page in a browser. Only what is under these URLs can be reached: {listed}",
            Address,
            lambda asked: browser.navigate(asked.url),
        ),
        WebTool(
            "browser_view",
            "The page that browser_navigate has opened: its URL, title, links and visible text.",
            Nothing,
            lambda _: browser.view(),
        ),
    ]


def _searching(web: WebTable, allow: AllowList, say: Progress) -> list[Tool]:
    found: list[Tool] = []
    if (engine := web.search_url) is not None:

        async def web_search(asked: Query) -> str:
            say("searching the web")
            return await search.search(engine, asked.query, allow)

        found.append(WebTool("web_search", "Search the web: titles, URLs and snippets.", Query, web_search))
    if (library := web.arxiv_url) is not None:

        async def arxiv_search(asked: Query) -> str:
            say("searching arXiv")
            return await arxiv.search(library, asked.query, allow)

        about = "Search arXiv for papers with all the words, or for one by its arXiv id."
        found.append(WebTool("arxiv_search", about, Query, arxiv_search))
    return found
