"""A failure that was run again: which failures are worth it, and what the runs come to together. It runs nothing.

The same tree and command that came to two outcomes are flaky,
and a flaky check says nothing of the work: it passes only where the order says so.
"""

from __future__ import annotations

from collections.abc import Sequence

from domain.checks import Item, Outcome
from domain.ports import Finding

FLAKY = "flaky"

CERTAIN = frozenset(
    (
        *("subverted", "control_not_applicable", "unconstrained", "not_failing_on_base"),
        *("tests_missing", "tests_skipped", "no_trusted_tests", "no_tests", "nothing_passed"),
        *("command_not_found", "command_not_executable"),
        *("output_flood", "output_truncated", "result_too_large", "answer_too_large"),
        *("case_too_large", "cases_too_large", "request_too_large"),
    )
)
"""Codes that the same tree comes to every time: running it again would only cost, or give a cheat another try."""


def worth_another_run(item: Item, finding: Finding) -> bool:
    """Whether chance can have brought the failure about, in a container, of something that is required."""
    failed = finding.outcome is Outcome.FAILED and finding.code not in CERTAIN
    return failed and item.criterion.required and item.needs_sandbox


def standing(findings: Sequence[Finding], *, flaky_passes: bool) -> Finding:
    """The finding that speaks for all of them, in the order they were made: every one but the last failed.

    A run that passed after failures makes it flaky, and whoever reads that sees the first failure. One that could not
    tell takes nothing back.
    """
    first, last = findings[0], findings[-1]
    if len(findings) == 1:
        return first
    if last.outcome is Outcome.COULD_NOT_RUN:
        return findings[-2]
    if last.outcome is Outcome.FAILED:
        return last
    failures = len(findings) - 1
    text = f"failed in {failures} of {len(findings)} runs on the same tree, at first: {first.text}"
    if flaky_passes:
        return last.model_copy(update={"code": FLAKY, "text": text})
    step = "make it come to the same every time, or let the order take a flaky check: verification.on_flaky: pass"
    return first.model_copy(update={"code": FLAKY, "text": text, "next_step": step})
