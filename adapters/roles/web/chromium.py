"""A headless Chromium of its own for one pass: found, started, spoken to by two pipes, and gone in the end.

It has a profile that is thrown away, none of the worker's variables, and no port that another process could drive it
by: who can talk to a browser's port can have it start a program. What keeps and ends it is `keeper`.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from adapters.roles.web.keeper import CANNOT, PORT, Plan
from domain.errors import Cause, Unavailable

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
HOW_TO_INSTALL = "install Chromium (Debian: apt install chromium), or take the entries out of [agents.web] allow"
START_SECONDS = 20.0
END_SECONDS = 10.0
SHOWN_LOG = 500

OPTIONS = (
    *("--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--mute-audio"),
    *("--remote-debugging-pipe", f"--proxy-server=http://127.0.0.1:{PORT}", "--proxy-bypass-list=<-loopback>"),
    *("--disable-quic", "--dns-prefetch-disable"),
    *("--disable-extensions", "--disable-plugins", "--block-new-web-contents", "--disable-notifications"),
    *(
        "--no-first-run",
        "--no-default-browser-check",
        "--no-pings",
        "--no-service-autorun",
        "--deny-permission-prompts",
    ),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-default-apps"),
    *("--disable-domain-reliability", "--disable-client-side-phishing-detection", "--disable-breakpad"),
    *("--disable-crash-reporter", "--metrics-recording-only", "--password-store=basic", "--use-mock-keychain"),
    "--disable-features=OptimizationHints,MediaRouter,Translate,NetworkTimeServiceQuerying,AutofillServerCommunication",
)

PROFILE = "profile"
PREFERENCES = {"webrtc": {"ip_handling_policy": "disable_non_proxied_udp"}}
"""No option of the command's turns off what a page sends by UDP (measured, Chromium 156)."""

_ROOT = str(Path(__file__).resolve().parents[3])
_KEEPER = (
    *(sys.executable, "-I", "-S", "-c"),
    f"import sys; sys.path.insert(0, {_ROOT!r}); from adapters.roles.web.keeper import main; main()",
)
"""Without site packages, which it does not need: it is there in a few hundredths of a second."""

_PASSED_ON = ("PATH", "LANG", "LANGUAGE", "TZ", "LD_LIBRARY_PATH", "FONTCONFIG_PATH", "FONTCONFIG_FILE")


@dataclass(frozen=True)
class Started:
    """A browser that runs: its two pipes, the socket that its proxy has to serve, its keeper's process, its folder.

    `alone`: in namespaces of its own, where there is no network but that socket.
    """

    commands: IO[bytes]
    events: IO[bytes]
    listening: socket.socket
    keeper: int
    folder: Path
    alone: bool
    log: IO[bytes]


def program() -> str | None:
    """The browser on this machine's PATH, None without any."""
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None)


@asynccontextmanager
async def chromium() -> AsyncIterator[Started]:
    """Start one, and end it with all that it began. Raises `Unavailable` (system_error): none here, or none starts."""
    found = program()
    if found is None:
        raise Unavailable(Cause.SYSTEM_ERROR, "there is no Chromium on this worker's PATH", HOW_TO_INSTALL)
    async with AsyncExitStack() as stack:
        started = await _start(found, True, stack) or await _start(found, False, stack)
        assert started is not None, "only namespaces can be what a system does not allow"
        yield started


async def _start(found: str, alone: bool, stack: AsyncExitStack) -> Started | None:
    """One in namespaces of its own, or without; None where this system does not allow namespaces."""
    async with AsyncExitStack() as own:
        folder = _folder()
        own.callback(shutil.rmtree, folder, ignore_errors=True)
        log: IO[bytes] = own.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - it is one
        reads, commands = (own.enter_context(end) for end in _pipe())
        events, writes = (own.enter_context(end) for end in _pipe())
        hears, tells = (own.enter_context(end) for end in socket.socketpair())
        plan: Plan = {
            "command": _command(found, folder),
            "env": _variables(os.environ, folder),
            "folder": str(folder),
            "reads": reads.fileno(),
            "writes": writes.fileno(),
            "tells": tells.fileno(),
            "alone": alone,
        }
        keeper = await asyncio.create_subprocess_exec(
            *_KEEPER,
            json.dumps(plan),
            cwd="/",
            env={},
            stdin=asyncio.subprocess.PIPE,
            stdout=log,
            stderr=log,
            pass_fds=(plan["reads"], plan["writes"], plan["tells"]),
            start_new_session=True,
        )
        own.push_async_callback(_end, keeper)
        for end in (reads, writes, tells):
            end.close()
        listening = await asyncio.to_thread(_handed_over, hears)
        if listening is None and await keeper.wait() == CANNOT and alone:
            return None
        if listening is None:
            raise does_not_start(log)
        own.enter_context(listening)
        await stack.enter_async_context(own.pop_all())
        return Started(commands, events, listening, keeper.pid, folder, alone, log)


def _folder() -> Path:
    """A new one, with a profile that has all preferences set."""
    folder = Path(tempfile.mkdtemp(prefix="countersign-browser-")).resolve()
    preferences = folder / PROFILE / "Default" / "Preferences"
    preferences.parent.mkdir(parents=True)
    preferences.write_text(json.dumps(PREFERENCES))
    return folder


def _pipe() -> tuple[IO[bytes], IO[bytes]]:
    reads, writes = os.pipe()
    return os.fdopen(reads, "rb", buffering=0), os.fdopen(writes, "wb", buffering=0)


def _command(found: str, folder: Path) -> list[str]:
    # A browser run by root has no sandbox of its own: it says so itself, and does not start without this.
    of_root = ["--no-sandbox"] if os.geteuid() == 0 else []
    return [found, *OPTIONS, *of_root, f"--user-data-dir={folder / PROFILE}", "about:blank"]


def _variables(environment: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Enough to run, no key and no proxy; whatever is kept is kept in the folder that goes."""
    passed_on = {name: value for name, value in environment.items() if name in _PASSED_ON or name.startswith("LC_")}
    own = dict.fromkeys(("HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"), str(folder))
    return {**passed_on, **own}


def _handed_over(hears: socket.socket) -> socket.socket | None:
    """The socket that the keeper made; None where it has ended without one."""
    hears.settimeout(START_SECONDS)
    try:
        _, files, _, _ = socket.recv_fds(hears, 64, 1)
    except TimeoutError:
        return None
    return socket.socket(fileno=files[0]) if files else None


def does_not_start(log: IO[bytes]) -> Unavailable:
    """What is raised where a browser has ended before it was of use; `log` has what it printed."""
    log.seek(0)
    said = log.read().decode(errors="replace")[-SHOWN_LOG:].strip()
    return Unavailable(Cause.SYSTEM_ERROR, f"Chromium does not start: {said or 'it says nothing'}", HOW_TO_INSTALL)


async def _end(keeper: asyncio.subprocess.Process) -> None:
    assert keeper.stdin is not None
    keeper.stdin.close()
    try:
        async with asyncio.timeout(END_SECONDS):
            await keeper.wait()
    except TimeoutError:
        with suppress(ProcessLookupError):
            keeper.kill()
        await keeper.wait()
