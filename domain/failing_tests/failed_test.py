"""One failing test as a runner names it, and what every reader needs to make it of lines. Output is hostile input.

Lines are cut before any expression looks at them, and every expression is anchored or linear. There is no library in
here: the parsers that there are want a whole, clean document, and what a check prints is mixed with the noise of
`npm`, linters and builds, and has only its head and tail where it was long.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from domain.base import Message
from domain.shown_text import one_line

TEST_CHARACTERS = 200
MESSAGE_CHARACTERS = 300
PLACE_CHARACTERS = 200
LINE_CHARACTERS = 2_000
DETAIL_LINES = 60
"""Of a failure's own lines that are looked at."""

MOST_LINES = 60_000
"""Of an output that are looked at: half at its beginning, half at its end."""

TREE = "/work/tree/"
"""Where a check's tree is in its container; a place is shown as the tree has it."""

_ANSI = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
_PLACE = re.compile(r"(?<![\w/.@-])((?:file://)?[\w./@+-]{1,300}\.\w{1,5}):(\d{1,7})\b")
_PYTHON_PLACE = re.compile(r'File "([^"]{1,300})", line (\d{1,7})')
_ELSEWHERE = ("node_modules/", "node:", "site-packages/", "/rustc/", "/usr/", "/lib/python", "internal/")


class FailedTest(Message):
    """A test that failed, by the runner's words."""

    test: str
    """Its name, with the names of the groups that it is in."""

    message: str = ""
    """Why, on one line; empty where the runner does not tell."""

    place: str = ""
    """`path:line` in the tree; empty where the runner does not tell."""

    def __str__(self) -> str:
        told = "; ".join(part for part in (self.message, self.place) if part)
        return f"{self.test} ({told})" if told else self.test


def failed_test(name: str, message: Iterable[str] = (), place: str = "") -> FailedTest:
    """A failing test with everything on one line, visible and cut."""
    told = " ".join(line.strip() for line in message if line.strip())
    return FailedTest(
        test=one_line(name, TEST_CHARACTERS),
        message=one_line(told, MESSAGE_CHARACTERS),
        place=one_line(place, PLACE_CHARACTERS),
    )


def lines_of(output: str) -> list[str]:
    """The lines of `output` as readers take them: no colours, none longer than `LINE_CHARACTERS`, so many at most."""
    lines = output.replace("\r\n", "\n").split("\n")
    if len(lines) > MOST_LINES:
        lines = lines[: MOST_LINES // 2] + lines[-MOST_LINES // 2 :]
    return [_ANSI.sub("", line[: 2 * LINE_CHARACTERS])[:LINE_CHARACTERS].rstrip() for line in lines]


def place_of(lines: Iterable[str]) -> str:
    """The first `path:line` in `lines` that is the work's own, empty for none."""
    return next((place for line in lines for place in _places(line)), "")


def last_place_of(lines: Sequence[str]) -> str:
    """The last one: where frames are listed with the innermost at the end."""
    return place_of(reversed(lines))


def _places(line: str) -> Iterator[str]:
    for found in (*_PLACE.finditer(line), *_PYTHON_PLACE.finditer(line)):
        path = found[1].removeprefix("file://").removeprefix(TREE).removeprefix("./")
        if not any(part in path for part in _ELSEWHERE):
            yield f"{path}:{found[2]}"
