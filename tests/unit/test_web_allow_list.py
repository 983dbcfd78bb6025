"""What of the web a role may see: URLs under the list, at no private address that a human has not written down."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from adapters.roles.tool import ToolRefused
from adapters.roles.web.allow_list import AllowList
from domain.errors import Cause, Unavailable

LIST = AllowList(
    ["https://docs.example/guide", "http://127.0.0.1:8000", "http://localhost:8001", "https://name.example"]
)

Resolver = Callable[[dict[str, list[str]]], list[str]]


@pytest.fixture
def resolver(monkeypatch: pytest.MonkeyPatch) -> Resolver:
    """Names resolve to what a test says; answers with the names that were asked for."""

    def install(known: dict[str, list[str]]) -> list[str]:
        asked: list[str] = []

        async def getaddrinfo(_: object, host: str, port: object, **__: Any) -> list[Any]:
            asked.append(host)
            if host not in known:
                raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
            return [(0, 0, 0, "", (address, 0)) for address in known[host]]

        monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", getaddrinfo)
        return asked

    return install


def test_a_url_under_an_entry_is_permitted_and_keeps_no_fragment() -> None:
    assert str(LIST.permitted("https://DOCS.example/guide/a?b=c#part")) == "https://docs.example/guide/a?b=c"


@pytest.mark.parametrize(
    "text",
    [
        *("https://docs.example/", "https://docs.example/guidebook", "http://docs.example/guide", "https://x.example/"),
        *("https://docs.example/guide/../x", "https://docs.example/guide/%2e%2e/x", "http://127.1:8000/", "file:///x"),
        *(
            "http://127.0.0.1:8001/",
            "http://[::ffff:127.0.0.1]:8000/",
            "ws://127.0.0.1:8000/",
            "http://a@127.0.0.1:8000",
        ),
    ],
)
def test_no_other_is(text: str) -> None:
    with pytest.raises(ToolRefused, match=r"is not in the allow-list: https://docs\.example/guide, ") as caught:
        LIST.permitted(text)
    assert caught.value.code == "host_not_allowed"


@pytest.mark.parametrize(
    ("authority", "fine"),
    [
        *((name, True) for name in ("docs.example:443", "DOCS.example:443", "docs.example", "name.example:443")),
        *(
            (name, False)
            for name in ("127.0.0.1:8000", "localhost:8001", "docs.example:80", "docs.example:8443", ":443")
        ),
        *(
            (name, False)
            for name in ("x@docs.example:443", "docs.example:443/x", "docs.example:443?", "docs.example#:1")
        ),
        *(
            (name, False)
            for name in ("other.example:443", "docs.example:443@other.example:443", "", "docs.example.:443")
        ),
    ],
)
def test_a_tunnel_leads_to_what_is_listed_with_https(authority: str, fine: bool) -> None:
    if fine:
        assert LIST.tunnel(authority).host in ("docs.example", "name.example")
        return
    with pytest.raises(ToolRefused):
        LIST.tunnel(authority)


@pytest.mark.parametrize(
    "public", ["93.184.216.34", "2606:2800:220:1::1", "64:ff9b::5db8:d822", "::ffff:93.184.216.34"]
)
async def test_a_name_at_a_public_address_is_found(resolver: Resolver, public: str) -> None:
    resolver({"name.example": [public]})
    assert len(await LIST.addresses(httpx.URL("https://name.example/"))) == 1


@pytest.mark.parametrize(
    "private",
    [
        *(
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "224.0.0.1",
        ),
        *(
            "240.0.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "fe80::1",
            "fc00::1",
            "ff02::1",
            "::ffff:10.0.0.1",
            "2002:a00:1::",
        ),
        *("64:ff9b::a9fe:a9fe", "198.18.0.1"),
    ],
)
async def test_a_name_that_leads_to_a_private_address_is_refused(resolver: Resolver, private: str) -> None:
    resolver({"name.example": ["93.184.216.34", private]})
    with pytest.raises(ToolRefused, match="whose host is at the private address") as caught:
        await LIST.addresses(httpx.URL("https://name.example/x"))
    assert caught.value.code == "host_not_allowed"


async def test_what_a_human_wrote_down_as_an_address_or_localhost_is_where_it_says(resolver: Resolver) -> None:
    asked = resolver({"localhost": ["127.0.0.1", "::1"]})
    assert await LIST.addresses(httpx.URL("http://127.0.0.1:8000/")) == ["127.0.0.1"]
    assert await AllowList(["http://[::1]:1"]).addresses(httpx.URL("http://[::1]:1/")) == ["::1"]
    assert asked == []
    assert await LIST.addresses(httpx.URL("http://localhost:8001/")) == ["127.0.0.1", "::1"]


async def test_localhost_is_nowhere_else(resolver: Resolver) -> None:
    resolver({"localhost": ["93.184.216.34"]})
    with pytest.raises(ToolRefused):
        await LIST.addresses(httpx.URL("http://localhost:8001/"))


async def test_a_name_that_leads_nowhere_is_unavailable(resolver: Resolver) -> None:
    resolver({})
    with pytest.raises(Unavailable, match="no name server knows") as caught:
        await LIST.addresses(httpx.URL("https://name.example/"))
    assert caught.value.cause is Cause.SERVICE_UNAVAILABLE
