"""The read model in its tables: what a row changes there, what they hold, and putting them right. It opens nothing.

Both databases speak the same `INSERT ... ON CONFLICT`, so the statements are text, made once for each set of columns.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final, NamedTuple

from pydantic import TypeAdapter, ValidationError
from sqlalchemy import Connection, Select, TextClause, delete, select, text
from sqlalchemy import Table as SqlTable

from adapters.trail import chain
from adapters.trail.schema import ROUNDS, SESSIONS, TODOS
from domain.events import TrailEntry
from domain.read_model import KEYS, TABLES, VIEWS, Change, Difference, State, Table, changes

_TABLES: Final[dict[Table, SqlTable]] = {"sessions": SESSIONS, "todos": TODOS, "rounds": ROUNDS}
_FIELDS: Final = {
    table: {name: TypeAdapter[Any](field.rebuild_annotation()) for name, field in view.model_fields.items()}
    for table, view in VIEWS.items()
}
_LISTS: Final = frozenset({"reasons", "depends_on", "evidence"})
_TEXTS: Final = TypeAdapter(tuple[str, ...])


class Write(NamedTuple):
    """One statement and its values: a view is made, or changed where it stands."""

    statement: TextClause
    values: dict[str, str | int | float | None]


def writes(entry: TrailEntry) -> list[Write]:
    """What storing `entry` writes. Raises `ValueError` for a value that its view or a database cannot hold."""
    return [_write(change) for change in changes(entry)]


def read(
    connection: Connection, session: str | None = None, todo: str | None = None, tables: Collection[Table] = TABLES
) -> State:
    """What the tables hold; `todo` leaves sessions as they are. Raises `ValueError` for what was not written here."""
    found: dict[str, list[dict[str, Any]]] = {}
    for name in tables:
        table = _TABLES[name]
        query = _wanted(table, session, todo).order_by(*(table.c[key] for key in KEYS[name]))
        found[name] = [_decoded(dict(row)) for row in connection.execute(query).mappings()]
    return State.model_validate(found)


def repair(connection: Connection, found: tuple[Difference, ...]) -> None:
    """Make each view that differs what the rows make of it."""
    for difference in found:
        table = _TABLES[difference.table]
        if difference.derived is None:
            key = zip(KEYS[difference.table], difference.key, strict=True)
            connection.execute(delete(table).where(*(table.c[name] == value for name, value in key)))
        else:
            change = Change(table=difference.table, key=difference.key, values=_beside_the_key(difference))
            connection.execute(*_write(change))


def clear(connection: Connection) -> None:
    """Empty the tables."""
    for table in _TABLES.values():
        connection.execute(delete(table))


def _write(change: Change) -> Write:
    key = dict(zip(KEYS[change.table], change.key, strict=True))
    row = {**key, **change.initial, **change.values, **({change.counted: 1} if change.counted else {})}
    given = {name: _encoded(change.table, name, value) for name, value in row.items()}
    values = {**_defaults(change.table), **given}
    return Write(_upsert(change.table, frozenset(change.values), change.counted), values)


@lru_cache
def _defaults(table: Table) -> dict[str, str | int | float | None]:
    """What a new view has in its columns where its row says nothing."""
    fields = VIEWS[table].model_fields.items()
    return {name: _encoded(table, name, field.default) for name, field in fields if not field.is_required()}


@lru_cache
def _upsert(table: Table, changed: frozenset[str], counted: str) -> TextClause:
    columns = list(VIEWS[table].model_fields)
    names = ", ".join(f'"{name}"' for name in columns)
    values = ", ".join(f":{name}" for name in columns)
    keys = ", ".join(f'"{name}"' for name in KEYS[table])
    sets = [f'"{name}" = excluded."{name}"' for name in sorted(changed)]
    sets += [f'"{counted}" = {table}."{counted}" + 1'] if counted else []
    action = f"DO UPDATE SET {', '.join(sets)}" if sets else "DO NOTHING"
    statement = f"INSERT INTO {table} ({names}) VALUES ({values}) ON CONFLICT ({keys}) {action}"  # noqa: S608 - our names
    return text(statement)


def _encoded(table: Table, name: str, value: Any) -> str | int | float | None:
    """The value as its column holds it."""
    try:
        valid = _FIELDS[table][name].validate_python(value)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        raise ValueError(f"{name} of {table}: {first['msg']}") from error
    if isinstance(valid, datetime):
        return chain.utc_text(valid)
    if isinstance(valid, StrEnum):
        return valid.value
    if isinstance(valid, tuple):
        return chain.canonical(list(valid))
    if isinstance(valid, str) and "\0" in valid:
        raise ValueError(f"{name} of {table} has a NUL character in it")
    assert isinstance(valid, str | int | float | None)
    return valid


def _decoded(row: dict[str, Any]) -> dict[str, Any]:
    lists = {name: _TEXTS.validate_json(row[name]) for name in _LISTS & row.keys()}
    return {**row, **lists}


def _beside_the_key(difference: Difference) -> Mapping[str, Any]:
    assert difference.derived is not None
    return {name: value for name, value in difference.derived.items() if name not in KEYS[difference.table]}


def _wanted(table: SqlTable, session: str | None, todo: str | None) -> Select[Any]:
    query = select(table)
    if session is not None:
        query = query.where(table.c.session == session)
    if todo is not None and "todo" in table.c:
        query = query.where(table.c.todo == todo)
    return query
