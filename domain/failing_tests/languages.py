"""Reads the runners that languages bring along: unittest and pytest, `go test` plain and `-json`, cargo, perl's."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from domain.failing_tests.failed_test import DETAIL_LINES, FailedTest, failed_test, last_place_of, place_of

_UNITTEST = re.compile(r"(?:FAIL|ERROR|UNEXPECTED SUCCESS): (.+)")
_METHOD = re.compile(r"(\S{1,200}) \(([\w.]{1,400})\)(.*)")
_TRACEBACK = "Traceback (most recent call last):"
_PYTEST = re.compile(r"(?:FAILED|ERROR) (\S+\.py\b.*)")
_GO_FAILED = re.compile(r"\s*--- FAIL: (\S+)(?: \(.*)?")
_GO_ENDED = re.compile(r"\s*--- (?:PASS|SKIP): .*|(?:ok|FAIL|PASS|\?)(?:\s.*)?")
_GO_NAMED = re.compile(r"=== (RUN|NAME|CONT|PAUSE)\s+(\S+)")
_GO_PLACE = re.compile(r"\s+(\S{1,300}\.go:\d{1,7}): ?(.*)")
_CARGO = re.compile(r"---- (.+) stdout ----")
_PANICKED = re.compile(r"thread '.{0,400}' (?:\(\d+\) )?panicked at (.*)")
_PANICKED_SAID = re.compile(r"'(.*)', (\S+:\d+:\d+)")
_PERL = re.compile(r"#\s+Failed (?:\(TODO\) )?test(?: '(.+)')?(?: at (\S+) line (\d+)\.)?")
_PERL_AT = re.compile(r"#\s+at (\S+) line (\d+)\.")
MOST_TESTS = 5_000


def unittest(lines: Sequence[str]) -> Iterator[FailedTest]:
    """Each block between rules: the test's id, and the last line of its last traceback."""
    for n, line in enumerate(lines):
        if not line.startswith("=====") or n + 1 == len(lines):
            continue
        found = _UNITTEST.fullmatch(lines[n + 1])
        if found is None:
            continue
        block: list[str] = []
        for each in lines[n + 2 : n + 2 + 5 * DETAIL_LINES]:
            if each.startswith("=====") or (each.startswith("-----") and _TRACEBACK in block):
                break
            block.append(each)
        traces = [place for place, each in enumerate(block) if each == _TRACEBACK]
        trace = block[traces[-1] + 1 :] if traces else block
        said = next((place for place, each in enumerate(trace) if each[:1] not in ("", " ")), len(trace))
        yield failed_test(_test_id(found[1]), trace[said:], last_place_of(trace[:said]))


def _test_id(name: str) -> str:
    """`test_a (test_x.T.test_a) (i=0)`, or as older versions write it, as the id that selects it."""
    found = _METHOD.fullmatch(name)
    if found is None:
        return name
    method, path, rest = found.groups()
    return (path if path.endswith(f".{method}") else f"{path}.{method}") + rest


def pytest(lines: Sequence[str]) -> Iterator[FailedTest]:
    """The short summary at the end."""
    for line in lines:
        if found := _PYTEST.fullmatch(line):
            name, _, said = found[1].partition(" - ")
            yield failed_test(name, [said])


def go_test(lines: Sequence[str]) -> Iterator[FailedTest]:
    """Each `--- FAIL`, with what the test printed before it (-v) or after it; a group fails by its members alone."""
    printed: dict[str, list[str]] = {}
    failed: dict[str, None] = {}
    current = ""
    for line in lines:
        if len(printed) > MOST_TESTS:
            break
        if named := _GO_NAMED.fullmatch(line):
            current = "" if named[1] == "PAUSE" else named[2]
        elif found := _GO_FAILED.fullmatch(line):
            current = found[1]
            failed[current] = None
        elif _GO_ENDED.fullmatch(line):
            current = ""
        elif current and len(kept := printed.setdefault(current, [])) < DETAIL_LINES:
            kept.append(line)
    groups = {name.rpartition("/")[0] for name in failed}
    for name in failed:
        told = printed.get(name, [])
        if name not in groups or any(line.strip() for line in told):
            yield _go_failed(name, told)


def _go_failed(name: str, told: list[str]) -> FailedTest:
    panic = next((n for n, line in enumerate(told) if line.startswith(("panic:", "fatal error:"))), None)
    if panic is not None:
        own = [line for line in told[panic + 1 :] if "/src/testing/" not in line and "/src/runtime/" not in line]
        return failed_test(name, [told[panic]], place_of(own))
    places = [found for line in told if (found := _GO_PLACE.fullmatch(line))]
    said = [found[2] if (found := _GO_PLACE.fullmatch(line)) else line for line in told]
    return failed_test(name, said, places[-1][1] if places else "")


def go_json(lines: Sequence[str]) -> Iterator[FailedTest]:
    """`go test -json`: its events hold the lines of the other form, each with the test that it is of."""
    by_package: dict[str, list[str]] = {}
    for line in lines:
        if not line.startswith('{"') or '"Action":"output"' not in line:
            continue
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):  # cut, or not Go's
            continue
        told = by_package.setdefault(str(event.get("Package")), [])
        test, output = event.get("Test"), str(event.get("Output")).rstrip("\n")
        told += [f"=== NAME  {test}"] if test else []
        told.append(output)
    for told in by_package.values():
        yield from go_test(told)


def cargo(lines: Sequence[str]) -> Iterator[FailedTest]:
    """Each `---- test stdout ----` with the panic in it."""
    for n, line in enumerate(lines):
        found = _CARGO.fullmatch(line)
        if found is None:
            continue
        details: list[str] = []
        for each in lines[n + 1 : n + 1 + DETAIL_LINES]:
            if _CARGO.fullmatch(each) or each == "failures:":
                break
            details.append(each)
        panics = [place for place, each in enumerate(details) if _PANICKED.fullmatch(each)]
        if not panics:
            yield failed_test(found[1], details, place_of(details))
            continue
        panic = _PANICKED.fullmatch(details[panics[0]])
        assert panic is not None, "it matched above"
        below = details[panics[0] + 1 :]
        ends = [n for n, each in enumerate(below) if each.startswith(("note:", "stack backtrace:"))]
        said = below[: ends[0] if ends else None]
        if older := _PANICKED_SAID.fullmatch(panic[1]):
            said = [older[1]]
        yield failed_test(found[1], said, place_of([panic[1]]))


def perl(lines: Sequence[str]) -> Iterator[FailedTest]:
    """The comments of perl's Test::More, which `prove` lets through without the points themselves."""
    for n, line in enumerate(lines):
        found = _PERL.fullmatch(line.strip()) if "Failed" in line else None
        if found is None:
            continue
        details: list[str] = []
        for each in lines[n + 1 : n + 1 + DETAIL_LINES]:
            if not each.lstrip().startswith("#") or _PERL.fullmatch(each.strip()) or "Looks like" in each:
                break
            details.append(each.strip())
        at = _PERL_AT.fullmatch(details[0]) if details else None
        place = f"{found[2]}:{found[3]}" if found[2] else f"{at[1]}:{at[2]}" if at else ""
        said = [each.lstrip("# ") for each in details[1 if at else 0 :]]
        yield failed_test(found[1] or place or "a test", said, place)
