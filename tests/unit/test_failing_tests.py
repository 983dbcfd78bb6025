"""Failing tests in what runners printed: each runner's own output, and output that wants to be read for ever."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.excerpts import ERROR_LINES, excerpt, names_error
from domain.failing_tests.failed_test import MESSAGE_CHARACTERS, PLACE_CHARACTERS, TEST_CHARACTERS
from domain.failing_tests.readers import LISTED, NAMED_CHARACTERS, READERS, FailedTests, failed_tests

OUTPUTS = Path(__file__).parents[1] / "data" / "runner_output"
"""What the runners themselves printed once, with the paths of a check's container."""

DEEP = "Expected values to be strictly deep-equal:"
GO = [
    ("TestAdd", "noise Add(1, 2) = -1, want 3 more", "a_test.go:3"),
    ("TestTable/two", "two is wrong", "a_test.go:5"),
    ("TestPanic", "panic: runtime error: index out of range [1] with length 0 [recovered, repanicked]", "a_test.go:6"),
]
PERL = [
    ("adds up", "got: '2' expected: '3'", "t/a.t:3"),
    ("t/a.t:4", "Structures begin differing at: $got->[0] = '1' $expected->[0] = '2'", "t/a.t:4"),
]
FOUND = {
    "tape": [
        (
            "parses negatives > should be deeply equivalent",
            "deepEqual: expected { a: -1 }, actual { a: 1 }",
            "tape/a.js:3",
        ),
        ("parses negatives > the same letter", "equal: expected y, actual x", "tape/a.js:3"),
        ("throws > plan != count", "fail: expected 1, actual 0", ""),
    ],
    "node_tap": [
        ("parses negatives", f"{DEEP} + actual - expected {{ + a: 1 - a: -1 }}", "a.test.js:3"),
        ("outer > inner fails", "boom second line", "a.test.js:4"),
        ("suite > divides", "no division", "a.test.js:6"),
    ],
    "node_spec": [
        ("parses negatives", f"AssertionError [ERR_ASSERTION]: {DEEP} {{ + a: 1 - a: -1 }}", "a.test.js:3"),
        ("inner fails", "Error: boom second line", "a.test.js:4"),
        ("divides", "AssertionError [ERR_ASSERTION]: no division", "a.test.js:6"),
    ],
    "node_junit": [
        ("parses negatives", f"{DEEP}+ actual - expected {{+ a: 1- a: -1 }}", "a.test.js:3"),
        ("inner fails", "boomsecond line", "a.test.js:4"),
        ("divides", "no division", "a.test.js:6"),
    ],
    "mocha": [
        (
            "suite > adds",
            "AssertionError [ERR_ASSERTION]: Expected values to be strictly equal: 1 !== 2 -1 +2",
            "moch/a.js:2",
        ),
        ('suite > deep > "before all" hook for "throws"', "TypeError: hook", "moch/a.js:2"),
    ],
    "mocha_xunit": [
        ("suite > adds", "Expected values to be strictly equal: 1 !== 2", "moch/a.js:2"),
        (
            'suite deep > "before all" hook for "throws"',
            "hook TypeError: hook at Context.<anonymous> (moch/a.js:2:193)",
            "moch/a.js:2",
        ),
    ],
    "mocha_tap": [
        (
            "suite adds",
            "Expected values to be strictly equal: 1 !== 2"
            " AssertionError [ERR_ASSERTION]: Expected values to be strictly equal: 1 !== 2",
            "moch/a.js:2",
        ),
        ('suite deep "before all" hook for "throws"', "hook TypeError: hook", "moch/a.js:2"),
    ],
    "jest": [
        (
            "suite \u203a adds",
            "expect(received).toBe(expected) // Object.is equality Expected: 3 Received: 2",
            "a.test.js:1",
        ),
        ("suite \u203a throws", "boom", "a.test.js:1"),
        ("./b.test.js: Test suite failed to run", "Cannot find module './nothing' from 'b.test.js'", "b.test.js:1"),
    ],
    "vitest": [
        (
            "a.test.mjs > suite > adds",
            "AssertionError: expected 2 to be 3 // Object.is equality - 3 + 2",
            "a.test.mjs:2",
        ),
        ("a.test.mjs > suite > throws", "Error: boom", "a.test.mjs:2"),
    ],
    "unittest": [
        ("test_x.T.test_c", "ValueError: bad", "test_x.py:11"),
        (
            "test_x.T.test_a",
            "AssertionError: {'a': 1} != {'a': 2} - {'a': 1} ? ^ + {'a': 2} ? ^ : not the same",
            "test_x.py:5",
        ),
        ("test_x.T.test_b (i=0)", "AssertionError: False is not true", "test_x.py:9"),
    ],
    "cargo": [
        ("tests::panics", "called `Option::unwrap()` on a `None` value", "src/lib.rs:5"),
        ("tests::adds", "assertion `left == right` failed: sum of 1 left: -1 right: 3", "src/lib.rs:3"),
        ("tests::res", 'Error: "nope"', ""),
        ("tests::should", "note: test did not panic as expected at src/lib.rs:6:29", "src/lib.rs:6"),
    ],
    "go": GO,
    "go_verbose": GO,
    "go_json": GO,
    "prove": PERL,
    "prove_verbose": PERL,
}
BATS = """1..2
ok 1 addition
not ok 2 subtraction
# (in test file test/a.bats, line 6)
#   `[ "$result" -eq 3 ]' failed
"""
PYTEST = """____ test_b ____
E   assert 1 == 2
=== short test summary info ===
FAILED tests/test_a.py::test_b[a b] - assert 1 == 2
ERROR tests/test_c.py - ModuleNotFoundError: No module named 'c'
=== 1 failed, 1 error in 0.1s ===
"""
OLD_CARGO = """---- adds stdout ----
thread 'adds' panicked at 'left != right', src/lib.rs:3:22
"""


def read(output: str) -> list[tuple[str, str, str]]:
    found = failed_tests(output)
    return [(each.test, each.message, each.place) for each in found.listed] if found else []


@pytest.mark.parametrize("name", sorted(path.stem for path in OUTPUTS.glob("*.txt")))
def test_every_runner_is_read_as_it_printed(name: str) -> None:
    assert read((OUTPUTS / f"{name}.txt").read_text()) == FOUND[name]


@pytest.mark.parametrize(
    ("output", "found"),
    [
        (BATS, [("subtraction", '(in test file test/a.bats, line 6) `[ "$result" -eq 3 ]\' failed', "")]),
        (
            PYTEST,
            [
                ("tests/test_a.py::test_b[a b]", "assert 1 == 2", ""),
                ("tests/test_c.py", "ModuleNotFoundError: No module named 'c'", ""),
            ],
        ),
        (OLD_CARGO, [("adds", "left != right", "src/lib.rs:3")]),
        ("not ok 1 - a # SKIP no\nnot ok 2 - b # TODO later\nnot ok 3 - c\n", [("c", "", "")]),
        ("TAP version 13\nnot ok 2\n1..2\n", [("test 2", "", "")]),
        ("\x1b[31mnot ok 1 - \x1b[1mred\x1b[0m\n", [("red", "", "")]),
        ("not ok 1 - e\x07vil\n", [("e\\x07vil", "", "")]),
    ],
)
def test_short_outputs_are_read(output: str, found: list[tuple[str, str, str]]) -> None:
    assert read(output) == found


def test_two_runners_of_one_command_are_both_read() -> None:
    both = (OUTPUTS / "unittest.txt").read_text() + (OUTPUTS / "jest.txt").read_text()
    assert sorted(read(both)) == sorted([*FOUND["unittest"], *FOUND["jest"]])


@pytest.mark.parametrize(
    "output", ["", "it is not ok to fail\n", "✖ 12 problems (0 errors, 12 warnings)\n", "ok 1 - a\n1..1\n", "FAIL\n"]
)
def test_what_names_no_test_is_left_alone(output: str) -> None:
    assert failed_tests(output) is None


def test_a_text_names_the_first_tests_and_counts_the_others() -> None:
    found = failed_tests("".join(f"not ok {n} - t{n}\n" for n in range(1, 31)))
    assert found is not None
    assert (found.count, len(found.listed)) == (30, LISTED)
    assert str(found) == "30 tests failed: t1, t2, t3, t4, t5 and 25 more"
    assert str(failed_tests("not ok 1 - t\n")) == "1 test failed: t"


PARTS = [
    *("a", "\n", " ", "\t", "not ok 1 - x\n", "not ok 1\n  ---\n", "# Subtest: a\n    not ok 1\n", "   not ok"),
    *("✖ a (1ms)\n b\n", "✖ failing tests:\n", "  ● a\n", " FAIL  a > b\n", "1 failing\n  1) a\n b\n"),
    *(
        "=====\nFAIL: a\nTraceback (most recent call last):\n",
        "FAILED a.py - ",
        "FAILED a.py\n",
        "#   Failed test 'a'\n",
    ),
    *("--- FAIL: T (0\n", "=== RUN   T\n x.go:1: \n", '{"Action":"output","Output":"--- FAIL: T"}\n'),
    *('{"' + "[" * 1500 + '"Action":"output"\n', "---- a stdout ----\nthread 'a' panicked at x\n", "thread '' "),
    *("<testcase><failure/></testcase>", "<testcase><failure>" + "<a>" * 3000, "<testcase", "<testcase a='<failure"),
    *("a.b:1 ", "a/b.", "../", 'File "a', "error ", "0 errors ", "no fail ", "\x1b[", "\x1b[1m", "warn error "),
]
EVERY_MARK = " ".join(["<testcase", *(mark for mark, _ in READERS)])


@pytest.mark.parametrize("part", PARTS, ids=range(len(PARTS)))
def test_a_hostile_output_is_read_in_no_time_and_stays_small(part: str) -> None:
    output = (part * (2**20 // len(part)))[: 2**20] + EVERY_MARK
    began = time.process_time()
    found = failed_tests(output)
    short = excerpt(output, "show", 50, 16_384)
    assert time.process_time() - began < 5
    assert len(short) < 17_000
    _is_small(found)


def _is_small(found: FailedTests | None) -> None:
    if found is None:
        return
    assert 0 < len(found.listed) <= LISTED
    assert len(str(found)) < NAMED_CHARACTERS + 200
    for each in found.listed:
        assert 0 < len(each.test) <= TEST_CHARACTERS
        assert len(each.message) <= MESSAGE_CHARACTERS
        assert len(each.place) <= PLACE_CHARACTERS
        assert (each.test + each.message + each.place).isprintable()


PIECES = st.sampled_from([*PARTS, *EVERY_MARK.split(), "  ...\n", "  error: |-\n", "\x00", "\ud800", "</testcase>"])


@given(st.lists(PIECES | st.text(max_size=20), max_size=30))
@settings(deadline=None)
def test_no_output_breaks_a_reader(pieces: list[str]) -> None:
    output = "".join(pieces)
    _is_small(failed_tests(output))
    assert len(excerpt(output, "show", 50, 1_000)) < 1_100


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("src/a.ts(3,5): error TS2322: Type 'x'", True),
        ("  12:5  error  'x' is unused  no-unused-vars", True),
        ("  12:5  warning  Missing error handling  no-x", False),
        ("thread 'main' panicked at src/a.rs:1:1", True),
        ("Traceback (most recent call last):", True),
        ("0 errors, 12 warnings", False),
        ("# fail 0", False),
        ("ok 3 - handles an error", False),
        ("test tests::fails_well ... ok", False),
        ("tests/test_a.py::test_error PASSED", False),
        ("broken/b.go:2:23: undefined: thing", True),
        ("all good", False),
    ],
)
def test_lines_that_name_an_error(line: str, *, names: bool) -> None:
    assert names_error(line) is names


def test_an_excerpt_merges_what_is_near_and_never_repeats_the_end() -> None:
    lines = [f"line {n}" for n in range(200)]
    lines[10], lines[14], lines[100], lines[190] = "error: a", "error: b", "error: c", "error: d"
    short = excerpt("\n".join(lines), "show", 50, 16_384).splitlines()
    errors, end = short[: short.index("[... what is left out: show]")], short[-20:]
    assert errors == ["[...]", *lines[7:18], "[...]", *lines[97:104]]
    assert end == lines[180:]
    flood = excerpt("\n".join(["error"] * 5_000), "show", 50, 16_384).splitlines()
    assert len(flood) == ERROR_LINES + 1 + 20
    assert excerpt("error\nerror\n", "show", 50, 16_384) == "error\nerror\n"
