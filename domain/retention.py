"""What has to stay: which rows of the trail hold on to evidence, and which blobs a stored document refers to. Pure.

Source: DESIGN 5, issue "retention": never what an open todo or a verdict refers to. It errs on the side of keeping:
whatever looks like a digest counts as one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime, timedelta

from domain.base import Message
from domain.events import TrailRow
from domain.read_model import RoundView, State
from domain.status import LIVE, RoundStatus

GRACE = timedelta(minutes=15)
"""What was stored or used again within it stays: a round that began meanwhile may be about to refer to it.

More than the store's `FRESH`, by clocks that differ a little.
"""

OPEN_FOR = timedelta(days=30)
"""How long a round that has not ended counts as open, after it began; its server may be gone for good."""

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_QUOTED_DIGEST = re.compile(rb'"([0-9a-f]{64})"')
_MANIFEST = b'[["'
"""How only the manifest of a tree begins, of all the documents that are stored."""

RoundKey = tuple[str, str, int]


class Pruned(Message):
    """What was removed, or would be: how many of each, and their bytes. `list` names the blob that has them all.

    `spared`: of them, what was there no more, or was used again before its turn came.
    """

    older_than_seconds: float
    cutoff: datetime
    blobs: int = 0
    memos: int = 0
    folders: int = 0
    bytes: int = 0
    list: str = ""
    spared: int = 0


def seconds_of(text: str) -> float:
    """The seconds of a duration such as 30d, 12h, 90m or 0s. Raises `ValueError`."""
    match = re.fullmatch(r"(\d{1,9})([smhdw])", text.strip())
    if match is None:
        raise ValueError(f"{text!r} is no duration, expected a number and one of s, m, h, d, w, such as 30d")
    return float(int(match[1]) * _UNITS[match[2]])


def cutoff(now: datetime, older_than: float, state: State) -> datetime:
    """The time before which something must last have been used to be old: `older_than` seconds ago at the latest.

    Never later than `GRACE` before now, and before the oldest open round began.
    """
    began = [view.started_at for view in state.rounds if _open(view, now)]
    return min(now - timedelta(seconds=older_than), min([now, *began]) - GRACE)


def let_go(state: State, now: datetime) -> frozenset[RoundKey]:
    """The rounds whose rows hold on to nothing: without a verdict, not open any more, of a todo that is not live."""
    live = {(view.session, view.todo) for view in state.todos if view.status in LIVE}
    return frozenset(
        (view.session, view.todo, view.attempt)
        for view in state.rounds
        if view.status is not RoundStatus.DECIDED and not _open(view, now) and (view.session, view.todo) not in live
    )


def holds(row: TrailRow, released: frozenset[RoundKey]) -> bool:
    """Whether what `row` refers to has to stay."""
    return (row.session, row.todo_id, row.attempt) not in released


def named_in(row: TrailRow) -> frozenset[str]:
    """Every digest in the row's values."""
    values = json.dumps([row.before, row.after, row.payload]).encode()
    return frozenset(digests_in(values))


def digests_in(document: bytes) -> Iterator[str]:
    """Every digest that is a value of a JSON document."""
    return (match[1].decode() for match in _QUOTED_DIGEST.finditer(document))


def is_manifest(document: bytes) -> bool:
    """Whether the blob is a tree's manifest, so that what it refers to are files, in which nothing is looked for."""
    return document.startswith(_MANIFEST)


def _open(view: RoundView, now: datetime) -> bool:
    return view.status is RoundStatus.RUNNING and now - view.started_at < OPEN_FOR
