"""What waits for a person, by the lists that the trail keeps, the oldest first: why, since when, what resolves it.

No workflow is asked. What was tried on each is read only for those that are wanted (`detailed`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any, Literal

from pydantic import computed_field

from domain.base import Message
from domain.errors import Unavailable
from domain.events import RowFilter
from domain.order import Order
from domain.ports import EvidenceStore, Trail
from domain.read_model import RoundView, SessionView, State, TodoView
from domain.report import Report
from domain.report_lines import NOT_JUDGED
from domain.status import SessionStatus, TodoStatus
from entrypoints import standalone
from entrypoints.cli import common, proposals
from entrypoints.cli.costs import costs_of
from entrypoints.cli.overruling import JUDGED, by_attempt, overruled
from entrypoints.cli.proposals import Case, Proposal, suggested
from entrypoints.standings import WAITS_FOR_A_HUMAN, Standing
from entrypoints.tried import LOOP_ROWS, Difference, Past, Repaired, Tried, of_the_worker, repairs_of

Kind = Literal["escalation", "question", "criteria", "nothing_to_check", "budget", "failed", "flagged", "paused"]

_BY_TRIGGER: dict[str, Kind] = {
    "not_judged": "criteria",
    "nothing_to_check": "nothing_to_check",
    "cost_cap_exceeded": "budget",
}
_DONE = frozenset({TodoStatus.VERIFIED, TodoStatus.CANCELLED})


class Unjudged(Message):
    """A required criterion that only a judge can tell and that none is sure of; `why` in words."""

    id: str
    text: str
    why: str


class Waiting(Message):
    """One thing that waits: a todo, or with an empty `todo` a session that a human paused.

    `waited`: seconds since `since`. `proposals` are commands that would resolve it, `next` the same without what they
    do. `criteria`: which nobody judged, of the kind `criteria`. `cost_usd`: what models have cost it, in US dollars.
    What is below that is empty where nobody asked for it: `tried`, its attempts; `repairs` of its last fix loop; the
    `difference` that the last attempt made; when people were reminded of it last.
    """

    session: str
    todo: str = ""
    since: datetime
    status: str
    kind: Kind
    trigger: str = ""
    why: str
    title: str = ""
    domain: str = ""
    version: int = 0
    waited: int
    criteria: tuple[Unjudged, ...] = ()
    proposals: tuple[Proposal, ...]
    cost_usd: float = 0.0
    tried: tuple[Tried, ...] = ()
    repairs: tuple[Repaired, ...] = ()
    difference: Difference | None = None
    reminded_at: datetime | None = None

    @computed_field  # type: ignore[prop-decorator]  # pydantic's own way: mypy knows no decorated property
    @property
    def next(self) -> tuple[str, ...]:
        """The commands alone."""
        return tuple(each.command for each in self.proposals)


@dataclass(frozen=True)
class Candidate:
    """What waits, by the lists alone. `held`: it has a subtask that is open."""

    view: TodoView | SessionView
    since: datetime
    held: bool = False

    @property
    def key(self) -> tuple[str, str]:
        """Session and todo; no todo for a session."""
        return self.view.session, self.view.todo if isinstance(self.view, TodoView) else ""


def candidates(state: State) -> list[Candidate]:
    """All that waits, the oldest first; nothing of sessions that a human has stopped."""
    stopped = {view.session for view in state.sessions if view.status is SessionStatus.STOPPED}
    open_below = {(view.session, view.parent) for view in state.todos if view.parent and view.status not in _DONE}
    found = [
        Candidate(view, view.waiting_since or view.updated_at, (view.session, view.todo) in open_below)
        for view in state.todos
        if _waits(view) and view.session not in stopped
    ]
    paused = (view for view in state.sessions if view.status is SessionStatus.PAUSED and view.paused_for == "human")
    found += [Candidate(view, _paused_since(view, state)) for view in paused]
    return sorted(found, key=lambda each: (each.since, *each.key))


RoundsOf = Callable[[str, str], Iterable[RoundView]]
"""The rounds of a todo, by session and id."""


class Desk:
    """Makes entries of candidates as it is `now`. What cannot be read of one is said on stderr, or in the entry."""

    def __init__(self, rounds_of: RoundsOf, now: datetime) -> None:
        self._rounds = cache(lambda session, todo: tuple(rounds_of(session, todo)))
        self._now = now
        self._store = common.open_evidence()
        self._past = Past(self._store)

    def kind(self, candidate: Candidate) -> Kind:
        """The order is read only where it makes a difference."""
        view = candidate.view
        if isinstance(view, SessionView):
            return "paused"
        if view.status is TodoStatus.BLOCKED:
            return "question"
        if view.status is TodoStatus.FAILED:
            return "failed"
        if view.status not in WAITS_FOR_A_HUMAN:
            return "flagged"
        if view.trigger == "revision_cap_exceeded":
            order = order_of(view, self._store)
            return "budget" if order and order.fix_loop.enabled else "escalation"
        return _BY_TRIGGER.get(view.trigger, "escalation")

    def entry(self, candidate: Candidate) -> Waiting:
        """With the commands that would resolve it. Raises `Unavailable` where the trail cannot be read."""
        view, since = candidate.view, candidate.since
        waited = max(0, int((self._now - since).total_seconds()))
        if isinstance(view, SessionView):
            return Waiting(
                session=view.session,
                since=since,
                status="paused",
                kind="paused",
                why="a human paused it",
                waited=waited,
                proposals=proposals.of_session(view),
            )
        kind = self.kind(candidate)
        rounds = self._rounds(view.session, view.todo)
        return Waiting(
            session=view.session,
            todo=view.todo,
            since=since,
            status=view.status if view.status in WAITS_FOR_A_HUMAN else "flagged",
            kind=kind,
            trigger=view.trigger,
            why=_why(view),
            title=view.title,
            domain=view.domain,
            version=view.version,
            waited=waited,
            criteria=self._unjudged(view, rounds) if kind == "criteria" else (),
            proposals=self._proposals(candidate, view, kind, rounds),
        )

    def detailed(self, entry: Waiting, trail: Trail) -> Waiting:
        """The same with what was tried. Raises `Unavailable` where the trail cannot be read."""
        if not entry.todo:
            return entry
        wanted = RowFilter(session=entry.session, todo=entry.todo, actions=(*LOOP_ROWS, "reminded"))
        rows = list(trail.rows(wanted))
        rounds = of_the_worker(self._rounds(entry.session, entry.todo), rows)
        reminded = (row.timestamp for row in rows if row.action == "reminded" and row.timestamp >= entry.since)
        return entry.model_copy(
            update={
                "tried": self._past.tried(rounds),
                "repairs": repairs_of(rows),
                "difference": self._past.difference(rounds),
                "reminded_at": max(reminded, default=None),
            }
        )

    def _proposals(
        self, candidate: Candidate, view: TodoView, kind: Kind, rounds: tuple[RoundView, ...]
    ) -> tuple[Proposal, ...]:
        last = by_attempt(rounds).get((view.session, view.todo, view.attempt))
        order = order_of(view, self._store, last)
        decided = view.status in (TodoStatus.NEEDS_HUMAN, TodoStatus.FAILED)
        over = overruled(view, by_attempt(rounds), self._store) if decided else None
        looped = kind == "budget" and order is not None and order.fix_loop.enabled
        budget = suggested(order, _spent_last(view)) if looped and order else 0.0
        return proposals.proposals(Case(view, kind, order, budget, candidate.held), over)

    def _unjudged(self, view: TodoView, rounds: tuple[RoundView, ...]) -> tuple[Unjudged, ...]:
        """By the last round's report. Where that cannot be read, `overruled` says so."""
        last = by_attempt(rounds).get((view.session, view.todo, view.attempt))
        try:
            report = Report.model_validate_json(self._store.get(last.report)) if last and last.report else None
        except Unavailable:
            return ()
        return tuple(
            Unjudged(id=line.id, text=line.description, why=line.text)
            for line in (report.criteria if report else ())
            if line.test_type == JUDGED and line.required and line.outcome == NOT_JUDGED
        )


def waiting(state: State) -> tuple[Waiting, ...]:
    """All that waits by `state`, the oldest first, without what was tried."""
    of_todo: defaultdict[tuple[str, str], list[RoundView]] = defaultdict(list)
    for one in state.rounds:
        of_todo[one.session, one.todo].append(one)
    desk = Desk(lambda session, todo: of_todo[session, todo], datetime.now(UTC))
    return tuple(desk.entry(each) for each in candidates(state))


def waiting_in(standing: Standing) -> tuple[Waiting, ...]:
    """What of one session waits."""
    return waiting(State(sessions=(standing.session,), todos=standing.todos, rounds=standing.rounds))


def with_costs(found: Iterable[Waiting], state: State) -> tuple[Waiting, ...]:
    """The same, each with what models have cost it. Raises `Unavailable`."""
    listed = tuple(found)
    named = {(each.session, each.todo) for each in listed}
    spent = costs_of(view for view in state.todos if (view.session, view.todo) in named)
    return tuple(
        each.model_copy(update={"cost_usd": spent[each.session, each.todo].cost_usd})
        if (each.session, each.todo) in spent
        else each
        for each in listed
    )


def facts(found: Iterable[Waiting]) -> list[dict[str, Any]]:
    """The same as JSON has it."""
    return [each.model_dump(mode="json") for each in found]


def order_of(view: TodoView, store: EvidenceStore, last: RoundView | None = None) -> Order | None:
    """The order that the todo has now, of a standalone one that of its round `last`; None where it cannot be read,
    which is said.
    """
    try:
        return standalone.order_of(view, last, store)
    except Unavailable as error:
        common.err(common.visible(f"the order of {view.session}/{view.todo} cannot be read: {error.reason}"))
        return None


def _waits(view: TodoView) -> bool:
    """A standalone round that merely failed waits for nobody: whoever ran it runs the next one."""
    if standalone.stands_alone(view):
        return view.status is TodoStatus.NEEDS_HUMAN
    return view.status in WAITS_FOR_A_HUMAN or (bool(view.flag) and view.status is not TodoStatus.CANCELLED)


def _paused_since(view: SessionView, state: State) -> datetime:
    return max((todo.updated_at for todo in state.todos if todo.session == view.session), default=view.created_at)


def _why(view: TodoView) -> str:
    return (
        view.question
        or "; ".join(dict.fromkeys(filter(None, (view.trigger, view.flag, *view.reasons))))
        or "no reason is recorded"
    )


def _spent_last(view: TodoView) -> float:
    """US dollars that the todo's last fix loop used. Raises `Unavailable`."""
    rows = common.open_trail().rows(RowFilter(session=view.session, todo=view.todo, actions=LOOP_ROWS))
    return sum(each.cost_usd for each in repairs_of(rows))
