"""The first line of a report: what it came to, what failed, and what was tampered with. It decides nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from domain.checks import Outcome
from domain.decision import RoundOutcome
from domain.report_lines import CheckReport, CriterionReport
from domain.scope import ScopeReport

Line = CriterionReport | CheckReport

WORDS = {
    RoundOutcome.VERIFIED: "VERIFIED",
    RoundOutcome.CHANGES_REQUESTED: "NOT VERIFIED: changes requested",
    RoundOutcome.FAILED: "NOT VERIFIED: failed",
    RoundOutcome.NEEDS_HUMAN: "NOT VERIFIED: a human has to decide",
    RoundOutcome.INCONCLUSIVE: "COULD NOT TELL",
}
"""What every round of an outcome is called, where nothing more can be said in a few words."""

REFUSED = (RoundOutcome.CHANGES_REQUESTED, RoundOutcome.FAILED)
NAMED = 3


def headline(outcome: RoundOutcome, lines: Sequence[Line], scope: ScopeReport | None, contradictions: int) -> str:
    """`NOT VERIFIED: 2 tests failed; 2 protected files were changed by the worker and restored`."""
    failed = list(_failed(lines, scope)) if outcome in REFUSED else []
    first = f"NOT VERIFIED: {'; '.join(failed)}" if failed else WORDS[outcome]
    if outcome in (RoundOutcome.VERIFIED, RoundOutcome.INCONCLUSIVE):
        return first
    return "; ".join([first, *_tampering(scope, contradictions)])


def number_failed(line: Line) -> int:
    """How many tests failed by the check's own record, else by what its runner printed; 0 where neither tells."""
    if line.tests is not None and line.code == "tests_failed":
        return line.tests.failed + line.tests.errors
    return line.failed_tests.count if line.failed_tests and line.code == "exit_code" else 0


def name_of(line: Line) -> str:
    """The criterion's id, or the check's name."""
    return line.id if isinstance(line, CriterionReport) else line.name


def _failed(lines: Sequence[Line], scope: ScopeReport | None) -> Iterable[str]:
    if scope and scope.violations:
        yield _counted(len(scope.violations), "change was not allowed", "changes were not allowed")
    failed = [line for line in lines if line.required and line.outcome == Outcome.FAILED]
    if tests := sum(map(number_failed, failed)):
        yield _counted(tests, "test failed", "tests failed")
    subverted = [name_of(line) for line in failed if line.code == "subverted"]
    if subverted:
        yield f"{_listed(subverted)} {'was' if len(subverted) == 1 else 'were'} subverted"
    others = [name_of(line) for line in failed if not number_failed(line) and line.code != "subverted"]
    if others:
        yield f"{_listed(others)} failed"


def _tampering(scope: ScopeReport | None, contradictions: int) -> Iterable[str]:
    if scope and scope.restored:
        one, more = (f"protected {what} changed by the worker and restored" for what in ("file was", "files were"))
        yield _counted(len(scope.restored), one, more)
    left_out = sum(not path.usual for path in scope.dropped) if scope else 0
    if left_out:
        yield _counted(left_out, "path of the worker's was left out", "paths of the worker's were left out")
    if contradictions:
        one, more = (
            f"{what} what was seen"
            for what in ("statement of the claim contradicts", "statements of the claim contradict")
        )
        yield _counted(contradictions, one, more)


def _counted(number: int, one: str, more: str) -> str:
    return f"{number} {one if number == 1 else more}"


def _listed(names: list[str]) -> str:
    if len(names) > NAMED:
        return f"{', '.join(names[:NAMED])} and {len(names) - NAMED} more"
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
