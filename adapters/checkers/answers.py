"""Holds an HTTP answer against what a criterion expects of one; it asks nobody and knows no service.

Codes: `ok`, `wrong_status`, `wrong_body`, `not_json`, `wrong_json`, `answer_too_large` (what is kept of the body does
not decide), `search_failed`, `verification_timeout`.
"""

from __future__ import annotations

from typing import Any

from adapters.checkers import plain_data
from adapters.checkers.search import SearchFailed, search
from domain.checks import Outcome
from domain.criteria import ApiResponseParams, HttpResponseParams

SHOWN = 200  # characters of a body in a text
BEFORE = 40  # of them before the first difference
SHOWN_STEPS = 8  # of where a difference is, the last ones

Expected = HttpResponseParams | ApiResponseParams
Verdict = tuple[Outcome, str, str]
Path = tuple[str | int, ...]


async def judge_answer(expected: Expected, status: int, body: bytes, truncated: bool, limit: float) -> Verdict:
    """Outcome, code and text of an answer of which `body` was read, not to its end when `truncated`.

    `limit` in seconds is for the search of `body_pattern`. Bodies are compared as UTF-8.
    """
    if status != expected.status:
        return Outcome.FAILED, "wrong_status", f"status {status}, expected {expected.status}; {_shown_body(body)}"
    failure = (
        _exact(expected, body, truncated)
        or _contained(expected, body, truncated)
        or await _searched(expected, body, truncated, limit)
        or _json(expected, body, truncated)
    )
    return failure or (Outcome.PASSED, "ok", f"status {status}, {len(body)} bytes{' and more' if truncated else ''}")


def _exact(expected: Expected, body: bytes, truncated: bool) -> Verdict | None:
    if expected.body is None:
        return None
    wanted = expected.body.encode()
    if truncated and wanted.startswith(body):
        return _too_large(body, "it cannot be compared exactly")
    if not truncated and body == wanted:
        return None
    place = next((n for n, (a, b) in enumerate(zip(wanted, body, strict=False)) if a != b), min(len(wanted), len(body)))
    start = 0 if max(len(wanted), len(body)) <= SHOWN else max(0, place - BEFORE)
    where = f"body differs at byte {place}" if start else "body"
    told = f"{where}: expected {_cut(wanted[start:])}, seen {_cut(body[start:])}"
    return Outcome.FAILED, "wrong_body", told


def _contained(expected: Expected, body: bytes, truncated: bool) -> Verdict | None:
    if expected.body_contains is None or expected.body_contains.encode() in body:
        return None
    wanted = _cut(expected.body_contains.encode())
    if truncated:
        return _too_large(body, f"{wanted} is not in what is kept of it")
    return Outcome.FAILED, "wrong_body", f"body: expected {wanted} in it; {_shown_body(body)}"


async def _searched(expected: Expected, body: bytes, truncated: bool, limit: float) -> Verdict | None:
    pattern = expected.body_pattern
    if pattern is None:
        return None
    shown = f"{pattern!r:.{SHOWN}}"
    try:
        match = await search(pattern, body, limit)
    except TimeoutError:
        return Outcome.FAILED, "verification_timeout", f"still searching the body for {shown} after {limit:g} s"
    except SearchFailed as error:
        return Outcome.FAILED, "search_failed", f"searching the body for {shown} ended without an answer: {error}"
    if match is not None:
        return None
    if truncated:
        return _too_large(body, f"what is kept of it has no match of {shown}")
    return Outcome.FAILED, "wrong_body", f"body: no match of {shown}; {_shown_body(body)}"


def _json(expected: Expected, body: bytes, truncated: bool) -> Verdict | None:
    wanted = expected.json_
    if wanted is None:
        return None
    if truncated:
        return _too_large(body, "it cannot be read as JSON")
    try:
        value = plain_data.parse(body.decode())
    except (ValueError, RecursionError) as error:
        told = plain_data.printable(str(error))[:100]
        return Outcome.FAILED, "not_json", f"body is not JSON ({told}), expected it to be; {_shown_body(body)}"
    found = mismatch(wanted, value)
    return None if found is None else (Outcome.FAILED, "wrong_json", found)


def mismatch(expected: Any, seen: Any) -> str | None:
    """None when `seen` has every named key of `expected`'s objects and equals it otherwise, types included.

    True is not 1 and 1 is not 1.0; objects inside lists may have further keys, lists no further elements.
    Otherwise where the first difference is, what was expected there and what was seen.
    """
    todo: list[tuple[Any, Any, Path]] = [(expected, seen, ())]
    before = SHOWN_STEPS - 1  # a whole path for each value makes a deep document take the square of its depth
    while todo:
        wanted, got, path = todo.pop()
        if isinstance(wanted, dict) and isinstance(got, dict):
            missing = next((key for key in wanted if key not in got), None)
            if missing is not None:
                return f"{_at(path)} has no key {plain_data.shown(missing)}: seen {plain_data.shown(got)}"
            todo += [(value, got[key], (*path[-before:], key)) for key, value in reversed(wanted.items())]
        elif isinstance(wanted, list) and isinstance(got, list) and len(wanted) == len(got):
            todo += [(a, b, (*path[-before:], n)) for n, (a, b) in enumerate(zip(wanted, got, strict=True))][::-1]
        elif type(wanted) is not type(got) or isinstance(wanted, list) or wanted != got:
            return f"{_at(path)}: expected {plain_data.shown(wanted)}, seen {plain_data.shown(got)}"
    return None


def _at(path: Path) -> str:
    return "json" + "".join(f"[{plain_data.shown(step)}]" for step in path)


def _too_large(body: bytes, why: str) -> Verdict:
    return Outcome.FAILED, "answer_too_large", f"the body is longer than the {len(body)} bytes that are kept: {why}"


def _shown_body(body: bytes) -> str:
    return f"seen body {_cut(body)}"


def _cut(data: bytes) -> str:
    """The head of `data` as text, escaped, and that it was cut."""
    text = data[: SHOWN * 4].decode("utf-8", "replace")
    return repr(text[:SHOWN]) + ("..." if len(text) > SHOWN or len(data) > SHOWN * 4 else "")
