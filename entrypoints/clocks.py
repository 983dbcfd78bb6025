"""When a session stood still, for the time that its todos have left. The trail is asked: no todo's row says it."""

from __future__ import annotations

from domain.events import RowFilter
from domain.ports import Trail
from entrypoints.standings import HALTS, Halts, halts_of


def halts_in(session: str, trail: Trail) -> Halts:
    """When the session of that id stood still, the earliest first. Raises `Unavailable`."""
    return halts_of(trail.rows(RowFilter(session=session, todo="", actions=HALTS)))
