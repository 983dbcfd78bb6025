"""The trail: events, heads, the store's id, and the triggers that keep events as they are."""

import uuid

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

NO_UPDATE = (
    "CREATE TRIGGER events_no_update BEFORE UPDATE ON events BEGIN "
    "SELECT RAISE(ABORT, 'the trail is append-only: no row is ever changed'); END"
)
NO_DELETE = (
    "CREATE TRIGGER events_no_delete BEFORE DELETE ON events BEGIN "
    "SELECT RAISE(ABORT, 'the trail is append-only: no row is ever removed'); END"
)
NO_REPLACE = (
    "CREATE TRIGGER events_no_replace BEFORE INSERT ON events WHEN "
    "EXISTS (SELECT 1 FROM events WHERE session = NEW.session AND sequence = NEW.sequence) OR "
    "EXISTS (SELECT 1 FROM events WHERE workflow_id = NEW.workflow_id AND ordinal = NEW.ordinal) "
    "BEGIN SELECT RAISE(ABORT, 'the trail is append-only: no row is ever replaced'); END"
)


def upgrade() -> None:
    """Make the three tables and the triggers, and give the store its id."""
    op.create_table(
        "events",
        sa.Column("session", sa.Text, primary_key=True),
        sa.Column("sequence", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("event_id", sa.Text, nullable=False),
        sa.Column("workflow_id", sa.Text, nullable=False),
        sa.Column("ordinal", sa.Integer, nullable=False),
        sa.Column("todo_id", sa.Text, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("action", sa.Text, nullable=False),
        sa.Column("before", sa.Text, nullable=False),
        sa.Column("after", sa.Text, nullable=False),
        sa.Column("payload", sa.Text, nullable=False),
        sa.Column("tool_call_id", sa.Text, nullable=False),
        sa.Column("correlation_id", sa.Text, nullable=False),
        sa.Column("caused_by", sa.Text, nullable=False),
        sa.Column("timestamp", sa.Text, nullable=False),
        sa.Column("previous_hash", sa.Text, nullable=False),
        sa.Column("hash", sa.Text, nullable=False),
        sa.UniqueConstraint("workflow_id", "ordinal", name="events_key"),
        sqlite_with_rowid=False,
    )
    op.create_index("events_attempt", "events", ["session", "todo_id", "attempt"])
    op.create_table(
        "heads",
        sa.Column("session", sa.Text, primary_key=True),
        sa.Column("sequence", sa.Integer, nullable=False),
        sa.Column("hash", sa.Text, nullable=False),
    )
    store = op.create_table("store", sa.Column("id", sa.Text, primary_key=True))
    op.bulk_insert(store, [{"id": str(uuid.uuid4())}])
    for trigger in (NO_UPDATE, NO_DELETE, NO_REPLACE):
        op.execute(trigger)
