"""Brings the tables to the form that this version knows, inside the caller's transaction. Refuses newer forms."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, inspect, text

from adapters.trail.failures import StrangeForm

HEAD: Final = "0005"
"""The last step's name. Kept here so that a trail that is as it should be is opened without alembic, which takes a
quarter of a second to load."""

_MIGRATING: Final = threading.Lock()
"""Alembic keeps what it is doing in module globals: one migration at a time in a process."""


def is_current(connection: Connection) -> bool:
    """Whether the tables have this version's form."""
    if not inspect(connection).has_table("alembic_version"):
        return False
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalars().all() == [HEAD]


def migrate(connection: Connection) -> None:
    """Run the steps that are missing. Raises `StrangeForm` for tables that this version does not know."""
    from alembic import command  # noqa: PLC0415 - alembic is slow to load, and hardly ever needed
    from alembic.config import Config  # noqa: PLC0415 - as above
    from alembic.util.exc import CommandError  # noqa: PLC0415 - as above

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    with _MIGRATING:
        config.attributes["connection"] = connection
        try:
            command.upgrade(config, "head")
        except CommandError as error:
            raise StrangeForm(str(error)) from error
