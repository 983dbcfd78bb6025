"""A program that talks to the server itself and says that it is a human: without a signature that is worth nothing."""

from __future__ import annotations

import pytest
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter

from domain.events import Actor
from domain.requests import AddNote, Answer, Approve, HumanRequest, Reject
from tests.integration.conftest import Project
from tests.people import becomes, claims, rows, session

ANN = Actor(role="human", identity="ann")


@pytest.mark.parametrize(
    ("name", "request_", "action"),
    [
        ("note", AddNote(actor=ANN, content="looks good"), "noted"),
        ("reject", Reject(actor=ANN, feedback="say two"), "changes_requested"),
        ("approve", Approve(actor=ANN), "approved"),
    ],
)
async def test_the_role_human_without_a_signature_is_unattributed(
    shared: Project, name: str, request_: HumanRequest, action: str
) -> None:
    session(shared, name, "a")
    claims(shared, f"{name}/a", f"for {name}")
    becomes(shared, f"{name}/a", "needs_human")
    client = await Client.connect(shared.status()["temporal_address"], data_converter=pydantic_data_converter)
    answer = await client.get_workflow_handle(f"todo/{name}/a").execute_update(name, request_, result_type=Answer)
    assert answer.refused is None
    assert answer.signer == ""
    (row,) = rows(shared, f"{name}/a", action)
    assert row["actor"] == {"role": "unattributed", "identity": "ann"}
    assert row["payload"].get("signature") is None
