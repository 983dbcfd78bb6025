"""What the output of runners takes away from an exit code, and that it never gives anything."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.checks import Observation, Outcome, classify
from domain.suite.counted import beside, by_itself

LIMIT = 60.0

EMPTY = {
    "unittest": "\nRan 0 tests in 0.000s\n\nOK\n",
    "unittest, all skipped": "s\nRan 1 test in 0.000s\n\nOK (skipped=1)\n",
    "node, as TAP": "TAP version 13\n1..0\n# tests 0\n# suites 0\n# pass 0\n# fail 0\n# skipped 0\n# todo 0\n",
    "node, a file without tests": "# Subtest: /t/a.test.js\nok 1 - /t/a.test.js\n1..1\n# pass 1\n# fail 0\n# todo 0\n",
    "node, the same as people read it": "\u2714 /t/a.test.js (35.1ms)\n\u2139 pass 1\n\u2139 fail 0\n\u2139 todo 0\n",
    "TAP": "1..0\n",
    "TAP that says why": "1..0 # SKIP no network\n",
    "TAP, all skipped": "1..1\nok 1 - a # SKIP no network\n",
    "prove": "t/a.t .. skipped: no\nFiles=1, Tests=0,  0 wallclock secs\nResult: NOTESTS\n",
    "go": "?   \texample.com/a\t[no test files]\n",
    "go, none by that name": "testing: warning: no tests to run\nPASS\nok  \texample.com/b\t0.01s [no tests to run]\n",
    "go -v, all skipped": "=== RUN   TestA\n--- SKIP: TestA (0.00s)\nPASS\nok  \texample.com/b\t0.01s\n",
    "go -json": '{"Action":"start","Package":"a"}\n{"Action":"skip","Package":"a"}\n',
    "cargo": "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n",
    "jest": "No tests found, exiting with code 0\n",
    "vitest": "No test files found, exiting with code 0\n",
    "mocha": "  0 passing (1ms)\n",
    "pytest": "collected 0 items\n\n=== no tests ran in 0.01s ===\n",
    "pytest, all skipped": "s  [100%]\n1 skipped in 0.01s\n",
    "PHPUnit": "No tests executed!\n",
    "PHPUnit, all skipped": "OK, but some tests were skipped!\nTests: 1, Assertions: 0, Skipped: 1.\n",
    "RSpec": "0 examples, 0 failures\n",
    "RSpec, all pending": "2 examples, 0 failures, 2 pending\n",
    "minitest": "0 runs, 0 assertions, 0 failures, 0 errors, 0 skips\n",
    "bats": "0 tests, 0 failures\n",
    "Maven": "[INFO] No tests to run.\n",
    "Maven, all skipped": "[WARNING] Tests run: 2, Failures: 0, Errors: 0, Skipped: 2\n",
    "Gradle": "> Task :compileTestJava NO-SOURCE\n> Task :test NO-SOURCE\n",
    "ctest": "Test project /t\nNo tests were found!!!\n",
    "ctest, all skipped": "1/1 Test #1: s ....***Skipped   0.02 sec\n100% tests passed, 0 tests failed out of 1\n",
    "npm": "> a@1.0.0 test\n> echo ok\n\nno test specified\n",
    "make": "make: 'test' is up to date.\n",
    "make, without a recipe": "make: Nothing to be done for 'test'.\n",
    "deno": "ok | 0 passed | 0 failed (1ms)\n",
    "dotnet": "Passed!  - Failed:     0, Passed:     0, Skipped:     2, Total:     2, Duration: 9 ms - a.dll\n",
    "Automake": "# TOTAL: 1\n# PASS:  0\n# SKIP:  1\n",
}

SOME = {
    "unittest": "Ran 2 tests in 0.000s\n\nOK (skipped=1)\n",
    "node": "# Subtest: a\nok 1 - a\n1..1\n# tests 1\n# pass 1\n# fail 0\n# skipped 0\n# todo 0\n",
    "node, files around tests": "# Subtest: /t/a.test.js\n    ok 1 - a\nok 1 - /t/a.test.js\n1..1\n"
    "# pass 1\n# fail 0\n# todo 0\n",
    "TAP": "1..2\nok 1 - a\nok 2 # SKIP\n",
    "prove": "t/a.t .. ok\nFiles=1, Tests=2,  0 wallclock secs\nResult: PASS\n",
    "go": "?   \texample.com/a\t[no test files]\nok  \texample.com/b\t(cached)\n",
    "go -json": '{"Action":"pass","Package":"a","Test":"TestA"}\n{"Action":"pass","Package":"a"}\n',
    "cargo": "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n"
    "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n",
    "jest, beside a package without": "No tests found, exiting with code 0\nTests:       1 passed, 1 total\n",
    "mocha": "  3 passing (1ms)\n  1 pending\n",
    "PHPUnit": "OK (3 tests, 5 assertions)\n",
    "PHPUnit, with a warning": "Tests: 3, Assertions: 2, Warnings: 1, Skipped: 1.\n",
    "Pest": "  Tests:    2 passed (2 assertions)\n",
    "RSpec": "3 examples, 0 failures, 1 pending\n",
    "minitest": "3 runs, 5 assertions, 0 failures, 0 errors, 1 skips\n",
    "ExUnit": "5 doctests, 3 tests, 0 failures\n",
    "Maven": "[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 1\n",
    "Gradle": "> Task :compileTestJava\n> Task :app:test\n",
    "ctest": "1/2 Test #1: s ....***Skipped   0.02 sec\n100% tests passed, 0 tests failed out of 2\n",
    "deno": "ok | 3 passed | 0 failed (5ms)\n",
    "dotnet": "Passed!  - Failed:     0, Passed:     3, Skipped:     0, Total:     3, Duration: 9 ms - a.dll\n",
    "nextest": "     Summary [   0.003s] 3 tests run: 3 passed, 1 skipped\n",
    "gotestsum": "DONE 3 tests, 1 skipped in 0.512s\n",
    "bun": " 3 pass\n 0 fail\n",
    "Playwright": "  3 passed (1.2s)\n",
    "karma": "Executed 1 of 3 SUCCESS (0 secs / 0.001 secs)\rExecuted 3 of 3 SUCCESS (0.01 secs / 0.004 secs)\n",
    "zig": "All 3 tests passed.\n",
    "cucumber": "3 scenarios (3 passed)\n",
    "Automake": "# TOTAL: 2\n# PASS:  1\n# SKIP:  1\n",
    "a script that counts nothing": "make[1]: Nothing to be done for 'all'.\nall is well\n",
    "a word in a line": "it said 0 passing and went on\n",
}


def seen(output: str, exit_code: int = 0, **more: bool) -> Observation:
    return Observation.model_validate({"exit_code": exit_code, "stderr": output, **more})


@pytest.mark.parametrize("runner", EMPTY)
def test_a_run_without_a_test_that_passed_is_no_pass(runner: str) -> None:
    outcome, code, _ = by_itself(seen(EMPTY[runner]), LIMIT)
    assert (outcome, code) == (Outcome.FAILED, "nothing_passed")


@pytest.mark.parametrize("runner", SOME)
def test_one_with_a_test_keeps_its_exit_code(runner: str) -> None:
    assert by_itself(seen(SOME[runner]), LIMIT) == (Outcome.PASSED, "ok", "exit code 0")
    assert by_itself(seen(SOME[runner], 1), LIMIT)[1] == "exit_code"


@pytest.mark.parametrize(
    ("output", "exit_code", "code"),
    [
        ("Ran 0 tests in 0.000s\n\nNO TESTS RAN\n", 5, "nothing_passed"),
        ("No tests found, exiting with code 1\n", 1, "nothing_passed"),
        ("make: *** No rule to make target 'test'.  Stop.\n", 2, "nothing_passed"),
        ("  0 passing (1ms)\nwhat comes after it failed\n", 1, "exit_code"),
        ("No tests found, exiting with code 0\nTests: 1 failed, 1 total\n", 1, "exit_code"),
        ("sh: 1: jest: not found\nmake: *** [Makefile:2: test] Error 127\n", 2, "command_not_found"),
        ("/usr/bin/python3: No module named nose2\n", 1, "command_not_found"),
        ("make: *** [Makefile:2: test] Error 1\n", 2, "exit_code"),
        ("", 127, "command_not_found"),
    ],
)
def test_what_a_failure_says_of_itself(output: str, exit_code: int, code: str) -> None:
    assert by_itself(seen(output, exit_code), LIMIT)[1] == code


def test_a_run_with_failures_and_exit_code_0_has_no_pass() -> None:
    assert by_itself(seen("0 passing\n2 failing\n"), LIMIT)[1] == "nothing_passed"


def test_of_a_long_output_a_base_says_nothing_of_how_many() -> None:
    cut = seen("1..3\nok 1\nok 2\nok 3\n", truncated=True)
    assert beside(seen("1..1\nok 1\n"), cut, LIMIT) is None
    assert beside(cut, seen("1..5\nok 1\nok 2\nok 3\nok 4\nok 5\n"), LIMIT) is not None


LINES = st.lists(st.sampled_from([line for text in (*EMPTY.values(), *SOME.values()) for line in text.splitlines()]))


@given(lines=LINES, printed=LINES, exit_code=st.sampled_from([0, 1, 2, 5, 127]))
def test_nothing_that_is_printed_makes_a_pass(lines: list[str], printed: list[str], exit_code: int) -> None:
    head, base = seen("\n".join(lines), exit_code), seen("\n".join(printed))
    outcome, code, _ = by_itself(head, LIMIT)
    if outcome is Outcome.PASSED:
        assert classify(head, LIMIT)[0] is Outcome.PASSED
    assert code in ("ok", "exit_code", "nothing_passed", "command_not_found")
    taken = beside(head, base, LIMIT)
    assert taken is None or taken[0] is Outcome.FAILED
