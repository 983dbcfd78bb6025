"""What lists and polling agents read of sessions and todos, as further columns. What fills them comes after."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
NUMBER = sa.Integer().with_variant(sa.BigInteger(), "postgresql")


def upgrade() -> None:
    """Add the columns, each with a default, so that a process of the last version goes on beside this one."""
    _add("sessions", "deadline")
    _add("sessions", "todos", NUMBER, "0")
    for name in ("paused_for", "created_by"):
        _add("sessions", name, default="''")
    for name in ("deadline", "waiting_since"):
        _add("todos", name)
    for name in ("content", "question", "flag", "feedback", "retry_context", "order_digest", "claim", "snapshot"):
        _add("todos", name, default="''")
    for name in ("outcome", "created_by"):
        _add("todos", name, default="''")
    for name in ("depends_on", "evidence", "reasons"):
        _add("todos", name, default="'[]'")
    for name in ("order_index", "audits", "audit_cap", "revisions", "revision_cap", "granted"):
        _add("todos", name, NUMBER, "0")
    _add("todos", "version", NUMBER, "1")
    _add("todos", "time_left", sa.Double(), "0")


def _add(
    table: str, name: str, kind: sa.types.TypeEngine[str] | sa.types.TypeEngine[int] = TEXT, default: str = ""
) -> None:
    """A column that may be empty only where nothing else stands in it."""
    given = sa.text(default) if default else None
    op.add_column(table, sa.Column(name, kind, nullable=not default, server_default=given))
