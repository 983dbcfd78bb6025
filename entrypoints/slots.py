"""How much a worker takes at a time, of each queue. The rest waits at the server, where sessions take turns.

So it takes little: what is in a worker is done in no order, and shares one interpreter. It refuses nothing.
Source: issue "Scale", docs/scaling.md.
"""

from __future__ import annotations

from typing import TypedDict

from temporalio.worker import PollerBehavior, PollerBehaviorAutoscaling

WORKFLOW_TASKS = 5
"""They are Python and nothing else, one at a time however many have begun; one that has begun has 10 s, then the server
gives it out again. With three, ten todos that were alone took a fifth longer."""

SHORT_ACTIVITIES = 8
"""Of the other queues: rows, reports, trees that are frozen. They wait for disks and databases, mostly."""

WORKER_COMMANDS = 16
"""Processes of their own, which wait for a model, mostly, and may run for hours."""

ROLE_PASSES = 8
"""They wait for a model, mostly, but each keeps a packet, a conversation and perhaps a browser in memory."""

MESSAGES = 32
"""They wait for somebody else's server, which may hang; one address has a few of them at most (`adapters.notify`)."""

POLLERS = PollerBehaviorAutoscaling(minimum=1, initial=2, maximum=10)
"""As many as the server says are of use: one while nothing goes on."""


class Slots(TypedDict):
    """Keyword arguments of `temporalio.worker.Worker`."""

    max_concurrent_workflow_tasks: int
    max_concurrent_activities: int
    workflow_task_poller_behavior: PollerBehavior
    activity_task_poller_behavior: PollerBehavior


def slots(queue: str, parallelism: int) -> Slots:
    """Of one worker; on `sandbox` as many as containers may run at once."""
    activities = {"sandbox": parallelism, "agents": WORKER_COMMANDS, "roles": ROLE_PASSES, "notifications": MESSAGES}
    return {
        "max_concurrent_workflow_tasks": WORKFLOW_TASKS,
        "max_concurrent_activities": activities.get(queue, SHORT_ACTIVITIES),
        "workflow_task_poller_behavior": POLLERS,
        "activity_task_poller_behavior": POLLERS,
    }
