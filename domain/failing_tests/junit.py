"""Reads JUnit's XML where a runner prints it, test case by test case: the document around them may be cut or mixed."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree

from domain.failing_tests.failed_test import DETAIL_LINES, FailedTest, failed_test, place_of

_CASE, _END = "<testcase", "</testcase>"
MOST_CASES = 20_000


def junit(output: str) -> Iterator[FailedTest]:
    """The cases that have a `failure` or an `error` and are not skipped."""
    start = output.find(_CASE)
    for _ in range(MOST_CASES):
        if start < 0:
            return
        after = output.find(_CASE, start + len(_CASE))
        case = output[start : after if after >= 0 else len(output)]
        end = case.find(_END)
        if end >= 0 and ("<failure" in case or "<error" in case) and "<skipped" not in case:
            yield from _failed(case[: end + len(_END)])
        start = after


def _failed(case: str) -> Iterator[FailedTest]:
    """Of one element; nothing where it is not well formed."""
    try:
        element = ElementTree.fromstring(case)  # noqa: S314 - a fragment has no DOCTYPE, so it defines no entities
    except ElementTree.ParseError:
        return
    failure = next((each for each in element if each.tag in ("failure", "error")), None)
    if failure is None:
        return
    group, name = element.get("classname", ""), element.get("name", "")
    said = (failure.text or "").strip().splitlines()[:DETAIL_LINES]
    line = f":{element.get('line')}" if element.get("line") else ""
    place = place_of(said) or (f"{element.get('file')}{line}" if element.get("file") else "")
    names = [each for each in (group, name) if each and each != "test"]
    yield failed_test(" > ".join(names) or "a test", [failure.get("message") or "\n".join(said[:3])], place)
