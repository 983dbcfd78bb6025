"""The ledger: a row for each time that a request to a model was reserved. Nothing fills it but new requests."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
NUMBER = sa.Integer().with_variant(sa.BigInteger(), "postgresql")


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "ledger",
        sa.Column("key", TEXT, primary_key=True),
        sa.Column("number", NUMBER, primary_key=True, autoincrement=False),
        sa.Column("session", TEXT, nullable=False),
        sa.Column("todo", TEXT, nullable=False),
        sa.Column("attempt", NUMBER, nullable=False),
        sa.Column("role", TEXT, nullable=False),
        sa.Column("model", TEXT, nullable=False),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("estimate", NUMBER, nullable=False),
        sa.Column("micros", NUMBER, nullable=False),
        sa.Column("input_tokens", NUMBER, nullable=False),
        sa.Column("output_tokens", NUMBER, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("ledger_session", "ledger", ["session", "todo", "attempt"])
