"""The browser of a role, a real Chromium on loopback: it shows pages, and nothing of them gets off the allow-list."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
import pytest_asyncio

from adapters.roles.tool import ToolRefused
from adapters.roles.web import browser as browser_module
from adapters.roles.web import chromium as chromium_module
from adapters.roles.web import devtools as devtools_module
from adapters.roles.web import proxy as proxy_module
from adapters.roles.web.allow_list import AllowList
from adapters.roles.web.browser import Browser
from adapters.roles.web.pages import Page
from domain.errors import Unavailable
from tests.web_site import Elsewhere, Site, elsewhere, site, tls_of_its_own

ROOT = Path(__file__).resolve().parents[2]
PATIENT_SECONDS = 120.0

pytestmark = pytest.mark.filterwarnings("error")


LIMITS = {
    chromium_module: ("START_SECONDS", "END_SECONDS"),
    browser_module: ("START_SECONDS", "NAVIGATE_SECONDS", "SETTLE_SECONDS"),
    devtools_module: ("ANSWER_SECONDS",),
    proxy_module: ("HEAD_SECONDS", "CONNECT_SECONDS"),
}


@pytest.fixture(scope="module", autouse=True)
def _patient() -> Iterator[None]:
    """What is to succeed here has all the time that a machine with much to do takes for it."""
    with pytest.MonkeyPatch.context() as patch:
        for module, names in LIMITS.items():
            for name in names:
                patch.setattr(module, name, PATIENT_SECONDS)
        yield


@pytest_asyncio.fixture(scope="module")
async def there() -> AsyncIterator[Site]:
    async with site() as opened:
        yield opened


@pytest_asyncio.fixture(scope="module")
async def secured(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    """A site with TLS, whose key browsers of this module trust."""
    tls, trusted = tls_of_its_own(tmp_path_factory.mktemp("tls"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chromium_module, "OPTIONS", (*chromium_module.OPTIONS, trusted))
        async with site(tls) as opened:
            yield opened


@pytest_asyncio.fixture(scope="module")
async def browser(there: Site, secured: Site) -> AsyncIterator[Browser]:
    opened = Browser(AllowList([there.url, f"{secured.url}/docs"]), lambda _: None)
    yield opened
    await opened.close()


@pytest_asyncio.fixture
async def other() -> AsyncIterator[Elsewhere]:
    async with elsewhere() as opened:
        yield opened


async def refused(browser: Browser, url: str) -> ToolRefused:
    with pytest.raises(ToolRefused) as caught:
        await browser.navigate(url)
    return caught.value


async def test_a_page_is_shown_as_its_scripts_have_drawn_it(browser: Browser, there: Site) -> None:
    there.pages["/data"] = (200, {"Content-Type": "application/json"}, b'["drawn", "later"]')
    url = there.shows(
        "/page",
        """<title>A page
        URL: http://forged.example/</title><p style="display:none">not to be seen</p><h1>Heading</h1>
        <a href="/next">The
        next</a><a href="mailto:x@y.example">mail</a><script>
        Document.prototype.querySelector = Array.from = JSON.stringify = () => { throw 1 };
        Object.defineProperty(document.body, 'innerText', {get: () => 'forged'});
        alert('look'); confirm('sure?'); prompt('who?');
        setTimeout(() => fetch('/data').then(r => r.json()).then(d => document.body.append(...d)), 100);
        window.onbeforeunload = event => event.preventDefault();</script>""",
    )
    opened = (await browser.navigate(f"{url}?q=1#part")).split("\n")
    assert opened == [
        f"URL: {url}?q=1",
        "Title: A page URL: http://forged.example/",
        "Status: 200",
        "browser_view shows what the page says.",
    ]
    lines = (await browser.view()).split("\n")
    assert lines[:5] == [*opened[:2], "Links: 1", f"[1] The next: {there.url}/next", "Text:"]
    text = "\n".join(lines[5:])
    assert "Heading" in text
    assert "drawnlater" in text
    assert "not to be seen" not in text
    assert "forged" not in text
    assert "Status: 404" in await browser.navigate(there.url + "/none")
    assert "GET /data" in there.asked


@pytest.mark.parametrize(
    "url",
    [
        *("file:///etc/passwd", "file://localhost/etc/passwd", "chrome://version", "view-source:{there}", "data:,x"),
        *("blob:{there}/0", "javascript:fetch('{other}')", "about:blank", "ftp://127.0.0.1/", "{other}/link", "", "x"),
        *("http://user@{host}/", "//{host}/", "http://{host}@127.0.0.1:{port}/", "{there}.example/", "{there}0/"),
        *("{secured}/", "{secured}/documents", "{secured}/docs/../secret", "{secured}/docs/%2e%2e/secret"),
    ],
)
async def test_nothing_off_the_list_is_opened(
    browser: Browser, there: Site, secured: Site, other: Elsewhere, url: str
) -> None:
    names = {"there": there.url, "secured": secured.url, "other": other.url, "port": other.port}
    error = await refused(browser, url.format(**names, host=f"127.0.0.1:{there.port}"))
    assert error.code == "host_not_allowed"
    assert f"is not in the allow-list: {there.url}, {secured.url}/docs" in error.reason
    assert other.came == []


async def test_a_redirect_off_the_list_is_not_followed(browser: Browser, there: Site, other: Elsewhere) -> None:
    there.redirects("/second", f"{other.url}/caught")
    error = await refused(browser, there.redirects("/first", there.url + "/second"))
    assert (error.code, error.reason) == (
        "host_not_allowed",
        f"{there.url}/first leads to {other.url}/caught, which is not in the allow-list",
    )
    with pytest.raises(ToolRefused, match="no page is open"):
        await browser.view()
    assert other.came == []


HOSTILE = """<title>Hostile</title>
<link rel="stylesheet" href="{other}/style"><link rel="preconnect" href="{other}"><link rel="prefetch" href="{other}/p">
<link rel="dns-prefetch" href="{other}"><script src="{other}/script"></script><img src="{other}/image">
<iframe src="{other}/frame"></iframe><iframe src="file:///etc/passwd"></iframe>
<iframe srcdoc="<img src='{other}/in_srcdoc'>"></iframe><video src="{other}/video"></video>
<object data="{other}/object"></object>
<form id="form" action="{other}/form" method="post" target="one"></form><iframe name="one"></iframe>
<form id="own" action="/own_form" method="post" target="two"></form><iframe name="two"></iframe>
<script>
fetch('{other}/fetch', {{mode: 'no-cors'}}).catch(() => 0);
fetch('{other}/posted', {{method: 'POST', body: document.body.innerText, mode: 'no-cors'}}).catch(() => 0);
fetch('/own_post', {{method: 'POST', body: 'x'}}).catch(() => 0);
navigator.sendBeacon('{other}/beacon', 'x');
new EventSource('{other}/events'); new WebSocket('ws://127.0.0.1:{port}/socket');
new WebSocket('ws://' + location.host + '/own_socket');
new Worker(URL.createObjectURL(new Blob(["fetch('{other}/in_worker'); new WebSocket('ws://127.0.0.1:{port}/w')"])));
document.getElementById('form').submit(); document.getElementById('own').submit();
const link = Object.assign(document.createElement('a'), {{href: '{other}/clicked', target: '_blank'}}); link.click();
window.open('{other}/window'); window.open('/own_window');
const peer = new RTCPeerConnection({{iceServers: [{{urls: 'stun:127.0.0.1:{udp}'}},
  {{urls: 'turn:127.0.0.1:{port}?transport=tcp', username: 'u', credential: 'c'}}]}});
peer.createDataChannel('x'); peer.createOffer().then(offer => peer.setLocalDescription(offer));
try {{ new WebTransport('https://127.0.0.1:{udp}/').ready.catch(() => 0) }} catch {{}}
setTimeout(() => {{ location.href = '{other}/left' }}, 50);
setTimeout(() => document.body.append('still here'), 150);
</script>"""
LISTED = {
    *("GET {other}/style", "GET {other}/script", "GET {other}/image", "GET {other}/frame", "GET {other}/in_srcdoc"),
    *("GET {other}/fetch", "POST {other}/posted", "POST {there}/own_post", "POST {other}/beacon", "POST {other}/form"),
    *("POST {there}/own_form", "GET {other}/events", "ws://127.0.0.1:{port}/socket", "GET {other}/in_worker"),
    *("ws://{host}/own_socket", "GET {other}/left"),
}


def only(monkeypatch: pytest.MonkeyPatch, alone: bool) -> None:
    """Browsers start in namespaces of their own, or without; not as this system allows."""
    start = chromium_module._start

    async def started(found: str, wanted: bool, stack: Any) -> Any:
        return await start(found, wanted, stack) if wanted is alone else None

    monkeypatch.setattr(chromium_module, "_start", started)


def refused_of(page: Page) -> set[str]:
    """Its requests that were not let through, by method and URL."""
    return {one.rpartition(" (")[0] for one in page.refused}


def quiet_after(monkeypatch: pytest.MonkeyPatch, wanted: set[str]) -> None:
    """A page is quiet only when all of `wanted` was refused: its frames and workers begin late on a slow machine."""
    settled = browser_module._settled

    async def quiet(page: Page) -> bool:
        found = await settled(page)
        deadline = time.monotonic() + PATIENT_SECONDS
        while wanted - refused_of(page) and time.monotonic() < deadline:  # noqa: ASYNC110 - a page has no event
            await asyncio.sleep(0.05)
        return found

    monkeypatch.setattr(browser_module, "_settled", quiet)


@pytest.mark.parametrize("alone", [True, False])
async def test_nothing_that_a_page_asks_for_gets_off_the_list(
    browser: Browser, there: Site, other: Elsewhere, monkeypatch: pytest.MonkeyPatch, alone: bool
) -> None:
    """Also on a system without namespaces, where what Chromium is told and the proxy hold alone."""
    another = Browser(AllowList([there.url]), lambda _: None)
    if not alone:
        only(monkeypatch, alone=False)
        browser = another
    monkeypatch.setattr("adapters.roles.web.pages.LISTED_REFUSED", 100)
    there.asked.clear()
    names = {"there": there.url, "other": other.url, "port": other.port, "udp": other.udp}
    wanted = {one.format(**names, host=f"127.0.0.1:{there.port}") for one in LISTED}
    quiet_after(monkeypatch, wanted)
    try:
        opened = await browser.navigate(there.shows("/hostile", HOSTILE.format(**names)))
        seen = await browser.view()
        assert browser.started is not None
        assert browser.started.alone is alone
        assert (network_of(main_of(browser.started.folder).pid) != network_of(os.getpid())) is alone
    finally:
        await another.close()
    listed = {line.removeprefix("- ").rpartition(" (")[0] for line in opened.split("\n") if line.startswith("- ")}
    assert listed >= wanted
    assert "still here" in seen
    assert "root:" not in seen
    assert set(there.asked) <= {"GET /hostile", "GET /favicon.ico"}
    assert other.came == []


async def test_a_path_of_a_service_with_tls_is_all_that_is_seen_of_it(
    browser: Browser, secured: Site, there: Site
) -> None:
    script = (
        "<script>for (const at of ['/secret', '/docs/more']) fetch(at).then(a => document.title += a.status)</script>"
    )
    url = secured.shows("/docs/page", f"Welcome{script}")
    opened = await browser.navigate(url)
    assert f"URL: {url}\nTitle: 404\nStatus: 200\n" in opened
    assert f"- GET {secured.url}/secret (xhr)" in opened
    assert "Welcome" in await browser.view()
    error = await refused(browser, secured.redirects("/docs/moved", "/secret"))
    assert error.reason == f"{secured.url}/docs/moved leads to {secured.url}/secret, which is not in the allow-list"
    assert set(secured.asked) == {"GET /docs/page", "GET /docs/more", "GET /docs/moved"}
    assert not [target for target in there.asked if "secret" in target]


def processes_of(folder: Path) -> list[psutil.Process]:
    """Those that have the folder in their command: the keeper, Chromium, and what it began."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
            if str(folder) in " ".join(process.cmdline()):
                found.append(process)
    return found


def variables_of(process: psutil.Process) -> dict[str, str]:
    """None of one that has ended meanwhile, as helpers of a browser's do."""
    with suppress(psutil.NoSuchProcess):
        return process.environ()
    return {}


def main_of(folder: Path) -> psutil.Process:
    """Chromium's first process: what it forks looks the same until it becomes another program, whatever its id."""
    found = []
    for one in processes_of(folder):
        with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
            if "--remote-debugging-pipe" in one.cmdline():
                found.append((one.create_time(), one))
    return min(found, key=lambda pair: pair[0])[1]


def network_of(process: int) -> Path:
    """The network namespace that a process is in."""
    return Path(f"/proc/{process}/ns/net").readlink()


def wait_until_nothing_is_left(folder: Path) -> None:
    deadline = time.monotonic() + PATIENT_SECONDS
    while processes_of(folder) or folder.exists():
        assert time.monotonic() < deadline, (processes_of(folder), folder.exists())
        time.sleep(0.02)


def kept_in(folder: Path, data: bytes) -> list[Path]:
    """The files that have it."""
    found = []
    for path in folder.rglob("*"):
        with suppress(OSError):  # it has just been removed
            if path.is_file() and data in path.read_bytes():
                found.append(path)
    return found


async def test_nothing_is_saved_and_a_call_that_is_given_up_takes_all_with_it(browser: Browser, there: Site) -> None:
    there.pages["/cookie"] = (200, {"Set-Cookie": "known=1; Max-Age=9999", "Content-Type": "text/html"}, b"set")
    await browser.navigate(there.url + "/cookie")
    error = await refused(browser, there.offers("/file", b"\0saved" * 5000))
    assert (error.code, error.reason) == ("not_a_page", f"{there.url}/file is a file to be saved, and none is")
    assert browser.started is not None
    folder = browser.started.folder
    assert len(processes_of(folder)) >= 4
    deadline = time.monotonic() + PATIENT_SECONDS
    while kept_in(folder, b"saved\0saved"):  # it is written until it is known to be a file to be saved
        assert time.monotonic() < deadline, "it was saved"
        await asyncio.sleep(0.05)
    there.hangs.add("/hang")
    given_up = asyncio.create_task(browser.navigate(there.url + "/hang"))
    await there.hanging.wait()
    given_up.cancel()
    with pytest.raises(asyncio.CancelledError):
        await given_up
    wait_until_nothing_is_left(folder)
    await browser.navigate(there.url + "/cookie")
    asked = [head for head in there.heads if head.startswith("GET /cookie ")]
    assert len(asked) == 2
    assert not [head for head in asked if "known" in head]


async def test_what_cannot_be_reached_and_a_page_that_does_not_answer_are_unavailable(
    browser: Browser, there: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        closed = AllowList(["http://127.0.0.1:9999"])
        patch.setattr(browser, "_allow", closed)
        patch.setattr(browser.proxy, "_allow", closed)
        with pytest.raises(Unavailable, match=r"9999/ cannot be opened: 127\.0\.0\.1:9999 cannot be reached"):
            await browser.navigate("http://127.0.0.1:9999/")
    monkeypatch.setattr(browser_module, "SETTLE_SECONDS", 0.2)
    monkeypatch.setattr(devtools_module, "ANSWER_SECONDS", 2.0)
    with pytest.raises(Unavailable, match=r"did not answer within 2 s \(service_unavailable\)"):
        await browser.navigate(there.shows("/busy", "<script>setTimeout(() => { for (;;); }, 0)</script>"))


async def test_a_browser_that_crashes_is_unavailable_and_started_again(browser: Browser, there: Site) -> None:
    fine = there.shows("/fine", "all well")
    await browser.navigate(fine)
    assert browser.started is not None
    folder = browser.started.folder
    main_of(folder).kill()
    with pytest.raises(Unavailable, match="the browser is started again"):
        await browser.navigate(fine)
    assert browser.started is None
    wait_until_nothing_is_left(folder)


WORKER = """
import asyncio, sys
from adapters.roles.web.allow_list import AllowList
from adapters.roles.web import browser as limits, chromium, devtools, proxy
from adapters.roles.web.browser import Browser

limits.START_SECONDS = limits.NAVIGATE_SECONDS = chromium.START_SECONDS = devtools.ANSWER_SECONDS = 120.0
proxy.HEAD_SECONDS = proxy.CONNECT_SECONDS = 120.0

async def main():
    browser = Browser(AllowList([sys.argv[1]]), lambda _: None)
    await browser.navigate(sys.argv[1])
    print(browser.started.folder, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_nothing_is_left_of_a_browser_whose_worker_was_killed(there: Site) -> None:
    url = there.shows("/fine", "all well")
    environment = {**os.environ, "COUNTERSIGN_TEST_KEY": "secret"}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", WORKER, url), cwd=ROOT, env=environment, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    folder = Path((await process.stdout.readline()).decode().strip())
    found = processes_of(folder)
    assert len(found) >= 4
    assert not [one for one in found if "COUNTERSIGN_TEST_KEY" in variables_of(one)]
    process.send_signal(signal.SIGKILL)
    await process.wait()
    wait_until_nothing_is_left(folder)


@pytest.mark.parametrize("alone", [True, pytest.param(False, marks=pytest.mark.slow)])
async def test_nothing_is_left_of_a_browser_that_does_not_answer(
    there: Site, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, alone: bool
) -> None:
    """Neither of one that has left its session: its keeper finds it. Nobody has to kill the keeper."""
    seconds = f"{os.getpid()}{int(alone)}"
    program = tmp_path / "chromium"
    program.write_text(f"#!/bin/sh\nsetsid sleep {seconds} &\nsleep {seconds}\n")
    program.chmod(0o755)
    only(monkeypatch, alone)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(browser_module, "START_SECONDS", 0.2)
    monkeypatch.setattr(chromium_module, "END_SECONDS", 600.0)
    async with asyncio.timeout(PATIENT_SECONDS):
        with pytest.raises(Unavailable, match="Chromium does not start: it says nothing"):
            await Browser(AllowList([there.url]), lambda _: None).navigate(there.url)
    assert not [one for one in psutil.process_iter(["cmdline"]) if seconds in (one.info["cmdline"] or [])]
