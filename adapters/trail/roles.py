"""The role that the application works as on PostgreSQL: its name, its rights, and what is needed to give them.

It can read and add rows, move heads forward, and write the read model and the ledger; tables, triggers and roles are
not its own.
"""

from __future__ import annotations

from typing import Final

from psycopg import sql
from sqlalchemy import Connection, text

from adapters.trail.failures import unusable
from domain.base import sha256_hex

RIGHTS: Final = {
    "events": ("SELECT", "INSERT"),
    "heads": ("SELECT", "INSERT", "UPDATE"),
    "store": ("SELECT",),
    "alembic_version": ("SELECT",),
    "sessions": ("SELECT", "INSERT", "UPDATE", "DELETE"),
    "todos": ("SELECT", "INSERT", "UPDATE", "DELETE"),
    "rounds": ("SELECT", "INSERT", "UPDATE", "DELETE"),
    "ledger": ("SELECT", "INSERT", "UPDATE"),
}
_FORBIDDEN: Final = {"events": ("UPDATE", "DELETE", "TRUNCATE"), "heads": ("DELETE", "TRUNCATE"), "store": ("UPDATE",)}
_LONGEST_NAME: Final = 63  # bytes, PostgreSQL's


def name_of(database: str) -> str:
    """The role's name: one for each database, because a server's databases share their roles."""
    name = f"countersign_app_{database}"
    return name if len(name.encode()) <= _LONGEST_NAME else f"countersign_app_{sha256_hex(database.encode())[:32]}"


def suffice(connection: Connection) -> bool:
    """Whether the connection's role has all that the application needs."""
    wanted = [(table, right) for table, rights in RIGHTS.items() for right in rights]
    return all(_has(connection, wanted))


def excess(connection: Connection) -> list[str]:
    """What the connection's role may do to rows, heads and the store's id, and should not be able to."""
    forbidden = [(table, right) for table, rights in _FORBIDDEN.items() for right in rights]
    found = _has(connection, forbidden)
    return [f"{right} on {table}" for (table, right), has in zip(forbidden, found, strict=True) if has]


def require_utf8(connection: Connection, place: str) -> None:
    """Raises `Unavailable` for a database that cannot hold every text."""
    encoding = connection.execute(text("SHOW server_encoding")).scalar()
    if encoding != "UTF8":
        raise unusable(
            f"the database {place} holds text as {encoding}", "make one with UTF-8: createdb --encoding=UTF8 NAME"
        )


def provide(connection: Connection, place: str, role: str, login: str | None) -> None:
    """Make the role where it is missing, give it its rights and nothing else, and let `login` set it.

    `login` of None is the connection's own user. Raises `Unavailable` when the owner may not do so.
    """
    user, may_make_roles = connection.execute(
        text("SELECT rolname, rolcreaterole OR rolsuper FROM pg_roles WHERE rolname = current_user")
    ).one()
    login = login or str(user)
    as_administrator = f'as an administrator, run: CREATE ROLE "{role}" NOLOGIN; GRANT "{role}" TO "{login}"'
    found = connection.execute(text("SELECT rolsuper FROM pg_roles WHERE rolname = :role"), {"role": role}).first()
    if found is None and not may_make_roles:
        raise unusable(
            f"the user {user!r} may not make the role {role!r} that the trail {place} needs", as_administrator
        )
    if found is not None and found.rolsuper:
        raise unusable(
            f"the role {role!r} is a superuser, whom no right holds back", f'run: ALTER ROLE "{role}" NOSUPERUSER'
        )
    if connection.execute(text("SELECT 1 FROM pg_roles WHERE rolname = :login"), {"login": login}).first() is None:
        raise unusable(
            f"there is no user {login!r} on the server of {place}", f'run: CREATE ROLE "{login}" LOGIN PASSWORD ...'
        )
    if found is None:
        _run(connection, "CREATE ROLE {} NOLOGIN", role)
    _give_rights(connection, role)
    if not _may_set(connection, login, role):
        if not may_make_roles:
            raise unusable(f"the user {login!r} may not work as the role {role!r} in {place}", as_administrator)
        _run(connection, "GRANT {} TO {}", role, login)


def _give_rights(connection: Connection, role: str) -> None:
    schema = str(connection.execute(text("SELECT current_schema()")).scalar())
    _run(connection, "GRANT USAGE ON SCHEMA {} TO {}", schema, role)
    for table, rights in RIGHTS.items():
        _run(connection, "REVOKE ALL ON {} FROM {}", table, role)
        _run(connection, f"GRANT {', '.join(rights)} ON {{}} TO {{}}", table, role)


def _may_set(connection: Connection, login: str, role: str) -> bool:
    """Whether `SET ROLE` will do; from PostgreSQL 16 on, members may lack just that."""
    version = connection.dialect.server_version_info or (0,)
    kind = "SET" if version >= (16,) else "MEMBER"
    question = text("SELECT pg_has_role(:login, :role, :kind)")
    return bool(connection.execute(question, {"login": login, "role": role, "kind": kind}).scalar())


def _has(connection: Connection, wanted: list[tuple[str, str]]) -> list[bool]:
    asked = ", ".join(f"has_table_privilege('{table}', '{right}')" for table, right in wanted)
    return [bool(has) for has in connection.execute(text(f"SELECT {asked}")).one()]


def _run(connection: Connection, statement: str, *names: str) -> None:
    """A statement with names in it, which cannot be parameters."""
    composed = sql.SQL(statement).format(*map(sql.Identifier, names))
    connection.connection.cursor().execute(composed)
