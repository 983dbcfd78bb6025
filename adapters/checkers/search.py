"""Searches untrusted bytes for a pattern of Python's `re`, bounded in time and memory. It knows no criterion.

A child process does it, since `re` cannot be interrupted. The `regex` package can, but reads `{i}`, `{s}` and `{e}`
as fuzzy matching: on it, `print\\(f"{i}"\\)` finds itself in `print(f"")`, so patterns that an order was validated
with would pass on text that they do not match (measured with 2026.11.15).
"""

from __future__ import annotations

import asyncio
import json
import sys

from domain.base import Message

SHOWN_LINE = 200  # characters of the first matching line
MEMORY = 2 * 1024**3  # bytes of address space: 64 MiB of text as `str` and a deep backtrack, not the whole host

_SEARCH = f"""
import json, re, resource, sys
hard = resource.getrlimit(resource.RLIMIT_AS)[1]
resource.setrlimit(resource.RLIMIT_AS, ({MEMORY} if hard < 0 else min(hard, {MEMORY}), hard))
pattern = json.loads(sys.stdin.buffer.readline())
text = sys.stdin.buffer.read().decode("utf-8", "replace")
match = re.search(pattern, text, re.MULTILINE)
found = None
if match:
    start = text.rfind("\\n", 0, match.start()) + 1
    end = text.find("\\n", match.start(), start + {SHOWN_LINE})
    line = text[start : end if end >= 0 else start + {SHOWN_LINE}]
    found = {{"line": text.count("\\n", 0, match.start()) + 1, "text": line}}
print(json.dumps(found))
"""


class Found(Message):
    """The first match: its line, counted from 1, and that line's text, at most `SHOWN_LINE` characters."""

    line: int
    text: str


class SearchFailed(Exception):
    """The search ended without an answer, such as for want of memory: what is searched brought that about."""


async def search(pattern: str, data: bytes, limit: float) -> Found | None:
    """The first match of `pattern` in `data` (UTF-8, what is not is replaced; `^` and `$` at every line).

    Raises `TimeoutError` after `limit` seconds, and `SearchFailed`.
    """
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", "-c", _SEARCH),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(limit):
            answer, complaint = await process.communicate(json.dumps(pattern).encode() + b"\n" + data)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode != 0:
        last = complaint.decode(errors="replace").strip().rpartition("\n")[2]
        raise SearchFailed(last or f"exit code {process.returncode}")
    found = json.loads(answer)
    return None if found is None else Found.model_validate(found)
