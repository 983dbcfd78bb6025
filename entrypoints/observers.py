"""What workers see of the activities they run: the context of every log record, and how long things took.

Rounds and checks are counted by the workflow (`workflows.telemetry`), once each however often an activity is tried.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import structlog
from temporalio import activity
from temporalio.client import Client
from temporalio.common import MetricMeter
from temporalio.service import RPCError
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor

from domain.checks import Outcome
from domain.criteria import CRITERION_TYPES
from domain.messages import CheckInput
from workflows.options import WORKFLOWS_QUEUE
from workflows.telemetry import CHECK_SECONDS, CHECK_SECONDS_BUCKETS, ENDS, counters

QUEUE_WAIT = "countersign_queue_wait_seconds"
TRAIL_APPEND = "countersign_trail_append_seconds"
ROUNDS_OPEN = "countersign_rounds_open"
COUNT_EVERY_SECONDS = 15.0
COUNT_TIMEOUT = timedelta(seconds=5)
OPEN_ROUNDS = "WorkflowType = 'VerificationWorkflow' AND ExecutionStatus = 'Running'"

BUCKETS: Mapping[str, Sequence[float]] = {
    CHECK_SECONDS: CHECK_SECONDS_BUCKETS,
    QUEUE_WAIT: (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900),
    TRAIL_APPEND: (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10),
}
"""Upper bounds in seconds, by metric."""

log = structlog.get_logger("entrypoints.observers")


def place_of(workflow_id: str) -> dict[str, str | int]:
    """What an id says: `round/SESSION/TODO/ATTEMPT`, `fix/` the same, `todo/SESSION/TODO`, `session/SESSION`."""
    place: dict[str, str | int] = {"workflow": workflow_id} if workflow_id else {}
    place |= zip(("session", "todo"), workflow_id.split("/")[1:3], strict=False)
    attempt = workflow_id.rpartition("/")[2]
    numbered = workflow_id.startswith(("round/", "fix/")) and attempt.isdecimal()
    return {**place, "attempt": int(attempt)} if numbered else place


class Observer(Interceptor):
    """For every worker: makes an observer of each activity's execution."""

    def __init__(self, meter: MetricMeter) -> None:
        self._queue_wait = meter.create_histogram_float(QUEUE_WAIT, "From scheduled to started, each try.", "s")
        self._append = meter.create_histogram_float(TRAIL_APPEND, "One append to the trail.", "s")

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        """See the base class."""
        return _Observed(next, self)

    def started(self, info: activity.Info) -> None:
        """An activity has come from its queue, at the times that the server noted."""
        wait = (info.started_time - info.current_attempt_scheduled_time).total_seconds()
        self._queue_wait.record(max(0.0, wait), {"queue": info.task_queue, "activity": info.activity_type})

    def ended(self, info: activity.Info, seconds: float) -> None:
        """An activity has ended, well or not, after so many seconds."""
        if info.activity_type == "trail.append":
            self._append.record(seconds)


class _Observed(ActivityInboundInterceptor):
    def __init__(self, next: ActivityInboundInterceptor, observer: Observer) -> None:
        super().__init__(next)
        self._observer = observer

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        info = activity.info()
        self._observer.started(info)
        began = time.monotonic()
        with structlog.contextvars.bound_contextvars(**_context(info, input.args)):
            log.debug("activity starts")
            try:
                return await super().execute_activity(input)
            finally:
                seconds = time.monotonic() - began
                self._observer.ended(info, seconds)
                log.debug("activity ended", seconds=round(seconds, 3))


def _context(info: activity.Info, arguments: Sequence[object]) -> dict[str, str | int]:
    said: dict[str, str | int] = {"activity": info.activity_type, "activity_try": info.attempt}
    said |= place_of(info.workflow_id or "")
    if arguments and isinstance(arguments[0], CheckInput):
        said["check"] = arguments[0].item.id
    return said


def begin_at_zero(meter: MetricMeter, namespace: str) -> None:
    """Make every count of `workflows.telemetry` known before its first event: an increase from nothing goes unseen."""
    labels = {"namespace": namespace, "task_queue": WORKFLOWS_QUEUE, "workflow_type": "VerificationWorkflow"}
    rounds, checks = counters(meter.with_additional_attributes(labels))
    for end in ENDS:
        rounds.add(0, {"outcome": end})
    for kind in CRITERION_TYPES:
        for outcome in Outcome:
            checks.add(0, {"outcome": outcome.value, "type": kind})


async def count_open_rounds(client: Client, meter: MetricMeter) -> None:
    """Ask the server now and then how many rounds run, for ever. Every worker that does says the same number."""
    gauge = meter.create_gauge(ROUNDS_OPEN, "Rounds that have begun and not ended, by the server's count.")
    while True:
        try:
            gauge.set((await client.count_workflows(OPEN_ROUNDS, rpc_timeout=COUNT_TIMEOUT)).count)
        except RPCError as error:
            log.warning("open rounds not counted", reason=error.message)
        await asyncio.sleep(COUNT_EVERY_SECONDS)
