"""Brings the tables to the form that this version knows, inside the caller's transaction. Refuses newer forms."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Final

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

_MIGRATING: Final = threading.Lock()
"""Alembic keeps what it is doing in module globals: one migration at a time in a process."""


def is_current(connection: Connection) -> bool:
    """Whether the tables have this version's form. Raises alembic's `CommandError` for one that it does not know."""
    script = ScriptDirectory.from_config(_config())
    revision = MigrationContext.configure(connection).get_current_revision()
    if revision is not None:
        script.get_revision(revision)
    return revision == script.get_current_head()


def migrate(connection: Connection) -> None:
    """Run the steps that are missing."""
    config = _config()
    with _MIGRATING:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    return config
