"""Which URLs a role may see: those under an entry of the allow-list, at addresses that are nobody's private ones.

It compares and resolves; it asks for nothing. How URLs are compared is `adapters.checkers.remote`'s.
Source: DESIGN 1.4, RFC 6890 (special-purpose addresses).
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import httpx

from adapters.checkers.plain_data import printable
from adapters.checkers.remote import allowed, gone, is_plain, origin, parsed, shown
from adapters.roles.tool import ToolRefused

NOT_ALLOWED = "host_not_allowed"
LOCALHOST = "localhost"
RESOLVE_SECONDS = 10.0

_NAT64 = ip_network("64:ff9b::/96")


class AllowList:
    """`entries`: URL prefixes, as `[agents.web] allow` has them."""

    def __init__(self, entries: Sequence[str]) -> None:
        self._entries = tuple(entries)
        self._origins = frozenset(
            origin(url) for entry in entries if (url := parsed(entry)) is not None and is_plain(url)
        )

    def permitted(self, text: str) -> httpx.URL:
        """`text` as the URL that would be asked, without its fragment. Raises `ToolRefused` (host_not_allowed)."""
        url = parsed(text)
        if url is None or not allowed(url, self._entries):
            raise self.refused(printable(text)[:300])
        return url.copy_with(fragment=None)

    def tunnel(self, authority: str) -> httpx.URL:
        """The service at `HOST:PORT`, of which no more can be seen than that: one that is listed with https.

        What is listed with http is no tunnel's: its path has to be seen. Raises `ToolRefused` (host_not_allowed).
        """
        url = parsed(f"https://{authority}/")
        if url is None or not is_plain(url) or url.raw_path != b"/" or url.fragment or not self.has(url):
            raise self.refused(printable(authority)[:300])
        return url

    def has(self, url: httpx.URL) -> bool:
        """Whether something of the service that `url` belongs to is listed, whatever the path."""
        return is_plain(url) and origin(url) in self._origins

    async def addresses(self, url: httpx.URL) -> list[str]:
        """Where a permitted `url` is: public addresses, or what a human wrote down as an address or as localhost.

        Raises `ToolRefused` (host_not_allowed) where a name leads to a private address, and `Unavailable`
        (service_unavailable) where it leads nowhere.
        """
        host = url.raw_host.decode("ascii").strip("[]")
        if _address(host) is not None:
            return [host]
        found = await _resolved(url, host)
        for address in found:
            private = not _is_public(address)
            if private if host != LOCALHOST else not address.is_loopback:
                raise self.refused(f"{shown(url)}, whose host is at the private address {address},")
        return [str(address) for address in found]

    def refused(self, what: str) -> ToolRefused:
        """What is raised for `what`, which is outside the list."""
        return ToolRefused(NOT_ALLOWED, f"{what} is not in the allow-list: {', '.join(self._entries)}")


async def _resolved(url: httpx.URL, host: str) -> list[IPv4Address | IPv6Address]:
    try:
        async with asyncio.timeout(RESOLVE_SECONDS):
            answers = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError, TimeoutError) as error:
        raise gone(url, f"has a host that no name server knows ({type(error).__name__})") from error
    return [address for *_, place in answers if (address := _address(str(place[0]))) is not None]


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text)
    except ValueError:
        return None


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    """Whether the whole internet means the same machine by it; one that carries another address is as that one is."""
    if isinstance(address, IPv6Address):
        carried = address.ipv4_mapped or address.sixtofour
        if carried is None and address in _NAT64:
            carried = IPv4Address(int(address) & 0xFFFFFFFF)
        if carried is not None:
            return _is_public(carried)
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)
