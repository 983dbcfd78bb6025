"""A site on loopback for a browser to look at, with or without TLS, and ports that nothing of a page may reach."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.door import Authority, Pair

Page = tuple[int, dict[str, str], bytes]


@dataclass
class Site:
    """Answers by path, without the query; a path in `hangs` never, and `hanging` tells. `asked`: method and target."""

    scheme: str = "http"
    port: int = 0
    pages: dict[str, Page] = field(default_factory=dict)
    hangs: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)
    hanging: asyncio.Event = field(default_factory=asyncio.Event)
    open: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def shows(self, path: str, html: str) -> str:
        """The URL at which `html` is to be seen from now on."""
        self.pages[path] = (200, {"Content-Type": "text/html; charset=utf-8"}, html.encode())
        return self.url + path

    def redirects(self, path: str, to: str) -> str:
        self.pages[path] = (302, {"Location": to}, b"")
        return self.url + path

    def offers(self, path: str, data: bytes) -> str:
        """The URL of a file to be saved."""
        self.pages[path] = (200, {"Content-Disposition": "attachment; filename=f.bin"}, data)
        return self.url + path

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.open.add(task)
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            self.heads.append(head)
            method, target, _ = head.split("\r\n")[0].split(" ")
            self.asked.append(f"{method} {target}")
            path = target.partition("?")[0]
            if path in self.hangs:
                self.hanging.set()
                await asyncio.Event().wait()
            status, headers, body = self.pages.get(path, (404, {}, b"nothing here"))
            lines = [f"HTTP/1.1 {status} said", *(f"{name}: {value}" for name, value in headers.items())]
            lines += [f"Content-Length: {len(body)}", "Connection: close"]
            writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
            await writer.drain()
        except (EOFError, OSError, asyncio.CancelledError):
            pass  # the browser has gone, or the site goes
        finally:
            self.open.discard(task)
            writer.close()


@asynccontextmanager
async def site(tls: ssl.SSLContext | None = None) -> AsyncIterator[Site]:
    there = Site("https" if tls else "http")
    server = await asyncio.start_server(there.serve, "127.0.0.1", 0, ssl=tls)
    there.port = server.sockets[0].getsockname()[1]
    try:
        yield there
    finally:
        server.close()
        for task in list(there.open):
            task.cancel()
        await asyncio.gather(*there.open, return_exceptions=True)


class Elsewhere(asyncio.DatagramProtocol):
    """A port of TCP and one of UDP; `came` has what each that came said first."""

    def __init__(self) -> None:
        self.came: list[bytes] = []
        self.port = self.udp = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def datagram_received(self, data: bytes, addr: object) -> None:
        self.came.append(data[:80])

    async def taken(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.came.append(await reader.read(80))
        writer.close()


@asynccontextmanager
async def elsewhere() -> AsyncIterator[Elsewhere]:
    there = Elsewhere()
    server = await asyncio.start_server(there.taken, "127.0.0.1", 0)
    there.port = server.sockets[0].getsockname()[1]
    udp, _ = await asyncio.get_running_loop().create_datagram_endpoint(lambda: there, ("127.0.0.1", 0))
    there.udp = udp.get_extra_info("sockname")[1]
    try:
        yield there
    finally:
        udp.close()
        server.close()


def tls_of_its_own(folder: Path) -> tuple[ssl.SSLContext, str]:
    """A server's side for 127.0.0.1, and the browser's option that trusts its key."""
    pair: Pair = Authority().issue()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*pair.write(folder, "site"))
    key = x509.load_pem_x509_certificate(pair.certificate).public_key()
    digest = hashlib.sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).digest()
    return context, f"--ignore-certificate-errors-spki-list={base64.b64encode(digest).decode()}"
