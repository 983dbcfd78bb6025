"""An exported trail: its form, and that every change to the file is named, with nothing but the file to go by."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import rfc8785
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adapters.trail import chain
from adapters.trail.export import check_export, row_line, write_export
from domain.errors import Malformed
from domain.events import HARNESS, TrailCheck, TrailEntry, TrailRow

STORE = "store"


def rows_of(session: str, count: int) -> list[TrailRow]:
    rows: list[TrailRow] = []
    for number in range(1, count + 1):
        entry = TrailEntry(
            workflow_id=f"w/{session}",
            ordinal=number,
            session=session,
            todo_id="tödo",
            actor=HARNESS,
            action="check_started",
            payload={"check": f"c{number}", "n": 1e20, "text": "löwe\x7f\n\u2028"},
            timestamp=datetime(2026, 1, 15, 10, 5, number, tzinfo=UTC),
        )
        rows.append(chain.seal(entry, number, rows[-1].hash if rows else chain.GENESIS))
    return rows


A, B = rows_of("a", 6), rows_of("b", 3)


def parsed(line: bytes) -> dict[str, Any]:
    """RFC 8785 writes 1e20 as an integer."""
    row: dict[str, Any] = json.loads(line, parse_int=lambda text: float(text) if len(text) > 16 else int(text))
    return row


FIRST = parsed(row_line(A[0]))


class Export:
    """A file, and what may be done to its lines. Line 0 is the header, 1 to 6 are of the session a, 7 to 9 of b."""

    def __init__(self, folder: Path, rows: Sequence[TrailRow] = (*A, *B), session: str | None = None) -> None:
        self.file = folder / "export.jsonl"
        self.heads = folder / "heads.jsonl"
        with self.file.open("wb") as out:
            self.header = write_export(rows, STORE, session, out)
        self.record([*A, *B])

    def record(self, rows: Sequence[TrailRow], store: str = STORE) -> None:
        heads = [{"store": store, "session": r.session, "sequence": r.sequence, "hash": r.hash} for r in rows]
        self.heads.write_text("".join(json.dumps(head) + "\n" for head in heads))

    @property
    def lines(self) -> list[bytes]:
        return self.file.read_bytes().splitlines(keepends=True)

    def write(self, lines: Sequence[bytes]) -> None:
        self.file.write_bytes(b"".join(lines))

    def change(self, place: int, **fields: Any) -> None:
        lines = self.lines
        lines[place] = rfc8785.dumps({**parsed(lines[place]), **fields}) + b"\n"
        self.write(lines)

    def check(self) -> TrailCheck:
        return check_export(self.file)

    def proven(self) -> TrailCheck:
        return check_export(self.file, self.heads)


@pytest.fixture
def export(tmp_path: Path) -> Export:
    return Export(tmp_path)


def told(check: TrailCheck) -> list[str]:
    return [f"{fault.session}/{fault.sequence}: {fault.what}" for fault in check.faults]


def test_the_header_says_what_follows(export: Export) -> None:
    header = json.loads(export.lines[0])
    assert header == {
        "format": "countersign-trail",
        "version": 1,
        "store": STORE,
        "session": None,
        "rows": 9,
        "heads": [
            {"session": "a", "sequence": 6, "hash": A[-1].hash},
            {"session": "b", "sequence": 3, "hash": B[-1].hash},
        ],
    }


def test_a_row_is_its_rfc_8785_form(export: Export) -> None:
    for row, line in zip([*A, *B], export.lines[1:], strict=True):
        body = row.model_dump() | {"timestamp": chain.utc_text(row.timestamp)}
        assert line == rfc8785.dumps(body) + b"\n" == row_line(row)


def test_what_was_written_is_in_order(export: Export) -> None:
    assert export.proven() == TrailCheck(rows=9, sessions=2)
    assert export.check() == TrailCheck(rows=9, sessions=2, unproven=("a", "b"))


def test_nothing_is_in_order(tmp_path: Path) -> None:
    assert Export(tmp_path, []).check() == TrailCheck(rows=0, sessions=0)


def test_an_edit_is_named(export: Export) -> None:
    export.change(3, attempt=7)
    assert told(export.check()) == ["a/3: row 3 is not the row that was written: its hash does not match its content"]


def test_an_edit_with_a_new_hash_is_named(export: Export) -> None:
    row = A[2].model_copy(update={"attempt": 7})
    export.change(3, attempt=7, hash=chain.content_hash(row))
    assert told(export.check()) == ["a/3: row 3 is not the row that was written: the row after it names another hash"]


def test_a_removal_is_named(export: Export) -> None:
    export.write([*export.lines[:3], *export.lines[4:]])
    assert told(export.check()) == ["a/3: row 3 is missing"]


def test_an_insertion_is_named(export: Export) -> None:
    lines = export.lines
    forged = A[2].model_copy(update={"attempt": 7})
    forged = forged.model_copy(update={"hash": chain.content_hash(forged)})
    export.write([*lines[:4], row_line(forged), *lines[4:]])
    assert told(export.check()) == ["a/3: there is more than one row 3: one was inserted"]


def test_lines_that_changed_places_are_named(export: Export) -> None:
    lines = export.lines
    lines[3], lines[4] = lines[4], lines[3]
    export.write(lines)
    assert told(export.check()) == ["a/0: lines changed places: row 3 stands after row 4 (line 5)"]


def test_rows_that_changed_places_are_named(export: Export) -> None:
    export.change(3, sequence=4)
    export.change(4, sequence=3)
    assert {fault.sequence for fault in export.check().faults} >= {3, 4}


def test_a_session_of_the_wrong_row_is_named(export: Export) -> None:
    export.change(4, session="b")
    assert "a/4: row 4 is missing" in told(export.check())


@pytest.mark.parametrize("kept", range(1, 9))
def test_a_cut_tail_is_named(export: Export, kept: int) -> None:
    export.write(export.lines[: kept + 1])
    found = export.check()
    assert found.faults
    if kept < 6:
        assert told(found)[0].startswith(f"a/{kept + 1}: row")
        assert "the header says that row 6 was written" in told(found)[0]
    assert told(found)[-1].startswith(f"b/{max(1, kept - 5)}: row")


def test_a_line_that_was_cut_is_named(export: Export) -> None:
    export.file.write_bytes(export.file.read_bytes()[:-9])
    assert told(export.check()) == [
        "/0: line 10 is no row: the file was cut there",
        "b/3: row 3 is missing: the header says that row 3 was written",
    ]


def recut(export: Export, kept: int) -> None:
    """Cut the tail of session b, and make the header say so."""
    with export.file.open("wb") as out:
        write_export([*A, *B[:kept]], STORE, None, out)


@pytest.mark.parametrize("kept", [0, 1, 2])
def test_a_cut_tail_with_its_header_repaired_is_named_by_the_heads(export: Export, kept: int) -> None:
    recut(export, kept)
    assert export.check().faults == ()
    rows = "row 3 is missing" if kept == 2 else f"rows {kept + 1} to 3 are missing"
    assert told(export.proven()) == [f"b/{kept + 1}: {rows}: the file of heads says that row 3 was written"]


def test_a_trail_that_was_written_anew_is_named_by_the_heads(tmp_path: Path) -> None:
    again = [chain.seal(TrailEntry.model_validate({**A[0].model_dump(), "attempt": 7}), 1, chain.GENESIS)]
    for row in A[1:]:
        again.append(chain.seal(TrailEntry.model_validate(row.model_dump()), row.sequence, again[-1].hash))
    export = Export(tmp_path, [*again, *B])
    assert export.check().faults == ()
    assert [(fault.session, fault.sequence) for fault in export.proven().faults] == [("a", n) for n in range(1, 7)]


def test_heads_of_another_store_and_lines_that_are_none_are_named(export: Export) -> None:
    export.record([*A, *B], store="other")
    with export.heads.open("a") as heads:
        heads.write("{}\n{torn")
    assert [fault.what.removeprefix(f"{export.heads}: ") for fault in export.proven().faults] == [
        "1 of its lines are no heads, the first is line 10",
        "9 of its lines belong to the store 'other', the export is of 'store'",
    ]


def test_a_row_named_twice_by_the_heads_is_a_fault(export: Export) -> None:
    export.record([*A, A[1].model_copy(update={"hash": "f" * 64}), *B])
    assert told(export.proven()) == ["a/2: the file of heads names two hashes for row 2: a line was changed or added"]


def test_an_end_that_the_heads_do_not_have_is_unproven(export: Export) -> None:
    export.record([*A[:5], *B])
    assert export.proven() == TrailCheck(rows=9, sessions=2, unproven=("a",))


def test_heads_of_other_sessions_do_not_matter_where_one_was_asked_for(tmp_path: Path) -> None:
    export = Export(tmp_path, B, session="b")
    assert export.proven() == TrailCheck(rows=3, sessions=1)


def test_a_header_that_counts_otherwise_is_named(export: Export) -> None:
    export.change(0, rows=7)
    assert told(export.check()) == ["/0: the header says 7 rows, there are 9"]


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{}\n",
        b"[]\n",
        b"\xff\n",
        b"[" * 100_000 + b"\n",
        rfc8785.dumps({**FIRST, "note": "x"}) + b"\n",
        rfc8785.dumps({**FIRST, "sequence": -1}) + b"\n",
        rfc8785.dumps({**FIRST, "sequence": "1"}) + b"\n",
        rfc8785.dumps({**FIRST, "hash": "F" * 64}) + b"\n",
        json.dumps({**FIRST, "session": "\ud800"}).encode() + b"\n",
    ],
)
def test_a_line_that_is_no_row_is_named(export: Export, line: bytes) -> None:
    lines = export.lines
    export.write([*lines[:3], line or b"\n", *lines[3:]])
    assert told(export.check())[0] == "/0: line 4 is no row"


def test_many_such_lines_are_counted(export: Export) -> None:
    export.write([*export.lines, *[b"{}\n"] * 30])
    assert told(export.check())[-1] == "/0: 10 more lines are no rows"
    assert len(export.check().faults) == 21


@pytest.mark.parametrize(
    "change",
    [
        lambda line: line.replace(b'"attempt":0', b'"attempt": 0'),
        lambda line: line.replace(b'"attempt":0', b'"attempt":-0'),
        lambda line: line.replace(b'"check":"c3"', b'"check":"\\u00633"'),
        lambda line: line.replace(b'"payload":{', b'"payload":{"check":"forged",'),
        lambda line: line.replace(b'"role":"harness"', b'"role":"harness","name":"x"'),
        lambda line: line.replace(b'"payload":{', b'"payload":{"a":NaN,'),
        lambda line: line.replace(b'"payload":{', b'"payload":{"a":' + b"9" * 99 + b","),
        lambda line: line.replace(b'"hash":"', b'"hash":"' + b"0" * 64 + b'","hash":"'),
    ],
)
def test_nothing_can_be_hidden_in_the_spelling(export: Export, change: Callable[[bytes], bytes]) -> None:
    lines = export.lines
    assert change(lines[3]) != lines[3]
    lines[3] = change(lines[3])
    export.write(lines)
    assert {(fault.session, fault.sequence) for fault in export.check().faults} == {("a", 3)}


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (b"", "header"),
        (b"not JSON\n", "header"),
        (b'{"format":"other","version":1,"store":"s","rows":0,"heads":[]}\n', "format"),
        (b'{"format":"countersign-trail","version":2,"store":"s","rows":0,"heads":[]}\n', "version"),
        (b'{"format":"countersign-trail","version":1,"store":"s","rows":-1,"heads":[]}\n', "rows"),
    ],
)
def test_what_is_no_export_is_malformed(tmp_path: Path, line: bytes, what: str) -> None:
    file = tmp_path / "x"
    file.write_bytes(line)
    with pytest.raises(Malformed, match=f"x:1: {what}: "):
        check_export(file)


def test_a_header_cannot_make_it_take_memory(export: Export) -> None:
    header = json.loads(export.lines[0])
    export.change(0, heads=[{"session": "a", "sequence": 2**52, "hash": "f" * 64}, header["heads"][1]])
    export.heads.write_text(json.dumps({"store": STORE, "session": "a", "sequence": 2**52, "hash": "f" * 64}) + "\n")
    assert told(export.proven())[0].startswith("a/7: rows 7 to 4503599627370496 are missing")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_any_change_of_bytes_is_a_fault(export: Export, data: st.DataObject) -> None:
    whole = b"".join([row_line(row) for row in (*A, *B)])
    place = data.draw(st.integers(0, len(whole) - 2))
    byte = data.draw(st.integers(0, 255).filter(lambda value: value != whole[place]))
    out = io.BytesIO()
    write_export([*A, *B], STORE, None, out)
    header = out.getvalue().splitlines(keepends=True)[0]
    export.file.write_bytes(header + whole[:place] + bytes([byte]) + whole[place + 1 :])
    assert export.check().faults
