"""The browser's only way out: a forward proxy that lets through what the allow-list has, request by request.

It sees the URL of every plain request; of a tunnel only host and port, whose paths the browser's own door checks
(`browser`). It resolves a name once and connects to what it has checked. It reads: GET, HEAD and OPTIONS only.
Source: RFC 9110 7.6 (connections), RFC 9112 3.2 (forms of a request's target).
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any

import httpx

from adapters.roles.tool import ToolRefused
from adapters.roles.web.allow_list import AllowList
from domain.errors import Unavailable

READS = frozenset({"GET", "HEAD", "OPTIONS"})
PAGE_BYTES = 64 * 1024 * 1024
"""What one page may bring in, with all that belongs to it."""

HEAD_SECONDS = 30.0
CONNECT_SECONDS = 10.0
PIECE = 64 * 1024

_END = b"\r\n\r\n"
_OF_ONE_HOP = frozenset(
    {"connection", "keep-alive", "proxy-connection", "proxy-authorization", "proxy-authenticate", "te", "trailer"}
    | {"transfer-encoding", "upgrade", "host", "content-length"}
)
_KEPT_BACKWARDS = frozenset({"transfer-encoding", "content-length"})
"""An answer's body is passed on as it comes, so that what says how long it is stays."""


class ForwardProxy:
    """`refused` names what was not let through, `unreachable` says where no connection could be made."""

    def __init__(self, allow: AllowList) -> None:
        self._allow = allow
        self._open: set[asyncio.Task[None]] = set()
        self.refused: list[str] = []
        self.unreachable: set[str] = set()
        self.bytes_left = PAGE_BYTES

    def next_page(self) -> None:
        """Forget what was said of the page before."""
        self.refused.clear()
        self.unreachable.clear()
        self.bytes_left = PAGE_BYTES

    @asynccontextmanager
    async def serving(self, listening: socket.socket) -> AsyncIterator[None]:
        """Serve whoever connects to `listening`; in the end all connections are closed."""
        server = await asyncio.start_server(self._served, sock=listening)
        try:
            yield
        finally:
            server.close()
            for task in self._open:
                task.cancel()
            await asyncio.gather(*self._open, return_exceptions=True)

    async def _served(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            await self._serve(reader, writer)
        except (OSError, EOFError, TimeoutError, asyncio.LimitOverrunError):
            pass  # one of the two has gone, and the other sees it by the connection's end
        except asyncio.CancelledError:
            pass  # `serving` ends; the task is nobody else's
        finally:
            self._open.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(HEAD_SECONDS):
            head = await reader.readuntil(_END)
        line, *fields = head[: -len(_END)].decode("latin-1").split("\r\n")
        method, _, rest = line.partition(" ")
        target = rest.rpartition(" ")[0]
        try:
            if method == "CONNECT":
                await self._tunnel(self._allow.tunnel(target), reader, writer)
            else:
                await self._forward(method, self._plain(method, target), fields, reader, writer)
        except ToolRefused:
            self.refused.append(f"{method} {target}"[:300])
            writer.write(b"HTTP/1.1 403 Not in the allow-list\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            await writer.drain()
        except Unavailable as error:
            self.unreachable.add(error.reason)

    def _plain(self, method: str, target: str) -> httpx.URL:
        url = self._allow.permitted(target)
        if method not in READS or url.scheme != "http":
            raise self._allow.refused(f"{method} {target}")
        return url

    async def _tunnel(self, url: httpx.URL, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        theirs, ours = await self._connected(url, 443)
        try:
            writer.write(b"HTTP/1.1 200 Connection established" + _END)
            await _either(_copied(reader, ours), self._brought(theirs, writer))
        finally:
            ours.close()

    async def _forward(
        self,
        method: str,
        url: httpx.URL,
        fields: list[str],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        """One request and its answer: what comes after the head on the same connection is not read as another."""
        theirs, ours = await self._connected(url, 80)
        try:
            first = f"{method} {url.raw_path.decode('ascii')} HTTP/1.1"
            sent = [first, f"Host: {url.netloc.decode('ascii')}", *_passed_on(fields), "Connection: close"]
            ours.write("\r\n".join(sent).encode("latin-1") + _END)
            await _either(self._answered(theirs, writer), _ended(reader))
        finally:
            ours.close()

    async def _answered(self, theirs: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        status, fields = await _answer_head(theirs)
        while status.split(" ")[1:2] and status.split(" ")[1].startswith("1"):
            status, fields = await _answer_head(theirs)
        head = [status, *_passed_on(fields, _KEPT_BACKWARDS), "Connection: close"]
        writer.write("\r\n".join(head).encode("latin-1") + _END)
        await self._brought(theirs, writer)

    async def _brought(self, theirs: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass on what comes, until it ends or the page has had enough."""
        while self.bytes_left > 0 and (data := await theirs.read(PIECE)):
            self.bytes_left -= len(data)
            writer.write(data)
            await writer.drain()

    async def _connected(self, url: httpx.URL, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection to one of the addresses that were checked. Raises `ToolRefused`, `Unavailable`, `OSError`."""
        for address in await self._allow.addresses(url):
            with suppress(OSError, TimeoutError):  # the next address may answer
                async with asyncio.timeout(CONNECT_SECONDS):
                    return await asyncio.open_connection(address, url.port or port)
        host = url.netloc.decode("ascii")
        self.unreachable.add(f"{host} cannot be reached")
        raise ConnectionRefusedError(host)


async def _answer_head(theirs: asyncio.StreamReader) -> tuple[str, list[str]]:
    status, *fields = (await theirs.readuntil(_END))[: -len(_END)].decode("latin-1").split("\r\n")
    return status, fields


def _passed_on(fields: list[str], also: frozenset[str] = frozenset()) -> list[str]:
    dropped = _OF_ONE_HOP - also
    return [field for field in fields if field.partition(":")[0].strip().lower() not in dropped]


async def _copied(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(PIECE):
        writer.write(data)
        await writer.drain()


async def _ended(reader: asyncio.StreamReader) -> None:
    while await reader.read(PIECE):
        pass


async def _either(*ways: Coroutine[Any, Any, None]) -> None:
    """Until one way is done; the other is given up."""
    tasks = [asyncio.create_task(way) for way in ways]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
