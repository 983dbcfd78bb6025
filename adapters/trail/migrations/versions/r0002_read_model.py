"""The read model's tables, and the triggers by which heads only move forward. What fills the tables comes after."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
NUMBER = sa.Integer().with_variant(sa.BigInteger(), "postgresql")

BEGIN = (
    "CREATE TRIGGER heads_begin BEFORE INSERT ON heads WHEN NEW.sequence IS NOT 1 OR "
    "EXISTS (SELECT 1 FROM heads WHERE session = NEW.session) "
    "BEGIN SELECT RAISE(ABORT, 'the trail is append-only: a session begins once, with row 1'); END"
)
FORWARD = (
    "CREATE TRIGGER heads_forward BEFORE UPDATE ON heads WHEN "
    "NEW.session IS NOT OLD.session OR NEW.sequence IS NOT OLD.sequence + 1 "
    "BEGIN SELECT RAISE(ABORT, 'the trail is append-only: a head moves forward by one row'); END"
)
NO_DELETE = (
    "CREATE TRIGGER heads_no_delete BEFORE DELETE ON heads BEGIN "
    "SELECT RAISE(ABORT, 'the trail is append-only: no head is ever removed'); END"
)
FORWARD_FUNCTION = """
CREATE FUNCTION countersign_forward() RETURNS trigger LANGUAGE plpgsql AS $$\
BEGIN IF TG_OP = 'INSERT' AND NEW.sequence = 1 THEN RETURN NEW; END IF; \
IF TG_OP = 'UPDATE' AND NEW.session = OLD.session AND NEW.sequence = OLD.sequence + 1 THEN RETURN NEW; END IF; \
RAISE EXCEPTION 'the trail is append-only: a head begins at row 1 and moves forward by one row' \
USING ERRCODE = 'restrict_violation'; END$$
"""
FORWARD_ROWS = (
    "CREATE TRIGGER heads_forward BEFORE INSERT OR UPDATE ON heads FOR EACH ROW EXECUTE FUNCTION countersign_forward()"
)
NO_REMOVAL = (
    "CREATE TRIGGER heads_no_delete BEFORE DELETE OR TRUNCATE ON heads "
    "FOR EACH STATEMENT EXECUTE FUNCTION countersign_refuse()"
)
ALWAYS = [f"ALTER TABLE heads ENABLE ALWAYS TRIGGER {name}" for name in ("heads_forward", "heads_no_delete")]

GUARDS = {
    "sqlite": (BEGIN, FORWARD, NO_DELETE),
    "postgresql": (FORWARD_FUNCTION, FORWARD_ROWS, NO_REMOVAL, *ALWAYS),
}


def upgrade() -> None:
    """Make the three tables, and guard the heads."""
    op.create_table(
        "sessions",
        sa.Column("session", TEXT, primary_key=True),
        *_texts("status", "created_at"),
        sa.Column("ended_at", TEXT),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "todos",
        sa.Column("session", TEXT, primary_key=True),
        sa.Column("todo", TEXT, primary_key=True),
        *_texts("status", "review_status", "title", "domain", "parent"),
        sa.Column("attempt", NUMBER, nullable=False),
        *_texts("trigger", "created_at", "updated_at"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "rounds",
        sa.Column("session", TEXT, primary_key=True),
        sa.Column("todo", TEXT, primary_key=True),
        sa.Column("attempt", NUMBER, primary_key=True, autoincrement=False),
        *_texts("workflow_id", "status", "order", "head", "base", "tree", "image"),
        *_texts("verdict", "outcome", "trigger", "reasons", "record", "report", "started_at"),
        sa.Column("ended_at", TEXT),
        sqlite_with_rowid=False,
    )
    for statement in GUARDS[op.get_bind().dialect.name]:
        op.execute(statement)


def _texts(*names: str) -> list[sa.Column[str]]:
    return [sa.Column(name, TEXT, nullable=False) for name in names]
