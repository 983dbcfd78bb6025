"""Reads the reporters of JavaScript's runners that are no TAP: `node --test` (spec), jest, vitest, mocha (spec)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from domain.failing_tests.failed_test import DETAIL_LINES, FailedTest, failed_test, place_of

_NODE = re.compile(r"\s*✖ (.+) \(\d[\d.]*m?s\)( #.*)?")
_NODE_SUMMARY = "✖ failing tests:"
_FRAME = re.compile(r"\s*(?:at |\u276f )")
_CODE = re.compile(r"\s*>?\s*\d+ ?[|│]")
_JEST = re.compile(r" {1,2}● (.+)")
_JEST_FILE = re.compile(r"\s?FAIL\s+(\S+)(?: \([\d.]+ m?s\))?")
_VITEST = re.compile(r"\s?FAIL\s+(\S+ (?:>|\[) .+)")
_MOCHA_FAILING = re.compile(r"\s*\d{1,9} failing")
_MOCHA = re.compile(r"\s{2,}\d{1,9}\) (.+)")
_DIFFERENCE = ("+ expected - actual", "- Expected", "+ Received", "+ actual - expected")


def node_spec(lines: Sequence[str]) -> Iterator[FailedTest]:
    """`node --test` as people see it: by its list at the end, else by what stands among the others."""
    summary = max((n for n, line in enumerate(lines) if line == _NODE_SUMMARY), default=-1)
    for n in range(summary + 1, len(lines)):
        found = _NODE.fullmatch(lines[n])
        if found is None or found[2] or lines[n + 1 : n + 2] == [""]:
            continue
        details = _until(lines, n + 1, lambda line: bool(_NODE.fullmatch(line)) or line.startswith("test at "))
        told = _before(details, _FRAME)
        if told:
            yield failed_test(found[1], told, place_of(details) or place_of(lines[max(n - 1, 0) : n]))


def jest(lines: Sequence[str]) -> Iterator[FailedTest]:
    """Each `●` with what was expected and received; a file that could not be loaded by its own name."""
    file = ""
    for n, line in enumerate(lines):
        if named := _JEST_FILE.fullmatch(line):
            file = named[1]
        found = _JEST.fullmatch(line)
        if found is None or found[1].startswith("Console"):
            continue
        details = _until(lines, n + 1, lambda line: bool(_JEST.fullmatch(line) or _JEST_FILE.fullmatch(line)))
        name = f"{file}: {found[1]}" if found[1] == "Test suite failed to run" else found[1]
        yield failed_test(name, _before(details, _FRAME, _CODE), place_of(details))


def vitest(lines: Sequence[str]) -> Iterator[FailedTest]:
    """Each `FAIL  file > group > test` with the error below it."""
    for n, line in enumerate(lines):
        found = _VITEST.fullmatch(line)
        if found:
            details = _until(lines, n + 1, lambda line: bool(_VITEST.fullmatch(line)) or line.startswith("⎯"))
            yield failed_test(found[1], _before(details, _FRAME, _CODE), place_of(details))


def mocha(lines: Sequence[str]) -> Iterator[FailedTest]:
    """The numbered list after `N failing`: titles down to a colon, then the error."""
    start = next((n for n, line in enumerate(lines) if _MOCHA_FAILING.fullmatch(line)), len(lines))
    for n in range(start + 1, len(lines)):
        found = _MOCHA.fullmatch(lines[n])
        if found is None:
            continue
        details = _until(lines, n + 1, lambda line: bool(_MOCHA.fullmatch(line)))
        titles = [found[1]]
        while not titles[-1].endswith(":") and details and details[0].strip():
            titles.append(details.pop(0).strip())
        yield failed_test(" > ".join(titles).removesuffix(":"), _before(details, _FRAME), place_of(details))


def _until(lines: Sequence[str], start: int, ends: Callable[[str], bool]) -> list[str]:
    """The lines from `start` to the one that begins something else."""
    found = []
    for line in lines[start : start + DETAIL_LINES]:
        if ends(line):
            break
        found.append(line)
    return found


def _before(details: Sequence[str], *ends: re.Pattern[str]) -> list[str]:
    """The error's own words: what stands above the frames and the code, without the legend of a difference."""
    found = []
    for line in details:
        if any(end.match(line) for end in ends):
            break
        if line.strip() and line.strip() not in _DIFFERENCE:
            found.append(line)
    return found
