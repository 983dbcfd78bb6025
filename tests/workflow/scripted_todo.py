"""A workflow of the same name as the real todo that becomes what it is told to. Nothing else."""

from __future__ import annotations

from typing import Any

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from domain.life import TodoInput
    from domain.session import TodoReport, session_workflow_id
    from domain.status import TodoStatus
    from domain.todo import Gate


@workflow.defn(name="TodoWorkflow")
class ScriptedTodo:
    """A todo that becomes what it is told to, and reports it."""

    @workflow.init
    def __init__(self, request: TodoInput) -> None:
        self._request, self._todo = request, request.todo
        self._gates = [request.todo.gate]
        self._number = 0
        self._silent = False
        self._status = request.todo.status
        self._depends_on = tuple(request.todo.order.depends_on)

    @workflow.run
    async def run(self, _request: TodoInput) -> None:
        """Until the session has retired."""
        await workflow.wait_condition(lambda: self._gates[-1].retired and workflow.all_handlers_finished())

    @workflow.signal(name="gate")
    async def gate(self, word: Gate) -> None:
        """The session's word."""
        if word.number > self._gates[-1].number:
            self._gates.append(word)
        if word.asks and not self._silent:
            await self._report(self._status)

    @workflow.query(name="gates")
    def gates(self) -> list[Gate]:
        """Every word that counted."""
        return self._gates

    @workflow.query(name="begun_with")
    def begun_with(self) -> TodoInput:
        """What it was started with."""
        return self._request

    @workflow.update(name="become")
    async def become(self, status: TodoStatus, trigger: str = "") -> int:
        """Report another status; the number of the report."""
        return await self._report(status, trigger=trigger)

    @workflow.signal(name="mean")
    def mean(self, status: TodoStatus) -> None:
        """Become it, and say so only when asked."""
        self._status = status

    @workflow.signal(name="fall_silent")
    def fall_silent(self) -> None:
        """Say nothing more by itself."""
        self._silent = True

    @workflow.update(name="ask")
    async def ask(self, status: TodoStatus) -> Gate:
        """Report it, and wait for the session's word on that."""
        number = await self._report(status, asks=True)
        await workflow.wait_condition(lambda: self._gates[-1].heard >= number)
        return self._gates[-1]

    async def _report(self, status: TodoStatus, **fields: Any) -> int:
        self._number += 1
        self._status = status
        number, order = self._number, self._todo.order
        report = TodoReport(
            todo=self._todo.id,
            number=number,
            word=self._gates[-1].number,
            status=status,
            parent=self._todo.parent,
            depends_on=self._depends_on,
            order_index=self._todo.order_index,
            workspace=order.workspace,
            driven=order.worker is not None,
            pauses=order.safeguards.pause_on_escalation,
            **fields,
        )
        session = workflow.get_external_workflow_handle(session_workflow_id(self._todo.session))
        await session.signal("report", report)
        return number
