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
from typing import Any, Final

import rfc8785
from pydantic import JsonValue, ValidationError

from domain.base import sha256_hex
from domain.events import TrailEntry, TrailRef, TrailRow

GENESIS: Final = "0" * 64
_EVENTS: Final = uuid.UUID("6f0f4b0e-6d0a-5c39-9a3e-3f5a1c1f7b52")
_LARGEST_EXACT: Final = 2**53 - 1
_JSON_COLUMNS: Final = ("actor", "before", "after", "payload")

Record = dict[str, str | int]
"""A row as a table holds it: text and whole numbers only."""


def seal(entry: TrailEntry, sequence: int, previous_hash: str) -> TrailRow:
    """The row that `entry` becomes at `sequence`, after the row whose hash is `previous_hash`.

    Raises `ValueError` for a time without a zone, for a number that a double cannot hold (an integer beyond 2**53 - 1,
    not-a-number, infinity) and for text that is no Unicode (half of a surrogate pair).
    """
    body = entry.model_dump()
    body.update(
        event_id=event_id(entry.workflow_id, entry.ordinal),
        sequence=sequence,
        previous_hash=previous_hash,
        timestamp=utc_text(entry.timestamp),
    )
    return TrailRow.model_validate({**body, "hash": sha256_hex(_canonical(body))})


def content_hash(row: TrailRow) -> str:
    """The hash that `row` should carry. Raises `ValueError` as `seal` does."""
    body = row.model_dump(exclude={"hash"})
    return sha256_hex(_canonical({**body, "timestamp": utc_text(row.timestamp)}))


def event_id(workflow_id: str, ordinal: int) -> str:
    """The id of the event with this key: the same on every machine."""
    return str(uuid.uuid5(_EVENTS, f"{workflow_id}\n{ordinal}"))


def same_body(entry: TrailEntry, stored: TrailRow) -> bool:
    """Whether `stored` is what `entry` became: equal but for spelling (1 and 1.0, a time in another zone)."""
    return seal(entry, stored.sequence, stored.previous_hash).hash == stored.hash


def ref(row: TrailRow) -> TrailRef:
    """Where `row` is."""
    return TrailRef(event_id=row.event_id, sequence=row.sequence, hash=row.hash)


def to_record(row: TrailRow) -> Record:
    """`row` as the columns of the table `events`."""
    body = row.model_dump()
    texts = {name: _canonical(body[name]).decode() for name in _JSON_COLUMNS}
    return {**body, **texts, "timestamp": utc_text(row.timestamp)}


def from_record(record: Mapping[str, Any]) -> TrailRow:
    """The row in these columns. Raises `ValueError` for anything that `to_record` does not write."""
    for name, value in record.items():
        if type(value) is not (int if name in ("ordinal", "sequence", "attempt") else str):
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


def _canonical(value: Any) -> bytes:
    try:
        return rfc8785.dumps(value)
    except UnicodeEncodeError as error:  # half a surrogate pair in a key escapes the library's own error
        raise ValueError("text that is no Unicode") from error
    except RecursionError as error:
        raise ValueError("too many values inside each other") from error


def _parse(name: str, text: str) -> JsonValue:
    """The JSON value; a whole number that only a double can hold becomes one, as RFC 8785 wrote it."""
    try:
        value: JsonValue = json.loads(text, parse_int=_number)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{name} is no JSON") from error
    if _canonical(value).decode() != text:
        raise ValueError(f"{name} is not in the form that was written")
    return value


def _number(text: str) -> int | float:
    value = int(text)
    return value if abs(value) <= _LARGEST_EXACT else float(text)
