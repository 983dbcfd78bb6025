"""The trail's database on a PostgreSQL server, where the application works as a role that can only read and add rows.

That role is the database's own, `countersign_app_DATABASE`, and may not log in; every connection sets it. The tables
belong to another: the user of `owner_url`, or, without one, the same user before it sets the role.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any, Final

import psycopg
from psycopg import sql
from sqlalchemy import URL, Connection, Dialect, Engine, NullPool, create_engine, event, text
from sqlalchemy.exc import DBAPIError

from adapters.trail import roles
from adapters.trail.database import Fill, place_of
from adapters.trail.failures import unusable
from adapters.trail.migrate import is_current, migrate
from adapters.trail.schema import POSTGRESQL_GUARDS

LONG_READ_SECONDS: Final = 60
"""For one statement that reads everything: `verify` and `rebuild`."""

_LONGER_THAN_A_LOCK: Final = 500  # milliseconds, so that a lock is told as what it is
_OPENING: Final = 0x636F756E746572  # an advisory lock of ours in this database
_NOT_YET: Final = ("3F000", "42P01", "42501", "22023")
"""No such schema, table, right or role: the owner has something to do before the application can work."""

_GUARDS: Final = text(
    "SELECT t.tgname, CAST(t.tgenabled AS text) || ' ' || pg_get_triggerdef(t.oid, true) || ' AS ' || p.prosrc "
    "FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid "
    "WHERE NOT t.tgisinternal AND t.tgrelid = ANY(CAST(:tables AS regclass[])) "
    "UNION ALL SELECT r.rulename, pg_get_ruledef(r.oid, true) "
    "FROM pg_rewrite r WHERE r.ev_class = ANY(CAST(:tables AS regclass[]))"
)


class PostgresqlDatabase:
    """`Database` on a server. Connecting, a statement and a lock may each take `timeout` seconds.

    Raises `Unavailable` for what a person must do first: make the database, let the user make tables or the role.
    """

    def __init__(self, url: URL, owner_url: URL | None, timeout: float) -> None:
        self.place = place_of(url)
        self.taken: type[Exception] = psycopg.IntegrityError
        self.guards: Mapping[str, str] = POSTGRESQL_GUARDS
        self._timeout = timeout
        self._login = url.username
        self._role = roles.name_of(str(url.database))
        self._engine = self._connecting(url, pool_pre_ping=True, pool_timeout=timeout)
        self.dialect: Dialect = self._engine.dialect
        self._owner = self._connecting(owner_url or url, poolclass=NullPool)
        event.listen(self._engine, "connect", self._set_up)

    def prepare(self, fill: Fill) -> None:
        """See that the application can work; else make or migrate the tables, the role and its rights, as their owner.

        Needs the owner only when something is to be made.
        """
        if self._is_ready():
            return
        with self._owner.begin() as connection:
            self._set_timeouts(connection.connection.dbapi_connection)
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _OPENING})
            roles.require_utf8(connection, self.place)
            if not is_current(connection):
                migrate(connection)
                fill(connection)
            roles.provide(connection, self.place, self._role, self._login)
        if not self._is_ready():
            raise unusable(
                f"the user {self._login!r} cannot work as the role {self._role!r} in {self.place}",
                f'as an administrator, run: GRANT "{self._role}" TO "{self._login}"',
            )

    @contextmanager
    def appending(self) -> Iterator[psycopg.Cursor[Any]]:
        """A transaction whose `SELECT ... FOR UPDATE` of the head says who comes first."""
        with closing(self._engine.raw_connection()) as pooled:
            connection = pooled.dbapi_connection
            assert isinstance(connection, psycopg.Connection)
            try:
                with connection.transaction():
                    yield connection.cursor()
            finally:
                if connection.closed:  # the server is gone, and so the pool has nothing to reset
                    pooled.invalidate()

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction through SQLAlchemy."""
        with self._engine.begin() as connection:
            yield connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """One snapshot for all statements, and time for long ones."""
        with self._engine.connect() as connection:
            connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            connection.exec_driver_sql(f"SET LOCAL statement_timeout = '{LONG_READ_SECONDS}s'")
            yield connection

    @contextmanager
    def alone(self) -> Iterator[Connection]:
        """Appends begin with their session's head, so who has all heads is alone."""
        with self._engine.begin() as connection:
            connection.exec_driver_sql(f"SET LOCAL statement_timeout = '{LONG_READ_SECONDS}s'")
            connection.exec_driver_sql("LOCK TABLE heads IN EXCLUSIVE MODE")
            yield connection

    def found_guards(self, connection: Connection) -> dict[str, str]:
        """Every trigger and rule on the trail's tables."""
        return {
            str(name): str(definition)
            for name, definition in connection.execute(_GUARDS, {"tables": list(roles.RIGHTS)})
        }

    def excess_rights(self, connection: Connection) -> list[str]:
        """What the role may do, beyond what it was given, to the rows and their heads."""
        return roles.excess(connection)

    def close(self) -> None:
        """Close the connections that are open."""
        self._engine.dispose()
        self._owner.dispose()

    def _is_ready(self) -> bool:
        """Whether the application's own connections find tables of this version and the rights that they need."""
        try:
            with self._engine.connect() as connection:
                return is_current(connection) and roles.suffice(connection)
        except (DBAPIError, psycopg.Error) as error:
            if getattr(getattr(error, "orig", error), "sqlstate", None) in _NOT_YET:
                return False
            raise

    def _connecting(self, url: URL, **options: Any) -> Engine:
        limits = {
            "connect_timeout": max(2, math.ceil(self._timeout)),  # seconds; libpq's least is 2
            "tcp_user_timeout": round(self._timeout * 1000),
            "application_name": "countersign",
        }
        return create_engine(url, connect_args=limits, hide_parameters=True, use_native_hstore=False, **options)

    def _set_up(self, connection: Any, _: object) -> None:
        """A new connection of the application: it sets its role before anything else is asked of it."""
        try:
            self._set_timeouts(connection)
            connection.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(self._role)))
            connection.commit()
        except BaseException:
            connection.close()  # the pool does not know it yet
            raise

    def _set_timeouts(self, connection: Any) -> None:
        milliseconds = round(self._timeout * 1000)
        connection.execute(sql.SQL("SET lock_timeout = {}").format(sql.Literal(milliseconds)))
        connection.execute(
            sql.SQL("SET statement_timeout = {}").format(sql.Literal(milliseconds + _LONGER_THAN_A_LOCK))
        )
        # A server may be set to acknowledge what it could still lose.
        connection.execute(
            "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
        )
