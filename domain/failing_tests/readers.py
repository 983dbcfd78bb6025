"""The table of readers, and what they find together in the output of one check."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from domain.base import Message
from domain.failing_tests.failed_test import FailedTest, lines_of
from domain.failing_tests.javascript import jest, mocha, node_spec, vitest
from domain.failing_tests.junit import junit
from domain.failing_tests.languages import cargo, go_json, go_test, perl, pytest, unittest
from domain.failing_tests.tap import tap

LISTED = 20
COUNTED = 10_000
COMPARED = 200
"""Tests of one reader that those of the next are compared with: two may read the same failure."""

NAMED = 5
"""Tests that are named in a text of one line."""

NAMED_CHARACTERS = 1_500

Reader = Callable[[Sequence[str]], Iterator[FailedTest]]

READERS: tuple[tuple[str, Reader], ...] = (
    ("not ok", tap),
    ("●", jest),
    (" failing", mocha),
    ("FAIL", vitest),
    ("✖", node_spec),
    ("=====", unittest),
    (".py", pytest),
    ('"Action":"output"', go_json),
    ("--- FAIL:", go_test),
    (" stdout ----", cargo),
    ("Failed", perl),
)
"""By what an output has to have in it for the reader to be worth its time. JUnit's XML is read from the whole text."""


class FailedTests(Message):
    """The tests that failed by a check's output: the first of them, and how many there are."""

    count: int
    listed: tuple[FailedTest, ...]

    @property
    def headline(self) -> str:
        """`2 tests failed`."""
        return "1 test failed" if self.count == 1 else f"{self.count} tests failed"

    def __str__(self) -> str:
        named = [str(each) for each in self.listed[:NAMED]]
        while len(named) > 1 and sum(map(len, named)) > NAMED_CHARACTERS:
            named.pop()
        rest = f" and {self.count - len(named)} more" if self.count > len(named) else ""
        return f"{self.headline}: {', '.join(named)}{rest}"


def failed_tests(output: str) -> FailedTests | None:
    """What `output` names as failing tests, each once; None where no reader knows one."""
    lines = lines_of(output)
    readings: list[Iterator[FailedTest]] = [junit(output)] if "<testcase" in output else []
    readings += [read(lines) for mark, read in READERS if mark in output]
    found: list[FailedTest] = []
    for reading in readings:
        earlier = tuple(each.test for each in found[:COMPARED])
        names = {each.test for each in found}
        for each in islice(reading, COUNTED):
            if each.test in names or any(name.endswith(each.test) for name in earlier):
                continue
            names.add(each.test)
            found.append(each)
    return FailedTests(count=len(found), listed=tuple(found[:LISTED])) if found else None
