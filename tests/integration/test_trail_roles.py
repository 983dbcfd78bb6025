"""Who may do what on a PostgreSQL server: owners, logins, the application's role; and what is said where one lacks."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from adapters.trail import SqlTrail
from adapters.trail.roles import name_of
from domain.errors import Cause, Unavailable
from tests.integration.test_trail_sqlite import PATIENT_SECONDS, entry
from tests.postgres import PASSWORD, Cluster

NUMBERS = itertools.count(1)


@dataclass
class House:
    """A database with an owner and a login of its own, named alike."""

    cluster: Cluster
    folder: Path
    closing: ExitStack
    name: str = field(default_factory=lambda: f"house_{next(NUMBERS)}")

    def make(self, owner: str = "LOGIN") -> None:
        self.cluster.create_role(self.owner, owner)
        self.cluster.create_role(self.login)
        self.cluster.create_database(self.name, self.owner)

    @property
    def owner(self) -> str:
        return f"{self.name}_owner"

    @property
    def login(self) -> str:
        return f"{self.name}_login"

    def open(self, user: str, owner: str | None = None) -> SqlTrail:
        owner_url = self.cluster.url(self.name, owner) if owner else None
        url, heads = self.cluster.url(self.name, user), self.folder / "heads.jsonl"
        trail = SqlTrail(url, heads, PATIENT_SECONDS, owner_url=owner_url)
        self.closing.callback(trail.close)
        return trail

    def refused(self, user: str, owner: str | None = None) -> Unavailable:
        with pytest.raises(Unavailable) as raised:
            self.open(user, owner)
        assert raised.value.cause is Cause.STORE_UNAVAILABLE
        assert PASSWORD not in f"{raised.value} {raised.value.__cause__}"
        return raised.value

    def administer(self, *statements: str) -> None:
        for statement in statements:
            self.cluster.execute(sql.SQL(statement))


@pytest.fixture
def house(postgres_cluster: Cluster, tmp_path: Path) -> Iterator[House]:
    with ExitStack() as closing:
        made = House(postgres_cluster, tmp_path, closing)
        closing.callback(lambda: postgres_cluster.drop_database(made.name))
        yield made


def works(trail: SqlTrail) -> bool:
    sequence = trail.append(entry(sum(1 for _ in trail.rows()))).sequence
    check = trail.verify()
    return (check.rows, check.faults, check.unproven) == (sequence, (), ())


def test_an_owner_makes_the_tables_and_a_login_without_rights_works(house: House) -> None:
    house.make("LOGIN CREATEROLE")
    assert "cannot" in house.refused(house.login).reason or "does not let" in house.refused(house.login).reason
    assert works(house.open(house.login, house.owner))
    assert works(house.open(house.login)), "once made, the owner is not needed"
    with psycopg.connect(house.cluster.url(house.name, house.login)) as connection:
        connection.execute("RESET ROLE")
        for statement in ("DELETE FROM events", "TRUNCATE heads", "ALTER TABLE events DISABLE TRIGGER ALL"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege), connection.transaction():
                connection.execute(statement)


def test_one_user_for_both_works_as_the_role(house: House) -> None:
    house.make("LOGIN CREATEROLE")
    trail = house.open(house.owner)
    assert works(trail)
    with trail._database.reading() as connection:
        assert connection.exec_driver_sql("SELECT current_user").scalar() == name_of(house.name)


def test_a_user_who_may_make_no_roles_is_told_what_an_administrator_runs(house: House) -> None:
    house.make()
    error = house.refused(house.owner)
    assert f"may not make the role '{name_of(house.name)}'" in error.reason
    told = error.next_step.partition("run: ")[2].split("; ")
    house.administer(*told)
    assert works(house.open(house.owner))


def test_a_login_that_may_not_set_the_role(house: House) -> None:
    house.make()
    house.administer(f'CREATE ROLE "{name_of(house.name)}" NOLOGIN')
    error = house.refused(house.login, house.owner)
    assert f"{house.login!r} may not work as the role" in error.reason
    house.administer(f'GRANT "{name_of(house.name)}" TO "{house.login}"')
    assert works(house.open(house.login, house.owner))


def test_a_role_that_is_there_already_has_what_it_needs_and_no_more(house: House) -> None:
    """Left over from another database of that name, or restored with this one."""
    house.make("LOGIN CREATEROLE")
    assert works(house.open(house.owner))
    house.cluster.execute(sql.SQL(f"GRANT ALL ON events TO {name_of(house.name)}"), house.name)
    house.cluster.execute(sql.SQL(f"REVOKE ALL ON todos FROM {name_of(house.name)}"), house.name)
    trail = house.open(house.owner)
    assert works(trail)


def test_two_databases_of_one_server_share_no_role(house: House) -> None:
    house.make("LOGIN CREATEROLE")
    house.open(house.login, house.owner)
    other = House(house.cluster, house.folder / "other", house.closing)
    other.make("LOGIN CREATEROLE")
    other.open(other.login, other.owner)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        house.cluster.execute("SELECT * FROM events", house.name, other.login)


def test_names_that_are_long_or_strange(house: House) -> None:
    house.name = 'a"b %s ' + "ä" * 20
    assert len(name_of(house.name).encode()) <= 63
    assert name_of("x" * 60) != name_of("x" * 61)
    house.cluster.create_database(house.name)
    url = house.cluster.url("DATABASE").replace("DATABASE", "a%22b%20%25s%20" + "ä" * 20)
    trail = SqlTrail(url, house.folder / "heads.jsonl", PATIENT_SECONDS)
    house.closing.callback(trail.close)
    assert works(trail)


@pytest.mark.parametrize(
    ("spoil", "reason", "next_step"),
    [
        ({"name": "nowhere"}, "there is no database postgresql://127.0.0.1", 'run: CREATE DATABASE "nowhere"'),
        ({"user": "nobody"}, "cannot be reached", "this user may log in"),
        ({"port": "1"}, "Connection refused", "see that the server runs"),
    ],
)
def test_what_cannot_be_reached(house: House, spoil: dict[str, Any], reason: str, next_step: str) -> None:
    house.make()
    url = house.cluster.url(spoil.get("name", house.name), spoil.get("user", house.owner))
    url = url.replace(f":{house.cluster.port}/", f":{spoil.get('port', house.cluster.port)}/")
    with pytest.raises(Unavailable) as raised:
        SqlTrail(url, house.folder / "heads.jsonl", PATIENT_SECONDS)
    assert reason in raised.value.reason
    assert next_step in raised.value.next_step
    assert PASSWORD not in str(raised.value)


def test_a_database_that_cannot_hold_every_text(house: House) -> None:
    house.administer(f"CREATE DATABASE {house.name} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    error = house.refused("postgres")
    assert "holds text as LATIN1" in error.reason
    assert "UTF8" in error.next_step


def test_a_newer_version_s_tables(house: House) -> None:
    house.make("LOGIN CREATEROLE")
    house.open(house.owner)
    house.cluster.execute("UPDATE alembic_version SET version_num = '9999'", house.name)
    assert "a form that this version does not know" in house.refused(house.owner).reason
