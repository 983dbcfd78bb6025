"""A session and its todos as the workflows keep them, without workflows: messages wait until somebody delivers them.

What the workflows promise is in here and nothing else: reports and words are numbered, each gets there some day, in
any order; a todo's clocks are minded when they are due. Every step is held to what must hold for all of them.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import datetime, timedelta

from domain import sessions, standing
from domain.acts import system
from domain.acts.step import GATE_CODES, Declined, Outcome, Step, refused
from domain.fix_messages import FixLoopResult
from domain.messages import RoundResult
from domain.requests import Refusal, Request
from domain.safeguards import Clock
from domain.session import Entry, Session, TodoReport
from domain.sessions import SessionStep
from domain.status import LIVE, SessionStatus, TodoStatus
from domain.todo import Gate, Todo
from tests.model.todos import ALICE, NOON, in_order, order

S = TodoStatus
Act = Callable[[Todo, datetime], Outcome | Declined]
NEVER_LESS = ("version", "attempt", "audits", "revisions", "granted", "drives", "reports")


class Network:
    """`reports` and `words` are under way; `owed` are the todos that the session has not written to yet."""

    def __init__(self, *entries: Entry) -> None:
        self.now = NOON
        self.reports: list[TodoReport] = []
        self.words: list[tuple[str, Gate]] = []
        self.owed: set[str] = set()
        self.rounds: set[tuple[str, int]] = set()
        self.begun: set[tuple[str, int]] = set()
        self.loops: set[tuple[str, int]] = set()
        self.by_round: set[tuple[str, int]] = set()
        self.by_human: set[str] = set()
        self.todos: dict[str, Todo] = {}
        new = Session(id="s1", host="h", created_by=ALICE, created_at=NOON, deadline=NOON)
        self.session = new
        self.hear(sessions.opened(new, ALICE, entries, NOON))
        self.join(entries)

    # what the session does

    def hear(self, outcome: SessionStep | Refusal) -> str:
        """Take what the session came to; the code of a refusal."""
        if isinstance(outcome, Refusal):
            return outcome.code
        before, after = self.session, outcome.session
        assert before.todos.keys() <= after.todos.keys(), "a todo that was is never forgotten"
        status = str(before.status)
        for event in outcome.events:
            assert event.before.get("status", status) == status
            status = str(event.after["status"])
        assert status == after.status, "a change without a row"
        self.session = after
        self.owed |= outcome.told
        return ""

    def join(self, entries: tuple[Entry, ...]) -> None:
        """Start the todos of entries that the session took, each with its first gate."""
        self.session, gates = standing.said(self.session, [entry.id for entry in entries])
        for entry in entries:
            revisions = 2 if entry.parent else 0  # of subtasks the audits are used up first, of the others these
            of = order(
                id=entry.id,
                depends_on=list(entry.depends_on),
                safeguards={"revisions": revisions},
                fix_loop={"enabled": True, "max_loops": 2},
                domain="security" if entry.parent == "a" else "refactor",
            )
            self.todos[entry.id] = Todo(
                session="s1",
                id=entry.id,
                order=of,
                order_digest=of.digest,
                host="h",
                created_by=ALICE,
                parent=entry.parent,
                clock=Clock(limit=of.safeguards.todo_timeout),
                gate=gates[entry.id],
            )

    def write(self) -> None:
        """The session sends everybody who is owed one its word as it is now."""
        self.session, gates = standing.said(self.session, sorted(self.owed))
        self.words += gates.items()
        self.owed.clear()

    # what todos do

    def ask(self, todo: str, command: str, request: Request, act: Act) -> str:
        """Somebody asks something of a todo; the code of a refusal, which is recorded and changes nothing else."""
        before = self.todos[todo]
        outcome = act(before, self.now)
        if isinstance(outcome, Declined):
            self.take(todo, outcome.step)
            return outcome.refusal.code
        if isinstance(outcome, Step):
            if outcome.todo.status is S.VERIFIED is not before.status:
                assert request.actor.role == "unattributed"
                self.by_human.add(todo)
            self.take(todo, outcome)
            return ""
        step = refused(before, command, request.actor, outcome)
        assert step.todo == before.model_copy(update={"refusals": step.todo.refusals})
        self.take(todo, step, asks=outcome.code in GATE_CODES)
        return outcome.code

    def take(self, todo: str, step: Step, asks: bool = False) -> None:
        """The todo as it is after a step, which its session hears of."""
        before, after = self.todos[todo], step.todo
        in_order(before, step)
        self._within_limits(todo, before, after)
        self.todos[todo] = after
        if after.round and after.round != before.round:
            assert (todo, after.round) not in self.begun, "a number of a round is used once"
            self.begun.add((todo, after.round))
            self.rounds.add((todo, after.round))
        if after.repair and after.repair != before.repair:
            assert (todo, after.repair.attempt) not in self.loops, "one loop a round"
            self.loops.add((todo, after.repair.attempt))
        told = ("status", "trigger", "order_index", "order", "worker")
        if asks or any(getattr(before, name) != getattr(after, name) for name in told):
            self._report(todo, asks)

    def end_round(self, todo: str, attempt: int, result: RoundResult) -> None:
        """A round comes to a result, whether anybody waits for it or not."""
        self.rounds.remove((todo, attempt))
        before = self.todos[todo]
        step = system.round_ended(before, attempt, result, self.now)
        if before.round != attempt:
            assert step.todo == before, "what nobody waits for changes nothing"
        elif step.todo.status is S.VERIFIED:
            assert result.decision.outcome == "verified"
            self.by_round.add((todo, attempt))
            self.by_human.discard(todo)
        self.take(todo, step)

    def end_loop(self, todo: str, attempt: int, rounds: int, result: FixLoopResult) -> None:
        """A fix loop comes to an end after that many rounds, whether anybody waits for it or not."""
        self.loops.remove((todo, attempt))
        numbers = {(todo, attempt + number) for number in range(1, rounds + 1)}
        assert not numbers & self.begun, "a number of a round is used once"
        self.begun |= numbers
        before = self.todos[todo]
        step = system.repair_ended(before, attempt, result, self.now)
        if before.repair is None or before.repair.attempt != attempt:
            assert step.todo == before.model_copy(update={"fixing": step.todo.fixing})
        elif step.todo.status is S.VERIFIED:
            self.by_round.add((todo, before.round))
            self.by_human.discard(todo)
        assert (step.todo.audits, step.todo.revisions) == (before.audits, before.revisions)
        self.take(todo, step)
        self.by_round.discard((todo, 0))

    def _within_limits(self, todo: str, before: Todo, after: Todo) -> None:
        for name in NEVER_LESS:
            assert getattr(after, name) >= getattr(before, name), name
        assert before.audits == after.audits or after.audits <= before.caps.audits
        assert before.revisions == after.revisions or after.revisions <= after.caps.revisions
        assert before.status is not S.CANCELLED or after.status is S.CANCELLED
        if after.status is S.VERIFIED is not before.status:
            assert (todo, before.round) in self.by_round or todo in self.by_human
        assert after.repair is None or (after.status is S.CLAIMED and not after.round)
        assert after.next_attempt > after.attempt
        if before.status is not S.CLAIMED and after.status is S.CLAIMED:
            assert not after.gate.open_children
            assert after.gate.status is SessionStatus.RUNNING
        if before.status is S.PENDING and after.status is S.IN_PROGRESS:
            assert not after.gate.waits_for

    def _report(self, todo: str, asks: bool) -> None:
        at = self.todos[todo]
        self.todos[todo] = at = at.model_copy(update={"reports": at.reports + 1})
        self.reports.append(
            TodoReport(
                todo=todo,
                number=at.reports,
                status=at.status,
                parent=at.parent,
                depends_on=tuple(at.order.depends_on),
                order_index=at.order_index,
                pauses=at.order.safeguards.pause_on_escalation,
                asks=asks,
                trigger=at.trigger,
            )
        )

    # what is between them

    def deliver(self, place: int) -> None:
        """One of the messages arrives."""
        if place < len(self.reports):
            self.hear(sessions.heard(self.session, self.reports.pop(place), self.now))
        else:
            todo, gate = self.words.pop(place - len(self.reports))
            self.take(todo, system.gated(self.todos[todo], gate, self.now))

    @property
    def under_way(self) -> int:
        """How many messages are."""
        return len(self.reports) + len(self.words)

    @property
    def quiet(self) -> bool:
        """Whether everything that was said has been heard."""
        return not self.under_way and not self.owed

    def settle(self, seed: int = 0) -> None:
        """Everything arrives, in an order that `seed` makes up."""
        chance = random.Random(seed)
        for _ in range(1000):
            if self.quiet:
                return
            if self.owed and (not self.under_way or chance.random() < 0.3):
                self.write()
            else:
                self.deliver(chance.randrange(self.under_way))
        raise AssertionError("they never stop talking")

    def wait(self, seconds: float) -> None:
        """Time passes; what is due by then happens."""
        later = self.now + timedelta(seconds=seconds)
        for todo in self.todos.values():
            at_work = todo.status in (S.IN_PROGRESS, S.CLAIMED) and todo.gate.status is SessionStatus.RUNNING
            passed = todo.clock.used(later) - todo.clock.used(self.now)
            assert abs(passed - (seconds if at_work else 0)) < 0.001
        self.now = later
        self.hear(sessions.timed_out(self.session, self.now))
        for id in self.todos:
            self.take(id, system.clock_over(self.todos[id], self.now))
            retry_at = self.todos[id].retry_at
            if retry_at and retry_at <= self.now and self.todos[id].gate.status is SessionStatus.RUNNING:
                self.take(id, system.audit(self.todos[id], self.now))

    # what has to hold

    def consistent(self) -> None:
        """What has to hold once everything was heard."""
        entries = self.session.todos
        assert {id: todo.status for id, todo in self.todos.items()} == {id: e.status for id, e in entries.items()}
        stand = standing.standing_of(entries)
        for id, todo in self.todos.items():
            children = [self.todos[entry.id] for entry in entries.values() if entry.parent == id]
            if todo.status in (S.VERIFIED, S.CLAIMED):
                assert not [child.id for child in children if child.status not in (S.VERIFIED, S.CANCELLED)]
            if todo.status in LIVE:
                assert todo.gate.status is self.session.status
            if todo.status is not S.CANCELLED:
                assert set(todo.gate.open_children) == set(standing.open_children(entries[id], stand))
                assert todo.gate.waits_for == standing.waits_for(entries[id], stand)
        live = [todo for todo in self.todos.values() if todo.status in LIVE]
        assert (self.session.status is SessionStatus.COMPLETED) <= (not live)
        assert live or self.session.status not in (SessionStatus.RUNNING, SessionStatus.PAUSED)
        if self.session.status is SessionStatus.RUNNING:
            waiting = {todo.id for todo in live if todo.status is S.NEEDS_HUMAN}
            assert waiting <= self.session.resumed_over
