"""Searches: what a service answers becomes text, and whatever is no answer is unavailable, never empty."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from adapters.roles.tool import ToolRefused
from adapters.roles.web import arxiv, asking, search
from adapters.roles.web.allow_list import AllowList
from domain.errors import Cause, Unavailable
from tests.service import Service, serving

ENTRY = """<entry><id>http://arxiv.org/abs/2512.17259v1</id><title>Verifiability-First
  Agents</title><author><name>Ada Lovelace</name></author><author><name>Alan Turing</name></author>
  <published>2025-12-19T00:00:00Z</published><summary>  We  embed
  audit agents. </summary></entry>"""
FEED = '<feed xmlns="http://www.w3.org/2005/Atom"><title>x</title>%s</feed>'


@pytest.fixture
def service() -> Iterator[Service]:
    with serving() as opened:
        yield opened


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever answers here does so, however long this process stands still."""
    monkeypatch.setattr(asking, "ASK_SECONDS", 120.0)


def allowing(service: Service) -> AllowList:
    return AllowList([service.url])


def asked_for(service: Service) -> dict[str, list[str]]:
    return parse_qs(urlsplit(service.paths[-1]).query)


async def test_the_web_is_searched_by_searxng(service: Service) -> None:
    found: list[dict[str, Any]] = [
        {"title": "A\ntitle", "url": "https://a.example/", "content": "  a \x1b[1m snippet", "engine": "x"},
        *({"title": "", "url": f"https://b.example/{number}", "content": None} for number in range(12)),
    ]
    service.says("/search", {"query": "x", "results": found})
    text = await search.search(f"{service.url}/search?language=en", 'what is "it" &q=2', allowing(service))
    lines = text.split("\n")
    assert lines[:5] == [
        *("[1] A title", "    https://a.example/", "    a \\x1b[1m snippet"),
        *("[2] (no title)", "    https://b.example/0"),
    ]
    assert sum(line.startswith("[") for line in lines) == 10
    assert asked_for(service) == {"language": ["en"], "q": ['what is "it" &q=2'], "format": ["json"]}
    assert service.asked[-1].headers["accept"] == "application/json"


async def test_arxiv_is_searched_by_its_atom(service: Service) -> None:
    service.says("/api/query", ('<?xml version="1.0"?>' + FEED % ENTRY).encode())
    text = await arxiv.search(f"{service.url}/", 'audit-agents "for LLMs) OR ti:x', allowing(service))
    assert text.split("\n") == [
        "http://arxiv.org/abs/2512.17259v1",
        "    Verifiability-First Agents",
        "    Ada Lovelace, Alan Turing",
        "    published 2025-12-19T00:00:00Z",
        "    We embed audit agents.",
    ]
    expected = "all:audit-agents AND all:for AND all:LLMs AND all:OR AND all:ti AND all:x"
    assert asked_for(service) == {"search_query": [expected], "max_results": ["10"]}


@pytest.mark.parametrize(
    ("query", "paper"),
    [("2512.17259", "2512.17259"), (" arXiv:2512.17259v2 ", "2512.17259v2"), ("hep-th/9901001", "hep-th/9901001")],
)
async def test_an_arxiv_id_finds_that_paper(service: Service, query: str, paper: str) -> None:
    service.says("/api/query", (FEED % "").encode())
    assert await arxiv.search(f"{service.url}/api/query", query, allowing(service)) == "Nothing was found."
    assert asked_for(service) == {"id_list": [paper], "max_results": ["10"]}


async def test_nothing_found_says_so(service: Service) -> None:
    service.says("/search", {"results": []})
    assert await search.search(f"{service.url}/search", "x", allowing(service)) == "Nothing was found."
    assert await arxiv.search(service.url, " \"' ", allowing(service)) == "Nothing was found."
    assert service.paths == ["/search?q=x&format=json"]


LAUGHS = '<?xml version="1.0"?><!DOCTYPE feed [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>'
OUTSIDE = '<?xml version="1.0"?><!DOCTYPE feed [<!ENTITY a SYSTEM "file:///etc/passwd">]>'


@pytest.mark.parametrize(
    ("body", "status", "why"),
    [
        (b"<html>blocked</html>", 200, "did not answer in {form}"),
        (b'{"results": "many"}', 200, "did not answer in {form}"),
        (b'{"results": [{"title": "no url"}]}', 200, "did not answer in {form}"),
        (b"\xff\xfe", 200, "did not answer in {form}"),
        (b"", 200, "did not answer in {form}"),
        ((LAUGHS + FEED % "&b;").encode(), 200, "did not answer in {form}"),
        ((OUTSIDE + FEED % "&a;").encode(), 200, "did not answer in {form}"),
        (b"no JSON for you", 403, "answered with status 403"),
        (b"slow down", 429, "answered with status 429"),
        (b"x" * 1_100_000, 200, "answered with more than 1048576 bytes"),
    ],
)
async def test_whatever_is_no_answer_is_unavailable(service: Service, body: bytes, status: int, why: str) -> None:
    service.says("/api/query", body, status=status)
    for tool, form in ((search.search, "SearXNG's JSON"), (arxiv.search, "Atom")):
        with pytest.raises(Unavailable) as caught:
            await tool(f"{service.url}/api/query", "x", allowing(service))
        assert caught.value.cause is Cause.SERVICE_UNAVAILABLE
        assert why.format(form=form) in caught.value.reason
        assert "root:" not in str(caught.value)


async def test_a_search_leads_nowhere_else(service: Service) -> None:
    with serving() as other:
        other.says("/search", {"results": []})
        service.redirects("/search", f"{other.url}/search")
        with pytest.raises(Unavailable, match=f"leads to {other.url}/search, which was not asked"):
            await search.search(f"{service.url}/search", "x", allowing(service))
        with pytest.raises(ToolRefused, match="is not in the allow-list") as caught:
            await arxiv.search(other.url, "x", allowing(service))
        assert caught.value.code == "host_not_allowed"
        assert other.asked == []
    service.redirects("/search", "/moved")
    service.says("/moved", {"results": []})
    assert await search.search(f"{service.url}/search", "x", allowing(service)) == "Nothing was found."


async def test_a_search_that_does_not_answer_is_given_up(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "ASK_SECONDS", 0.1)
    with pytest.raises(Unavailable, match=r"did not answer within 0\.1 s"):
        await search.search(f"{service.url}/hang", "x", allowing(service))
