"""How one row follows from the one before: its hash and its stored form. Refuses what RFC 8785 cannot express.

Everything a stranger needs to check an exported trail: a row's hash is the SHA-256, in lower-case hexadecimal, of the
RFC 8785 form of the row without its `hash`; the timestamp is UTC text with microseconds; the first `previous_hash` of
a session is 64 zeros (DESIGN 5, seed `guardrails` 1).
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from json.encoder import encode_basestring
from typing import Any, Final

import rfc8785
from pydantic import JsonValue, ValidationError

from domain.base import sha256_hex
from domain.events import TrailEntry, TrailRef, TrailRow

GENESIS: Final = "0" * 64
_EVENTS: Final = uuid.UUID("6f0f4b0e-6d0a-5c39-9a3e-3f5a1c1f7b52")
_LARGEST_EXACT: Final = 2**53 - 1
_JSON_COLUMNS: Final = frozenset({"actor", "before", "after", "payload"})
_NUMBER_COLUMNS: Final = frozenset({"ordinal", "sequence", "attempt"})
_HASHED: Final = tuple(sorted(TrailRow.model_fields.keys() - {"hash"}))
_DEPTH: Final = 64
_dump: Final = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode

Record = dict[str, str | int]
"""A row as a table holds it: text and whole numbers only."""


def seal(entry: TrailEntry, sequence: int, previous_hash: str) -> TrailRow:
    """The row that `entry` becomes at `sequence`, after the row whose hash is `previous_hash`.

    Raises `ValueError` for a time without a zone, for a number that a double cannot hold (an integer beyond 2**53 - 1,
    not-a-number, infinity), for text that is no Unicode (half of a surrogate pair), and for a NUL in a name, which a
    database may not hold.
    """
    return from_record(sealed_record(entry, sequence, previous_hash))


def sealed_record(entry: TrailEntry, sequence: int, previous_hash: str) -> Record:
    """`seal` as the columns of the table `events`. Raises as it does."""
    record = _columns(entry)
    record["event_id"] = event_id(entry.workflow_id, entry.ordinal)
    record["sequence"] = sequence
    record["previous_hash"] = previous_hash
    for name, value in record.items():
        if isinstance(value, str) and "\0" in value:
            raise ValueError(f"{name} has a NUL character in it")
    record["hash"] = record_hash(record)
    return record


def record_hash(record: Mapping[str, str | int]) -> str:
    """The hash that belongs to these columns, which are as `to_record` writes them. Raises `ValueError` as `seal`."""
    parts = []
    for name in _HASHED:
        value = record[name]
        if isinstance(value, int):
            parts.append(f'"{name}":{_exact(value)}')
        else:
            parts.append(f'"{name}":{value if name in _JSON_COLUMNS else encode_basestring(value)}')
    try:
        return sha256_hex(f"{{{','.join(parts)}}}".encode())
    except UnicodeEncodeError as error:
        raise ValueError("text that is no UTF-8") from error


def content_hash(row: TrailRow) -> str:
    """The hash that `row` should carry. Raises `ValueError` as `seal` does."""
    return record_hash(to_record(row))


def event_id(workflow_id: str, ordinal: int) -> str:
    """The id of the event with this key: the same on every machine. Raises `ValueError` for text that is no Unicode."""
    return str(uuid.uuid5(_EVENTS, f"{workflow_id}\n{ordinal}"))


def same_body(entry: TrailEntry, stored: TrailRow) -> bool:
    """Whether `stored` is what `entry` became: equal but for spelling (1 and 1.0, a time in another zone)."""
    return sealed_record(entry, stored.sequence, stored.previous_hash)["hash"] == stored.hash


def ref(row: TrailRow) -> TrailRef:
    """Where `row` is."""
    return TrailRef(event_id=row.event_id, sequence=row.sequence, hash=row.hash)


def to_record(row: TrailRow) -> Record:
    """`row` as the columns of the table `events`."""
    own = {name: getattr(row, name) for name in ("event_id", "sequence", "previous_hash", "hash")}
    return {**_columns(row), **own}


def from_record(record: Mapping[str, Any]) -> TrailRow:
    """The row in these columns. Raises `ValueError` for anything that `to_record` does not write."""
    for name, value in record.items():
        if type(value) is not (int if name in _NUMBER_COLUMNS else str):
            raise ValueError(f"{name} is {value!r:.60}")
    values: dict[str, Any] = dict(record)
    for name in _JSON_COLUMNS:
        values[name] = _parse(name, record[name])
    moment = datetime.fromisoformat(record["timestamp"])
    if utc_text(moment) != record["timestamp"]:
        raise ValueError(f"timestamp is {record['timestamp']!r:.60}")
    try:
        return TrailRow.model_validate({**values, "timestamp": moment})
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        raise ValueError(f"{first['loc'][0]}: {first['msg']}") from error


def utc_text(moment: datetime) -> str:
    """`2026-01-15T10:05:01.000000Z`. Raises `ValueError` for a time without a zone, or outside the years 1 to 9999."""
    if moment.tzinfo is None:
        raise ValueError(f"the time {moment.isoformat()} has no zone")
    try:
        return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    except OverflowError as error:
        raise ValueError(f"the time {moment.isoformat()} is outside the calendar in UTC") from error


def _columns(entry: TrailEntry) -> Record:
    """The columns that the writer of an event knows."""
    return {
        "session": entry.session,
        "workflow_id": entry.workflow_id,
        "ordinal": entry.ordinal,
        "todo_id": entry.todo_id,
        "attempt": entry.attempt,
        "actor": canonical(entry.actor.model_dump()),
        "action": entry.action,
        "before": canonical(entry.before),
        "after": canonical(entry.after),
        "payload": canonical(entry.payload),
        "tool_call_id": entry.tool_call_id,
        "correlation_id": entry.correlation_id,
        "caused_by": entry.caused_by,
        "timestamp": utc_text(entry.timestamp),
    }


def canonical(value: Any) -> str:
    """The RFC 8785 form of JSON. Most values go through the C encoder, which writes the same ten times as fast."""
    if _is_plain(value, _DEPTH):
        return _dump(value)
    try:
        return rfc8785.dumps(value).decode()
    except UnicodeEncodeError as error:  # half a surrogate pair in a key escapes the library's own error
        raise ValueError("text that is no Unicode") from error
    except RecursionError as error:
        raise ValueError("too many values inside each other") from error


def _is_plain(value: Any, depth: int) -> bool:
    """Whether JSON with sorted keys is its RFC 8785 form: only ASCII, nothing but exact integers, not too deep."""
    if type(value) is str:
        return value.isascii()
    if type(value) is dict:
        return depth > 0 and all(
            type(key) is str and key.isascii() and _is_plain(item, depth - 1) for key, item in value.items()
        )
    if type(value) is list:
        return depth > 0 and all(_is_plain(item, depth - 1) for item in value)
    if type(value) is int:
        return abs(value) <= _LARGEST_EXACT
    return value is None or type(value) is bool


def _parse(name: str, text: str) -> JsonValue:
    """The JSON value; a whole number that only a double can hold becomes one, as RFC 8785 wrote it."""
    try:
        value: JsonValue = json.loads(text, parse_int=_number)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{name} is no JSON") from error
    if canonical(value) != text:
        raise ValueError(f"{name} is not in the form that was written")
    return value


def _number(text: str) -> int | float:
    value = int(text)
    return value if abs(value) <= _LARGEST_EXACT else float(text)


def _exact(value: int) -> int:
    if abs(value) > _LARGEST_EXACT:
        raise ValueError(f"the integer {value} is beyond what a double holds exactly")
    return value
