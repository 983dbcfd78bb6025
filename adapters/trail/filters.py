"""Which rows a filter means, as one query. It reads nothing."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Select, and_, column, func, or_, select, values

from adapters.trail import chain
from adapters.trail.schema import EVENTS, HEADS, NUMBER, TEXT
from domain.events import RowFilter

_E = EVENTS.c


def matching(wanted: RowFilter) -> Select[Any]:
    """The rows that `wanted` means, by session and sequence. Raises `ValueError` for a time without a zone."""
    query = _beyond(wanted.after, wanted.session) if wanted.after else select(EVENTS)
    return query.where(*_conditions(wanted)).order_by(_E.session, _E.sequence)


def _conditions(wanted: RowFilter) -> list[ColumnElement[bool]]:
    pairs = ((_E.session, wanted.session), (_E.todo_id, wanted.todo), (_E.attempt, wanted.attempt))
    found: list[ColumnElement[bool]] = [column == value for column, value in pairs if value is not None]
    if wanted.actions:
        found.append(_E.action.in_(wanted.actions))
    if wanted.roles:
        # The actor is stored as {"identity":...,"role":...}: whatever the identity is, the role ends it.
        found.append(or_(*(_E.actor.endswith(f',"role":"{role}"}}', autoescape=True) for role in wanted.roles)))
    if wanted.since:
        found.append(_E.timestamp >= chain.utc_text(wanted.since))
    if wanted.until:
        found.append(_E.timestamp < chain.utc_text(wanted.until))
    return found


def _beyond(after: dict[str, int], session: str | None) -> Select[Any]:
    """Rows after the given sequences. From the heads, so that only sessions with something new are looked into."""
    if session is not None:
        return select(EVENTS).where(_E.sequence > after.get(session, 0))
    seen = values(column("session", TEXT), column("sequence", NUMBER), name="seen").data(list(after.items())).cte()
    known = func.coalesce(seen.c.sequence, 0)
    news = HEADS.outerjoin(seen, HEADS.c.session == seen.c.session)
    rows = news.join(EVENTS, and_(_E.session == HEADS.c.session, _E.sequence > known))
    return select(EVENTS).select_from(rows).where(HEADS.c.sequence > known)
