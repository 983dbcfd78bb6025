"""What the auditor said of a todo's earlier attempts: the trail names the blobs, which nobody can change unseen.

The folder that people see has the same words, and whoever can write there could put others into the auditor's ear.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from pydantic import JsonValue, ValidationError

from domain.events import RowFilter
from domain.ports import EvidenceStore, Trail
from domain.roles.opinion import Opinion
from domain.roles.passes import PassInput

ATTEMPTS = 5
CHARACTERS = 1_000
UNREADABLE = "what is stored of this attempt's audit cannot be read"


class Said(NamedTuple):
    """An attempt that was judged, and the blob of the opinion."""

    attempt: int
    opinion: str


Earlier = Callable[[PassInput], tuple[Said, ...]]
"""The attempts before that of a pass, in their order. Raises `Unavailable`."""


def earlier_in(trail: Trail, request: PassInput) -> tuple[Said, ...]:
    """The last attempts before this one of which the trail has an opinion. Raises `Unavailable`."""
    given = request.round
    rows = trail.rows(RowFilter(session=given.session, todo=given.todo, actions=("role_pass_completed",)))
    found = {
        row.attempt: Said(row.attempt, str(row.payload["said"]))
        for row in rows
        if given.attempt - ATTEMPTS <= row.attempt < given.attempt
        and (row.payload.get("stage"), row.payload.get("outcome")) == ("informed", "answered")
    }
    return tuple(found[attempt] for attempt in sorted(found))


def told(store: EvidenceStore, said: tuple[Said, ...]) -> Iterator[dict[str, JsonValue]]:
    """Each opinion without ids of evidence, which are bound to its own attempt; one that was pruned is told as that.

    Raises `Unavailable`.
    """
    for attempt, digest in said:
        try:
            opinion = Opinion.model_validate_json(store.get(digest)) if store.has(digest) else None
        except ValidationError:  # of another version
            opinion = None
        if opinion is None:
            yield {"attempt": attempt, "unreadable": UNREADABLE}
            continue
        yield {
            "attempt": attempt,
            "verdict": opinion.verdict,
            "confidence": opinion.confidence,
            "reasons": [each.reason[:CHARACTERS] for each in opinion.reasons],
            "required_actions": [each.action[:CHARACTERS] for each in opinion.required_actions],
        }
