"""Queues, timeouts, retry policies and search attributes, each in this one place. Source: DESIGN 6."""

from __future__ import annotations

from datetime import timedelta
from typing import TypedDict

from temporalio.common import RetryPolicy, SearchAttributeKey
from temporalio.workflow import ActivityCancellationType

from workflows import attributes

WORKFLOWS_QUEUE = "workflows"
SANDBOX_QUEUE = "sandbox"

SESSION_ATTRIBUTE = SearchAttributeKey.for_keyword(attributes.SESSION)
DOMAIN_ATTRIBUTE = SearchAttributeKey.for_keyword(attributes.DOMAIN)
REVIEW_ATTRIBUTE = SearchAttributeKey.for_keyword(attributes.REVIEW_STATUS)
SEARCH_ATTRIBUTES = (SESSION_ATTRIBUTE, DOMAIN_ATTRIBUTE, REVIEW_ATTRIBUTE)

HEARTBEAT = timedelta(seconds=10)
"""How long a worker's death goes unnoticed, at most."""

CHECK_MARGIN_SECONDS = 300.0
"""Sealing the tree and the engine's own delays, on top of a check's limit, which counts in the container alone."""


def workspace_queue(host: str) -> str:
    """The queue that only workers on `host` poll: they can see the paths of workspaces there."""
    return f"workspace-{host}"


class ActivityOptions(TypedDict, total=False):
    """The keyword arguments of `workflow.execute_activity_method` that are set here."""

    task_queue: str
    start_to_close_timeout: timedelta
    schedule_to_start_timeout: timedelta
    heartbeat_timeout: timedelta
    retry_policy: RetryPolicy
    cancellation_type: ActivityCancellationType


TRAIL: ActivityOptions = {
    "task_queue": WORKFLOWS_QUEUE,
    "start_to_close_timeout": timedelta(seconds=10),
    "retry_policy": RetryPolicy(
        initial_interval=timedelta(milliseconds=200),
        maximum_interval=timedelta(seconds=3),
        non_retryable_error_types=["ValueError"],
    ),
}
"""For ever: a round whose database is away, or its disk full, waits; ended without a row it would end unrecorded."""

ASSESS: ActivityOptions = {
    "task_queue": WORKFLOWS_QUEUE,
    "start_to_close_timeout": timedelta(minutes=10),
    "heartbeat_timeout": HEARTBEAT,
    "retry_policy": RetryPolicy(maximum_attempts=4),
}

REPORT: ActivityOptions = {
    **ASSESS,
    "retry_policy": RetryPolicy(maximum_interval=timedelta(seconds=5), maximum_attempts=200),
}
"""A quarter of an hour: everything else of the round is done, and only room or a folder is missing."""

PREPARE: ActivityOptions = {
    "task_queue": SANDBOX_QUEUE,
    "start_to_close_timeout": timedelta(minutes=30),
    "heartbeat_timeout": HEARTBEAT,
    "retry_policy": RetryPolicy(maximum_attempts=4),
}

RELEASE: ActivityOptions = {
    "task_queue": SANDBOX_QUEUE,
    "start_to_close_timeout": timedelta(minutes=2),
    "schedule_to_start_timeout": timedelta(minutes=2),
    "heartbeat_timeout": HEARTBEAT,
    "retry_policy": RetryPolicy(maximum_attempts=3),
}


def freeze(host: str) -> ActivityOptions:
    """Nobody but a worker on `host` can freeze, so waiting for one is bounded."""
    return {
        "task_queue": workspace_queue(host),
        "start_to_close_timeout": timedelta(minutes=15),
        "schedule_to_start_timeout": timedelta(minutes=2),
        "heartbeat_timeout": HEARTBEAT,
        "retry_policy": RetryPolicy(maximum_attempts=4),
    }


def check(limit: float, tool_retries: int) -> ActivityOptions:
    """`limit` in seconds; `tool_retries` more tries when the check could not run (seed `auditor` 4.1).

    Queueing counts to neither. A cancelled round waits until the container is gone.
    """
    return {
        "task_queue": SANDBOX_QUEUE,
        "start_to_close_timeout": timedelta(seconds=limit + CHECK_MARGIN_SECONDS),
        "heartbeat_timeout": HEARTBEAT,
        "retry_policy": RetryPolicy(maximum_attempts=tool_retries + 1),
        "cancellation_type": ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    }
