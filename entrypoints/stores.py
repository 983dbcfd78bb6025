"""Builds the project's trail and evidence store, masked, which commands read and workers write."""

from __future__ import annotations

from adapters.config.settings import Settings
from adapters.evidence.folder import FolderStore
from adapters.masking.known import masker_of
from adapters.masking.stores import MaskedEvidence, MaskedTrail
from adapters.trail import SqlTrail
from domain.errors import Malformed, Problem


def build_trail(settings: Settings) -> MaskedTrail:
    """The project's trail. Raises `Unavailable`, and `Malformed` for a database of another kind."""
    try:
        heads = settings.state_dir / "heads.jsonl"
        trail = SqlTrail(settings.database_url, heads, owner_url=settings.database_owner_url)
        return MaskedTrail(trail, masker_of(settings))
    except ValueError as error:
        what, _, expected = str(error).rpartition(", ")
        raise Malformed(
            [Problem(file="settings", line=1, field="database_url", what=what, expected=expected)]
        ) from error


def build_evidence(settings: Settings) -> MaskedEvidence:
    """The project's evidence store. Raises `Unavailable` when its folder cannot be used."""
    return MaskedEvidence(FolderStore(settings.evidence_dir), masker_of(settings))
