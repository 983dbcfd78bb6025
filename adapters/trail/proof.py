"""Judges whether a trail is what was written, naming the rows that are not. Pure: it is given everything it looks at.

Every session is walked from its last row to its first, because a row's hash is vouched for by the row after it; where
that one is missing or itself not to be believed, by the file of heads; and at the end by the session's head row. So a
fault is named where it is, and the rows around it are not. Rewriting the end of a session, its head row and the file of
heads together is beyond what a chain can show: keep the file where the database's owner cannot write.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple

from adapters.trail import chain
from adapters.trail.heads import Head
from domain.events import TrailCheck, TrailFault, TrailRow

Records = Iterable[Mapping[str, Any]]
_WRITTEN: Final = "is not the row that was written"
_FILE: Final = "the file of heads"
_HEAD_ROW: Final = "the session's head row"


class _End(NamedTuple):
    """A head row, as far as it can be read."""

    sequence: int
    hash: str


class _Moved(NamedTuple):
    """Rows `low` to `high` are what was written `by` places further on."""

    low: int
    high: int
    by: int


def judge(
    records: Records, heads: Sequence[Sequence[Any]], recorded: Sequence[Head], before: Sequence[TrailFault]
) -> TrailCheck:
    """What the trail's rows come to.

    `records`: the rows of `events`, by session and from the last to the first. `heads`: the rows of `heads`.
    `recorded`: the lines of the file of heads. `before`: faults that were found already.
    """
    lines, faults = _by_session(recorded)
    faults[:0] = before
    ends = {session: (sequence, hash_) for session, sequence, hash_ in heads}
    unproven: list[str] = []
    rows = 0
    seen: set[Any] = set()
    for key, group in groupby(records, key=lambda record: record["session"]):
        seen.add(key)
        session = _Session(key, ends.get(key), lines.get(key, {}))
        rows += session.walk(group)
        faults += sorted(session.faults, key=lambda fault: fault.sequence)
        if session.unproven:
            unproven.append(session.name)
    for key in sorted({*ends, *lines} - seen, key=str):
        session = _Session(key, ends.get(key), lines.get(key, {}))
        session.walk(())
        faults += session.faults
    return TrailCheck(rows=rows, sessions=len(seen), faults=tuple(faults), unproven=tuple(unproven))


def file_faults(recorded: Sequence[Head], strange: Sequence[int], store: str, path: str) -> list[TrailFault]:
    """What is wrong with the file of heads by itself: lines that are no heads, heads of another store."""
    faults = []
    if strange:
        what = f"{path}: {len(strange)} of its lines are no heads that an append writes, the first is line {strange[0]}"
        faults.append(_store_fault(what))
    for other in sorted({head.store for head in recorded} - {store}):
        count = sum(head.store == other for head in recorded)
        what = f"{path}: {count} of its lines belong to the store {other!r}, this one is {store!r}: it was replaced"
        faults.append(_store_fault(what))
    return faults


def trigger_faults(found: Mapping[str, str], expected: Mapping[str, str]) -> list[TrailFault]:
    """Which triggers are not those that keep rows from being changed and removed."""
    faults = [
        _store_fault(
            f"the trigger {name} is {'changed' if name in found else 'missing'}: rows can be changed or removed"
        )
        for name, text in expected.items()
        if found.get(name) != text
    ]
    strangers = sorted(found.keys() - expected.keys())
    return faults + [_store_fault(f"the trigger {name!r} is none of Countersign's") for name in strangers]


def right_faults(excess: Sequence[str]) -> list[TrailFault]:
    """What the application may do to rows and heads although it never needs to."""
    return [_store_fault(f"the application's role has the right to {right}") for right in excess]


class _Session:
    """One session on its way from its last row to its first."""

    def __init__(self, key: Any, end: tuple[Any, Any] | None, lines: Mapping[int, str]) -> None:
        self.name = key if isinstance(key, str) else repr(key)
        self.faults: list[TrailFault] = []
        self.unproven = False
        self._lines = lines
        self._written_as = {hash_: sequence for sequence, hash_ in lines.items()}
        self._end = _End(*end) if end and type(end[0]) is int and isinstance(end[1], str) else None
        if end and not self._end:
            self._fault(0, f"{_HEAD_ROW} cannot be read: {end!r}")
        self._has_head_row = end is not None
        self._after: TrailRow | None = None  # the row one further on, if it is to be believed
        self._moved: list[_Moved] = []

    def walk(self, records: Records) -> int:
        """Look at all rows; how many there were."""
        count = 0
        last = 0
        known = max([0, *self._lines, *([self._end.sequence] if self._end else [])])
        due = known
        for sequence, group in groupby(records, key=lambda record: record["sequence"]):
            candidates = list(group)
            count += len(candidates)
            if type(sequence) is not int or sequence < 1:
                self._fault(0, f"a row with the sequence {sequence!r} was inserted: rows count from 1")
                continue
            last = last or sequence
            self._gap(sequence + 1, due, at_end=sequence == last)
            due = sequence - 1
            self._after = self._look(sequence, candidates, last)
        self._gap(1, due, at_end=not last)
        self._check_head_row(last)
        self._tell_moved()
        self.unproven = last > max(self._lines, default=0)
        return count

    def _look(self, sequence: int, candidates: list[Mapping[str, Any]], last: int) -> TrailRow | None:
        """Judge the row at this place; the row if it is to be believed."""
        expected, source = self._vouched(sequence)
        record = next((each for each in candidates if each["hash"] == expected), candidates[0])
        if len(candidates) > 1:
            self._fault(sequence, f"there is more than one row {sequence}: one was inserted")
        try:
            row = chain.from_record(record)
            content = chain.record_hash(record)
            place = None if content == row.hash else self._place_of(row)
        except ValueError as error:
            self._fault(sequence, f"row {sequence} cannot be read: {error}")
            return None
        if place:
            self._moved.append(_Moved(sequence, sequence, place - sequence))
            return None
        expected = expected or row.hash
        if not row.hash == content == expected:
            self._fault(sequence, _replaced(row, content, expected, source))
            return None
        if self._end and sequence > self._end.sequence and last not in self._lines:
            what = f"row {sequence} was inserted: {_HEAD_ROW} says that row {self._end.sequence} is the last"
            self._fault(sequence, what)
            return None
        if self._lines.get(sequence, row.hash) != row.hash:
            what = f"{_FILE} names another hash for row {sequence} than the row after it: that line was changed"
            self._fault(sequence, what)
        if sequence == 1 and row.previous_hash != chain.GENESIS:
            self._fault(1, f"row 1 {_WRITTEN}: it follows another row")
        return row

    def _vouched(self, sequence: int) -> tuple[str | None, str]:
        """The hash that the row at this place must have, and who says so."""
        if self._after is not None and self._after.sequence == sequence + 1:
            return self._after.previous_hash, "the row after it"
        if sequence in self._lines:
            return self._lines[sequence], _FILE
        if self._end and self._end.sequence == sequence:
            return self._end.hash, _HEAD_ROW
        return None, ""

    def _place_of(self, row: TrailRow) -> int | None:
        """The sequence under which the row was written, when only that was changed."""
        for place in (row.sequence + 1, row.sequence - 1, self._written_as.get(row.hash)):
            if place and chain.content_hash(row.model_copy(update={"sequence": place})) == row.hash:
                return place
        return None

    def _gap(self, first: int, final: int, *, at_end: bool) -> None:
        if first > final:
            return
        what = f"row {first} is missing" if first == final else f"rows {first} to {final} are missing"
        if at_end:
            source = _FILE if final in self._lines else _HEAD_ROW
            what += f": {source} says that row {final} was written"
        self._fault(first, what)

    def _check_head_row(self, last: int) -> None:
        """Hold the head row against the last row; missing and inserted rows are named elsewhere."""
        if not self._has_head_row and last:
            self._fault(last, f"{_HEAD_ROW} is missing")
        if self._end and self._end.sequence <= last and last in self._lines:
            believed = self._lines[last]
            if self._end != (last, believed) and not any(fault.sequence == last for fault in self.faults):
                what = f"{_HEAD_ROW} is wrong: it names row {self._end.sequence} and another hash than {_FILE}"
                self._fault(last, what)

    def _tell_moved(self) -> None:
        """Rows that were renumbered together are one fault."""
        runs: list[_Moved] = []
        for moved in self._moved:
            if runs and runs[-1].low == moved.high + 1 and runs[-1].by == moved.by:
                runs[-1] = runs[-1]._replace(low=moved.low)
            else:
                runs.append(moved)
        for low, high, by in runs:
            if low == high:
                self._fault(low, f"row {low} {_WRITTEN} there: it was written as row {low + by}")
            else:
                what = f"rows {low} to {high} were renumbered: they were written as rows {low + by} to {high + by}"
                self._fault(low, what)

    def _fault(self, sequence: int, what: str) -> None:
        self.faults.append(TrailFault(session=self.name, sequence=sequence, what=what))


def _replaced(row: TrailRow, content: str, expected: str, source: str) -> str:
    """What to say of a row whose stored hash, content and the hash that is expected are not all the same."""
    told = f"row {row.sequence} {_WRITTEN}: "
    if row.hash == expected:
        return told + "its hash does not match its content"
    if content == expected:
        return told + "its hash was changed"
    if content == row.hash:
        return told + f"{source} names another hash"
    return told + f"its hash matches neither its content nor what {source} says"


def _by_session(recorded: Sequence[Head]) -> tuple[dict[Any, dict[int, str]], list[TrailFault]]:
    """The hashes in the file by session and sequence. A row for which it names two is a fault, and not vouched for."""
    named: dict[str, dict[int, set[str]]] = {}
    for head in recorded:
        named.setdefault(head.session, {}).setdefault(head.sequence, set()).add(head.hash)
    lines: dict[Any, dict[int, str]] = {}
    faults = []
    for session, hashes in named.items():
        lines[session] = {sequence: next(iter(one)) for sequence, one in hashes.items() if len(one) == 1}
        for sequence in sorted(sequence for sequence, several in hashes.items() if len(several) > 1):
            what = f"{_FILE} names two hashes for row {sequence}: a line was changed or added"
            faults.append(TrailFault(session=session, sequence=sequence, what=what))
    return lines, faults


def _store_fault(what: str) -> TrailFault:
    return TrailFault(session="", sequence=0, what=what)
