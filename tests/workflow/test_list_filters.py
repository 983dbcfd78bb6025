"""The lists that `docs/operating.md` has for the Web UI, and what a host stays for: each query, on the real server."""

from __future__ import annotations

import asyncio
import re
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from temporalio.client import Client
from temporalio.common import SearchAttributeKey, SearchAttributePair, TypedSearchAttributes
from temporalio.testing import WorkflowEnvironment

from entrypoints.names import AT_WORK
from workflows import attributes
from workflows.options import (
    DOMAIN_ATTRIBUTE,
    ESCALATION_ATTRIBUTE,
    REVIEW_ATTRIBUTE,
    SEARCH_ATTRIBUTES,
    SESSION_ATTRIBUTE,
    SESSION_STATUS_ATTRIBUTE,
    TODO_STATUS_ATTRIBUTE,
)

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "operating.md").read_text()
FILTERS = dict(re.findall(r"^\| ([^|`]+[^|]*) \| `((?:\w+=|\w+ IN)[^`]*)` \|$", PAGE, re.MULTILINE))
VISIBLE_SECONDS = 60.0
"""What is asked is what a list has, not how soon: the server promises that for no moment."""

Attributes = dict[SearchAttributeKey[str], str]
WORKFLOWS: dict[tuple[str, str], Attributes] = {
    ("SessionWorkflow", "running"): {SESSION_STATUS_ATTRIBUTE: "running"},
    ("SessionWorkflow", "paused"): {SESSION_STATUS_ATTRIBUTE: "paused"},
    ("SessionWorkflow", "over"): {SESSION_STATUS_ATTRIBUTE: "completed"},
    ("TodoWorkflow", "capped"): {TODO_STATUS_ATTRIBUTE: "needs_human", ESCALATION_ATTRIBUTE: "audit_cap_exceeded"},
    ("TodoWorkflow", "late"): {TODO_STATUS_ATTRIBUTE: "needs_human", ESCALATION_ATTRIBUTE: "timeout"},
    ("TodoWorkflow", "broken"): {TODO_STATUS_ATTRIBUTE: "needs_human", ESCALATION_ATTRIBUTE: "system_error"},
    ("TodoWorkflow", "asks"): {TODO_STATUS_ATTRIBUTE: "blocked", DOMAIN_ATTRIBUTE: "legal"},
    ("TodoWorkflow", "works"): {TODO_STATUS_ATTRIBUTE: "in_progress", DOMAIN_ATTRIBUTE: "docs"},
    ("TodoWorkflow", "done"): {TODO_STATUS_ATTRIBUTE: "verified", ESCALATION_ATTRIBUTE: ""},
    ("VerificationWorkflow", "round"): {REVIEW_ATTRIBUTE: "auditing"},
}
ALL = {name for _, name in WORKFLOWS}
TODOS = {name for kind, name in WORKFLOWS if kind == "TodoWorkflow"}
FOUND = {
    "what waits for a human, as `countersign inbox`": {"capped", "late", "broken", "asks"},
    "what was escalated because attempts ran out": {"capped"},
    "what was escalated because nobody could tell": {"broken"},
    "what ran out of time": {"late"},
    "one session's todos": TODOS,
    "all of one session, its rounds included": ALL,
    "todos that agents work on": {"works"},
    "rounds that run": {"round"},
    "sessions that are paused": {"paused"},
    "sessions that run": {"running"},
    "what touches money or the law and is open": {"asks"},
}


@pytest.fixture(scope="module")
async def session(server: WorkflowEnvironment) -> AsyncIterator[str]:
    """The name of a session of which every kind of workflow is open; no worker knows their queue."""
    name = f"lists-{uuid.uuid4()}"
    handles = []
    for (kind, workflow), values in WORKFLOWS.items():
        pairs = [SearchAttributePair(key, value) for key, value in {SESSION_ATTRIBUTE: name, **values}.items()]
        handles.append(
            await server.client.start_workflow(
                kind, id=f"{name}/{workflow}", task_queue=name, search_attributes=TypedSearchAttributes(pairs)
            )
        )
    yield name
    for handle in handles:
        await handle.terminate()


async def listed(client: Client, session: str, query: str, expected: set[str]) -> set[str]:
    """What the query finds of the session, once it is `expected` or the server has had its time."""
    deadline = asyncio.get_running_loop().time() + VISIBLE_SECONDS
    while True:
        found = client.list_workflows(f'({query}) AND CountersignSession="{session}"')
        names = {workflow.id.rpartition("/")[2] async for workflow in found}
        if names == expected or asyncio.get_running_loop().time() > deadline:
            return names
        await asyncio.sleep(0.1)


@pytest.mark.parametrize("title", FOUND)
async def test_a_list_of_the_manual_has_what_it_says(server: WorkflowEnvironment, session: str, title: str) -> None:
    query = FILTERS[title].replace("release-7", session)
    assert await listed(server.client, session, query, FOUND[title]) == FOUND[title]


async def test_a_host_stays_for_rounds_and_for_sessions_that_run(server: WorkflowEnvironment, session: str) -> None:
    assert await listed(server.client, session, AT_WORK, {"running", "round"}) == {"running", "round"}


def test_every_list_of_the_manual_is_tried() -> None:
    assert set(FILTERS) == set(FOUND)


def test_the_manual_says_what_every_search_attribute_is() -> None:
    assert {key.name for key in SEARCH_ATTRIBUTES} == set(attributes.NAMES)
    assert set(re.findall(r"^\| `(Countersign\w+)` \|", PAGE, re.MULTILINE)) == set(attributes.NAMES)
