"""Reads a page: from the trail's lists and rows, the evidence store and the ledger. No workflow is asked.

A blob that is missing or damaged is said on the page and keeps nobody from the rest; only the trail itself must answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from domain.claims.claim import Claim
from domain.errors import Refused, Unavailable
from domain.event_lines import line
from domain.events import Action, RowFilter, TrailRow
from domain.messages import RoundRecord
from domain.ports import EvidenceStore, Trail
from domain.read_model import RoundView, State, TodoView
from domain.report import Report
from entrypoints.cli.overruling import by_attempt, overruled
from entrypoints.review.difference import difference
from entrypoints.review.page import Needed, Page, Saying
from entrypoints.standalone import completed, stands_alone

TIMELINE_ROWS = 1_000
"""The last ones; `countersign log show` has them all."""

SAYINGS: dict[Action, tuple[str, str]] = {
    "todo_blocked": ("cannot go on, and asks", "question"),
    "todo_unblocked": ("answers", "clarification"),
    "follow_up_asked": ("asks the worker", "question"),
    "follow_up_answered": ("answers the auditor", "answer"),
    "noted": ("notes", "content"),
    "changes_requested": ("sends it back", "feedback"),
    "returned": ("gives it back", "reason"),
    "approved": ("approves", "reason"),
    "human_override": ("overrules", "reason"),
    "escalated": ("hands it to a human", "reason"),
    "deleted": ("cancels it", "reason"),
}
"""The events in which somebody speaks: what they do, and which field of the payload has their words."""

_LOOP: frozenset[str] = frozenset(
    {"fix_loop_started", "fix_iteration_started", "fix_iteration_completed", "patch_applied", "patch_offered"}
    | {"fix_loop_ended"}
)

M = TypeVar("M", bound=BaseModel)


def read_page(
    trail: Trail, store: EvidenceStore, view: TodoView, attempt: int | None = None, *, cost: str = ""
) -> Page:
    """The page of that attempt of the todo, of the last claim if none is named. `cost`: what models have cost it.

    Raises `Refused` (unknown_attempt, exit code 5), `Unavailable` where the trail cannot be read.
    """
    state = trail.state(view.session, view.todo)
    rounds = tuple(sorted(state.rounds, key=lambda one: one.attempt))
    known = {one.attempt: one for one in rounds}
    last = _last(view, known)
    numbers = tuple(sorted({*known, *([last] if last else [])}))
    number = last if attempt is None else attempt
    if attempt is not None and attempt not in numbers:
        spelled = ", ".join(map(str, numbers)) or "none yet"
        what = f"{view.session}/{view.todo} has no attempt {attempt}"
        raise Refused("unknown_attempt", what, f"the attempts that there are: {spelled}")
    rows = tuple(trail.rows(RowFilter(session=view.session, todo=view.todo)))
    page = _page(_Reader(store), view, state, rows, number, numbers)
    return page.model_copy(update={"cost": cost})


def _page(
    reader: _Reader, view: TodoView, state: State, rows: Sequence[TrailRow], number: int, numbers: tuple[int, ...]
) -> Page:
    rounds = tuple(sorted(state.rounds, key=lambda one: one.attempt))
    now = next((one for one in rounds if one.attempt == number), None)
    standalone = stands_alone(view)
    newest = number == _last(view, {one.attempt: one for one in rounds})
    head = (now.head if now else "") or (view.snapshot if newest else "")
    report = reader.read(now.report, Report, "the report") if now else None
    claimed = next((row for row in reversed(rows) if row.action == "todo_claimed" and _of(row) == head), None)
    if standalone:
        view = completed(view, rounds)
    return Page(
        todo=view,
        session=next(iter(state.sessions), None),
        standalone=standalone,
        attempt=number,
        numbers=numbers,
        rounds=rounds,
        round=now,
        snapshot=head,
        current=number == view.attempt if standalone else head == view.snapshot,
        needed=_needed(view, rounds, reader.store),
        claimed_by=str(claimed.actor) if claimed else "",
        claim=_claim(reader, now, claimed),
        difference=difference(reader.store, _base(now, rows), head, report),
        report=report,
        dialogue=tuple(_said(row) for row in rows if row.action in SAYINGS and _words(row)),
        loop=tuple(line(row) for row in rows if row.action in _LOOP),
        timeline=_timeline(rows),
        notes=tuple(reader.unread),
    )


class _Reader:
    """Reads blobs, and remembers what could not be read."""

    def __init__(self, store: EvidenceStore) -> None:
        self.store = store
        self.unread: list[str] = []

    def read(self, digest: str, shape: type[M], what: str) -> M | None:
        """The blob in that shape; None where there is none, or where it cannot be read."""
        if not digest:
            return None
        try:
            return shape.model_validate_json(self.store.get(digest))
        except Unavailable as error:
            self.unread.append(f"{what} cannot be read: {error.reason}")
        except ValidationError as error:
            self.unread.append(f"{what} is none that this version reads: {error.error_count()} faults")
        return None


def _last(view: TodoView, known: dict[int, RoundView]) -> int:
    """The attempt of the last claim: its round, or the one after it where no round of that claim has begun yet."""
    if stands_alone(view):
        return view.attempt
    begun = known.get(view.attempt)
    waits = bool(view.snapshot) and (begun is None or (bool(begun.head) and begun.head != view.snapshot))
    return view.attempt + 1 if waits else view.attempt


def _base(now: RoundView | None, rows: Sequence[TrailRow]) -> str:
    """The base of the round; of a claim without one, that which was frozen when the todo started."""
    if now is not None and now.base:
        return now.base
    frozen = (str(row.payload.get("base", "")) for row in reversed(rows) if row.action == "todo_started")
    return next(frozen, "")


def _of(row: TrailRow) -> str:
    return str(row.payload.get("snapshot", ""))


def _claim(reader: _Reader, now: RoundView | None, claimed: TrailRow | None) -> Claim | None:
    """As the round had it; before there is a record, as the row names it."""
    record = reader.read(now.record, RoundRecord, "the record") if now else None
    if record is not None and record.input.claim is not None:
        return record.input.claim
    return reader.read(str(claimed.payload.get("claim", "")), Claim, "the claim") if claimed else None


def _needed(view: TodoView, rounds: Sequence[RoundView], store: EvidenceStore) -> Needed:
    last = next((one for one in rounds if one.attempt == view.attempt), None)
    order = (last.record if last else "") if stands_alone(view) else view.order_digest
    missing = [digest for digest in (order, last.report if last else "") if digest]
    try:
        for digest in missing:
            store.get(digest)
    except Unavailable as error:
        return Needed(unread=f"what did not pass cannot be read: {error.reason}")
    found = overruled(view, by_attempt(rounds), store)
    return Needed(kind=found.kind, names=found.names)


def _words(row: TrailRow) -> str:
    _, field = SAYINGS[row.action]  # type: ignore[index] # a row's action is wider than those that there are
    return str(row.payload.get(field) or "")


def _said(row: TrailRow) -> Saying:
    what, _ = SAYINGS[row.action]  # type: ignore[index] # as above
    return Saying(at=row.timestamp, who=str(row.actor), what=what, text=_words(row))


def _timeline(rows: Sequence[TrailRow]) -> tuple[str, ...]:
    shown = tuple(line(row) for row in rows[-TIMELINE_ROWS:])
    more = len(rows) - len(shown)
    return (f"[... {more} rows before: countersign log show has them]", *shown) if more else shown


Load = Callable[[int | None], Page]
"""Reads the page anew, of that attempt or of the last."""
