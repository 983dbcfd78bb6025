"""Holding an HTTP answer against what is expected of it: pure but for the search of a pattern."""

import json
import time
from typing import Any

import pytest

from adapters.checkers.answers import judge_answer, mismatch
from domain.checks import Outcome
from domain.criteria import ApiResponseParams, HttpResponseParams


def expected(**answer: Any) -> HttpResponseParams:
    return HttpResponseParams.model_validate({"serve": "serve", "url": "http://127.0.0.1:8000/", **answer})


async def judged(data: bytes, truncated: bool = False, got: int = 200, **answer: Any) -> tuple[str, str]:
    outcome, code, text = await judge_answer(expected(**answer), got, data, truncated, 5.0)
    assert (outcome is Outcome.PASSED) == (code == "ok")
    return code, text


@pytest.mark.parametrize(
    ("answer", "body", "code"),
    [
        ({}, b"whatever", "ok"),
        ({"body": "hello\n"}, b"hello\n", "ok"),
        ({"body": "hello\n"}, b"hello", "wrong_body"),
        ({"body": ""}, b"x", "wrong_body"),
        ({"body": "\u00e9"}, "\u00e9".encode(), "ok"),
        ({"body": "\u00e9"}, "\u00e9".encode("latin-1"), "wrong_body"),
        ({"body_contains": "ell"}, b"hello", "ok"),
        ({"body_contains": "ELL"}, b"hello", "wrong_body"),
        ({"body_pattern": "^h.l+o$"}, b"x\nhello\n", "ok"),
        ({"body_pattern": "^ello"}, b"hello", "wrong_body"),
        ({"json": {"ok": True}}, b'{"ok": true, "more": 1}', "ok"),
        ({"json": {"ok": True}}, b'{"ok": 1}', "wrong_json"),
        ({"json": {"ok": True}}, b"ok: true", "not_json"),
        ({"json": {"ok": True}}, b"", "not_json"),
        ({"json": {"n": 1}}, b'{"n": NaN}', "not_json"),
        ({"json": {"n": 1}}, b"\xff", "not_json"),
        ({"json": [1]}, b"[" * 100_000, "not_json"),
    ],
)
async def test_each_expectation(answer: dict[str, Any], body: bytes, code: str) -> None:
    assert (await judged(body, **answer))[0] == code


async def test_every_expectation_must_hold() -> None:
    both: dict[str, Any] = {"body_contains": "ok", "json": {"ok": False}}
    assert (await judged(b'{"ok": true}', **both))[0] == "wrong_json"
    assert (await judged(b'{"ok": true}', status=201, **both))[0] == "wrong_status"


async def test_a_wrong_status_is_told_with_the_body_escaped_and_cut() -> None:
    code, text = await judged(b"\x1b[2J" + b"x" * 5000, got=500)
    assert code == "wrong_status"
    assert text.startswith("status 500, expected 200; seen body '\\x1b[2Jxxx")
    assert len(text) < 300


async def test_a_long_body_is_shown_from_a_little_before_the_difference() -> None:
    body = b"a" * 3000
    code, text = await judged(body + b"y", body=body.decode() + "x")
    assert code == "wrong_body"
    assert "body differs at byte 3000" in text
    assert "aaax'" in text
    assert "aaay'" in text


@pytest.mark.parametrize(
    "answer", [{"body": "hello and more"}, {"body_contains": "no"}, {"body_pattern": "no"}, {"json": 1}]
)
async def test_what_a_cut_body_does_not_decide_is_too_large(answer: dict[str, Any]) -> None:
    assert (await judged(b"hello", truncated=True, **answer))[0] == "answer_too_large"


@pytest.mark.parametrize(
    ("answer", "code"), [({}, "ok"), ({"body_contains": "ell"}, "ok"), ({"body": "other"}, "wrong_body")]
)
async def test_what_a_cut_body_decides_is_decided(answer: dict[str, Any], code: str) -> None:
    assert (await judged(b"hello", truncated=True, **answer))[0] == code


async def test_a_catastrophic_pattern_ends_in_time() -> None:
    answer = ApiResponseParams.model_validate({"url": "https://a.example/", "body_pattern": "(a|a)*$x"})
    _, code, text = await judge_answer(answer, 200, b"a" * 64 + b"!", False, 0.5)
    assert code == "verification_timeout"
    assert "after 0.5 s" in text


@pytest.mark.parametrize(
    ("wanted", "seen", "told"),
    [
        ({"a": {"b": 1}}, {"a": {"b": 1, "c": 2}, "d": 3}, None),
        ({}, {"a": 1}, None),
        ([{"a": 1}], [{"a": 1, "b": 2}], None),
        ([], [1], "json: expected [], seen [1]"),
        ([1, 2], [1], "json: expected [1, 2], seen [1]"),
        ([1, 2], [2, 1], "json[0]: expected 1, seen 2"),
        ({"a": 1}, {"a": True}, "json['a']: expected 1, seen True"),
        ({"a": 1}, {"a": 1.0}, "json['a']: expected 1, seen 1.0"),
        ({"a": None}, {}, "json has no key 'a': seen {}"),
        ({"a": {"b": 1}}, {"a": {}}, "json['a'] has no key 'b': seen {}"),
        ({"a": {}}, {"a": []}, "json['a']: expected {}, seen []"),
        ("1", 1, "json: expected '1', seen 1"),
    ],
)
def test_named_keys_must_be_there_and_the_rest_is_equal_by_type(wanted: Any, seen: Any, told: str | None) -> None:
    assert mismatch(wanted, seen) == told


def test_of_where_a_difference_is_the_last_steps_are_told() -> None:
    wanted, seen = (json.loads('[{"a":' * 6 + end + "}]" * 6) for end in "12")
    assert mismatch(wanted, seen) == "json" + "[0]['a']" * 4 + ": expected 1, seen 2"


def test_a_deep_document_is_compared_without_recursion() -> None:
    deep: Any = 1
    for _ in range(50_000):
        deep = [deep]
    began = time.process_time()
    assert mismatch(deep, deep) is None
    assert time.process_time() - began < 2, "not the square of its depth"
    assert mismatch(deep, json.loads("[" * 500 + "]" * 500)) is not None
