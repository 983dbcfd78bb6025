"""The counts in what test runners print, each runner's own form; and nothing where there are none."""

from __future__ import annotations

import time

import pytest

from domain.suite.runner_output import Tally, tally_of


@pytest.mark.parametrize(
    ("output", "counts"),
    [
        ("..\n12 passed in 0.30s\n", (12, 0, 0)),
        ("=== 1 failed, 10 passed, 2 warnings, 3 errors in 1.20s ===", (10, 4, 0)),
        ("\x1b[32m\x1b[1m3 passed\x1b[0m\x1b[32m in 0.01s\x1b[0m", (3, 0, 0)),
        ("== 1 passed, 1 xfailed, 1 xpassed, 2 skipped in 61.20s (0:01:01) ==", (2, 0, 3)),
        ("no tests ran in 0.01s", (0, 0, 0)),
        ("1 passed in 1s\nafter a mend:\n2 passed in 1s\n", (2, 0, 0)),
        ("Ran 5 tests in 0.001s\n\nOK\n", (5, 0, 0)),
        ("Ran 1 test in 0.001s\n\nFAILED (errors=1)\n", (0, 1, 0)),
        ("Ran 5 tests in 0.001s\n\nFAILED (failures=1, errors=1, skipped=2)\n", (1, 2, 2)),
        ("Ran 5 tests in 0.1s\n\nOK (skipped=1, expected failures=1)\n", (3, 0, 2)),
        ("# tests 4\n# pass 3\n# fail 0\n# cancelled 1\n# skipped 0", (3, 1, 0)),
        ("\u2139 pass 2\n\u2139 fail 1\n\u2139 todo 1", (2, 1, 1)),
        ("Tests:       1 failed, 1 skipped, 3 passed, 5 total", (3, 1, 1)),
        ("      Tests  1 failed | 3 passed (4)", (3, 1, 0)),
        ("  3 passing (5ms)\n  1 pending\n  1 failing\n", (3, 1, 1)),
        (
            "test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n"
            "test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s",
            (7, 1, 1),
        ),
        ("--- PASS: TestA (0.00s)\n    --- FAIL: TestB/x (0.00s)\nFAIL\tpkg\t0.01s", (1, 1, 0)),
        ("ok 1 - a\nnot ok 2 - b\nok 3 # SKIP no\nnot ok 4 # TODO\n1..4\n", (1, 1, 2)),
    ],
)
def test_every_runner_is_read(output: str, counts: tuple[int, int, int]) -> None:
    tally = tally_of(output)
    assert tally
    assert (tally.passed, tally.failed, tally.skipped) == counts


@pytest.mark.parametrize(
    "output",
    ["", "12 passed\n", "it passed in 3s", "ok 1 - a\n", "ok  \tpkg\t0.01s\n", "Ran 5 tests in 1s\n", "# pass 3\n"],
)
def test_what_shows_no_whole_run_has_no_counts(output: str) -> None:
    assert tally_of(output) is None


def test_counts_are_told_in_words() -> None:
    assert str(Tally(passed=12)) == "12 passed"
    assert str(Tally(passed=10, failed=2, skipped=1)) == "10 passed, 2 failed, 1 skipped"


@pytest.mark.parametrize(
    "part", ["1 a, ", "= ", "1 passed, ", "Tests 1 a | ", "test result: ok. 1 a; ", "Ran 1 tests in 1\n", "ok 1\n"]
)
def test_a_hostile_output_is_read_in_no_time(part: str) -> None:
    began = time.process_time()
    tally_of(part * (2**20 // len(part)) + " in ")
    assert time.process_time() - began < 5
