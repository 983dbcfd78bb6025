"""Takes a pass away from a command of tests that ended with 0, by the counts that its runner printed.

It never makes a pass: what a command prints, the work can print. A command that runs no tests keeps its exit code.
Codes: `nothing_passed`, `no_trusted_tests`, `tests_missing`, `command_not_found`. What is so on the base, too, is
`beside_the_base`'s.
"""

from __future__ import annotations

import re

from domain.checks import Observation, Outcome, classify
from domain.suite.runner_output import Tally, names_no_tests, total_of

Verdict = tuple[Outcome, str, str]

FEWER = (
    "let every test run that runs on the base; where some are to go, a person takes them out of the base, or "
    "overrides this check"
)
"""What helps where a command runs fewer tests than on the base."""

# A tool that could not find what it was to call ends with a code of its own.
_NOT_FOUND = re.compile(r"make: \*\*\* \[.*\] Error 127|\S*python[\d.]*: No module named \S+")


def by_itself(seen: Observation, limit: float) -> Verdict:
    """Outcome, code and text of a command of tests, by its exit code and by what it says of its own tests."""
    outcome, code, text = classify(seen, limit)
    output = _output(seen)
    if code == "exit_code" and any(_NOT_FOUND.fullmatch(line.strip()) for line in output.splitlines()):
        return Outcome.FAILED, "command_not_found", f"{text}: a command, or a module, was not found in the image"
    if outcome is not Outcome.PASSED and not (code == "exit_code" and names_no_tests(output)):
        return outcome, code, text
    tally = total_of(output)
    if tally is None or tally.passed or (outcome is not Outcome.PASSED and tally.failed):
        return outcome, code, text
    return Outcome.FAILED, "nothing_passed", f"no test passed, and the exit code is {seen.exit_code}: {tally}"


def beside(seen: Observation, base: Observation, limit: float) -> Verdict | None:
    """What takes the pass of a command away that ran so on the base; None where nothing does.

    A base whose output has no counts, or that failed before it had any, says nothing of how many there should be; nor
    does one of whose output only parts are kept, where a line is a test.
    """
    before, after = total_of(_output(base)), total_of(_output(seen))
    if before is None:
        return None
    if not before.ran:
        if by_itself(base, limit)[1] != "nothing_passed":
            return None
        ours = f"{after}, but" if after else "it passed, but"
        return Outcome.FAILED, "no_trusted_tests", f"{ours} neither the base nor the order has a test that passes here"
    if base.truncated or (after and after.ran >= before.ran):
        return None
    return Outcome.FAILED, "tests_missing", f"{_ran(after)}, and on the base {before.ran} did"


def _ran(tally: Tally | None) -> str:
    if tally is None:
        return "the output tells of no test that ran"
    return f"{tally.ran} {'test' if tally.ran == 1 else 'tests'} ran" + (
        f" ({tally.skipped} skipped)" if tally.skipped else ""
    )


def _output(seen: Observation) -> str:
    return f"{seen.stdout}\n{seen.stderr}"
