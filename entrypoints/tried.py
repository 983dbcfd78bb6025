"""What has been tried on a todo so far: its attempts, the repairs of its fix loop, what the last attempt changed.

It reads stored reports and trees, and runs nothing. What cannot be read any more is said to be unknown, never left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache

from pydantic import JsonValue

from adapters.snapshot.diff import unified_diff
from domain.base import Message
from domain.errors import Unavailable
from domain.events import Action, TrailRow
from domain.ports import EvidenceStore
from domain.read_model import RoundView
from domain.report import Report
from domain.report_lines import NOT_JUDGED, CheckReport, CriterionReport
from domain.status import RoundStatus
from domain.tree import Change, Manifest, changes

MOST_TRIED = 20
"""Attempts of which the reports are read, the last ones."""

MOST_PATHS = 50
"""Paths of a difference of which the lines are counted and that are named."""

LOOP_ROWS: tuple[Action, ...] = ("fix_loop_started", "fix_iteration_completed")
"""The rows that `repairs_of` reads."""


class Failing(Message):
    """A check or criterion that an attempt did not pass: by its name, and why in the harness's words."""

    name: str
    outcome: str
    required: bool
    text: str


class Tried(Message):
    """One attempt. `outcome` is empty while its round runs, `cancelled` where it was ended before it had one.

    `reason`: the first of those for its outcome. `snapshot` is the digest of the tree that was claimed. `unknown`: why
    nothing more can be said of it.
    """

    attempt: int
    outcome: str
    verdict: str
    reason: str = ""
    failed: tuple[Failing, ...] = ()
    snapshot: str
    ended_at: datetime | None = None
    unknown: str = ""


class Repaired(Message):
    """One repair of the last fix loop, of at most `of`. `attempt` is the round of its result, null where `why` says
    why there was none. `cost_usd`: of repair and round, in US dollars.
    """

    loop: int
    of: int
    attempt: int | None
    outcome: str
    paths: tuple[str, ...]
    cost_usd: float
    answer: str
    why: str


class ChangedPath(Message):
    """One path, and how many lines were added and removed; null where nobody can count them, in a binary file say."""

    path: str
    kind: str
    added: int | None
    removed: int | None


class OtherOutcome(Message):
    """A check or criterion that came to something else."""

    name: str
    before: str
    after: str


class Difference(Message):
    """What attempt `after` has otherwise than attempt `before`, 0 for the base: paths of the trees, and outcomes.

    `more` counts changed paths that are not named. `unknown`: why the trees cannot be compared.
    """

    before: int
    after: int
    paths: tuple[ChangedPath, ...] = ()
    more: int = 0
    outcomes: tuple[OtherOutcome, ...] = ()
    unknown: str = ""


Row = tuple[JsonValue, ...]
"""One path as `Manifest.encode` writes it."""


class Past:
    """Reads what is stored of attempts; what was read last is not read again at once."""

    def __init__(self, store: EvidenceStore) -> None:
        self._store = store
        self._tree = lru_cache(maxsize=4)(self._read_tree)
        self._stored_report = lru_cache(maxsize=MOST_TRIED)(self._read_report)

    def tried(self, rounds: Iterable[RoundView]) -> tuple[Tried, ...]:
        """The attempts that `rounds` are, in their order; at most the last `MOST_TRIED`."""
        return tuple(self._attempt(one) for one in list(rounds)[-MOST_TRIED:])

    def difference(self, rounds: Sequence[RoundView]) -> Difference | None:
        """Between the last two of `rounds` that have a tree, or of the one there is and its base; None for none."""
        frozen = [one for one in rounds if one.head][-2:]
        if not frozen:
            return None
        last, before = frozen[-1], frozen[0] if len(frozen) > 1 else None
        told = Difference(before=before.attempt if before else 0, after=last.attempt)
        try:
            trees = _apart(self._tree(before.head if before else last.base), self._tree(last.head))
            changed = changes(*trees)
            paths = tuple(self._counted(change, *trees) for change in changed[:MOST_PATHS])
        except Unavailable as error:
            return told.model_copy(update={"unknown": error.reason})
        more = len(changed) - len(paths)
        return told.model_copy(update={"paths": paths, "more": more, "outcomes": self._otherwise(before, last)})

    def _attempt(self, one: RoundView) -> Tried:
        cancelled = one.status is RoundStatus.CANCELLED
        told = Tried(
            attempt=one.attempt,
            outcome="cancelled" if cancelled else one.outcome,
            verdict=one.verdict,
            reason=next(iter(one.reasons), ""),
            snapshot=one.head,
            ended_at=one.ended_at,
        )
        try:
            report = self._report(one)
        except Unavailable as error:
            return told.model_copy(update={"unknown": error.reason})
        if report is None:
            return told
        reason = report.reasons[0].text if report.reasons else told.reason
        return told.model_copy(update={"reason": reason, "failed": tuple(_failing(report))})

    def _otherwise(self, before: RoundView | None, last: RoundView) -> tuple[OtherOutcome, ...]:
        """Of one attempt: as the base has it, where the harness had to know. Of a report that is lost, nothing."""
        try:
            report, earlier = self._report(last), self._report(before) if before else None
        except Unavailable:
            return ()  # said already, of the attempt
        if report is None or (before and earlier is None):
            return ()
        known = _outcomes(earlier) if earlier else _on_the_base(report)
        return tuple(
            OtherOutcome(name=name, before=known[name], after=outcome)
            for name, outcome in _outcomes(report).items()
            if known.get(name, outcome) != outcome
        )

    def _counted(self, change: Change, before: Manifest, after: Manifest) -> ChangedPath:
        found = unified_diff(before, after, [change.path], self._store.get)
        counted = not any(line.startswith("Binary files ") for line in found.text.split("\n"))
        return ChangedPath(
            path=change.path,
            kind=change.kind,
            added=found.added if counted else None,
            removed=found.removed if counted else None,
        )

    def _report(self, one: RoundView) -> Report | None:
        """None for a round that came to none."""
        return self._stored_report(one.report) if one.report else None

    def _read_tree(self, digest: str) -> frozenset[Row]:
        return frozenset(map(tuple, json.loads(self._store.get(digest))))

    def _read_report(self, digest: str) -> Report:
        return Report.model_validate_json(self._store.get(digest))


def repairs_of(rows: Iterable[TrailRow]) -> tuple[Repaired, ...]:
    """The repairs of a todo's last fix loop, by its `LOOP_ROWS` in their order."""
    found: list[Repaired] = []
    for row in rows:
        if row.action == "fix_loop_started":
            found.clear()
        elif row.action == "fix_iteration_completed":
            found.append(Repaired.model_validate({**row.payload, "attempt": row.payload["attempt"] or None}))
    return tuple(found)


def of_the_worker(rounds: Iterable[RoundView], rows: Iterable[TrailRow]) -> list[RoundView]:
    """The rounds that are not of a fix loop, by attempt: those judged repairs."""
    repairs = {row.payload["attempt"] for row in rows if row.action == "fix_iteration_completed"}
    return sorted((one for one in rounds if one.attempt not in repairs), key=lambda one: one.attempt)


def _apart(before: frozenset[Row], after: frozenset[Row]) -> tuple[Manifest, Manifest]:
    """Two trees without what both have: trees are large, and what is different between attempts is small."""
    first, second = (json.dumps(sorted(rows)).encode() for rows in (before - after, after - before))
    return Manifest.decode(first), Manifest.decode(second)


def _failing(report: Report) -> Iterator[Failing]:
    for name, line in _lines(report).items():
        if not line.passed and line.outcome != NOT_JUDGED:
            yield Failing(name=name, outcome=line.outcome, required=line.required, text=line.text)


def _outcomes(report: Report) -> Mapping[str, str]:
    return {name: line.outcome for name, line in _lines(report).items()}


def _on_the_base(report: Report) -> Mapping[str, str]:
    """Only of what was run there, too."""
    return {name: line.base_outcome for name, line in _lines(report).items() if line.base_outcome}


def _lines(report: Report) -> Mapping[str, CriterionReport | CheckReport]:
    """By their names: no criterion has that of a check."""
    criteria: dict[str, CriterionReport | CheckReport] = {line.id: line for line in report.criteria}
    return {**criteria, **{line.name: line for line in report.checks}}
