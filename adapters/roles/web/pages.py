"""A page of the browser as text: what was refused while it was opened, what it says, where it links to.

What a page says comes last, so that it cannot pass for a line of ours. Nothing is asked for here.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from domain.base import Message

LISTED_LINKS = 50
LISTED_REFUSED = 20
TEXT_CHARS = 1_000_000

READ_PAGE = f"""(() => {{
  const short = (text, most) => String(text || '').replace(/\\s+/g, ' ').trim().slice(0, most);
  const links = [...document.links].filter(link => link.protocol.startsWith('http'));
  return JSON.stringify({{
    title: short(document.title, 300),
    text: document.body ? document.body.innerText.slice(0, {TEXT_CHARS}) : '',
    links: links.slice(0, {LISTED_LINKS}).map(link => [short(link.innerText, 100), link.href.slice(0, 300)]),
    more: Math.max(0, links.length - {LISTED_LINKS}),
  }});
}})()"""
"""Run in a world of its own, where the page's scripts have not put anything in the place of what it uses."""


class Seen(Message):
    """What `READ_PAGE` answers: a link is its text and its URL, `more` how many there are beside."""

    title: str
    text: str
    links: tuple[tuple[str, str], ...]
    more: int


@dataclass
class Page:
    """What is known of the page that is being looked at. `refused` are its requests that were not let through.

    `led_off`: the URL outside the list that it was on its way to; `download`: it is a file to be saved.
    """

    loader: str = ""
    status: int = 0
    refused: list[str] = field(default_factory=list)
    led_off: str = ""
    download: bool = False
    idle: asyncio.Event = field(default_factory=asyncio.Event)

    def refuse(self, request: str) -> None:
        """List it, once."""
        if request not in self.refused:
            self.refused.append(request)


def opened(address: str, page: Page, seen: Seen, notes: list[str]) -> str:
    """What `browser_navigate` answers."""
    listed = [f"- {one}" for one in page.refused[:LISTED_REFUSED]]
    if len(page.refused) > LISTED_REFUSED:
        listed.append(f"- and {len(page.refused) - LISTED_REFUSED} more")
    if listed:
        listed.insert(0, "Refused, since not in the allow-list, of what the page asked for:")
    lines = [f"URL: {address}", f"Title: {seen.title}", f"Status: {page.status}", *notes, *listed]
    return "\n".join([*lines, "browser_view shows what the page says."])


def viewed(address: str, seen: Seen) -> str:
    """What `browser_view` answers."""
    links = [f"[{number}] {text or '(no text)'}: {url}" for number, (text, url) in enumerate(seen.links, 1)]
    more = [f"({seen.more} more)"] if seen.more else []
    lines = [f"URL: {address}", f"Title: {seen.title}", f"Links: {len(links) + seen.more}", *links, *more]
    return "\n".join([*lines, "Text:", seen.text])
