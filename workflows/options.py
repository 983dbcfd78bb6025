"""Queues, priorities, timeouts, retry policies and search attributes, each in this one place. Source: DESIGN 6."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Literal, TypedDict

from temporalio.common import Priority, RetryPolicy, SearchAttributeKey
from temporalio.workflow import ActivityCancellationType

from domain.base import sha256_hex
from workflows import attributes

WORKFLOWS_QUEUE = "workflows"
SANDBOX_QUEUE = "sandbox"
ROLES_QUEUE = "roles"
NOTIFICATIONS_QUEUE = "notifications"

SESSION_ATTRIBUTE = SearchAttributeKey.for_keyword(attributes.SESSION)
SESSION_STATUS_ATTRIBUTE = SearchAttributeKey.for_keyword(attributes.SESSION_STATUS)
TODO_STATUS_ATTRIBUTE = SearchAttributeKey.for_keyword(attributes.TODO_STATUS)
REVIEW_ATTRIBUTE = SearchAttributeKey.for_keyword(attributes.REVIEW_STATUS)
ESCALATION_ATTRIBUTE = SearchAttributeKey.for_keyword(attributes.ESCALATION)
DOMAIN_ATTRIBUTE = SearchAttributeKey.for_keyword(attributes.DOMAIN)
SEARCH_ATTRIBUTES = (
    SESSION_ATTRIBUTE,
    SESSION_STATUS_ATTRIBUTE,
    TODO_STATUS_ATTRIBUTE,
    REVIEW_ATTRIBUTE,
    ESCALATION_ATTRIBUTE,
    DOMAIN_ATTRIBUTE,
)

HEARTBEAT = timedelta(seconds=10)
"""How long a worker's death goes unnoticed, at most."""

MAKING_AN_IMAGE = timedelta(minutes=30)
"""How long an image may take to be pulled, built or set up."""

CHECK_MARGIN_SECONDS = 300.0 + MAKING_AN_IMAGE.total_seconds()
"""On top of a check's limit, which counts in the container alone: sealing the tree and the engine's own delays, and on
an engine that has not had the image yet, making it."""


def workspace_queue(host: str) -> str:
    """The queue that only workers on `host` poll: they can see the paths of workspaces there."""
    return f"workspace-{host}"


def agents_queue(host: str) -> str:
    """The queue that only workers on `host` poll: they run worker commands where the workspace is."""
    return f"agents-{host}"


FAIRNESS_KEY_BYTES = 64
"""The longest that the server takes."""

Kind = Literal["release", "answer", "begun", "work"]
PRIORITY_KEYS: Mapping[Kind, int] = {"release": 1, "answer": 2, "begun": 2, "work": 3}
"""What goes first where activities queue, by kind; of one kind the sessions take turns. Temporal's keys, 1 before 5.

A lower key goes before all of a higher one, of whichever session, so only what is little has one: what gives an engine
its room back, what a session has to say, and what ends a round that has begun. A claim is not among them: it begins a
round, so that what has begun stays little as long as claims wait for it. Nor is a round's first check: containers are
slower than claims, and the last check of a round would wait for the first ones of all others while its tree takes
memory.
"""

SMALL, MOST_TURNS = 100, 10.0
"""A session of up to so many todos has so many turns for each of a very large one, and its workflows go first."""


def priority(session: str, todos: int = 1) -> Priority:
    """Of a workflow, and so of the rounds that it starts. What its activities do is in the same turns.

    A session of `todos` has the fewer turns the larger it is, down to a tenth: its todos are many, and each of them
    would wait for a small one's as long as the small one waits for all of it. Workflow tasks are a matter of
    milliseconds, and in the queue of what a worker knows already there are no turns: there the small ones go first, as
    often as their activities, which take turns, let them. Source: issue "Scale", docs/scaling.md.
    """
    key = session if len(session.encode()) <= FAIRNESS_KEY_BYTES else sha256_hex(session.encode())
    turns = min(MOST_TURNS, max(1.0, MOST_TURNS * SMALL / max(1, todos)))
    first = PRIORITY_KEYS["answer" if todos <= SMALL else "work"]
    return Priority(priority_key=first, fairness_key=key, fairness_weight=turns)


def _goes(kind: Kind) -> Priority:
    """Of an activity; whose turn it is the server takes from its workflow."""
    return Priority(priority_key=PRIORITY_KEYS[kind])


class ActivityOptions(TypedDict, total=False):
    """The keyword arguments of `workflow.execute_activity_method` that are set here."""

    task_queue: str
    start_to_close_timeout: timedelta
    schedule_to_close_timeout: timedelta
    schedule_to_start_timeout: timedelta
    heartbeat_timeout: timedelta
    retry_policy: RetryPolicy
    cancellation_type: ActivityCancellationType
    priority: Priority


TRAIL: ActivityOptions = {
    "task_queue": WORKFLOWS_QUEUE,
    "start_to_close_timeout": timedelta(seconds=10),
    "retry_policy": RetryPolicy(
        initial_interval=timedelta(milliseconds=200),
        maximum_interval=timedelta(seconds=3),
        non_retryable_error_types=["ValueError"],
    ),
    "priority": _goes("begun"),
}
"""For ever: a round whose database is away, or its disk full, waits; ended without a row it would end unrecorded."""

ASSESS: ActivityOptions = {
    "task_queue": WORKFLOWS_QUEUE,
    "start_to_close_timeout": timedelta(minutes=10),
    "heartbeat_timeout": HEARTBEAT,
    "retry_policy": RetryPolicy(maximum_attempts=4),
    "priority": _goes("begun"),
}

REPORT: ActivityOptions = {
    **ASSESS,
    "retry_policy": RetryPolicy(maximum_interval=timedelta(seconds=5), maximum_attempts=200),
}
"""A quarter of an hour: everything else of the round is done, and only room or a folder is missing."""

PREPARE: ActivityOptions = {
    "task_queue": SANDBOX_QUEUE,
    "start_to_close_timeout": MAKING_AN_IMAGE,
    "heartbeat_timeout": HEARTBEAT,
    "retry_policy": RetryPolicy(maximum_attempts=4),
    "priority": _goes("begun"),
}

RELEASE: ActivityOptions = {
    "task_queue": SANDBOX_QUEUE,
    "start_to_close_timeout": timedelta(minutes=2),
    "schedule_to_start_timeout": timedelta(minutes=2),
    "heartbeat_timeout": HEARTBEAT,
    "retry_policy": RetryPolicy(maximum_attempts=3),
    "priority": _goes("release"),
}
"""Before all checks that wait: behind them it would run out of its time to start, and the tree keep its room."""


FIX_SPENT: ActivityOptions = {
    **TRAIL,
    "start_to_close_timeout": timedelta(minutes=1),
    "heartbeat_timeout": HEARTBEAT,
}
"""For ever: what is not known to be paid for is no loop's to spend more on."""

FIX_FILE: ActivityOptions = REPORT
"""Everything else of the loop is done, too."""

TODOS: ActivityOptions = {
    "task_queue": WORKFLOWS_QUEUE,
    "start_to_close_timeout": timedelta(minutes=2),
    "heartbeat_timeout": HEARTBEAT,
    "retry_policy": RetryPolicy(maximum_interval=timedelta(seconds=5), non_retryable_error_types=["ValueError"]),
    "priority": _goes("answer"),
}
"""For ever: a todo that was not started or not told would wait for nothing."""

NOTIFY: ActivityOptions = {
    "task_queue": NOTIFICATIONS_QUEUE,
    "start_to_close_timeout": timedelta(minutes=1),
    "schedule_to_close_timeout": timedelta(days=7),
    "heartbeat_timeout": HEARTBEAT,
    "retry_policy": RetryPolicy(maximum_interval=timedelta(minutes=1)),
    "priority": _goes("answer"),
}
"""After 1 s, 2 s, 4 s and so on up to a minute, for a week: whoever is away that long has other ways to hear of it."""

PLAN: ActivityOptions = {
    **TODOS,
    "retry_policy": RetryPolicy(
        maximum_interval=timedelta(seconds=5), maximum_attempts=20, non_retryable_error_types=["ValueError"]
    ),
}
"""A minute and a half: whoever sent the plan waits for the answer, and a blob that is not there never comes."""

ADMIT: ActivityOptions = {
    "task_queue": WORKFLOWS_QUEUE,
    "start_to_close_timeout": timedelta(minutes=5),
    "heartbeat_timeout": HEARTBEAT,
    "retry_policy": RetryPolicy(maximum_interval=timedelta(seconds=5), maximum_attempts=10),
    "priority": _goes("work"),
}
"""Half a minute: a worker waits for the answer, and can ask again."""

SIGNATURE: ActivityOptions = {
    "task_queue": WORKFLOWS_QUEUE,
    "start_to_close_timeout": timedelta(minutes=5),
    "heartbeat_timeout": HEARTBEAT,
    "retry_policy": RetryPolicy(maximum_interval=timedelta(seconds=5), maximum_attempts=10),
    "priority": _goes("answer"),
}
"""Half a minute: a person waits for the answer, and can ask again. The key of a signature is looked at in moments."""

WORK_MARGIN_SECONDS = 120.0
"""Ending a worker command's processes, and storing what it printed, on top of its limit."""

HEARD_SECONDS = 10.0
"""How long a todo waits for its session's word; after that it goes by the last one."""

ASKED_SECONDS = 5.0
"""How long a session waits for the todos that hold back one that asks; it answers in less than `HEARD_SECONDS`."""

UPDATES_A_RUN = 1500
"""The server takes 2000; the rest is for those that come in while a run ends."""

REPORTS_A_RUN = 4000
"""After so many a session goes on in a new run: the server takes 10,000 signals, 51,200 events or 50 MiB."""

ANSWERS_KEPT = 500
"""Answers to updates that the next run knows, for whoever asks again with the same id."""


NOBODY_THERE = timedelta(minutes=2)
"""How long what only one host can do waits for a worker there."""


def freeze(host: str) -> ActivityOptions:
    """Nobody but a worker on `host` can freeze, so waiting for one is bounded."""
    return {
        "task_queue": workspace_queue(host),
        "start_to_close_timeout": timedelta(minutes=15),
        "schedule_to_start_timeout": NOBODY_THERE,
        "heartbeat_timeout": HEARTBEAT,
        "retry_policy": RetryPolicy(maximum_attempts=4),
        "priority": _goes("work"),
    }


def fix_apply(host: str) -> ActivityOptions:
    """A verified repair, where the workspace is. Cancelled before a worker has it, it never begins; after, it ends."""
    return {
        **freeze(host),
        "cancellation_type": ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
        "priority": _goes("begun"),
    }


def check(limit: float, tool_retries: int, runs: int = 1, *, begun: bool = False) -> ActivityOptions:
    """`limit` in seconds; `tool_retries` more tries when the check could not run (seed `auditor` 4.1).

    `runs` that each have the limit may follow one another (`Item.runs`, once more for each retry of a failure).
    Queueing counts to none. A cancelled round waits until the containers are gone. `begun`: the round has had its first
    checks, and ends before others begin.
    """
    return {
        "task_queue": SANDBOX_QUEUE,
        "start_to_close_timeout": timedelta(seconds=limit * runs + CHECK_MARGIN_SECONDS),
        "heartbeat_timeout": HEARTBEAT,
        "retry_policy": RetryPolicy(maximum_attempts=tool_retries + 1),
        "cancellation_type": ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
        "priority": _goes("begun" if begun else "work"),
    }


ROLE_MARGIN_SECONDS = 60.0
"""On top of what is left of the audit's time, which a pass keeps by itself: storing what came of it."""

NO_ROLES_WORKER = timedelta(minutes=30)
"""How long a pass waits for a worker that takes it, before nobody can be asked: others may be in its way for long."""


def roles(limit: float) -> ActivityOptions:
    """A pass of a role that has `limit` seconds, over all its tries. Queueing counts to none.

    Lost with its worker, or for want of a store, it is tried again for some minutes: it pays for nothing twice. One
    that does not keep its time has used it up. A cancelled round waits until nothing is asked any more.
    """
    return {
        "task_queue": ROLES_QUEUE,
        "start_to_close_timeout": timedelta(seconds=limit + ROLE_MARGIN_SECONDS),
        "schedule_to_start_timeout": NO_ROLES_WORKER,
        "heartbeat_timeout": HEARTBEAT,
        "retry_policy": RetryPolicy(
            maximum_interval=timedelta(seconds=10),
            maximum_attempts=20,
            non_retryable_error_types=["TemporalTimeout:StartToClose"],
        ),
        "cancellation_type": ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
        "priority": _goes("begun"),
    }


def work(host: str, limit: float) -> ActivityOptions:
    """A worker command that has `limit` seconds. It waits for its turn; lost with its host's worker it is run again."""
    return {
        "task_queue": agents_queue(host),
        "start_to_close_timeout": timedelta(seconds=limit + WORK_MARGIN_SECONDS),
        "heartbeat_timeout": HEARTBEAT,
        "retry_policy": RetryPolicy(maximum_interval=timedelta(seconds=10), maximum_attempts=50),
        "cancellation_type": ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
        "priority": _goes("work"),
    }
