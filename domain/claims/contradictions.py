"""Where a claim says something better than the harness saw of the same thing: a finding with both sides, no verdict.

A difference that honest work explains is none: an earlier run of a command that was run again, tests that only the
harness has, an output that another program cut, a limit or an image that is the harness's. Source: DESIGN 4 and 8.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from domain.checks import NEVER_BEGAN, CheckResult, Item, Outcome, items_of
from domain.claims.claim import Claim, CommandLog, Contradiction
from domain.claims.same_command import same_command
from domain.claims.statements import Statement, statement_in
from domain.command_criteria import CommandParams, Printed
from domain.order import Order
from domain.scope import ScopeReport
from domain.suite.commands import runs_tests
from domain.suite.runner_output import Tally, tally_of

NAMED = 20
"""Paths that are told by name."""

SHOWN = 200
"""Characters of a command that are told."""

_NOT_THE_WORK = NEVER_BEGAN | {"verification_timeout", "out_of_memory", "output_flood", "build_failed"}
"""Codes of what the worker, on another machine, may honestly not have met."""


@dataclass(frozen=True)
class _Tests:
    """How the tests that the harness ran may differ from those that the worker had.

    `added`: the order has some of its own. `replaced`: not every change of the worker's is in the trusted tree.
    """

    added: bool
    replaced: bool


@dataclass(frozen=True)
class _Seen:
    """What the harness saw of one item: the exit code, and the tests where it knows of them."""

    item: Item
    result: CheckResult
    tally: Tally | None

    @property
    def expected_exit(self) -> int:
        params = self.item.criterion.params
        return params.exit_code if isinstance(params, Printed) else 0

    def __str__(self) -> str:
        parts = [f"exit code {self.result.exit_code}"] if self.result.exit_code is not None else []
        parts += [str(self.tally)] if self.tally else []
        return ", ".join(parts)


def contradictions(
    claim: Claim, order: Order, results: Iterable[CheckResult], scope: ScopeReport
) -> tuple[Contradiction, ...]:
    """Commands in the order of the round's items, then what the explanation says, then the files."""
    tests = _Tests(
        added=bool(order.verification.tests),
        replaced=bool(scope.restored or scope.violations or any(not dropped.usual for dropped in scope.dropped)),
    )
    items, by_id = items_of(order), {result.id: result for result in results}
    judged = [seen for item in items if item.id in by_id and (seen := _seen(item, by_id[item.id]))]
    by_item = {seen.item.id: _of_command(claim, seen, tests) for seen in judged}
    found = [one for one in by_item.values() if one]
    run_tests = [item.id for item in items if item.criterion.type == "pytest" or runs_tests(item.command)]
    for seen in judged:
        if run_tests == [seen.item.id] and by_item[seen.item.id] is None:
            found += _of_explanation(claim, seen, tests)
    return (*found, *_of_files(claim, scope, whole=order.snapshot.include == ["**"]))


def _seen(item: Item, result: CheckResult) -> _Seen | None:
    """None where nothing was seen of the work itself, or not the same thing each time."""
    if not isinstance(item.criterion.params, CommandParams):
        return None
    if result.outcome is Outcome.COULD_NOT_RUN or result.flaky or result.code in _NOT_THE_WORK:
        return None
    if counts := result.tests:
        failed = counts.failed + counts.errors
        tally = Tally(passed=counts.passed + counts.xpassed, failed=failed, skipped=counts.skipped + counts.xfailed)
        return _Seen(item, result, tally)
    return _Seen(item, result, tally_of(f"{result.stderr}\n{result.stdout}"))


def _of_command(claim: Claim, seen: _Seen, tests: _Tests) -> Contradiction | None:
    """The last of the runs that are logged counts: those before it may have been of other work."""
    params = seen.item.criterion.params
    assert isinstance(params, CommandParams)
    for log in reversed(claim.commands_run):
        run = same_command(log.command, params.command, params.cwd)
        if run is None:
            continue
        said = tally_of(f"{log.stderr}\n{log.stdout}")
        exits = run.exits and _exits_otherwise(log, seen, said, tests)
        if not exits and not _counts_otherwise(said, seen.tally, tests):
            return None
        parts = [f"exit code {log.exit_code}"] if run.exits else []
        parts += [str(said)] if said else []
        return _told(seen, f"{_line(log.command)}: {', '.join(parts)}")
    return None


def _exits_otherwise(log: CommandLog, seen: _Seen, said: Tally | None, tests: _Tests) -> bool:
    """Whether the claim has the exit code that is wanted, and the harness saw another."""
    if log.exit_code != seen.expected_exit or seen.result.exit_code in (None, seen.expected_exit):
        return False
    return not (tests.added and (said is None or seen.tally is None or _explained(said, seen.tally)))


def _explained(said: Tally, seen: Tally) -> bool:
    """Whether every failure may be one of the order's own tests, which the worker did not have."""
    return seen.failed - said.failed <= max(seen.total - said.total, 0)


def _counts_otherwise(said: Tally | None, seen: Tally | None, tests: _Tests) -> bool:
    """Whether the claim has more passed than were seen, or less failed or skipped."""
    if said is None or seen is None:
        return False
    if said.failed < seen.failed and not (tests.added and _explained(said, seen)):
        return True
    if tests.replaced:
        return False
    more = max(seen.total - said.total, 0) if tests.added else 0
    return said.passed > seen.passed or said.skipped < seen.skipped - more


def _of_explanation(claim: Claim, seen: _Seen, tests: _Tests) -> list[Contradiction]:
    """What it says in so many words of the order's only tests."""
    said = statement_in(claim.explanation)
    if said is None or not _denied(said, seen, tests):
        return []
    return [_told(seen, f'the explanation: "{_line(said.text)}"')]


def _denied(said: Statement, seen: _Seen, tests: _Tests) -> bool:
    if said.exit_code is not None or (said.all_pass and seen.tally is None):
        wanted = seen.expected_exit if said.exit_code is None else said.exit_code
        return not tests.added and wanted == seen.expected_exit and seen.result.exit_code not in (None, wanted)
    if seen.tally is None:
        return False
    if said.passed is not None and said.passed > seen.tally.passed and not tests.replaced:
        return True
    return said.all_pass and not tests.added and seen.tally.failed > 0


def _told(seen: _Seen, claimed: str) -> Contradiction:
    result = seen.result
    return Contradiction(check=result.id, claimed=claimed, observed=str(seen), evidence=result.evidence)


def _of_files(claim: Claim, scope: ScopeReport, whole: bool) -> Iterator[Contradiction]:
    """What it says of files, if it says anything. `whole`: all of the workspace was looked at."""
    claimed = {posixpath.normpath(path.replace("\\", "/")) for path in claim.files_modified}
    if not claimed:
        return
    changed = {change.path for change in scope.accepted} | set(scope.restored) | {v.path for v in scope.violations}
    known = changed | {dropped.path for dropped in scope.dropped}
    if whole and (unchanged := sorted(path for path in claimed if not _among(path, known))):
        were = "it is" if len(unchanged) == 1 else "they are"
        yield Contradiction(check="", claimed=f"modified {_named(unchanged)}", observed=f"{were} as in the base")
    if unnamed := sorted(path for path in changed if not _among(path, claimed)):
        text = f"also changed {_named(unnamed)}"
        yield Contradiction(check="", claimed=f"modified {_named(sorted(claimed))}", observed=text)


def _among(path: str, paths: set[str]) -> bool:
    """Whether it is one of them, in a folder that is, or a folder that has one."""
    if path in paths or any(other.startswith(f"{path}/") for other in paths):
        return True
    parent = posixpath.dirname(path)
    while parent and parent not in paths:
        parent = posixpath.dirname(parent)
    return bool(parent)


def _named(paths: Sequence[str]) -> str:
    rest = len(paths) - NAMED
    return ", ".join(_line(path) for path in paths[:NAMED]) + (f" and {rest} more" if rest > 0 else "")


def _line(text: str) -> str:
    """On one line, as it can be printed and stored, cut where it is long."""
    line = " ".join(text.split())
    cut = line if len(line) <= SHOWN else f"{line[: SHOWN - 3]}..."
    return cut if cut.isprintable() else repr(cut)[1:-1]
