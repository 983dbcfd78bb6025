"""The trail's tables and triggers as the code knows them; `migrations/` makes them, a test holds the two together."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Column, Index, Integer, MetaData, Table, Text, UniqueConstraint

METADATA: Final = MetaData()

EVENTS: Final = Table(
    "events",
    METADATA,
    Column("session", Text, primary_key=True),
    Column("sequence", Integer, primary_key=True, autoincrement=False),
    Column("event_id", Text, nullable=False),
    Column("workflow_id", Text, nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("todo_id", Text, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("actor", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("before", Text, nullable=False),
    Column("after", Text, nullable=False),
    Column("payload", Text, nullable=False),
    Column("tool_call_id", Text, nullable=False),
    Column("correlation_id", Text, nullable=False),
    Column("caused_by", Text, nullable=False),
    Column("timestamp", Text, nullable=False),
    Column("previous_hash", Text, nullable=False),
    Column("hash", Text, nullable=False),
    UniqueConstraint("workflow_id", "ordinal", name="events_key"),
    Index("events_attempt", "session", "todo_id", "attempt"),
    sqlite_with_rowid=False,  # a hidden rowid would be one more way to replace a row
)
"""A row an event. JSON and times are text, so that what is read is byte for byte what was written."""

HEADS: Final = Table(
    "heads",
    METADATA,
    Column("session", Text, primary_key=True),
    Column("sequence", Integer, nullable=False),
    Column("hash", Text, nullable=False),
)
"""Every session's last row: what an append locks."""

STORE: Final = Table("store", METADATA, Column("id", Text, primary_key=True))
"""One row: this store's random id."""

SQLITE_TRIGGERS: Final = {
    "events_no_update": (
        "CREATE TRIGGER events_no_update BEFORE UPDATE ON events BEGIN "
        "SELECT RAISE(ABORT, 'the trail is append-only: no row is ever changed'); END"
    ),
    "events_no_delete": (
        "CREATE TRIGGER events_no_delete BEFORE DELETE ON events BEGIN "
        "SELECT RAISE(ABORT, 'the trail is append-only: no row is ever removed'); END"
    ),
    "events_no_replace": (
        "CREATE TRIGGER events_no_replace BEFORE INSERT ON events WHEN "
        "EXISTS (SELECT 1 FROM events WHERE session = NEW.session AND sequence = NEW.sequence) OR "
        "EXISTS (SELECT 1 FROM events WHERE workflow_id = NEW.workflow_id AND ordinal = NEW.ordinal) "
        "BEGIN SELECT RAISE(ABORT, 'the trail is append-only: no row is ever replaced'); END"
    ),
}
"""Name and text of each trigger. The third is there because INSERT OR REPLACE deletes without a DELETE trigger."""
