"""The trail's tables and guards as the code knows them; `migrations/` makes them, a test holds the two together."""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    text,
)

METADATA: Final = MetaData()
_EMPTY, _NO_LIST, _NONE, _ONE = (text(default) for default in ("''", "'[]'", "0", "1"))
"""What is in columns that came later, where an older version of the program adds the row."""

TEXT: Final = Text().with_variant(Text(collation="C"), "postgresql")
"""Text that sorts by code point in either database."""

NUMBER: Final = Integer().with_variant(BigInteger(), "postgresql")
"""A whole number up to 2**53 - 1."""

EVENTS: Final = Table(
    "events",
    METADATA,
    Column("session", TEXT, primary_key=True),
    Column("sequence", NUMBER, primary_key=True, autoincrement=False),
    Column("event_id", TEXT, nullable=False),
    Column("workflow_id", TEXT, nullable=False),
    Column("ordinal", NUMBER, nullable=False),
    Column("todo_id", TEXT, nullable=False),
    Column("attempt", NUMBER, nullable=False),
    Column("actor", TEXT, nullable=False),
    Column("action", TEXT, nullable=False),
    Column("before", TEXT, nullable=False),
    Column("after", TEXT, nullable=False),
    Column("payload", TEXT, nullable=False),
    Column("tool_call_id", TEXT, nullable=False),
    Column("correlation_id", TEXT, nullable=False),
    Column("caused_by", TEXT, nullable=False),
    Column("timestamp", TEXT, nullable=False),
    Column("previous_hash", TEXT, nullable=False),
    Column("hash", TEXT, nullable=False),
    UniqueConstraint("workflow_id", "ordinal", name="events_key"),
    Index("events_attempt", "session", "todo_id", "attempt"),
    sqlite_with_rowid=False,  # a hidden rowid would be one more way to replace a row
)
"""A row an event. JSON and times are text, so that what is read is byte for byte what was written."""

HEADS: Final = Table(
    "heads",
    METADATA,
    Column("session", TEXT, primary_key=True),
    Column("sequence", NUMBER, nullable=False),
    Column("hash", TEXT, nullable=False),
)
"""Every session's last row: what an append locks."""

STORE: Final = Table("store", METADATA, Column("id", TEXT, primary_key=True))
"""One row: this store's random id."""

SESSIONS: Final = Table(
    "sessions",
    METADATA,
    Column("session", TEXT, primary_key=True),
    Column("status", TEXT, nullable=False),
    Column("created_at", TEXT, nullable=False),
    Column("ended_at", TEXT),
    Column("deadline", TEXT),
    Column("todos", NUMBER, nullable=False, server_default=_NONE),
    Column("paused_for", TEXT, nullable=False, server_default=_EMPTY),
    Column("created_by", TEXT, nullable=False, server_default=_EMPTY),
    Column("version", NUMBER, nullable=False, server_default=_ONE),
    sqlite_with_rowid=False,
)

TODOS: Final = Table(
    "todos",
    METADATA,
    Column("session", TEXT, primary_key=True),
    Column("todo", TEXT, primary_key=True),
    Column("status", TEXT, nullable=False),
    Column("review_status", TEXT, nullable=False),
    Column("title", TEXT, nullable=False),
    Column("domain", TEXT, nullable=False),
    Column("parent", TEXT, nullable=False),
    Column("attempt", NUMBER, nullable=False),
    Column("trigger", TEXT, nullable=False),
    Column("created_at", TEXT, nullable=False),
    Column("updated_at", TEXT, nullable=False),
    Column("content", TEXT, nullable=False, server_default=_EMPTY),
    Column("depends_on", TEXT, nullable=False, server_default=_NO_LIST),
    Column("order_index", NUMBER, nullable=False, server_default=_NONE),
    Column("version", NUMBER, nullable=False, server_default=_ONE),
    Column("audits", NUMBER, nullable=False, server_default=_NONE),
    Column("audit_cap", NUMBER, nullable=False, server_default=_NONE),
    Column("revisions", NUMBER, nullable=False, server_default=_NONE),
    Column("revision_cap", NUMBER, nullable=False, server_default=_NONE),
    Column("granted", NUMBER, nullable=False, server_default=_NONE),
    Column("question", TEXT, nullable=False, server_default=_EMPTY),
    Column("deadline", TEXT),
    Column("time_left", Double(), nullable=False, server_default=_NONE),
    Column("flag", TEXT, nullable=False, server_default=_EMPTY),
    Column("feedback", TEXT, nullable=False, server_default=_EMPTY),
    Column("retry_context", TEXT, nullable=False, server_default=_EMPTY),
    Column("order_digest", TEXT, nullable=False, server_default=_EMPTY),
    Column("claim", TEXT, nullable=False, server_default=_EMPTY),
    Column("snapshot", TEXT, nullable=False, server_default=_EMPTY),
    Column("evidence", TEXT, nullable=False, server_default=_NO_LIST),
    Column("outcome", TEXT, nullable=False, server_default=_EMPTY),
    Column("reasons", TEXT, nullable=False, server_default=_NO_LIST),
    Column("created_by", TEXT, nullable=False, server_default=_EMPTY),
    Column("waiting_since", TEXT),
    sqlite_with_rowid=False,
)

ROUNDS: Final = Table(
    "rounds",
    METADATA,
    Column("session", TEXT, primary_key=True),
    Column("todo", TEXT, primary_key=True),
    Column("attempt", NUMBER, primary_key=True, autoincrement=False),
    Column("workflow_id", TEXT, nullable=False),
    Column("status", TEXT, nullable=False),
    Column("order", TEXT, nullable=False),
    Column("head", TEXT, nullable=False),
    Column("base", TEXT, nullable=False),
    Column("tree", TEXT, nullable=False),
    Column("image", TEXT, nullable=False),
    Column("verdict", TEXT, nullable=False),
    Column("outcome", TEXT, nullable=False),
    Column("trigger", TEXT, nullable=False),
    Column("reasons", TEXT, nullable=False),
    Column("record", TEXT, nullable=False),
    Column("report", TEXT, nullable=False),
    Column("started_at", TEXT, nullable=False),
    Column("ended_at", TEXT),
    sqlite_with_rowid=False,
)
"""The read model, `domain.read_model`: a column a field; times as in `events`, lists as JSON."""

LEDGER: Final = Table(
    "ledger",
    METADATA,
    Column("key", TEXT, primary_key=True),
    Column("number", NUMBER, primary_key=True, autoincrement=False),
    Column("session", TEXT, nullable=False),
    Column("todo", TEXT, nullable=False),
    Column("attempt", NUMBER, nullable=False),
    Column("role", TEXT, nullable=False),
    Column("model", TEXT, nullable=False),
    Column("state", TEXT, nullable=False),
    Column("estimate", NUMBER, nullable=False),
    Column("micros", NUMBER, nullable=False),
    Column("input_tokens", NUMBER, nullable=False),
    Column("output_tokens", NUMBER, nullable=False),
    Index("ledger_session", "session", "todo", "attempt"),
    sqlite_with_rowid=False,
)
"""What requests to models cost, `adapters.ledger`: no part of the trail, and kept with it."""

SQLITE_GUARDS: Final = {
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
    "heads_begin": (
        "CREATE TRIGGER heads_begin BEFORE INSERT ON heads WHEN NEW.sequence IS NOT 1 OR "
        "EXISTS (SELECT 1 FROM heads WHERE session = NEW.session) "
        "BEGIN SELECT RAISE(ABORT, 'the trail is append-only: a session begins once, with row 1'); END"
    ),
    "heads_forward": (
        "CREATE TRIGGER heads_forward BEFORE UPDATE ON heads WHEN "
        "NEW.session IS NOT OLD.session OR NEW.sequence IS NOT OLD.sequence + 1 "
        "BEGIN SELECT RAISE(ABORT, 'the trail is append-only: a head moves forward by one row'); END"
    ),
    "heads_no_delete": (
        "CREATE TRIGGER heads_no_delete BEFORE DELETE ON heads BEGIN "
        "SELECT RAISE(ABORT, 'the trail is append-only: no head is ever removed'); END"
    ),
}
"""Name and text of each trigger. Two watch INSERT because INSERT OR REPLACE deletes without a DELETE trigger."""

_REFUSE: Final = (
    "BEGIN RAISE EXCEPTION 'the trail is append-only: % on % is refused', lower(TG_OP), TG_TABLE_NAME "
    "USING ERRCODE = 'restrict_violation'; END"
)
_FORWARD: Final = (
    "BEGIN IF TG_OP = 'INSERT' AND NEW.sequence = 1 THEN RETURN NEW; END IF; "
    "IF TG_OP = 'UPDATE' AND NEW.session = OLD.session AND NEW.sequence = OLD.sequence + 1 THEN RETURN NEW; END IF; "
    "RAISE EXCEPTION 'the trail is append-only: a head begins at row 1 and moves forward by one row' "
    "USING ERRCODE = 'restrict_violation'; END"
)

POSTGRESQL_GUARDS: Final = {
    "events_append_only": (
        "A CREATE TRIGGER events_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON events "
        f"FOR EACH STATEMENT EXECUTE FUNCTION countersign_refuse() AS {_REFUSE}"
    ),
    "heads_forward": (
        "A CREATE TRIGGER heads_forward BEFORE INSERT OR UPDATE ON heads "
        f"FOR EACH ROW EXECUTE FUNCTION countersign_forward() AS {_FORWARD}"
    ),
    "heads_no_delete": (
        "A CREATE TRIGGER heads_no_delete BEFORE DELETE OR TRUNCATE ON heads "
        f"FOR EACH STATEMENT EXECUTE FUNCTION countersign_refuse() AS {_REFUSE}"
    ),
}
"""The triggers as the catalogue shows them: enabled "A" (always, whatever a session sets), text, function's body."""
