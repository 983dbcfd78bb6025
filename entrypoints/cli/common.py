"""What every command shares: the project's settings and stores. What commands print is `output`'s."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from adapters.config.settings import Settings, load_settings
from adapters.evidence.folder import FolderStore
from adapters.masking.known import masker_of
from entrypoints.cli.output import (
    EXIT_MALFORMED,
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
from entrypoints.names import LOCAL_SESSION
from entrypoints.state_dir import prepare_state_dir

if TYPE_CHECKING:
    from domain.ports import Trail

__all__ = [
    "EXIT_MALFORMED",
    "EXIT_NOT_FOUND",
    "EXIT_REFUSED",
    "EXIT_UNAVAILABLE",
    "counted",
    "emit_json",
    "err",
    "evidence_folder",
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


def open_evidence() -> FolderStore:
    """The project's evidence store."""
    return FolderStore(settings().evidence_dir)


def evidence_folder(session: str, todo: str, attempt: int) -> Path:
    """The folder that people open for one attempt."""
    return settings().evidence_dir / session / todo / str(attempt)


def split_todo(name: str) -> tuple[str, str]:
    """`SESSION/TODO`, or `TODO` of the session that standalone rounds have."""
    session, slash, todo = name.rpartition("/")
    return (session, todo) if slash else (LOCAL_SESSION, name)
