"""A row of the trail as one line for people. What the fields mean is in `event_kinds`.

Source: seed `guardrails` "Audit Log Example".
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime

from pydantic import JsonValue

from domain.event_kinds import KINDS
from domain.events import Action, TrailRow

LABELS: dict[str, Action] = {kind.label: action for action, kind in KINDS.items()}
"""The action behind each word."""

_SPECIAL = frozenset(" ,=[]'\"\\")
"""What separates and quotes in a line, and is quoted itself."""


def line(row: TrailRow, name: str = "", actor: str = "") -> str:
    """The row as one line. `name` and `actor` stand for the label and the row's own actor where they are given.

    Nothing in it breaks the line, steers a terminal or passes for another field: such values are quoted. An action
    that a newer version wrote is shown under its own name, without fields.
    """
    label, shown = _label(row)
    subject = ("id", row.todo_id) if row.todo_id else ("session", row.session)
    fields = [subject, *((field, row.payload.get(field)) for field in shown)]
    fields += [("tool_call_id", row.tool_call_id), ("established", row.payload.get("established"))]
    fields += [("actor", actor or str(row.actor))]
    return written(row.timestamp, plain(name) if name else label, fields)


def written(moment: datetime, name: str, fields: Iterable[tuple[str, JsonValue]]) -> str:
    """Time, name and fields on one line; fields that are empty are left out, zero and false are not."""
    when = moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return " ".join([when, name, *(f"{key}={plain(value)}" for key, value in fields if value not in (None, "", []))])


def plain(value: JsonValue) -> str:
    """`value` on one line, for a terminal: as it is where that is safe, quoted and escaped where not."""
    if isinstance(value, list):
        return "[" + ", ".join(plain(item) for item in value) + "]"
    text = value if isinstance(value, str) else json.dumps(value)
    return text if all(c.isprintable() and c not in _SPECIAL for c in text) else repr(text)


def _label(row: TrailRow) -> tuple[str, tuple[str, ...]]:
    for action, kind in KINDS.items():
        if action == row.action:
            return kind.label, kind.shown
    return plain(row.action.upper()), ()
