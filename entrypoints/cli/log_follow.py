"""Follows the trail: asks again and again for rows that are new, and gives each on once, until nobody wants them."""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import UnsupportedOperation

from domain.errors import Unavailable
from domain.events import RowFilter, TrailRow
from domain.ports import Trail
from entrypoints.cli import common

POLL_SECONDS = 0.5


def follow(
    trail: Trail, wanted: RowFilter, after: dict[str, int], show: Callable[[TrailRow], None], wait: Callable[[], None]
) -> None:
    """Show each row that comes after those in `after` (a sequence by session), until `wait` or `show` raises.

    A trail that cannot be read for a while is said on stderr once, and asked again; no row is lost or shown twice.
    """
    away = False
    while True:
        try:
            for row in noted(trail.rows(wanted.model_copy(update={"after": dict(after)})), after):
                away = _back(away)
                show(row)
            away = _back(away)
        except Unavailable as error:
            if not away:
                common.err(common.visible(f"the trail cannot be read now: {error.reason}; asking again until it can"))
            away = True
        wait()


def _back(away: bool) -> bool:
    """Said before the rows: who reads them may want no more."""
    if away:
        common.err("the trail can be read again")
    return False


def noted(rows: Iterator[TrailRow], after: dict[str, int]) -> Iterator[TrailRow]:
    """The rows, each noted in `after` before it is given on."""
    for row in rows:
        after[row.session] = row.sequence
        yield row


def wait_for_more() -> None:
    """Sleep until it is time to ask again. Raises `BrokenPipeError` when whoever read the output has gone."""
    time.sleep(POLL_SECONDS)
    try:
        descriptor = sys.stdout.fileno()
    except UnsupportedOperation:  # no file: nobody can have gone
        return
    poll = select.poll()
    poll.register(descriptor, 0)
    if any(event & select.POLLERR for _, event in poll.poll(0)):
        raise BrokenPipeError


@contextmanager
def until_nobody_reads() -> Iterator[None]:
    """End quietly and well when the reader of stdout has gone, or with Ctrl-C: it has seen what it wanted."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is still buffered has to go somewhere
