"""Reads the Test Anything Protocol: tape, node-tap, `node --test`, bats, mocha's reporter, perl's `prove`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from domain.failing_tests.failed_test import DETAIL_LINES, FailedTest, failed_test, place_of

_POINT = re.compile(r"(not )?ok\b(?: +(\d{1,9}))?(?: +- +| +)?(.*)")
_PUT_OFF = re.compile(r"#\s{0,3}(?:skip|todo)\b", re.IGNORECASE)
_TIMED = re.compile(r"\s#\s?(?:time|duration)\S{0,5}[ =].{0,40}$")
_PERL = re.compile(r"\s*#\s+Failed (?:\(TODO\) )?test\b")
_SUBTEST = "# Subtest: "
_SUMMARY = re.compile(r"# (?:tests|pass|fail|ok|suites|cancelled|skipped|skip|todo|duration_ms|time)\b")
_DIAGNOSTIC = re.compile(r"#(?:\s{2,}|\t| \(| (?:Failed|Error|got|expected|at)\b)")
_KEY = re.compile(r"(\s*)([A-Za-z_]{1,40}):(?:\s+(.*))?")
_SAID = ("error", "message", "reason", "description")
_SEEN = (("expected", "actual"), ("wanted", "found"), ("expected", "got"))


def tap(lines: Sequence[str]) -> Iterator[FailedTest]:
    """The points that are `not ok`, with what their YAML or comments tell; a group fails by its members alone.

    Not perl's: it tells of its failures before, and apart from, the points.
    """
    if any(_PERL.match(line) for line in lines):
        return
    groups: dict[int, str] = {}
    failed: set[int] = set()
    heading, at = "", 0
    while at < len(lines):
        text = lines[at].lstrip(" \t")
        indent = len(lines[at]) - len(text)
        at += 1
        if text.startswith("#"):
            if text.startswith(_SUBTEST):
                groups = {depth: name for depth, name in groups.items() if depth < indent}
                groups[indent] = text.removeprefix(_SUBTEST)
            elif indent == 0 and not _SUMMARY.match(text):
                heading = text.removeprefix("#").strip()
            continue
        point = _POINT.fullmatch(text)
        if point is None or (point[1] and not (point[2] or point[3])):
            continue
        members, failed = any(depth > indent for depth in failed), {depth for depth in failed if depth <= indent}
        if point[1] is None or _PUT_OFF.search(point[3]):
            continue
        failed.add(indent)
        details = _details(lines, at)
        at += len(details)
        if not members:
            above = [groups[depth] for depth in sorted(groups) if depth < indent]
            above = above or ([heading] if heading and indent == 0 else [])
            yield _failed(point, above, details)


def _failed(point: re.Match[str], above: list[str], details: list[str]) -> FailedTest:
    name = _TIMED.sub("", point[3]).strip() or f"test {point[2]}"
    names = [*(each for each in above if each != name), name]
    told = _keys(details)
    if told is None:
        comments = [line.strip().lstrip("#").strip() for line in details]
        frames = [n for n, line in enumerate(comments) if line.startswith("at ")]
        return failed_test(" > ".join(names), comments[: frames[0] if frames else None], place_of(details))
    said = next((told[key] for key in _SAID if told.get(key)), [])
    if not said:
        pair = next((pair for pair in _SEEN if pair[0] in told and pair[1] in told), None)
        said = told.get("operator", [])
        if pair:
            expected, actual = (" ".join(line.strip() for line in told[key]) for key in pair)
            said = [f"{' '.join(said)}: " if said else "", f"expected {expected}, actual {actual}"]
    place = next((place for key in ("at", "stack", "location") if (place := place_of(told.get(key, ())))), "")
    return failed_test(" > ".join(names), said, place or place_of(details))


def _details(lines: Sequence[str], start: int) -> list[str]:
    """What follows a point and belongs to it: its YAML, else its comments and what is indented."""
    found: list[str] = []
    yaml = False
    for line in lines[start : start + DETAIL_LINES]:
        text = line.strip()
        if yaml and text == "...":
            return [*found, line]
        ours = yaml or text == "---" or _DIAGNOSTIC.match(text) or (not text.startswith("#") and line[:1] in (" ", ""))
        if not ours or (not yaml and _POINT.fullmatch(text)):
            return found
        yaml = yaml or (text == "---" and not any(each.strip() for each in found))
        found.append(line)
    return found


def _keys(details: list[str]) -> dict[str, list[str]] | None:
    """The first level of a block of YAML, each key with its lines; None where there is no such block."""
    lines = [line for line in details if line.strip()]
    if not lines or lines[0].strip() != "---":
        return None
    first = _KEY.fullmatch(lines[1]) if len(lines) > 1 else None
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for line in lines[1:]:
        key = _KEY.fullmatch(line)
        if key and first and key[1] == first[1]:
            value = (key[3] or "").strip()
            current = found.setdefault(key[2], [])
            current += [] if value in ("", "|", "|-", ">", ">-") else [value.strip("'\"")]
        elif line.strip() != "...":
            current.append(line)
    return found
