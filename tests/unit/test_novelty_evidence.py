"""What of evidence is news: not the time that it took, where it ran, or what it was called."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from domain.claims.novelty import news_of_evidence
from domain.claims.volatile import MARK, is_volatile, of_output, of_prose, without_stamps

SAME = {
    "seconds": ("5 passed in 0.12s", "5 passed in 13.01s"),
    "seconds apart": ("ended after 0.31 s", "ended after 2.2 s"),
    "milliseconds": ("ok (12ms)", "ok (7ms)"),
    "minutes": ("real 1m 3s", "real 0m 59.5s"),
    "words": ("it took 4 seconds", "it took 15 seconds"),
    "minutes alone": ("built in 2m", "built in 3m"),
    "rules and clock": ("===== 5 passed in 12.01s (0:00:12) =====", "=== 5 passed in 2.01s (0:00:02) ======="),
    "iso": ("at 2026-01-15T10:05:01Z", "at 2026-02-16T11:06:02.123+01:00"),
    "iso apart": ("2026-01-15 10:05:01,123 INFO", "2026-01-16 09:00:00,001 INFO"),
    "basic iso": ("run 20260115T100501Z", "run 20260116T090000Z"),
    "mail": ("Thu, 15 Jan 2026 10:05:01 +0000", "Fri, 16 Jan 2026 09:00:00 +0000"),
    "ctime": ("Thu Jan 15 10:05:01 2026", "Fri Jan 16 09:00:00 2026"),
    "syslog": ("Jan 15 10:05:01 host sshd[123]: hi", "Jan 16 09:00:00 host sshd[4567]: hi"),
    "web server": ("[15/Jan/2026:10:05:01 +0000] GET", "[16/Jan/2026:09:00:00 +0000] GET"),
    "clock": ("10:05:01 started", "11:06:02 started"),
    "dated": ("Generated on 2026-01-15", "Generated on 2026-01-16"),
    "epoch": ("at 1768471501", "at 1768475000"),
    "epoch with parts": ("at 1768471501.25", "at 1768475000.5"),
    "temporary": ("E /tmp/abc/src/a.py:12", "E /tmp/xyz/src/a.py:12"),
    "pytest's": ("/tmp/pytest-of-me/pytest-12/t0/f", "/tmp/pytest-of-you/pytest-13/t0/f"),
    "macOS": ("/private/var/folders/x1/abc/T/tmpab12cd34/f", "/var/folders/y2/def/T/tmpzz99aa11/f"),
    "windows": (r"C:\Users\a\AppData\Local\Temp\ab12\f", r"C:\Users\a\AppData\Local\Temp\cd34\f"),
    "mkdtemp": ("in build/tmpab12cd34/x", "in build/tmpzz99aa11/x"),
    "address": ("<app.App object at 0x7f3a2b1c9d>", "<app.App object at 0x7f00000001>"),
    "pid": ("pid 123 ended", "pid 99123 ended"),
    "uuid": ("id 123e4567-e89b-12d3-a456-426614174000", "id 00000000-e89b-12d3-a456-426614174fff"),
    "nonce": ("nonce: zebra", "nonce: giraffe"),
    "nonce with space": ("nonce 8f3a2c", "nonce 00aa12"),
    "seed": ("Using --randomly-seed=123", "Using --randomly-seed=99999"),
    "hexadecimal": ("key 8f3a2c118f3a2c11", "key 00aa12bb00aa12bbcc"),
    "token": ("key Xk29fLq81mZp0aQwe7Rt", "key aB3dE5gH7jK9mN1pQ4sT6v"),
    "token of base64": ("key u3V5xyq-9_ZkQ7aB1cD2eF", "key Zz9-x8W_v7U6t5S4r3Q2p1"),
    "rate": ("100%|####| 10/10 [00:03<00:00, 30.1it/s]", "100%|####| 10/10 [00:01<00:00, 99it/s]"),
    "progress": ("10%\r50%\r100% done", "30%\r100% done"),
    "colours": ("\x1b[32mok\x1b[0m", "ok"),
    "layout": ("a  b\r\n\n c\t", "a b\nc"),
    "port": ("http://127.0.0.1:40123/x", "http://127.0.0.1:51234/x"),
    "junit": ('<testcase time="0.012" name="a">', '<testcase time="1.2" name="a">'),
    "json in a text": ('{"duration": 0.12, "ok": true}', '{"duration": 0.5, "ok": true}'),
}

DIFFERENT = {
    "count": ("5 passed in 0.12s", "6 passed in 0.12s"),
    "outcome": ("5 passed", "5 failed"),
    "exit code": ("exit code 0", "exit code 1"),
    "version": ("Python 3.11.4", "Python 3.11.5"),
    "line": ("/tmp/abc/src/a.py:12", "/tmp/abc/src/a.py:13"),
    "file": ("/tmp/abc/src/a.py", "/tmp/abc/src/b.py"),
    "result": ("next prime: 1000000007", "next prime: 1000000009"),
    "large number": ("20! = 2432902008176640000", "20! = 2432902008176640001"),
    "size": ("limit 512m", "limit 256m"),
    "place": ("src/a.py:10:12: E501", "src/a.py:10:13: E501"),
    "date": ("released 2026-01-15", "released 2026-01-16"),
    "name of a test": ("tests/test_a.py::test_two_2_and_3_and_4", "tests/test_a.py::test_two_2_and_3_and_5"),
    "parser": ("unexpected token: foo", "unexpected token: bar"),
}


@pytest.mark.parametrize("name", SAME)
def test_what_the_next_run_says_otherwise_is_no_news(name: str) -> None:
    one, other = SAME[name]
    assert of_output(one) == of_output(other)
    assert news_of_evidence("output", one) == news_of_evidence("output", other)
    assert news_of_evidence("output", {"stdout": [one]}) == news_of_evidence("output", {"stdout": [other]})


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_means_something_is_news(name: str) -> None:
    one, other = DIFFERENT[name]
    assert news_of_evidence("output", one) != news_of_evidence("output", other)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"exit_code": 0, "duration": 0.1}, {"exit_code": 0, "duration": 2, "startedAt": "noon"}, True),
        ({"exit_code": 0, "run_id": "a"}, {"exit_code": 0, "run_id": "b", "wall_ms": 3}, True),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"at": [1768471501, 1768471501123]}, {"at": [1768475000, 1768475000456]}, True),
        ({"exit_code": 0}, {"exit_code": 1}, False),
        ({"passed": True}, {"passed": 1}, False),
        ({"size": 5.5}, {"size": 5.25}, False),
        (["a", "b"], ["b", "a"], False),
        (None, "", False),
    ],
)
def test_fields_that_say_when_or_how_long_are_left_out(one: JsonValue, other: JsonValue, same: bool) -> None:
    assert (news_of_evidence("t", one) == news_of_evidence("t", other)) is same


def test_the_type_counts() -> None:
    assert news_of_evidence("diff", "x") != news_of_evidence("command_output", "x")
    assert news_of_evidence(" Diff", "x") == news_of_evidence("diff", "x")


@pytest.mark.parametrize("name", ["timestamp", "startedAt", "started-at", "duration_ms", "runId", "NONCE", "elapsed"])
def test_names_of_volatile_fields(name: str) -> None:
    assert is_volatile(name)


@pytest.mark.parametrize("name", ["exit_code", "passed", "stdout", "what", "format", "items", "id", "start", "version"])
def test_names_of_fields_that_count(name: str) -> None:
    assert not is_volatile(name)


def test_prose_keeps_the_durations_that_it_is_about() -> None:
    assert of_prose("answers within 30 seconds") != of_prose("answers within 60 seconds")
    assert of_prose("12 passed in 0.31s") == of_prose("12 passed in 0.5s")
    assert without_stamps("x = '2026-01-15T10:05:01Z' + 30s") == f"x = '{MARK}' + 30s"


_PIECES = st.one_of(
    st.sampled_from([part for pair in (*SAME.values(), *DIFFERENT.values()) for part in pair]),
    st.text(alphabet="0123456789abcdef:.-/ \n\r\x1b[m=<TZs", max_size=30),
    st.text(max_size=8),
)
_TEXTS = st.lists(_PIECES, max_size=6).map("".join)


@given(_TEXTS)
def test_what_was_taken_out_leaves_nothing_to_take_out(text: str) -> None:
    assert of_output(of_output(text)) == of_output(text)
    assert of_prose(of_prose(text)) == of_prose(text)


@given(st.lists(st.sampled_from(sorted(SAME)), min_size=1, max_size=5), st.sampled_from(sorted(DIFFERENT)))
def test_news_among_what_is_none_is_seen(names: list[str], news: str) -> None:
    one, other = ("\n".join(SAME[name][side] for name in names) for side in (0, 1))
    assert of_output(one) == of_output(other)
    assert of_output(f"{one}\n{DIFFERENT[news][0]}\n{one}") == of_output(f"{other}\n{DIFFERENT[news][0]}\n{other}")
    assert of_output(f"{one}\n{DIFFERENT[news][0]}\n{one}") != of_output(f"{other}\n{DIFFERENT[news][1]}\n{other}")


@given(
    st.integers(0, 10**6),
    st.sampled_from(["ms", "s", " s", " seconds", "us"]),
    st.datetimes(),
    st.uuids(),
    st.binary(min_size=9, max_size=40),
)
def test_whatever_the_time_and_the_nonce_are(count: int, unit: str, now: object, uuid: object, raw: bytes) -> None:
    def said(passed: int) -> str:
        return f"{now} [{uuid}] {passed} passed in {count}{unit} nonce={raw.hex()} /tmp/{raw.hex()[:8]}/x\n"

    assert of_output(said(5)) == f"{MARK} [{MARK}] 5 passed in {MARK} nonce={MARK} {MARK}/x"
    assert of_output(said(5)) != of_output(said(6))


HOSTILE = {
    "dashes": "-" * 2**17 + "é",
    "folders": "/tmp/" * 10**4 * 3,
    "escapes": "\x1b[" * 2**16,
    "pytest's": "pytest-of-" * 10**4 * 3,
    "returns": "\r" * 2**17,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_takes_for_ever(name: str) -> None:
    assert len(of_output(HOSTILE[name])) <= len(HOSTILE[name])
