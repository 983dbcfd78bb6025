"""What judges a trail, given changes that nobody thought of: it never breaks, and names the row that was changed."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
import rfc8785
from hypothesis import example, given
from hypothesis import strategies as st

from adapters.trail import chain, proof
from adapters.trail.heads import Head
from domain.events import HARNESS, TrailCheck, TrailEntry, TrailRow

ROWS = 6


def chained(count: int) -> list[TrailRow]:
    rows: list[TrailRow] = []
    for number in range(1, count + 1):
        entry = TrailEntry(
            workflow_id="w",
            ordinal=number,
            session="s",
            todo_id="t",
            actor=HARNESS,
            action="check_started",
            payload={"check": f"c{number}", "n": 1e20},
            timestamp=datetime(2026, 1, 15, 10, 5, number, tzinfo=UTC),
        )
        rows.append(chain.seal(entry, number, rows[-1].hash if rows else chain.GENESIS))
    return rows


WRITTEN = chained(ROWS)
HEADS = [Head(store="store", session="s", sequence=row.sequence, hash=row.hash) for row in WRITTEN]
END = ("s", ROWS, WRITTEN[-1].hash)


def judged(records: Sequence[dict[str, Any]], recorded: Sequence[Head] = HEADS) -> TrailCheck:
    """The verdict on rows given in their order."""
    return proof.judge(list(reversed(records)), [END], recorded, ())


def records() -> list[dict[str, Any]]:
    return [dict(chain.to_record(row)) for row in WRITTEN]


def sequences(check: TrailCheck) -> list[int]:
    return [fault.sequence for fault in check.faults]


def test_the_rule_for_hashes_is_the_documented_one() -> None:
    """Spelled out once more, without the code under test: strangers check exported trails by it."""
    row = WRITTEN[1]
    body = row.model_dump(exclude={"hash"}) | {"timestamp": "2026-01-15T10:05:02.000000Z"}
    assert hashlib.sha256(rfc8785.dumps(body)).hexdigest() == row.hash
    assert row.previous_hash == WRITTEN[0].hash
    assert WRITTEN[0].previous_hash == "0" * 64


def test_hashes_stay_what_they_are() -> None:
    """A trail that was written by an older version must still be in order under a newer one."""
    assert WRITTEN[0].event_id == "3724eee8-4ecf-5a1c-9768-a1ffb1aea6ff"
    assert WRITTEN[0].hash == "981a995e53c823ec722f592533ba2c12756a03afa9ee861e1c085e98c9e194ef"


TEXTS = st.text(st.characters(exclude_categories=()), max_size=8) | st.text(
    st.characters(max_codepoint=127), max_size=8
)
NUMBERS = st.integers() | st.integers(-(2**53), 2**53) | st.floats()
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=10,
)


@given(value=VALUES)
@example(value={"a": ["\ud800"]})
@example(value={"\uffff": 1, "\U00010000": 2})
def test_the_quick_way_to_canonical_json_writes_what_the_library_writes(value: Any) -> None:
    try:
        expected = rfc8785.dumps(value).decode()
    except (rfc8785.CanonicalizationError, UnicodeEncodeError):
        with pytest.raises(ValueError):
            chain.canonical(value)
    else:
        assert chain.canonical(value) == expected


def test_what_was_written_is_in_order() -> None:
    check = judged(records())
    assert (check.rows, check.sessions, check.faults, check.unproven) == (ROWS, 1, (), ())


ANYTHING = (
    st.none()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats()
    | st.binary(max_size=9)
    | st.text(max_size=9)
    | st.sampled_from(
        [
            "null",
            "[[]]",
            "{}",
            '{"a":NaN}',
            '{"a":1e999}',
            '{"a":"\\ud800"}',
            '{"identity":"","role":"king"}',
            "[" * 9999,
        ]
    )
)


@given(place=st.integers(0, ROWS - 1), column=st.sampled_from(sorted(records()[0])), value=ANYTHING)
def test_whatever_a_column_holds_is_a_fault_and_no_crash(place: int, column: str, value: Any) -> None:
    changed = records()
    before = changed[place][column]
    changed[place][column] = value
    check = judged(changed)
    if value == before and type(value) is type(before):
        assert check.faults == ()
    elif column in ("session", "sequence"):
        assert place + 1 in sequences(check)
    else:
        assert sequences(check) == [place + 1]
    assert all(fault.what.isprintable() for fault in check.faults)


@given(removed=st.sets(st.integers(1, ROWS), min_size=1), with_file=st.booleans())
def test_removed_rows_are_named_once_a_gap(removed: set[int], with_file: bool) -> None:
    kept = [record for record in records() if record["sequence"] not in removed]
    starts = sorted(number for number in removed if number - 1 not in removed)
    assert sequences(judged(kept, HEADS if with_file else ())) == starts


@given(edited=st.sets(st.integers(1, ROWS), min_size=1), with_file=st.booleans())
def test_edited_rows_are_named_and_no_others(edited: set[int], with_file: bool) -> None:
    changed = records()
    for number in edited:
        changed[number - 1]["attempt"] = 7
    assert sequences(judged(changed, HEADS if with_file else ())) == sorted(edited)


@given(order=st.permutations(range(1, ROWS + 1)))
def test_rows_that_changed_places_are_named_and_no_others(order: list[int]) -> None:
    moved = [record | {"sequence": place} for record, place in zip(records(), order, strict=True)]
    moved.sort(key=lambda record: record["sequence"])
    touched = {place for number, place in enumerate(order, start=1) if number != place}
    found = judged(moved).faults
    assert {fault.sequence for fault in found} <= touched
    assert bool(found) is bool(touched)


@given(kept=st.sets(st.integers(1, ROWS)))
def test_lines_missing_in_the_file_of_heads_are_no_fault(kept: set[int]) -> None:
    check = judged(records(), [head for head in HEADS if head.sequence in kept])
    assert check.faults == ()
    assert check.unproven == (() if ROWS in kept else ("s",))


def test_a_second_row_at_the_same_place_is_named() -> None:
    """The table cannot hold it while it has its key; a rebuilt table can."""
    twice = records()
    twice.insert(3, twice[2] | {"attempt": 9, "hash": "f" * 64})
    assert sequences(judged(twice)) == [3]
    assert sequences(judged(twice, ())) == [3]


def test_a_chain_that_does_not_begin_at_the_beginning_is_named() -> None:
    row = WRITTEN[0].model_copy(update={"previous_hash": "f" * 64})
    row = row.model_copy(update={"hash": chain.content_hash(row)})
    check = proof.judge([chain.to_record(row)], [("s", 1, row.hash)], (), ())
    assert [fault.what for fault in check.faults] == ["row 1 is not the row that was written: it follows another row"]


@pytest.mark.parametrize("end", [("s", None, "x"), ("s", 1.0, "x"), ("s", 6, None), ("s", b"", b"")])
def test_a_head_row_of_the_wrong_kind_is_named(end: tuple[Any, ...]) -> None:
    check = proof.judge(list(reversed(records())), [end], HEADS, ())
    assert sequences(check) == [0]
