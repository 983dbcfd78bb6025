"""Whole sessions, searched: nested and dependent todos, any act at any time, messages late and out of order."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from domain import sessions
from domain.acts import people, workers
from domain.claims.claim import ClaimedEvidence
from domain.confidence import Confidence
from domain.decision import RoundOutcome
from domain.events import Actor
from domain.fix_messages import FixLoopResult
from domain.lifecycle import PARTIES, Command, transition
from domain.messages import RoundResult
from domain.requests import (
    AddEvidence,
    AddNote,
    Approve,
    Block,
    Delete,
    Edit,
    Override,
    Pause,
    Reject,
    Reorder,
    Request,
    Resume,
    Return,
    Start,
    Stop,
    Unblock,
)
from domain.session import Entry
from domain.status import TodoStatus
from domain.todo import Todo
from tests.model.network import Network
from tests.model.todos import ALICE, BASE, WORKER, admitted, claiming, ended, feedback, looped, minted

S = TodoStatus
PIECE = ClaimedEvidence(label="log", type="command_output", data="2 passed")
ACTORS = st.sampled_from([WORKER, ALICE])
NUMBERS = st.integers(0, 10**6)

TREE = (
    Entry(id="a"),
    Entry(id="a1", parent="a"),
    Entry(id="a2", parent="a", order_index=1),
    Entry(id="a1x", parent="a1"),
    Entry(id="b", depends_on=("a",), order_index=1),
    Entry(id="c", depends_on=("a1",), order_index=2),
)
"""A todo with subtasks, of which one has its own; two wait for something of them."""

RESULTS = st.sampled_from(
    [
        *[ended(RoundOutcome.VERIFIED)] * 3,
        *[ended(RoundOutcome.CHANGES_REQUESTED)] * 2,
        *[feedback()] * 2,
        ended(RoundOutcome.VERIFIED, confidence=Confidence.PARTIAL),
        ended(RoundOutcome.CHANGES_REQUESTED, "verifier_unavailable", passed=True),
        ended(RoundOutcome.INCONCLUSIVE, "engine_unavailable"),
        ended(RoundOutcome.NEEDS_HUMAN, trigger="auditor_blocked"),
        ended(RoundOutcome.FAILED, trigger="hard_fail"),
    ]
)
ENDINGS = st.sampled_from(
    [
        *[looped("success")] * 2,
        looped("success_with_notes", notes=("slow",), placed="offered", why_offered="it has changed"),
        looped("escalated", 2, trigger="revision_cap_exceeded", reason="2 of 2 loops used"),
        looped("escalated", trigger="hard_fail"),
        looped("aborted"),
    ]
)
"""Each after two rounds at most, which is what the orders allow."""


class Life(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.net = Network(*TREE)
        self.trees = 0

    def _todo(self, number: int, *statuses: TodoStatus) -> str:
        """One of the todos, of those that stand there if any do."""
        known = sorted(self.net.todos)
        there = [id for id in known if self.net.todos[id].status in statuses]
        return (there or known)[number % len(there or known)]

    def _ask(self, todo: str, command: Command, request: Request, act: Any) -> None:
        """Ask, and see that nothing is done that the table does not have, and nothing forbidden that it has."""
        before = self.net.todos[todo]
        code = self.net.ask(todo, command, request, act)
        possible = transition(before.status, command, request.actor.role) is not None
        assert possible or code in ("illegal_transition", "forbidden"), (command, code)
        if PARTIES[request.actor.role] == "worker" and before.gate.status != "running":
            assert code

    @initialize(done=st.integers(0, len(TREE)))
    def begin(self, done: int) -> None:
        """Some of it is done already, as it should be: what chance alone seldom comes by."""
        for _ in range(done):
            self.a_todo_is_done_as_it_should_be(0)

    # work that goes on

    @rule(number=NUMBERS, actor=ACTORS)
    def start(self, number: int, actor: Any) -> None:
        todo, request = self._todo(number, S.PENDING), Start(actor=actor)
        self._ask(todo, Command.START, request, lambda at, now: workers.start(at, request, BASE, now))

    @rule(number=NUMBERS, new=st.booleans(), actor=ACTORS)
    def claim(self, number: int, new: bool, actor: Any) -> None:
        todo, request = self._todo(number, S.IN_PROGRESS), claiming(actor=actor)
        self.trees += new
        taken = admitted(f"tree{self.trees}")
        self._ask(todo, Command.CLAIM, request, lambda at, now: workers.claim(at, request, taken, now, BASE))

    @rule(number=NUMBERS)
    def add_evidence(self, number: int) -> None:
        todo, request = self._todo(number, S.IN_PROGRESS), AddEvidence(actor=WORKER, evidence=(PIECE,))
        self._ask(
            todo,
            Command.ADD_EVIDENCE,
            request,
            lambda at, now: workers.add_evidence(at, request, (minted(f"n{number}"),), now),
        )

    @precondition(lambda self: self.net.rounds)
    @rule(number=NUMBERS, result=RESULTS)
    def a_round_ends(self, number: int, result: Any) -> None:
        todo, attempt = sorted(self.net.rounds)[number % len(self.net.rounds)]
        self.net.end_round(todo, attempt, result)

    @precondition(lambda self: self.net.loops)
    @rule(number=NUMBERS, rounds=st.integers(1, 2), result=ENDINGS)
    def a_fix_loop_ends(self, number: int, rounds: int, result: FixLoopResult) -> None:
        todo, attempt = sorted(self.net.loops)[number % len(self.net.loops)]
        said = result.model_copy(update={"attempt": attempt + rounds}) if result.attempt else result
        self.net.end_loop(todo, attempt, rounds, said)

    @rule(number=NUMBERS, ending=ENDINGS)
    def a_todo_is_repaired(self, number: int, ending: FixLoopResult) -> None:
        """One that can go on is claimed, sent to its fix loop, and that ends."""
        todo = self._able(number)
        if todo:
            self._one_attempt(todo, feedback())
            repair = self.net.todos[todo].repair
            if repair is not None:
                self.net.end_loop(todo, repair.attempt, 1, ending.model_copy(update={"attempt": repair.attempt + 1}))

    @rule(number=NUMBERS)
    def a_todo_is_done_as_it_should_be(self, number: int) -> None:
        """One that can go on is started if need be, claimed and verified, in a session that goes on."""
        todo = self._able(number)
        if todo:
            self._one_attempt(todo, ended(RoundOutcome.VERIFIED))
            self.net.settle(number)

    @rule(number=NUMBERS, by_human=st.lists(st.booleans(), min_size=4, max_size=4))
    def a_todo_is_sent_back_again_and_again(self, number: int, by_human: list[bool]) -> None:
        """By the checks, or by a human who is never content: until the caps end it."""
        todo = self._able(number)
        for human in by_human if todo else []:
            self._one_attempt(todo, ended(RoundOutcome.VERIFIED if human else RoundOutcome.CHANGES_REQUESTED))
            if self.net.todos[todo].status is S.VERIFIED:
                self._reject(todo, ALICE, 0)

    def _able(self, number: int) -> str:
        """A todo that could be worked on now, in a session that a human lets go on; empty for none."""
        self.net.hear(sessions.resumed(self.net.session, Resume(actor=ALICE), self.net.now))
        self.net.settle(number)
        todos = sorted(self.net.todos.values(), key=lambda todo: todo.id)
        able = [todo.id for todo in todos if todo.status in (S.PENDING, S.IN_PROGRESS) and not _waits(todo)]
        return able[number % len(able)] if able else ""

    def _one_attempt(self, todo: str, result: RoundResult) -> None:
        self.trees += 1
        start, claim, taken = Start(actor=WORKER), claiming(), admitted(f"tree{self.trees}")
        self._ask(todo, Command.START, start, lambda at, now: workers.start(at, start, BASE, now))
        self._ask(todo, Command.CLAIM, claim, lambda at, now: workers.claim(at, claim, taken, now, BASE))
        if (todo, self.net.todos[todo].round) in self.net.rounds:
            self.net.end_round(todo, self.net.todos[todo].round, result)

    def _reject(self, todo: str, actor: Actor, extra: int) -> None:
        request = Reject(actor=actor, feedback="Not like this", extra_attempts=extra)
        self._ask(todo, Command.REJECT, request, lambda at, now: people.reject(at, request, now))

    @rule(number=NUMBERS)
    def block(self, number: int) -> None:
        todo, request = self._todo(number, S.IN_PROGRESS), Block(actor=WORKER, question="Which?")
        self._ask(todo, Command.BLOCK, request, lambda at, now: workers.block(at, request, now))

    # people

    @rule(number=NUMBERS, actor=ACTORS)
    def unblock(self, number: int, actor: Any) -> None:
        todo, request = self._todo(number, S.BLOCKED), Unblock(actor=actor, clarification="This")
        self._ask(todo, Command.UNBLOCK, request, lambda at, now: people.unblock(at, request, now))

    @rule(number=NUMBERS, actor=ACTORS)
    def approve(self, number: int, actor: Any) -> None:
        todo, request = self._todo(number, S.CLAIMED, S.NEEDS_HUMAN), Approve(actor=actor)
        self._ask(todo, Command.APPROVE, request, lambda at, now: people.approve(at, request, now))

    @rule(number=NUMBERS, actor=ACTORS, kind=st.sampled_from(["check", "verifier", "direct"]))
    def override(self, number: int, actor: Any, kind: Any) -> None:
        todo = self._todo(number, S.NEEDS_HUMAN, S.FAILED)
        request = Override(actor=actor, kind=kind, reason="Known", acknowledged=("tests",))
        self._ask(todo, Command.OVERRIDE, request, lambda at, now: people.override(at, request, now))

    @rule(number=NUMBERS, actor=ACTORS, extra=st.integers(0, 1))
    def reject(self, number: int, actor: Any, extra: int) -> None:
        self._reject(self._todo(number, S.VERIFIED), actor, extra)

    @rule(number=NUMBERS, actor=ACTORS)
    def give_back(self, number: int, actor: Any) -> None:
        todo = self._todo(number, S.NEEDS_HUMAN, S.FAILED)
        request = Return(actor=actor, cost_usd=number % 2)
        self._ask(todo, Command.RETURN, request, lambda at, now: people.give_back(at, request, now))

    @rule(number=NUMBERS, actor=ACTORS, version=st.integers(-1, 0))
    def edit(self, number: int, actor: Any, version: int) -> None:
        todo = self._todo(number)
        changes: dict[str, Any] = {"content": f"Do it, {number}"}
        request = Edit(actor=actor, expected_version=self.net.todos[todo].version + version, changes=changes)
        before = self.net.todos[todo]
        self._ask(todo, Command.EDIT, request, lambda at, now: people.edit(at, request, now))
        assert version == 0 or self.net.todos[todo].order == before.order

    @rule(number=NUMBERS, actor=ACTORS)
    def reorder_and_note(self, number: int, actor: Any) -> None:
        todo = self._todo(number)
        place = Reorder(actor=actor, order_index=number % 5, expected_version=self.net.todos[todo].version)
        self._ask(todo, Command.REORDER, place, lambda at, now: people.reorder(at, place, now))
        note = AddNote(actor=actor, content="Look")
        self._ask(todo, Command.NOTE, note, lambda at, now: people.note(at, note, now))

    @rule(number=NUMBERS, actor=ACTORS, seldom=st.integers(0, 3))
    def delete(self, number: int, actor: Any, seldom: int) -> None:
        if seldom == 0:
            todo, request = self._todo(number), Delete(actor=actor)
            self._ask(todo, Command.DELETE, request, lambda at, now: people.delete(at, request, now))

    # the session

    @rule(number=NUMBERS, below=st.booleans())
    def create(self, number: int, below: bool) -> None:
        parent = self._todo(number, S.VERIFIED) if below else ""
        entry = Entry(id=f"n{number % 4}", parent=parent)
        known = entry.id in self.net.todos
        code = self.net.hear(sessions.created(self.net.session, ALICE, (entry,), self.net.now))
        assert code or not known, "an id is used once"
        if not code:
            self.net.join((entry,))

    @rule(actor=ACTORS, resume=st.booleans())
    def pause_or_resume(self, actor: Any, resume: bool) -> None:
        at, now = self.net.session, self.net.now
        asked = (
            sessions.resumed(at, Resume(actor=actor), now) if resume else sessions.paused(at, Pause(actor=actor), now)
        )
        assert (self.net.hear(asked) == "forbidden") is (actor == WORKER)

    @rule(seldom=st.integers(0, 9))
    def stop(self, seldom: int) -> None:
        if seldom == 0:
            self.net.hear(sessions.stopped(self.net.session, Stop(actor=ALICE), self.net.now))

    # time and messages

    @rule(seconds=st.sampled_from([1.0, 20.0, 400.0, 1000.0, 3600.0, 40_000.0]))
    def wait(self, seconds: float) -> None:
        self.net.wait(seconds)

    @precondition(lambda self: self.net.under_way)
    @rule(number=NUMBERS)
    def one_message_arrives(self, number: int) -> None:
        self.net.deliver(number % self.net.under_way)

    @precondition(lambda self: self.net.owed)
    @rule()
    def the_session_writes(self) -> None:
        self.net.write()

    @rule(seed=NUMBERS)
    def everything_arrives(self, seed: int) -> None:
        self.net.settle(seed)

    @invariant()
    def once_all_is_heard_all_fits(self) -> None:
        if self.net.quiet:
            self.net.consistent()

    def teardown(self) -> None:
        self.net.settle()
        self.net.consistent()


def _waits(todo: Todo) -> bool:
    return bool(todo.gate.waits_for or todo.gate.open_children)


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=200, stateful_step_count=40, deadline=None)
