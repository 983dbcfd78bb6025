"""Asks services outside by HTTP, from the host: only where it may, no further than a limit, and nothing twice.

What may be asked is decided on the very URL object that is then asked, so that two readings of one text cannot differ.
Sources: CONTRACT "An order" (AC-8 to AC-11), RFC 9110 (redirects), RFC 3986 (URLs).
"""

from __future__ import annotations

import asyncio
import base64
import logging
import time
import unicodedata
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal
from urllib.parse import unquote

import httpx
from pydantic import JsonValue, SecretStr

from adapters.checkers import GITHUB_URL
from adapters.checkers.plain_data import printable
from domain.base import Message
from domain.errors import Cause, Unavailable

MAX_BODY = 1024 * 1024
KEPT_HEADERS = ("content-type", "content-length", "content-encoding", "date", "etag", "last-modified", "location")
"""Of an answer, as evidence; a Set-Cookie, for one, is nobody's business."""

REDIRECTS = frozenset({301, 302, 303, 307, 308})
DECODINGS = 5
"""A path that is still encoded after so many is not meant to be read."""

_LOCATION = "countersign.location"

for name in ("httpx", "httpcore"):
    # At INFO and below they write URLs and what a server sent, in which it may have put a token or an order a key.
    logging.getLogger(name).setLevel(logging.WARNING)

_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class Access:
    """What checkers may ask from the host: `allow` has URL prefixes; GitHub has an address and, perhaps, a token."""

    allow: tuple[str, ...] = ()
    github_url: str = GITHUB_URL
    github_token: SecretStr | None = None


NO_ACCESS = Access()
"""GitHub without a token, and no other service."""


class Answer(Message):
    """What came of a request. `stopped` says why a redirect to `target` was not followed; there is no body then."""

    url: str
    asked: tuple[str, ...]
    asked_at: str
    status: int
    headers: dict[str, str]
    body: bytes = b""
    truncated: bool = False
    stopped: Literal["", "redirect_refused", "too_many_redirects"] = ""
    target: str = ""
    duration_ms: int = 0

    def facts(self) -> dict[str, JsonValue]:
        """The request and the answer's head as plain data, to be stored."""
        kept: dict[str, JsonValue] = {name: self.headers[name] for name in KEPT_HEADERS if name in self.headers}
        facts: dict[str, JsonValue] = {
            "method": "GET",
            "asked": list(self.asked),
            "asked_at": self.asked_at,
            "status": self.status,
            "headers": kept,
        }
        return {**facts, "stopped": self.stopped, "target": self.target} if self.stopped else facts

    def stored_body(self) -> dict[str, JsonValue]:
        """The body as plain data, byte by byte what was compared."""
        try:
            return {"body": self.body.decode(), "truncated": self.truncated}
        except UnicodeDecodeError:
            return {"body_base64": base64.b64encode(self.body).decode(), "truncated": self.truncated}


@dataclass(frozen=True)
class Question:
    """A GET of `url`: what each URL asked is sent, where redirects may lead, how many are followed, and the seconds."""

    url: httpx.URL
    headers: Callable[[httpx.URL], httpx.Headers]
    may: Callable[[httpx.URL], bool]
    redirects: int
    timeout: float


def parsed(text: str) -> httpx.URL | None:
    """`text` as the URL that would be asked, normalised; None when it is none."""
    try:
        return httpx.URL(text)
    except (httpx.InvalidURL, ValueError):
        return None


def origin(url: httpx.URL) -> tuple[str, bytes, int | None]:
    """Scheme, host and port: what belongs to one service. A default port is the same written out or not."""
    return url.scheme, url.raw_host, url.port or _PORTS.get(url.scheme)


def is_plain(url: httpx.URL) -> bool:
    """Whether everybody reads the same service and path in `url`: http(s), no user name, no hidden steps upwards."""
    if url.scheme not in _PORTS or not url.host or url.userinfo:
        return False
    return not _climbs(url.raw_path.partition(b"?")[0].decode("ascii"))


def _climbs(path: str) -> bool:
    """Whether some server could read a step upwards in `path`, though it decodes it several times.

    Servers are known to take a backslash for a slash, to take parameters after `;` off a segment before they resolve
    its dots, to end a path at a control character, and to read look-alikes and malformed UTF-8 as dots.
    """
    for _ in range(DECODINGS):
        plain = unicodedata.normalize("NFKC", path)
        segments = [segment.partition(";")[0] for segment in plain.split("/")]
        if any(c in "\\\ufffd\x7f" or c < " " for c in plain) or any(segment in (".", "..") for segment in segments):
            return True
        decoded = unquote(path)
        if decoded == path:
            return False
        path = decoded
    return True


def allowed(url: httpx.URL, allow: tuple[str, ...]) -> bool:
    """Whether `url` is under an entry of `allow`: the same origin, and the entry's path, segment by segment."""
    return is_plain(url) and any(_under(url, entry) for text in allow if (entry := parsed(text)) is not None)


def _under(url: httpx.URL, entry: httpx.URL) -> bool:
    # As they are written: a server that decodes `%76` is asked for it by an entry that says so.
    path, prefix = (one.raw_path.partition(b"?")[0] for one in (url, entry))
    prefix = prefix.rstrip(b"/")
    return is_plain(entry) and origin(url) == origin(entry) and (path == prefix or path.startswith(prefix + b"/"))


def shown(url: httpx.URL) -> str:
    """`url` for a person: escaped, short, without a user name or password."""
    text = printable(str(url.copy_with(userinfo=b"")))
    return text if len(text) <= 300 else f"{text[:297]}..."


async def ask(question: Question) -> Answer:
    """The answer, whatever its status. Raises `Unavailable` (service_unavailable): none came, or not in time."""
    started = time.monotonic()
    try:
        async with asyncio.timeout(question.timeout), _client() as client:
            answer = await _follow(client, question)
    except TimeoutError as error:
        raise gone(question.url, f"did not answer within {question.timeout:g} s") from error
    except httpx.ConnectError as error:
        raise gone(question.url, f"cannot be reached: {printable(str(error))[:200]}") from error
    except httpx.HTTPError as error:
        # Without its text, which may quote what was sent or received.
        raise gone(question.url, f"gave no answer that is HTTP ({type(error).__name__})") from None
    return answer.model_copy(update={"duration_ms": int((time.monotonic() - started) * 1000)})


def gone(url: httpx.URL, why: str) -> Unavailable:
    """What is raised when nothing was learned from the service at `url`."""
    return Unavailable(
        Cause.SERVICE_UNAVAILABLE,
        f"{shown(url)} {why}",
        "see that the service is up and this machine reaches it, then verify again",
    )


def _client() -> httpx.AsyncClient:
    """One that does nothing by itself. The machine's own proxy and certificate variables are a human's and count."""
    try:
        return httpx.AsyncClient(
            follow_redirects=False,
            timeout=None,  # noqa: S113 - the deadline is around it all
            event_hooks={"response": [_set_location_aside]},
        )
    except (OSError, ValueError, ImportError, httpx.InvalidURL) as error:
        raise Unavailable(
            Cause.SERVICE_UNAVAILABLE,
            f"this machine's proxy or certificate variables cannot be used ({type(error).__name__})",
            "correct SSL_CERT_FILE, SSL_CERT_DIR, HTTP_PROXY, HTTPS_PROXY or ALL_PROXY, then verify again",
        ) from None  # its text may have a proxy's password in it


async def _set_location_aside(response: httpx.Response) -> None:
    """Keep a redirect from httpx, which reads its target even where it follows none, and fails on what is no URL."""
    if "location" in response.headers:
        response.extensions[_LOCATION] = response.headers.pop("location")


async def _follow(client: httpx.AsyncClient, question: Question) -> Answer:
    """Ask, and where a redirect leads, as long as it may lead there."""
    url = question.url
    asked: list[str] = []
    asked_at = datetime.now(UTC).isoformat(timespec="seconds")
    while True:
        asked.append(str(url))
        # Made by hand, since a request that the client makes has its cookies.
        response = await client.send(httpx.Request("GET", url, headers=question.headers(url)), stream=True)
        try:
            location = response.extensions.get(_LOCATION)
            received = {**response.headers, **({} if location is None else {"location": location})}
            head = Answer(
                url=str(url),
                asked=tuple(asked),
                asked_at=asked_at,
                status=response.status_code,
                headers={name: printable(value)[:1000] for name, value in received.items()},
            )
            if response.status_code not in REDIRECTS or location is None or question.redirects == 0:
                body, truncated = await _body(response)
                return head.model_copy(update={"body": body, "truncated": truncated})
            target = _joined(url, location)
            if target is None or not question.may(target):
                where = printable(location)[:300] if target is None else shown(target)
                return head.model_copy(update={"stopped": "redirect_refused", "target": where})
            if len(asked) > question.redirects:
                return head.model_copy(update={"stopped": "too_many_redirects", "target": shown(target)})
            url = target
        finally:
            await response.aclose()


def _joined(url: httpx.URL, location: str) -> httpx.URL | None:
    try:
        return url.join(location).copy_with(fragment=None)
    except (httpx.InvalidURL, ValueError):
        return None


async def _body(response: httpx.Response) -> tuple[bytes, bool]:
    """The first `MAX_BODY` bytes, and whether there are more."""
    found = bytearray()
    async for chunk in response.aiter_raw():
        found += chunk
        if len(found) > MAX_BODY:
            break
    data, cut = bytes(found[:MAX_BODY]), len(found) > MAX_BODY
    if response.headers.get("content-encoding", "").strip().lower() in ("gzip", "x-gzip", "deflate"):
        data, cut = _unpacked(data, cut)
    return data, cut


def _unpacked(data: bytes, cut: bool) -> tuple[bytes, bool]:
    """What was compressed although nobody asked for it, and no more of it than is kept: a bomb stays packed."""
    unpacker = zlib.decompressobj(wbits=47)
    try:
        text = unpacker.decompress(data, MAX_BODY)
    except zlib.error as error:
        raise httpx.DecodingError(f"the body is not compressed as it says: {error}") from error
    return text, cut or not unpacker.eof
