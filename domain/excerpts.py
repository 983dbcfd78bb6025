"""Shortens what a command printed to what tells most: the lines that name errors, then the end. Output is hostile.

What is left out is never silently gone: every shortened text names the command that shows all of it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from domain.failing_tests.failed_test import lines_of

AROUND = 3
"""Lines before and after one that names an error."""

ERROR_LINES = 60
END_LINES = 20
"""The end of a text that has lines with errors before it."""

DIFF = "changes.diff"
"""What was taken of the work, as `evidence show --log` calls it."""

_NAMES = re.compile(
    r"error|fail|exception|traceback|panic|\bnot ok\b|[✖✗✘●]|assert|fatal|undefined|unresolved|cannot |not found"
    r"|no such|denied|segmentation|abort|killed|expected|mismatch",
    re.IGNORECASE,
)
_NONE = re.compile(
    r"\b(?:0|no|without) {1,3}(?:errors?|fail\w{0,10}|problems?)|\b(?:errors?|fail\w{0,10})[:= ]{1,3}0\b", re.IGNORECASE
)
_PASSED = re.compile(r"\s*(?:ok\b|[✓✔√]|PASS|test .{0,300}\bok$)|.{0,1000}(?:\.\.\. ok|\bPASSED)$")
_WARNS = re.compile(r"\bwarn(?:ing)?s?\b", re.IGNORECASE)
_ERROR = re.compile(r"error:|\berror\b.{0,80}\bwarn", re.IGNORECASE)


def log_command(session: str, todo: str, attempt: int, name: str) -> str:
    """The command that shows everything that the check or criterion `name` printed in that attempt."""
    todo = todo if session == "local" else f"{session}/{todo}"
    return f"countersign evidence show {todo} --attempt {attempt} --log {shlex.quote(name)}"


def names_error(line: str) -> bool:
    """Whether a line of an output says that something went wrong; a warning does not, nor a count of none."""
    said = _NONE.sub("", line)
    if not _NAMES.search(said) or _PASSED.match(line):
        return False
    return not _WARNS.search(said) or bool(_ERROR.search(said))


def excerpt(text: str, command: str, lines: int, characters: int) -> str:
    """`text` where it is short enough, else its lines with errors and its end; `command` shows all of it.

    Each part has at most half of `characters`; the end has at most `lines` lines.
    """
    listed = text.removesuffix("\n").split("\n")
    if len(listed) <= lines and len(text) <= characters:
        return text
    named = _regions(lines_of(text), characters // 2, min(ERROR_LINES, 2 * lines))
    end = "\n".join(listed[-min(lines, END_LINES if named else lines) :])
    end = end[-(characters // 2 if named else characters) :]
    return "\n".join([*named, f"[... what is left out: {command}]", end])


def _regions(lines: Sequence[str], characters: int, most: int) -> list[str]:
    """The lines with errors and those around them, from the first on; the end of the text is shown anyway."""
    last = max(len(lines) - END_LINES, 0)
    found: list[str] = []
    room, shown = characters, 0
    for n in range(last):
        if n + AROUND < shown or not names_error(lines[n]):
            continue
        begin = max(n - AROUND, shown)
        for line in [*(["[...]"] if begin > shown else []), *lines[begin : min(n + AROUND + 1, last)]]:
            if len(found) >= most or len(line) > room:
                return found
            found.append(line)
            room -= len(line) + 1
        shown = min(n + AROUND + 1, last)
    return found
