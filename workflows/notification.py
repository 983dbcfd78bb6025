"""Tells people of one thing, and reminds them while it lasts. Nothing waits for it, and nothing but words comes of it.

A wait that nobody ends stays what it is: after the second reminder there is none, and nothing is decided. Source: issue
"Human authority".
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError

with workflow.unsafe.imports_passed_through():
    from pydantic import JsonValue

    from activities.boundary import outside_error
    from activities.notifications import NotificationActivities
    from domain.acts.step import Event
    from domain.events import SYSTEM, Action
    from domain.notifications import Delivery, Notice, NotificationInput, Whom, WhomInput
    from workflows import options
    from workflows.trail import Writer

AGAIN_SECONDS = 15.0
"""Until a row is tried again, when the worker that took it writes to another trail."""


@workflow.defn(name="NotificationWorkflow")
class NotificationWorkflow:
    """One thing that people are told. It ends when all were, or for a week could not be, and no reminder is due."""

    @workflow.init
    def __init__(self, request: NotificationInput) -> None:
        """State before the first task: the wait may be over by then."""
        notice = request.notice
        self._id = request.workflow_id
        self._secrets = request.secrets
        self._notice = notice
        self._trail = Writer(request.workflow_id, notice.session, notice.todo, request.store)
        self._over = not request.reminds
        self._sending: list[asyncio.Task[None]] = []

    @workflow.run
    async def run(self, _request: NotificationInput) -> None:
        """Tell those who are to be told, each at its own pace, and remind them meanwhile."""
        whom = await self._whom()
        if whom is None:
            return
        self._tell(self._notice, whom.first)
        both = tuple(dict.fromkeys((*whom.reminded, *whom.second)))
        for number, after, names in ((1, whom.remind_after, whom.reminded), (2, whom.second_after, both)):
            if after and names and await self._still_waits(after, number):
                await self._remind(number, names)
        for sending in self._sending:
            await sending

    @workflow.signal(name="over")
    def over(self) -> None:
        """The wait is: nobody is reminded of it any more. What is being sent still is."""
        self._over = True

    async def _whom(self) -> Whom | None:
        """Who is told, as a worker of the queue has it configured now; None where for a week there is none."""
        asked = WhomInput(kind=self._notice.kind, session=self._notice.session, waited=self._notice.waited)
        try:
            return await workflow.execute_activity_method(
                NotificationActivities.plan, asked, summary="who is told", **options.NOTIFY
            )
        except ActivityError as error:
            await self._failed(self._notice, "", "", error)
            return None

    async def _still_waits(self, after: float, number: int) -> bool:
        """Wait until the reminder is due; False where the wait is over before."""
        left = (self._notice.since + timedelta(seconds=after) - workflow.now()).total_seconds()
        if self._over or left <= 0:
            return not self._over
        try:
            await workflow.wait_condition(lambda: self._over, timeout=left, timeout_summary=f"reminder {number}")
        except TimeoutError:
            return not self._over
        return False

    async def _remind(self, number: int, names: tuple[str, ...]) -> None:
        since = self._notice.since.isoformat(timespec="seconds")
        payload: dict[str, JsonValue] = {"number": number, "since": since, "addresses": [*names]}
        await self._row("reminded", payload)
        self._tell(self._notice.model_copy(update={"kind": "reminder", "number": number}), names)

    def _tell(self, notice: Notice, names: Iterable[str]) -> None:
        """Begin to; how long it takes anybody holds up nobody else."""
        self._sending += [asyncio.create_task(self._send(notice, name)) for name in names]

    async def _send(self, notice: Notice, address: str) -> None:
        which = f"{notice.kind}-{notice.number}" if notice.number else notice.kind
        delivery = Delivery(id=f"{self._id}/{which}/{address}", address=address, notice=notice, secrets=self._secrets)
        try:
            sent = await workflow.execute_activity_method(
                NotificationActivities.send, delivery, summary=f"{which} to {address}"[:180], **options.NOTIFY
            )
        except ActivityError as error:
            await self._failed(notice, address, delivery.id, error)
        else:
            told: dict[str, JsonValue] = {"kind": notice.kind, "address": address, "delivery": delivery.id}
            await self._row("notified", {**told, "tries": sent.tries})

    async def _failed(self, notice: Notice, address: str, delivery: str, error: ActivityError) -> None:
        told: dict[str, JsonValue] = {"kind": notice.kind, "address": address, "delivery": delivery}
        await self._row("notification_failed", {**told, "reason": outside_error(error).reason})

    async def _row(self, action: Action, payload: dict[str, JsonValue]) -> None:
        """Store it, however long that takes: nobody waits for this workflow."""
        while True:
            try:
                await self._trail.write(Event(action=action, actor=SYSTEM, payload=payload), self._notice.attempt)
                return
            except ActivityError as error:
                workflow.logger.warning("not in the trail yet: %s", outside_error(error))
            await workflow.sleep(AGAIN_SECONDS)
