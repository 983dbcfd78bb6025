"""The browser's proxy, spoken to as a browser never would: what is not listed is not reached."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import pytest_asyncio

from adapters.roles.web import allow_list, proxy
from adapters.roles.web.allow_list import AllowList
from adapters.roles.web.proxy import ForwardProxy
from tests.web_site import Elsewhere, Site, elsewhere, site

SOON = 60.0
"""What is waited for comes at once, or never."""


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever answers here does so, however long this process stands still."""
    for module, name in ((proxy, "HEAD_SECONDS"), (proxy, "CONNECT_SECONDS"), (allow_list, "RESOLVE_SECONDS")):
        monkeypatch.setattr(module, name, SOON)


@pytest_asyncio.fixture
async def there() -> AsyncIterator[Site]:
    async with site() as opened:
        opened.shows("/docs/page", "a page")
        yield opened


@pytest_asyncio.fixture
async def other() -> AsyncIterator[Elsewhere]:
    async with elsewhere() as opened:
        yield opened


class Spoken:
    """A proxy, and who speaks to it."""

    def __init__(self, proxy: ForwardProxy, port: int) -> None:
        self.proxy = proxy
        self.port = port

    async def say(self, text: str) -> str:
        """What it answers, until it hangs up."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(text.encode("latin-1"))
            async with asyncio.timeout(SOON):
                return (await reader.read(-1)).decode("latin-1")
        finally:
            writer.close()


@asynccontextmanager
async def speaking(*allow: str) -> AsyncIterator[Spoken]:
    listening = socket.create_server(("127.0.0.1", 0))
    proxy = ForwardProxy(AllowList(allow))
    async with proxy.serving(listening):
        yield Spoken(proxy, listening.getsockname()[1])


async def test_a_request_is_passed_on_for_what_was_checked_and_answered(there: Site) -> None:
    async with speaking(f"{there.url}/docs") as spoken:
        fields = "Host: evil.example\r\nProxy-Connection: keep-alive\r\nUpgrade: websocket\r\nCookie: a=b\r\n"
        answer = await spoken.say(f"GET {there.url}/docs/page?q HTTP/1.1\r\n{fields}Connection: Upgrade\r\n\r\n")
    assert answer.startswith("HTTP/1.1 200 said\r\n")
    assert answer.endswith("\r\nConnection: close\r\n\r\na page")
    assert there.heads == [
        f"GET /docs/page?q HTTP/1.1\r\nHost: 127.0.0.1:{there.port}\r\nCookie: a=b\r\nConnection: close\r\n\r\n"
    ]


@pytest.mark.parametrize(
    "request_line",
    [
        *("GET {there}/ HTTP/1.1", "GET {there}/docs/../x HTTP/1.1", "GET {other}/ HTTP/1.1", "CONNECT {at} HTTP/1.1"),
        *("CONNECT 127.0.0.1:{port} HTTP/1.1", "CONNECT localhost:{port} HTTP/1.1", "CONNECT x HTTP/1.1", "CONNECT  "),
        *("POST {there}/docs/page HTTP/1.1", "DELETE {there}/docs/page HTTP/1.1", "GET /docs/page HTTP/1.1", "GET", ""),
        *("get {there}/docs/page HTTP/1.1", "GET https://{at}/docs/page HTTP/1.1", "GET {there}/docs page HTTP/1.1"),
    ],
)
async def test_nothing_else_is(there: Site, other: Elsewhere, request_line: str) -> None:
    names = {"there": there.url, "at": f"127.0.0.1:{there.port}", "other": other.url, "port": other.port}
    async with speaking(f"{there.url}/docs", f"{other.url}/x", f"https://localhost:{other.port}1") as spoken:
        answer = await spoken.say(request_line.format(**names) + f"\r\nHost: 127.0.0.1:{there.port}\r\n\r\n")
        assert answer.startswith("HTTP/1.1 403 ")
        assert len(spoken.proxy.refused) == 1
    assert there.asked == []
    assert other.came == []


async def test_a_second_request_on_a_connection_is_not_read(there: Site) -> None:
    async with speaking(f"{there.url}/docs") as spoken:
        first = f"GET {there.url}/docs/page HTTP/1.1\r\nContent-Length: 60\r\nTransfer-Encoding: chunked\r\n\r\n"
        await spoken.say(f"{first}0\r\n\r\nGET {there.url}/secret HTTP/1.1\r\n\r\n")
    assert there.asked == ["GET /docs/page"]
    assert "chunked" not in there.heads[0]


async def test_a_tunnel_carries_both_ways_to_what_is_listed_with_https(other: Elsewhere) -> None:
    async with speaking(other.url.replace("http", "https")) as spoken:
        answer = await spoken.say(f"CONNECT 127.0.0.1:{other.port} HTTP/1.1\r\n\r\nhello")
    assert answer == "HTTP/1.1 200 Connection established\r\n\r\n"
    assert other.came == [b"hello"]


async def raw(data: bytes) -> tuple[asyncio.Server, str]:
    """A server that says that and then waits for the other side to hang up, and its URL."""

    async def say(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        await reader.read(-1)
        writer.close()

    server = await asyncio.start_server(say, "127.0.0.1", 0)
    return server, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def test_an_answer_that_stays_open_is_said_to_end_and_an_early_one_is_left_out() -> None:
    server, url = await raw(
        b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
        b"Connection: keep-alive\r\nKeep-Alive: timeout=60\r\n\r\n2\r\nab\r\n0\r\n\r\n"
    )
    async with speaking(url) as spoken:
        reader, writer = await asyncio.open_connection("127.0.0.1", spoken.port)
        writer.write(f"GET {url}/ HTTP/1.1\r\n\r\n".encode())
        expected = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\nab\r\n0\r\n\r\n"
        async with asyncio.timeout(SOON):
            assert await reader.readexactly(len(expected)) == expected
        writer.close()
    server.close()


async def test_a_page_brings_in_no_more_than_it_may() -> None:
    server, url = await raw(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 1_000_000)
    async with speaking(url) as spoken:
        spoken.proxy.bytes_left = 100_000
        answer = await spoken.say(f"GET {url}/ HTTP/1.1\r\n\r\n")
        assert 100_000 <= len(answer) < 300_000
        assert spoken.proxy.bytes_left <= 0
        assert "xxx" not in await spoken.say(f"GET {url}/ HTTP/1.1\r\n\r\n")
        spoken.proxy.next_page()
        assert len(await asyncio.wait_for(_beginning(spoken, url, 1_000_000), SOON)) >= 1_000_000
    server.close()


async def _beginning(spoken: Spoken, url: str, size: int) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", spoken.port)
    writer.write(f"GET {url}/ HTTP/1.1\r\n\r\n".encode())
    data = await reader.readexactly(size)
    writer.close()
    return data


@pytest.mark.parametrize(
    "data", [b"", b"220 mail.example ESMTP\r\n", b"HTTP/1.1 200 OK\r\nno end", b"\r\n\r\n", b"x" * 200_000]
)
async def test_what_is_no_answer_is_passed_on_as_none(data: bytes) -> None:
    async def say(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        writer.close()

    server = await asyncio.start_server(say, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with speaking(url) as spoken:
        answer = await spoken.say(f"GET {url}/ HTTP/1.1\r\n\r\n")
    assert "mail.example" not in answer
    assert "200 OK" not in answer
    server.close()


async def test_where_nobody_answers_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    async with speaking(f"http://127.0.0.1:{port}", f"https://127.0.0.1:{port}") as spoken:
        assert await spoken.say(f"GET http://127.0.0.1:{port}/ HTTP/1.1\r\n\r\n") == ""
        assert await spoken.say(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n") == ""
        assert spoken.proxy.unreachable == {f"127.0.0.1:{port} cannot be reached"}


async def test_a_name_is_resolved_once_and_that_address_is_asked(
    there: Site, other: Elsewhere, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    async def addresses(_: AllowList, url: object) -> list[str]:
        asked.append(str(url))
        return ["127.0.0.2", "127.0.0.1"] if len(asked) == 1 else []

    monkeypatch.setattr(AllowList, "addresses", addresses)
    url = f"http://name.example:{there.port}/docs/page"
    async with speaking(f"http://name.example:{there.port}") as spoken:
        assert (await spoken.say(f"GET {url} HTTP/1.1\r\n\r\n")).endswith("a page")
    assert asked == [url]
    assert there.heads[0].startswith(f"GET /docs/page HTTP/1.1\r\nHost: name.example:{there.port}\r\n")


async def test_when_it_ends_all_that_is_open_does() -> None:
    server, url = await raw(b"HTTP/1.1 200 OK\r\n\r\nx")
    async with speaking(url) as spoken:
        reader, writer = await asyncio.open_connection("127.0.0.1", spoken.port)
        writer.write(f"GET {url}/ HTTP/1.1\r\n\r\n".encode())
        await reader.readuntil(b"\r\n\r\nx")
    async with asyncio.timeout(SOON):
        assert await reader.read() == b""
    writer.close()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", spoken.port)
    server.close()
