"""A todo's life: what is asked of it is handed on, what it is brings rounds, timers and reports in line. No rules here.

Source: DESIGN 3 and 6; `domain.acts` has the rules, `domain.lifecycle` their table.
"""

from __future__ import annotations

import asyncio
from typing import Any

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from domain.acts import approving, editing, people, system, workers
    from domain.events import Actor
    from domain.life import FollowUp, TodoInput
    from domain.requests import (
        AddEvidence,
        AddNote,
        Answer,
        Approve,
        Block,
        Delete,
        Edit,
        MakeClaim,
        Override,
        Reject,
        Reorder,
        Respond,
        Return,
        Start,
        Unblock,
    )
    from domain.todo import Gate, Todo
    from workflows.todo.commands import Commands
    from workflows.todo.drives import Drives
    from workflows.todo.intake import Intake
    from workflows.todo.keeper import Keeper
    from workflows.todo.repairs import Repairs
    from workflows.todo.rounds import Rounds
    from workflows.todo.timers import Timers


@workflow.defn(name="TodoWorkflow")
class TodoWorkflow:
    """One todo. It ends when its session has retired, and answers then what it came to."""

    @workflow.init
    def __init__(self, request: TodoInput) -> None:
        """State before the first task: a message may come in it."""
        self._keeper = Keeper(request)
        self._commands = Commands(self._keeper, request.answers)
        self._rounds = Rounds(self._keeper)
        self._repairs = Repairs(self._keeper)
        self._intake = Intake(self._keeper, self._commands, self._rounds)
        self._timers = Timers(self._keeper, self._rounds)
        self._drives = Drives(self._keeper, self._commands, self._intake)

    @workflow.run
    async def run(self, _request: TodoInput) -> Todo:
        """Bring the world in line with it until its session has retired; no run ends with a round or fix loop open."""
        await self._keeper.begin()
        parts = (self._keeper, self._keeper.notifying, self._rounds, self._repairs, self._timers, self._drives)
        minding = [asyncio.create_task(part.mind()) for part in parts]
        over = asyncio.create_task(workflow.wait_condition(self._is_over))
        done = await self._first_of(over, *minding)
        for task in done:
            await task  # only `over` ends by itself: anything else is a defect, which fails this task
        if not self._keeper.todo.gate.retired:
            workflow.continue_as_new(self._keeper.carried(self._commands.answers.kept))
        return self._keeper.todo

    async def _first_of(self, *tasks: asyncio.Task[None]) -> list[asyncio.Task[None]]:
        """Those that have ended. Cancelled through Temporal itself, the todo is deleted, and goes on being there."""
        while True:
            try:
                done, _ = await workflow.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            except asyncio.CancelledError:
                request = Delete(actor=Actor(role="unattributed"), reason="cancelled through Temporal")
                await self._commands.signalled("delete", request, people.delete)
            else:
                return done

    @workflow.query
    def state(self) -> Todo:
        """All that is known of it, every row of which is stored."""
        return self._keeper.todo

    def _is_over(self) -> bool:
        """Whether this run ends: nothing is under way, and the session has retired or messages were many."""
        many = workflow.info().is_continue_as_new_suggested() or self._commands.answers.many
        idle = all(part.idle for part in (self._keeper, self._rounds, self._repairs, self._intake, self._drives))
        return (many or self._keeper.todo.gate.retired) and idle and workflow.all_handlers_finished()

    @workflow.signal(name="gate")
    async def hear_gate(self, word: Gate) -> None:
        """The session's word."""
        await self._keeper.begun()
        await self._keeper.happen(lambda todo, now: system.gated(todo, word, now))
        if word.asks:
            self._keeper.tell(again=True)

    @workflow.signal(name="ask")
    async def hear_question(self, asked: FollowUp) -> None:
        """The auditor's question, from the round."""
        await self._keeper.begun()
        await self._keeper.happen(lambda todo, now: system.ask(todo, asked, now))

    @workflow.signal(name="override")
    async def hear_override(self, *said: Any) -> None:
        """What `temporal workflow signal` sends: any inputs at all, for what cannot be taken would be lost."""
        await self._commands.overridden(said, approving.override)

    @workflow.update(name="start")
    async def start(self, request: Start) -> Answer:
        """A worker begins."""
        return await self._commands.update(lambda: self._intake.start(request))

    @workflow.update(name="add_evidence")
    async def add_evidence(self, request: AddEvidence) -> Answer:
        """A worker brings evidence."""
        return await self._commands.update(lambda: self._intake.add_evidence(request))

    @workflow.update(name="claim")
    async def claim(self, request: MakeClaim) -> Answer:
        """A worker says that the work is done; answered once the work is frozen."""
        return await self._commands.update(lambda: self._intake.claim(request))

    @workflow.update(name="respond")
    async def respond(self, request: Respond) -> Answer:
        """A worker answers the auditor."""
        return await self._commands.update(lambda: self._intake.respond(request))

    @workflow.update(name="block")
    async def block(self, request: Block) -> Answer:
        """A worker cannot go on."""
        return await self._commands.update(lambda: self._commands.settle("block", request, workers.block))

    @workflow.update(name="unblock")
    async def unblock(self, request: Unblock) -> Answer:
        """A human answers that."""
        return await self._commands.update(lambda: self._commands.human("unblock", request, people.unblock))

    @workflow.update(name="approve")
    async def approve(self, request: Approve) -> Answer:
        """A human countersigns."""
        return await self._commands.update(lambda: self._commands.human("approve", request, approving.approve))

    @workflow.update(name="override")
    async def override(self, request: Override) -> Answer:
        """A human overrules."""
        return await self._commands.update(lambda: self._commands.human("override", request, approving.override))

    @workflow.update(name="reject")
    async def reject(self, request: Reject) -> Answer:
        """A human sends it back."""
        return await self._commands.update(lambda: self._commands.human("reject", request, people.reject))

    @workflow.update(name="return")
    async def give_back(self, request: Return) -> Answer:
        """A human gives it back with more attempts."""
        return await self._commands.update(lambda: self._commands.human("return", request, people.give_back))

    @workflow.update(name="edit")
    async def edit(self, request: Edit) -> Answer:
        """A human changes the order."""
        return await self._commands.update(lambda: self._commands.human("edit", request, editing.edit))

    @workflow.update(name="note")
    async def note(self, request: AddNote) -> Answer:
        """A human writes something down."""
        return await self._commands.update(lambda: self._commands.human("note", request, people.note))

    @workflow.update(name="reorder")
    async def reorder(self, request: Reorder) -> Answer:
        """A human moves it among its siblings."""
        return await self._commands.update(lambda: self._commands.human("reorder", request, editing.reorder))

    @workflow.update(name="delete")
    async def delete(self, request: Delete) -> Answer:
        """A human cancels it."""
        return await self._commands.update(lambda: self._commands.human("delete", request, people.delete))
