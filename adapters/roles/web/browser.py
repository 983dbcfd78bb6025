"""The pages that a role looks at: opened by URL and read as text; nothing is clicked, typed, kept or downloaded.

Each request of a page, and of whatever it opens, is held against the allow-list before it is sent, here with its whole
URL and once more in `proxy`, which is the browser's only way out. What is refused is listed for whoever asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any

import httpx

from adapters.checkers.plain_data import printable
from adapters.checkers.remote import gone, parsed, shown
from adapters.roles.tool import ToolRefused
from adapters.roles.web.allow_list import NOT_ALLOWED, AllowList
from adapters.roles.web.chromium import Started, chromium, does_not_start
from adapters.roles.web.devtools import BrowserGone, CommandFailed, DevTools, devtools
from adapters.roles.web.pages import READ_PAGE, Page, Seen, opened, viewed
from adapters.roles.web.proxy import READS, ForwardProxy
from domain.errors import Cause, Unavailable
from domain.ports import Progress

START_SECONDS = 20.0
NAVIGATE_SECONDS = 20.0
SETTLE_SECONDS = 5.0
"""For the scripts of a page that is there to ask for what they want, until half a second passes without."""

BLANK = "about:blank"
_IN_THE_PAGE = ("data:", "blob:")
"""What such a URL stands for is in the page already."""


class Browser:
    """A browser that is started when it is first needed, and again where it was lost. One call at a time."""

    def __init__(self, allow: AllowList, say: Progress) -> None:
        self._allow = allow
        self._say = say
        self._one = asyncio.Lock()
        self._stack = AsyncExitStack()
        self._tools: DevTools | None = None
        self._target = self._session = ""
        self._page = Page()
        self._deciding: set[asyncio.Task[None]] = set()
        self.proxy = ForwardProxy(allow)
        self.started: Started | None = None

    async def close(self) -> None:
        """End the browser, and all that it has begun."""
        stack, self._stack = self._stack, AsyncExitStack()
        self._tools, self.started, self._page = None, None, Page()
        for task in self._deciding:
            task.cancel()
        await stack.aclose()

    async def navigate(self, text: str) -> str:
        """Open the page at `text`; what came of it. Raises `ToolRefused` (host_not_allowed, not_a_page), `Unavailable`.

        Waits until the page is there and quiet, and no longer than a page may take.
        """
        url = self._allow.permitted(text)
        await self._allow.addresses(url)
        self._say(f"the browser opens {shown(url)}")
        async with self._one, self._alive():
            tools = await self._open()
            await self._blank(tools)
            page = self._page
            answer = await tools.send("Page.navigate", self._session, NAVIGATE_SECONDS, url=str(url))
            if answer.get("errorText"):
                page.download |= bool(answer.get("isDownload"))
                raise self._not_opened(url, page, answer["errorText"])
            notes = [] if await _settled(page) else [f"It was still loading after {SETTLE_SECONDS:g} s."]
            if self.proxy.bytes_left <= 0:
                notes.append("It was too large: not all of it was loaded.")
            address = await self._address(tools)
            if address is None:
                await self._blank(tools)
                raise self._not_opened(url, page, "it went on to where there is nothing to be seen")
            return opened(shown(address), page, await self._read(tools), notes)

    async def view(self) -> str:
        """The page as it is now: URL, title, links, visible text. Raises `ToolRefused` (no_page), `Unavailable`."""
        async with self._one, self._alive():
            address = None if self._tools is None else await self._address(self._tools)
            if self._tools is None or address is None:
                raise ToolRefused("no_page", "no page is open: browser_navigate opens one")
            return viewed(shown(address), await self._read(self._tools))

    @asynccontextmanager
    async def _alive(self) -> AsyncIterator[None]:
        """What is not sure to be as it should is ended: a browser that does not answer, or was left in the middle."""
        try:
            yield
        except asyncio.CancelledError:
            await self.close()
            raise
        except (BrowserGone, CommandFailed) as error:
            await self.close()
            reason = f"the page cannot be looked at: {error}"
            raise Unavailable(Cause.SERVICE_UNAVAILABLE, reason, "nothing: the browser is started again") from error

    async def _open(self) -> DevTools:
        if self._tools is not None:
            return self._tools
        self.started = await self._stack.enter_async_context(chromium())
        await self._stack.enter_async_context(self.proxy.serving(self.started.listening))
        self._tools = tools = await self._stack.enter_async_context(
            devtools(self.started.commands, self.started.events, self._told)
        )
        try:
            await tools.send("Fetch.enable", seconds=START_SECONDS, patterns=[{"urlPattern": "*"}])
        except BrowserGone as error:
            why = does_not_start(self.started.log)
            await self.close()
            raise why from error
        # Off the record, so that nothing of a page is written to the disk.
        context = (await tools.send("Target.createBrowserContext", disposeOnDetach=True))["browserContextId"]
        await tools.send("Browser.setDownloadBehavior", behavior="deny", browserContextId=context)
        self._target = (await tools.send("Target.createTarget", url=BLANK, browserContextId=context))["targetId"]
        attached = await tools.send("Target.attachToTarget", targetId=self._target, flatten=True)
        self._session = attached["sessionId"]
        for method in ("Page.enable", "Network.enable"):
            await tools.send(method, self._session)
        await tools.send("Page.setLifecycleEventsEnabled", self._session, enabled=True)
        return tools

    async def _blank(self, tools: DevTools) -> None:
        """Leave the page that is there, and forget what is known of it."""
        await tools.send("Page.navigate", self._session, url=BLANK)
        self._page = Page()
        self.proxy.next_page()

    def _not_opened(self, url: httpx.URL, page: Page, why: str) -> ToolRefused | Unavailable:
        if page.led_off:
            return ToolRefused(NOT_ALLOWED, f"{shown(url)} leads to {page.led_off}, which is not in the allow-list")
        if page.download:
            return ToolRefused("not_a_page", f"{shown(url)} is a file to be saved, and none is")
        return gone(url, f"cannot be opened: {'; '.join(sorted(self.proxy.unreachable)) or why}")

    async def _address(self, tools: DevTools) -> httpx.URL | None:
        """Of the page, as the browser knows it, not as its scripts say; None where it is no page of the list's."""
        tree = await tools.send("Page.getFrameTree", self._session)
        url = parsed(tree["frameTree"]["frame"]["url"])
        return url if url is not None and self._allow.has(url) else None

    async def _read(self, tools: DevTools) -> Seen:
        world = await tools.send("Page.createIsolatedWorld", self._session, frameId=self._target)
        where = {"contextId": world["executionContextId"], "returnByValue": True}
        answer = await tools.send("Runtime.evaluate", self._session, expression=READ_PAGE, **where)
        if "exceptionDetails" in answer:
            raise CommandFailed(answer["exceptionDetails"]["text"])
        return Seen.model_validate_json(answer["result"]["value"])

    def _told(self, event: str, told: dict[str, Any]) -> None:
        page = self._page
        match event:
            case "Fetch.requestPaused":
                self._later(self._decide(page, told))
            case "Page.javascriptDialogOpening":
                self._later(self._dismiss(told["type"]))
            case "Page.frameNavigated" if told["frame"]["id"] == self._target:
                page.loader = told["frame"]["loaderId"]
                page.idle.clear()
            case "Page.lifecycleEvent" if told["name"] == "networkIdle" and told["loaderId"] == page.loader:
                page.idle.set()
            case "Network.responseReceived" if told["type"] == "Document" and told["frameId"] == self._target:
                page.status = told["response"]["status"]
            case "Network.webSocketCreated" if not self._may_tunnel(told["url"]):
                page.refuse(f"{printable(told['url'])[:300]} (websocket)")

    def _may_tunnel(self, socket: str) -> bool:
        """Whether the proxy lets a websocket through, which never comes by `_decide`."""
        url = parsed(socket)
        return url is not None and url.scheme == "wss" and self._allow.has(url.copy_with(scheme="https"))

    def _later(self, coming: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(coming)
        self._deciding.add(task)
        task.add_done_callback(self._deciding.discard)

    async def _dismiss(self, kind: str) -> None:
        assert self._tools is not None, "it has just been told of"
        with suppress(CommandFailed, BrowserGone):  # it has gone with its page
            # Nothing is lost by leaving a page that asks whether to.
            await self._tools.send("Page.handleJavaScriptDialog", self._session, accept=kind == "beforeunload")

    async def _decide(self, page: Page, told: dict[str, Any]) -> None:
        """Let a request go, or refuse it, before anything of it has left the browser."""
        document = told["resourceType"] == "Document"
        refused = await self._refuses(told["request"], document and told["frameId"] == self._target, page)
        assert self._tools is not None, "it has just been told of"
        with suppress(CommandFailed, BrowserGone):  # it has been given up meanwhile
            if not refused:
                await self._tools.send("Fetch.continueRequest", requestId=told["requestId"])
                return
            if not told["request"]["url"].endswith("/favicon.ico"):  # the browser's own idea
                kind = told["resourceType"].lower()
                page.refuse(f"{told['request']['method']} {printable(told['request']['url'])[:300]} ({kind})")
            reason = "Aborted" if document else "BlockedByClient"
            await self._tools.send("Fetch.failRequest", requestId=told["requestId"], errorReason=reason)

    async def _refuses(self, request: dict[str, Any], of_the_page: bool, page: Page) -> bool:
        if request["url"].startswith(_IN_THE_PAGE) and not of_the_page:
            return False
        try:
            await self._allow.addresses(self._allow.permitted(request["url"]))
        except ToolRefused:
            if of_the_page and not page.led_off:
                page.led_off = printable(request["url"])[:300]
            return True
        except Unavailable:
            return False  # the proxy finds the same, and the page is told as if it had asked by itself
        return request["method"] not in READS


async def _settled(page: Page) -> bool:
    try:
        async with asyncio.timeout(SETTLE_SECONDS):
            await page.idle.wait()
    except TimeoutError:
        return False
    return True
