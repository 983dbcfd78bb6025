"""The version of a session, as a further column. Sessions that there are stay at 1 until something befalls them."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

NUMBER = sa.Integer().with_variant(sa.BigInteger(), "postgresql")


def upgrade() -> None:
    """Add the column, with a default, so that a process of the last version goes on beside this one."""
    op.add_column("sessions", sa.Column("version", NUMBER, nullable=False, server_default=sa.text("1")))
