"""What every command shares: the project's settings and stores. What commands print is `output`'s."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from adapters.config.settings import Settings, load_settings
from adapters.masking.known import masker_of
from domain.errors import Malformed, Problem
from entrypoints.cli.output import (
    EXIT_MALFORMED,
    EXIT_NEEDS_HUMAN,
    EXIT_NOT_FOUND,
    EXIT_REFUSED,
    EXIT_UNAVAILABLE,
    counted,
    emit_json,
    err,
    out,
    speak,
    stderr,
    stdout,
    visible,
)
from entrypoints.evidence_store import open_store
from entrypoints.names import LOCAL_SESSION
from entrypoints.state_dir import prepare_state_dir

if TYPE_CHECKING:
    from domain.ports import EvidenceStore, Trail
    from domain.read_model import Table

__all__ = [
    "EXIT_MALFORMED",
    "EXIT_NEEDS_HUMAN",
    "EXIT_NOT_FOUND",
    "EXIT_REFUSED",
    "EXIT_UNAVAILABLE",
    "counted",
    "emit_json",
    "err",
    "open_evidence",
    "open_trail",
    "out",
    "settings",
    "speak",
    "split_todo",
    "stderr",
    "stdout",
    "visible",
]


LISTED: tuple[Table, ...] = ("todos",)


@lru_cache(maxsize=1)
def settings() -> Settings:
    """The settings of the project that the command was given in; its secrets are masked. Raises `Malformed`."""
    loaded = load_settings()
    masker_of(loaded)
    return loaded


def open_trail() -> Trail:
    """The project's trail. Raises `Unavailable`."""
    from entrypoints.stores import build_trail  # noqa: PLC0415 - SQLAlchemy: not every command opens the trail, nor first

    prepare_state_dir(settings().state_dir)
    return build_trail(settings())


def open_evidence() -> EvidenceStore:
    """The project's evidence store. Raises `Unavailable` where its folder cannot be used."""
    return open_store(settings())


def split_todo(name: str, trail: Trail | None = None) -> tuple[str, str]:
    """`SESSION/TODO`, or `TODO`: of the session that standalone rounds have, else of the one that `trail` has it in.

    Raises `Malformed` for a name that several other sessions have, `Unavailable`.
    """
    session, slash, todo = name.rpartition("/")
    if slash:
        return session, todo
    found = {view.session for view in trail.state(todo=name, tables=LISTED).todos} if trail else set()
    if LOCAL_SESSION in found or not found:
        return LOCAL_SESSION, name
    if len(found) > 1:
        expected = f"expected one of {', '.join(f'{one}/{name}' for one in sorted(found))}"
        what = f"{name} is a todo of {len(found)} sessions"
        raise Malformed([Problem(file="command line", line=1, field="TODO", what=what, expected=expected)])
    return found.pop(), name
