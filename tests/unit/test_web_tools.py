"""Which tools of the web a role has, and what it is told where no browser can be had."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from adapters.roles.tool import Arguments, Tool, ToolRefused
from adapters.roles.web import chromium as chromium_module
from adapters.roles.web.allow_list import AllowList
from adapters.roles.web.browser import Browser
from adapters.roles.web.tools import Address, Nothing, Query, web_tools
from domain.errors import Cause, Unavailable
from domain.roles.agents import WebTable
from tests.service import serving

SITE = "http://127.0.0.1:9"


async def names(web: WebTable) -> list[str]:
    async with web_tools(web, lambda _: None) as tools:
        return [tool.name for tool in tools]


@pytest.mark.parametrize(
    ("web", "expected"),
    [
        (WebTable(), []),
        (WebTable(search_url=SITE, arxiv_url=SITE), []),
        (WebTable(allow=[SITE]), ["browser_navigate", "browser_view"]),
        (WebTable(allow=[SITE], search_url=SITE), ["browser_navigate", "browser_view", "web_search"]),
        (WebTable(allow=[SITE], arxiv_url=SITE), ["browser_navigate", "browser_view", "arxiv_search"]),
    ],
)
async def test_there_are_those_that_are_configured(web: WebTable, expected: list[str]) -> None:
    assert await names(web) == expected


async def test_each_says_what_it_takes_and_none_lasts() -> None:
    async with web_tools(WebTable(allow=[SITE], search_url=SITE, arxiv_url=SITE), lambda _: None) as tools:
        of = {tool.name: tool for tool in tools}
        assert {name: tool.arguments for name, tool in of.items()} == {
            "browser_navigate": Address,
            "browser_view": Nothing,
            "web_search": Query,
            "arxiv_search": Query,
        }
        assert SITE in of["browser_navigate"].description
        assert not [name for name, tool in of.items() if tool.lasting or not tool.description]


@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        (Address, {}),
        (Address, {"url": ""}),
        (Query, {"query": "x" * 401}),
        (Nothing, {"url": "x"}),
        (Query, {"q": "x"}),
    ],
)
def test_other_arguments_are_errors(arguments: type[Arguments], given: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        arguments.model_validate(given)


async def called(tool: Tool, **arguments: str) -> str:
    return await tool.call(tool.arguments.model_validate(arguments))


async def test_searches_are_asked_and_said() -> None:
    said: list[str] = []
    with serving() as service:
        service.says("/search", {"results": [{"title": "T", "url": "https://a.example/"}]})
        service.says("/api/query", b'<feed xmlns="http://www.w3.org/2005/Atom"/>')
        web = WebTable(allow=[service.url], search_url=f"{service.url}/search", arxiv_url=service.url)
        async with web_tools(web, said.append) as (_, _, web_search, arxiv_search):
            assert await called(web_search, query="x") == "[1] T\n    https://a.example/"
            assert await called(arxiv_search, query="x") == "Nothing was found."
    assert said == ["searching the web", "searching arXiv"]


async def test_without_a_browser_on_the_path_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert chromium_module.program() is None
    async with web_tools(WebTable(allow=[SITE]), lambda _: None) as (navigate, view):
        with pytest.raises(Unavailable, match="no Chromium on this worker's PATH") as caught:
            await called(navigate, url=f"{SITE}/x")
        assert caught.value.cause is Cause.SYSTEM_ERROR
        assert "apt install chromium" in caught.value.next_step
        with pytest.raises(ToolRefused, match="no page is open") as refused:
            await called(view)
        assert refused.value.code == "no_page"


async def test_a_browser_that_does_not_start_says_what_it_printed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "chromium"
    program.write_text('#!/bin/sh\necho "no usable sandbox for $OPENAI_API_KEY$HTTPS_PROXY." >&2\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    for name in ("OPENAI_API_KEY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "secret")
    async with web_tools(WebTable(allow=[SITE]), lambda _: None) as (navigate, _):
        for _ in range(2):
            with pytest.raises(Unavailable, match=r"Chromium does not start: no usable sandbox for \.") as caught:
                await called(navigate, url=f"{SITE}/x")
            assert caught.value.cause is Cause.SYSTEM_ERROR


async def test_a_refused_page_starts_no_browser(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolRefused):
        await Browser(AllowList([SITE]), lambda _: None).navigate("file:///etc/passwd")
