"""The trail: events, heads, the store's id, and the triggers that keep events as they are.

For PostgreSQL it was written together with the second revision, before any store was made there.
"""

import uuid

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
NUMBER = sa.Integer().with_variant(sa.BigInteger(), "postgresql")

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
REFUSE = """
CREATE FUNCTION countersign_refuse() RETURNS trigger LANGUAGE plpgsql AS $$\
BEGIN RAISE EXCEPTION 'the trail is append-only: % on % is refused', lower(TG_OP), TG_TABLE_NAME \
USING ERRCODE = 'restrict_violation'; END$$
"""
APPEND_ONLY = (
    "CREATE TRIGGER events_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON events "
    "FOR EACH STATEMENT EXECUTE FUNCTION countersign_refuse()"
)
ALWAYS = "ALTER TABLE events ENABLE ALWAYS TRIGGER events_append_only"

GUARDS = {"sqlite": (NO_UPDATE, NO_DELETE, NO_REPLACE), "postgresql": (REFUSE, APPEND_ONLY, ALWAYS)}


def upgrade() -> None:
    """Make the three tables and the triggers, and give the store its id."""
    op.create_table(
        "events",
        sa.Column("session", TEXT, primary_key=True),
        sa.Column("sequence", NUMBER, primary_key=True, autoincrement=False),
        sa.Column("event_id", TEXT, nullable=False),
        sa.Column("workflow_id", TEXT, nullable=False),
        sa.Column("ordinal", NUMBER, nullable=False),
        sa.Column("todo_id", TEXT, nullable=False),
        sa.Column("attempt", NUMBER, nullable=False),
        sa.Column("actor", TEXT, nullable=False),
        sa.Column("action", TEXT, nullable=False),
        sa.Column("before", TEXT, nullable=False),
        sa.Column("after", TEXT, nullable=False),
        sa.Column("payload", TEXT, nullable=False),
        sa.Column("tool_call_id", TEXT, nullable=False),
        sa.Column("correlation_id", TEXT, nullable=False),
        sa.Column("caused_by", TEXT, nullable=False),
        sa.Column("timestamp", TEXT, nullable=False),
        sa.Column("previous_hash", TEXT, nullable=False),
        sa.Column("hash", TEXT, nullable=False),
        sa.UniqueConstraint("workflow_id", "ordinal", name="events_key"),
        sqlite_with_rowid=False,
    )
    op.create_index("events_attempt", "events", ["session", "todo_id", "attempt"])
    op.create_table(
        "heads",
        sa.Column("session", TEXT, primary_key=True),
        sa.Column("sequence", NUMBER, nullable=False),
        sa.Column("hash", TEXT, nullable=False),
    )
    store = op.create_table("store", sa.Column("id", TEXT, primary_key=True))
    op.bulk_insert(store, [{"id": str(uuid.uuid4())}])
    for statement in GUARDS[op.get_bind().dialect.name]:
        op.execute(statement)
