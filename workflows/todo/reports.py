"""What a todo says to its session: each change of what the session knows of it, numbered. It hears nothing."""

from __future__ import annotations

from temporalio import workflow
from temporalio.exceptions import ApplicationError

with workflow.unsafe.imports_passed_through():
    from domain.session import TodoReport, session_workflow_id
    from domain.status import TodoStatus
    from domain.terms import terms_of
    from domain.todo import Todo


class Reports:
    """Reports in the order in which they are due; of several that wait only the last is sent, it says it all."""

    def __init__(self, todo: Todo) -> None:
        self._session = todo.session
        self._order = todo.order_digest
        self._terms = ""
        self._told = report_of(todo, busy=False, terms="")
        self._due: TodoReport | None = None
        self._sending = False
        self.number = todo.reports

    @property
    def idle(self) -> bool:
        """Whether everything was sent."""
        return self._due is None and not self._sending

    def tell(self, todo: Todo, busy: bool, asks: bool = False, again: bool = False) -> int:
        """The number of the report that has the todo as it stands now.

        A new one where something changed, where it `asks`, and where it is wanted `again`.
        """
        if todo.order_digest != self._order:
            self._order, self._terms = (
                todo.order_digest,
                terms_of(todo.order, todo.authored, todo.order_file, todo.floor),
            )
        report = report_of(todo, busy, self._terms)
        if asks or again or report != self._told:
            self.number += 1
            asks = asks or (self._due is not None and self._due.asks)
            self._told = report
            self._due = report.model_copy(update={"number": self.number, "asks": asks, "word": todo.gate.number})
        return self.number

    async def mind(self) -> None:
        """Send what is due, for ever. A session that is gone is told nothing more."""
        session = workflow.get_external_workflow_handle(session_workflow_id(self._session))
        while True:
            await workflow.wait_condition(lambda: self._due is not None)
            report, self._due, self._sending = self._due, None, True
            try:
                await session.signal("report", report)
            except ApplicationError as error:
                workflow.logger.warning("the session was not told: %s", error)
            self._sending = False


def report_of(todo: Todo, busy: bool, terms: str) -> TodoReport:
    """What the session is told of `todo`, not numbered yet."""
    return TodoReport(
        todo=todo.id,
        number=0,
        status=todo.status,
        parent=todo.parent,
        depends_on=tuple(todo.order.depends_on),
        order_index=todo.order_index,
        workspace=todo.order.workspace,
        driven=todo.worker is not None,
        pauses=todo.order.safeguards.pause_on_escalation,
        busy=busy,
        trigger=todo.trigger,
        asked=todo.status is TodoStatus.CLAIMED and todo.question is not None,
        terms=terms,
        version=todo.version,
    )
