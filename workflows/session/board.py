"""How a session stands, for people: the search attributes it is found by, and the details that the Web UI shows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from domain.session import Session
    from domain.standing import ENDED, Standing, standing_of, waits_for
    from domain.status import LIVE, SessionStatus, TodoStatus
    from workflows import options
    from workflows.board import SHOWN_CHARACTERS, as_text

SHOWN = 20
"""Todos that are named, of each kind."""


class Board:
    """What was shown last; only a status that changed is sent to the server."""

    def __init__(self) -> None:
        self._status: SessionStatus | None = None

    def show(self, session: Session) -> None:
        """Let it be found and read as it stands now."""
        if session.status is not self._status:
            self._status = session.status
            workflow.upsert_search_attributes(
                [
                    options.SESSION_ATTRIBUTE.value_set(session.id),
                    options.SESSION_STATUS_ATTRIBUTE.value_set(session.status),
                ]
            )
        workflow.set_current_details(details(session))


def details(session: Session) -> str:
    """Bullets of Markdown."""
    standing = standing_of(session.todos)
    counts = standing.counts
    lines = [f"**{as_text(session.status.replace('_', ' ').upper())}** {len(session.todos)} todos", ""]
    lines += [f"- {as_text(status)}: {counts[status]}" for status in TodoStatus if counts.get(status)]
    if session.status not in ENDED:
        lines.append(f"- time until {session.deadline.isoformat(timespec='seconds')}")
    if session.paused_by_human:
        lines.append("- paused by a human")
    lines += _some("needs a human", iter(sorted(standing.escalated, key=lambda id: session.todos[id].order_index)))
    return "\n".join((*lines, *_some("waits", _waiting(session, standing))))


def _waiting(session: Session, standing: Standing) -> Iterator[str]:
    """Who waits for whom: read off what is waited for, of which there is mostly little."""
    held = (by for needed, bys in standing.dependants.items() if needed not in standing.done for by in bys)
    for id in dict.fromkeys(held):
        entry = session.todos[id]
        if entry.status in LIVE:
            yield f"{id} for {', '.join(waits_for(entry, standing))}"


def _some(what: str, who: Iterator[str]) -> list[str]:
    """The first of them: of very many nobody reads the rest."""
    named = [f"- {what}: {as_text(one[:SHOWN_CHARACTERS])}" for one in islice(who, SHOWN)]
    return named if next(who, None) is None else [*named, f"- {what}: and more"]
