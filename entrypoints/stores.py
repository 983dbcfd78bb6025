"""Builds the project's trail and evidence store, masked, and its ledger: commands read them, workers write them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from adapters.config.settings import Settings
from adapters.ledger import SqlLedger
from adapters.masking.known import masker_of
from adapters.masking.stores import MaskedEvidence, MaskedTrail
from adapters.trail import SqlTrail
from domain.errors import Malformed, Problem
from entrypoints.evidence_store import open_store


def build_trail(settings: Settings) -> MaskedTrail:
    """The project's trail. Raises `Unavailable`, and `Malformed` for a database of another kind."""
    with _told():
        heads = settings.state_dir / "heads.jsonl"
        trail = SqlTrail(settings.database_url, heads, owner_url=settings.database_owner_url)
        return MaskedTrail(trail, masker_of(settings))


def build_ledger(settings: Settings) -> SqlLedger:
    """What requests to models cost, in the trail's database: no text, so nothing to mask. Raises as `build_trail`."""
    with _told():
        return SqlLedger(settings.database_url, owner_url=settings.database_owner_url)


def build_evidence(settings: Settings) -> MaskedEvidence:
    """The project's evidence store. Raises `Unavailable` when its folder cannot be used."""
    return MaskedEvidence(open_store(settings), masker_of(settings))


@contextmanager
def _told() -> Iterator[None]:
    """A URL of another kind of database, as a problem of the settings."""
    try:
        yield
    except ValueError as error:
        what, _, expected = str(error).rpartition(", ")
        problem = Problem(file="settings", line=1, field="database_url", what=what, expected=expected)
        raise Malformed([problem]) from error
