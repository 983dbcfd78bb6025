"""Reads the counts that test runners print at their end: pytest, unittest, node, TAP, jest, vitest, mocha, go, cargo.

What anybody can print proves nothing: this serves to compare what a worker says with what was seen, never a verdict.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from domain.base import Message

_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_PART = re.compile(r"(\d{1,9}) ([a-z]+)")

_FIELDS = {
    "passed": "passed",
    "passing": "passed",
    "failed": "failed",
    "failing": "failed",
    "error": "failed",
    "errors": "failed",
    "skipped": "skipped",
    "pending": "skipped",
    "todo": "skipped",
    "ignored": "skipped",
    "xfailed": "skipped",
    "xpassed": "passed",
}
"""The words of runners, by what they mean here."""


class Tally(Message):
    """How many tests passed, failed (errors included) and were skipped (expected failures included)."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.passed + self.failed + self.skipped

    def __str__(self) -> str:
        parts = [f"{self.passed} passed"]
        parts += [f"{self.failed} failed"] if self.failed else []
        parts += [f"{self.skipped} skipped"] if self.skipped else []
        return ", ".join(parts)


def tally_of(output: str) -> Tally | None:
    """The counts of the last run that `output` shows, None where it shows none that is known here."""
    lines = [line.strip() for line in _ANSI.sub("", output).splitlines()]
    for reader in _READERS:
        found = reader(lines)
        if found is not None:
            return found
    return None


def _summed(parts: Iterable[tuple[str, str]]) -> Tally:
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for number, word in parts:
        if word in _FIELDS:
            counts[_FIELDS[word]] += int(number)
    return Tally(**counts)


# `=== 1 failed, 12 passed in 0.30s ===`, and without the rules where it is quiet.
_PYTEST = re.compile(r"=*\s?((?:\d{1,9} [a-z]+(?:, )?)+|no tests ran) in [\d.:]+ ?s?(?: \([\d:]+\))?\s?=*")


def _pytest(lines: list[str]) -> Tally | None:
    for line in reversed(lines):
        found = _PYTEST.fullmatch(line) if " in " in line else None
        if found:
            return _summed(_PART.findall(found[1]))
    return None


_RAN = re.compile(r"Ran (\d{1,9}) tests? in .*")
_ENDED = re.compile(r"(?:OK|FAILED)(?: \(([a-z0-9=, ]*)\))?")
_NOTED = re.compile(r"([a-z ]+)=(\d{1,9})")


def _unittest(lines: list[str]) -> Tally | None:
    for place in range(len(lines) - 1, -1, -1):
        ran = _RAN.fullmatch(lines[place])
        if ran is None:
            continue
        ended = next((found for line in lines[place + 1 :] if (found := _ENDED.fullmatch(line))), None)
        if ended is None:
            return None
        noted = {name.strip(): int(number) for name, number in _NOTED.findall(ended[1] or "")}
        failed = noted.get("failures", 0) + noted.get("errors", 0) + noted.get("unexpected successes", 0)
        skipped = noted.get("skipped", 0) + noted.get("expected failures", 0)
        return Tally(passed=max(int(ran[1]) - failed - skipped, 0), failed=failed, skipped=skipped)
    return None


_NODE = re.compile(r"(?:#|\u2139) (pass|fail|cancelled|skipped|todo) (\d{1,9})")


def _node(lines: list[str]) -> Tally | None:
    """`node --test`, as TAP or as its own form has it."""
    counts = {found[1]: int(found[2]) for line in lines if (found := _NODE.fullmatch(line))}
    if not {"pass", "fail"} <= counts.keys():
        return None
    return Tally(
        passed=counts["pass"],
        failed=counts["fail"] + counts.get("cancelled", 0),
        skipped=counts.get("skipped", 0) + counts.get("todo", 0),
    )


_JEST = re.compile(r"Tests:\s+((?:\d{1,9} [a-z]+, )*\d{1,9} total)")
_VITEST = re.compile(r"Tests\s+((?:\d{1,9} [a-z]+(?: \| )?)+)\s?\(\d{1,9}\)")


def _jest(lines: list[str]) -> Tally | None:
    for line in reversed(lines):
        found = _JEST.fullmatch(line) or _VITEST.fullmatch(line) if line.startswith("Tests") else None
        if found:
            return _summed(_PART.findall(found[1]))
    return None


_MOCHA = re.compile(r"(\d{1,9}) (passing|failing|pending)(?: \([^)]*\))?")


def _mocha(lines: list[str]) -> Tally | None:
    found = [match.groups() for line in lines if (match := _MOCHA.fullmatch(line))]
    return _summed((number, word) for number, word in found) if any(word == "passing" for _, word in found) else None


_CARGO = re.compile(r"test result: (?:ok|FAILED)\. ((?:\d{1,9} [a-z ]+; )+)finished in .*")


def _cargo(lines: list[str]) -> Tally | None:
    found = [match[1] for line in lines if (match := _CARGO.fullmatch(line))]
    return _summed(part for text in found for part in _PART.findall(text)) if found else None


_GO = re.compile(r"--- (PASS|FAIL|SKIP): .*")
_GO_PACKAGE = re.compile(r"(?:ok|FAIL)\s+\S+\s+(?:[\d.]+s|\(cached\)|\[build failed\]).*")


def _go(lines: list[str]) -> Tally | None:
    """Only with -v does it name its tests."""
    if not any(_GO_PACKAGE.fullmatch(line) for line in lines):
        return None
    seen = [match[1] for line in lines if (match := _GO.fullmatch(line))]
    if "PASS" not in seen:
        return None
    return Tally(passed=seen.count("PASS"), failed=seen.count("FAIL"), skipped=seen.count("SKIP"))


_PLAN = re.compile(r"1\.\.\d{1,9}(?: #.*)?")
_POINT = re.compile(r"(not )?ok \d{1,9}\b(.*)")


def _tap(lines: list[str]) -> Tally | None:
    if not any(_PLAN.fullmatch(line) for line in lines):
        return None
    points = [match for line in lines if (match := _POINT.fullmatch(line))]
    skipped = [match for match in points if re.search(r"# (?:skip|todo)\b", match[2], re.IGNORECASE)]
    failed = [match for match in points if match[1] and match not in skipped]
    return Tally(passed=len(points) - len(failed) - len(skipped), failed=len(failed), skipped=len(skipped))


_READERS: tuple[Callable[[list[str]], Tally | None], ...] = (
    _pytest,
    _unittest,
    _node,
    _jest,
    _mocha,
    _cargo,
    _go,
    _tap,
)
