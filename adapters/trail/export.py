"""The trail as a file that anybody can check: written from rows, and judged from nothing but the file.

The format is `docs/trail-export.md`: a header line, then each row as one line in its hashed form. Checking reads every
line once, forwards, and holds one hash a session; only where a session is not in order its lines are looked at again,
from the last to the first, by `proof`, which names what is wrong. What rewrites the file from its first line to its
last is seen by the file of heads alone, if the caller has it.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import tempfile
from array import array
from collections.abc import Iterable, Iterator
from json.encoder import encode_basestring
from pathlib import Path
from typing import IO, Any, Final, Literal

import rfc8785
from pydantic import NonNegativeInt, PositiveInt, ValidationError

from adapters.trail import chain, proof
from adapters.trail.recorded import Recorded
from domain.base import Message
from domain.errors import Cause, Malformed, Problem, Unavailable
from domain.events import TrailCheck, TrailFault, TrailRow

FORMAT: Final = "countersign-trail"
VERSION: Final = 1
_FIELDS: Final = frozenset(TrailRow.model_fields)
_JSON_FIELDS: Final = frozenset({"actor", "before", "after", "payload"})
_HASH: Final = re.compile(r"[0-9a-f]{64}")
_LARGEST: Final = 2**53
_DIGITS: Final = 20
_SHOWN: Final = 20
"""Lines that are no rows, one by one; more are counted."""


class End(Message):
    """A session's last row in the file."""

    session: str
    sequence: PositiveInt
    hash: str


class Header(Message):
    """The first line. `session`: the only one that was asked for, None for all; `rows`: how many lines follow."""

    format: Literal["countersign-trail"]
    version: PositiveInt
    store: str
    session: str | None = None
    rows: NonNegativeInt
    heads: tuple[End, ...]


def write_export(rows: Iterable[TrailRow], store: str, session: str | None, out: IO[bytes]) -> Header:
    """Write the rows, given by session and sequence, and the header that belongs to them. Raises `OSError`.

    The rows wait on the disk, not in memory, until it is known what the header says.
    """
    ends: dict[str, End] = {}
    count = 0
    with tempfile.TemporaryFile() as waiting:
        for row in rows:
            waiting.write(row_line(row))
            ends[row.session] = End(session=row.session, sequence=row.sequence, hash=row.hash)
            count += 1
        header = Header(
            format="countersign-trail",
            version=VERSION,
            store=store,
            session=session,
            rows=count,
            heads=tuple(ends.values()),
        )
        out.write(rfc8785.dumps(header.model_dump()) + b"\n")
        waiting.seek(0)
        shutil.copyfileobj(waiting, out)
    return header


def row_line(row: TrailRow) -> bytes:
    """The row, its hash included, in the form of RFC 8785."""
    record = chain.to_record(row)
    parts = []
    for name in sorted(record):
        value = record[name]
        text = value if name in _JSON_FIELDS or isinstance(value, int) else encode_basestring(value)
        parts.append(f'"{name}":{text}')
    return f"{{{','.join(parts)}}}\n".encode()


def check_export(file: Path, heads: Path | None = None) -> TrailCheck:
    """Whether the rows in `file` are those that were written; `heads`: the file of heads, to prove the last ones.

    Raises `Malformed` for a file that is no export or of a newer format, `OSError` for one that cannot be read.
    """
    with file.open("rb") as lines:
        header = read_header(file, lines.readline())
        size = file.stat().st_size  # no file has more rows than bytes, whatever its header says
        ends = {end.session: min(end.sequence, size) for end in header.heads}
        recorded = Recorded(header.store, ends, header.session)
        if heads is not None:
            recorded.read(heads)
        return _Check(header, lines, recorded).run()


def signed_rows(file: Path) -> Iterator[dict[str, Any]]:
    """The rows that say who may sign, or have a signature, as far as they are rows. Raises `Unavailable`."""
    try:
        with file.open("rb") as lines:
            lines.readline()
            for line in lines:
                row = _parsed(line) if b'"signature":' in line or b'"session_created"' in line else None
                if row is not None:
                    yield row
    except OSError as error:
        raise Unavailable(
            Cause.STORE_UNAVAILABLE,
            f"{file} cannot be read: {error.strerror}",
            "see that the file is there and may be read, then run it again",
        ) from error


def read_header(file: Path, line: bytes) -> Header:
    """What the first line says. Raises `Malformed`."""
    try:
        header = Header.model_validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "header"
        raise _malformed(file, where, f"{first['msg']}: this is no export of a trail") from error
    if header.version > VERSION:
        raise _malformed(file, "version", f"a newer version of Countersign wrote format {header.version}")
    return header


def _malformed(file: Path, field: str, what: str) -> Malformed:
    expected = f"expected a file that `countersign log export` wrote, of format {VERSION}"
    return Malformed([Problem(file=str(file), line=1, field=field, what=what, expected=expected)])


class _Check:
    """One run over the lines after the header."""

    def __init__(self, header: Header, lines: IO[bytes], recorded: Recorded) -> None:
        self._header = header
        self._ends = {end.session: (end.sequence, end.hash) for end in header.heads}
        self._lines = lines
        self._begin = lines.tell()
        self._recorded = recorded
        self._last: dict[str, tuple[int, str]] = {}
        self._unsound: set[str] = set()
        self._faults: list[TrailFault] = []
        self._strange = 0
        self._rows = 0

    def run(self) -> TrailCheck:
        """Look at every line, then again at those of the sessions that are not in order."""
        for number, line in enumerate(self._lines, start=2):
            self._look(number, line)
        faults = [*self._recorded.faults, *self._faults]
        if self._strange > _SHOWN:
            faults.append(_file_fault(f"{self._strange - _SHOWN} more lines are no rows"))
        known = {*self._ends, *self._last, *self._recorded.sessions}
        self._unsound |= {name for name in known if not self._ended_well(name)}
        faults += self._judge() if self._unsound else []
        unproven = [name for name in self._last if not self._recorded.proves(name, self._last[name][0])]
        if not faults and self._rows != self._header.rows:
            faults.append(_file_fault(f"the header says {self._header.rows} rows, there are {self._rows}"))
        return TrailCheck(rows=self._rows, sessions=len(self._last), faults=tuple(faults), unproven=tuple(unproven))

    def _look(self, number: int, line: bytes) -> None:
        row = _parsed(line)
        if row is None:
            self._strange += 1
            if self._strange <= _SHOWN:
                cut = "" if line.endswith(b"\n") else ": the file was cut there"
                self._faults.append(_file_fault(f"line {number} is no row{cut}"))
            return
        self._rows += 1
        session, sequence, own_hash = row["session"], row["sequence"], row["hash"]
        before, previous_hash = self._last.get(session, (0, chain.GENESIS))
        fits = sequence == before + 1 and row["previous_hash"] == previous_hash
        if not (fits and _hash_of(line, own_hash) == own_hash and self._recorded.agrees(session, sequence, own_hash)):
            self._unsound.add(session)
        self._last[session] = (sequence, own_hash)

    def _ended_well(self, session: str) -> bool:
        """Whether the session's last row is the one that the header and the file of heads name."""
        end = self._ends.get(session)
        return end is not None and self._last.get(session) == end and not self._recorded.goes_beyond(session)

    def _judge(self) -> list[TrailFault]:
        """What is wrong with the sessions that are not in order; at least one fault each."""
        places = {session: _Places() for session in self._unsound}
        self._lines.seek(self._begin)
        offset = self._begin
        for number, line in enumerate(self._lines, start=2):
            row = _parsed(line)
            if row is not None and row["session"] in places:
                places[row["session"]].add(row["sequence"], offset, number)
            offset += len(line)
        faults: list[TrailFault] = []
        for session in sorted(places):
            faults += self._judge_session(session, places[session])
        return faults

    def _judge_session(self, session: str, places: _Places) -> list[TrailFault]:
        spelling: list[TrailFault] = []
        records = self._records(session, places, spelling)
        ends = [(session, *self._ends[session])] if session in self._ends else []
        judged = proof.judge(records, ends, self._recorded.heads_of(session), ())
        told = [
            fault.model_copy(update={"what": fault.what.replace("the session's head row", "the header")})
            for fault in judged.faults
        ]
        found = [*places.faults(session), *told, *spelling]
        return found or [TrailFault(session=session, sequence=0, what="its rows are not those that were written")]

    def _records(self, session: str, places: _Places, spelling: list[TrailFault]) -> Iterator[dict[str, Any]]:
        """The session's rows as `proof` wants them, from the last to the first."""
        for offset in places.backwards():
            self._lines.seek(offset)
            line = self._lines.readline()
            row = _parsed(line)
            assert row is not None, "it was one when its place was noted"
            if line.decode(errors="replace") != f"{_canonical(row)}\n":
                what = f"row {row['sequence']} is not in the form that was written"
                spelling.append(TrailFault(session=session, sequence=row["sequence"], what=what))
            yield {name: _canonical(value) if name in _JSON_FIELDS else value for name, value in row.items()}


class _Places:
    """Where the rows of one session are in the file: 16 bytes a row."""

    def __init__(self) -> None:
        self._sequences = array("q")
        self._offsets = array("q")
        self._first_backwards = ""
        self._backwards = 0

    def add(self, sequence: int, offset: int, number: int) -> None:
        """The row `sequence` is on the line `number`, which begins at `offset`."""
        if self._sequences and sequence < self._sequences[-1]:
            self._backwards += 1
            self._first_backwards = (
                self._first_backwards or f"row {sequence} stands after row {self._sequences[-1]} (line {number})"
            )
        self._sequences.append(sequence)
        self._offsets.append(offset)

    def backwards(self) -> Iterator[int]:
        """The places from the last row to the first, by their numbers."""
        order = sorted(range(len(self._sequences)), key=self._sequences.__getitem__, reverse=True)
        return (self._offsets[index] for index in order)

    def faults(self, session: str) -> list[TrailFault]:
        """Lines that changed places."""
        if not self._backwards:
            return []
        more = f", and {self._backwards - 1} more do" if self._backwards > 1 else ""
        return [TrailFault(session=session, sequence=0, what=f"lines changed places: {self._first_backwards}{more}")]


def _parsed(line: bytes) -> dict[str, Any] | None:
    """The row on the line as far as a row must be one to be looked at, None for anything else."""
    try:
        row = json.loads(line, parse_int=_number)
        if not isinstance(row, dict) or row.keys() != _FIELDS:
            return None
        session, number, own_hash = row["session"], row["sequence"], row["hash"]
        if not isinstance(session, str) or not isinstance(own_hash, str) or type(number) is not int:
            return None
        session.encode()
    except (ValueError, RecursionError):
        return None
    return row if 0 < number < _LARGEST and _HASH.fullmatch(own_hash) else None


def _number(text: str) -> int | float:
    """RFC 8785 writes a double without its point; what is beyond the integers that it holds exactly is one."""
    value = int(text) if len(text) < _DIGITS else _LARGEST
    return value if abs(value) < _LARGEST else float(text)


def _canonical(value: Any) -> str | None:
    """The form of RFC 8785, None for what has none: no row that was written has it."""
    try:
        return rfc8785.dumps(value).decode()
    except (ValueError, RecursionError):
        return None


def _hash_of(line: bytes, own_hash: str) -> str:
    """The hash of the line without its `hash`; where that stands in the bytes does not matter, for it is its own."""
    return hashlib.sha256(line.removesuffix(b"\n").replace(b'"hash":"%b",' % own_hash.encode(), b"", 1)).hexdigest()


def _file_fault(what: str) -> TrailFault:
    return TrailFault(session="", sequence=0, what=what)
