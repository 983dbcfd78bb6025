"""Searches the lines of untrusted texts for a model's pattern of Python's `re`, bounded in time, memory and hits.

A child process does it, since `re` cannot be interrupted (`adapters.checkers.search` says why no other engine). Texts
are passed to it one by one, so that only a few are held. Codes: `bad_pattern`, `too_slow`, `search_failed`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import NamedTuple

from adapters.roles.tool import ToolRefused

MEMORY = 2**30
"""Bytes of address space of the child."""

_SEARCH = f"""
import json, re, resource, sys
hard = resource.getrlimit(resource.RLIMIT_AS)[1]
resource.setrlimit(resource.RLIMIT_AS, ({MEMORY} if hard < 0 else min(hard, {MEMORY}), hard))
def search(asked, texts):
    try:
        pattern = re.compile(asked["pattern"], re.IGNORECASE if asked["ignore_case"] else 0)
    except (re.error, OverflowError, RecursionError) as error:
        return {{"problem": str(error)}}
    hits = []
    while header := texts.readline():
        name, size = json.loads(header)
        text = texts.read(size).decode("utf-8", "replace").removesuffix("\\n")
        for number, line in enumerate(text.split("\\n") if size else [], 1):
            if pattern.search(line):
                if len(hits) == asked["most"]:
                    return {{"hits": hits, "more": True}}
                cut = line if len(line) <= asked["width"] else line[:asked["width"]] + "..."
                hits.append([name, number, cut])
    return {{"hits": hits, "more": False}}
print(json.dumps(search(json.loads(sys.stdin.buffer.readline()), sys.stdin.buffer)))
"""


Texts = AsyncGenerator[tuple[str, bytes], None]
"""Names with contents."""


class Asked(NamedTuple):
    """What to look for: at most `most` lines, of each the first `width` characters, within `seconds`."""

    pattern: str
    ignore_case: bool
    most: int
    width: int
    seconds: float


class Hit(NamedTuple):
    """A line that has a match; `number` counts from 1."""

    name: str
    number: int
    line: str


class Hits(NamedTuple):
    """The first lines, in order; `more` where there are others."""

    hits: list[Hit]
    more: bool


async def search(asked: Asked, texts: Texts) -> Hits:
    """The lines of `texts` that have a match. Only a line feed ends a line.

    Raises `ToolRefused` (bad_pattern, too_slow, search_failed), and what `texts` raises.
    """
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", "-c", _SEARCH),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(asked.seconds):
            await _feed(process, asked, texts)
            answer, complaint = await process.communicate()
    except TimeoutError:
        reason = f"still searching for {asked.pattern!r:.300} after {asked.seconds:g} s: a simpler pattern may do"
        raise ToolRefused("too_slow", reason) from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode != 0:
        last = complaint.decode(errors="replace").strip().rpartition("\n")[2]
        reason = f"the search for {asked.pattern!r:.300} ended without an answer: {last or process.returncode}"
        raise ToolRefused("search_failed", reason)
    return _told(asked, json.loads(answer))


async def _feed(process: asyncio.subprocess.Process, asked: Asked, texts: Texts) -> None:
    """Write until all is written, or the child has seen enough."""
    stdin = process.stdin
    assert stdin is not None
    with suppress(BrokenPipeError, ConnectionResetError):
        stdin.write(json.dumps(asked._asdict()).encode() + b"\n")
        async with aclosing(texts):
            async for name, data in texts:
                stdin.write(json.dumps([name, len(data)]).encode() + b"\n" + data)
                await stdin.drain()
    stdin.close()


def _told(asked: Asked, answer: dict[str, object]) -> Hits:
    if "problem" in answer:
        raise ToolRefused("bad_pattern", f"{asked.pattern!r:.300} is no pattern of Python's re: {answer['problem']}")
    hits = answer["hits"]
    assert isinstance(hits, list)
    return Hits([Hit(*hit) for hit in hits], answer["more"] is True)
