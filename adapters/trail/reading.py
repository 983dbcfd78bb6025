"""Reads rows of a trail in SQLite without SQLAlchemy, whose loading takes longer than the reading. It writes nothing.

For commands that answer from the trail alone. Everything else goes through `sql`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Final

from adapters.trail import chain
from domain.errors import Cause, Unavailable
from domain.events import RowFilter, TrailRow

_SECONDS: Final = 3.0
"""How long a writer is waited for; with the write-ahead log none keeps readers out."""


class SqliteRows:
    """The rows of the database at `path`, which is there."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def rows(self, wanted: RowFilter) -> Iterator[TrailRow]:
        """The rows of `wanted`'s session, todo, attempt and actions, by sequence. Nothing else of a filter is known.

        Hashes are not checked here, as in `sql`. Raises `Unavailable`.
        """
        conditions = {"session": wanted.session, "todo_id": wanted.todo, "attempt": wanted.attempt}
        given = {name: value for name, value in conditions.items() if value is not None}
        if wanted != RowFilter(
            session=wanted.session, todo=wanted.todo, attempt=wanted.attempt, actions=wanted.actions
        ):
            raise ValueError(f"only session, todo, attempt and actions are filtered by here, not {wanted!r}")
        where = [f"{name} = ?" for name in given]
        if wanted.actions:
            where.append(f"action IN ({', '.join('?' for _ in wanted.actions)})")
        query = f"SELECT * FROM events WHERE {' AND '.join(where) or '1'} ORDER BY session, sequence"  # noqa: S608 - our names
        try:
            with closing(self._opened()) as connection:
                cursor = connection.execute(query, (*given.values(), *wanted.actions))
                names = [column[0] for column in cursor.description]
                for record in cursor:
                    yield chain.from_record(dict(zip(names, record, strict=True)))
        except (sqlite3.Error, ValueError) as error:
            raise Unavailable(
                Cause.STORE_UNAVAILABLE,
                f"The trail {self._path} cannot be read: {error}",
                "Run `countersign log verify`, which says what is wrong with it.",
            ) from error

    def _opened(self) -> sqlite3.Connection:
        connection = sqlite3.connect(f"{self._path.absolute().as_uri()}?mode=ro", uri=True, timeout=_SECONDS)
        connection.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
        return connection
