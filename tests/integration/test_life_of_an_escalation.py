"""The life of todos that wait for people, by the command line alone, and who is recorded as having decided."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.conftest import Project, wait_for
from tests.people import becomes, claims, rows, session, status, view, waits

FAILING: dict[str, Any] = {
    "verification": {"objective_only": True, "checks": [{"name": "ruff", "command": "grep -q never a.txt"}]},
    "safeguards": {"audit_attempts": 1},
}
"""An order whose only check fails; its first unsuccessful round goes to a person."""


def deciders(project: Project, todo: str, *actions: str) -> list[tuple[str, str, str]]:
    """Who did which of these, as the trail has it."""
    return [(row["action"], row["actor"]["role"], row["actor"]["identity"]) for row in rows(project, todo, *actions)]


def test_a_claim_that_nothing_can_check_is_sent_back_and_then_approved(shared: Project) -> None:
    session(shared, "life", "a")
    claims(shared, "life/a", "one")
    becomes(shared, "life/a", "needs_human")
    (entry,) = waits(shared, "life")
    assert (entry["todo"], entry["status"]) == ("a", "needs_human")
    assert "nothing_to_check" in entry["why"]
    assert any(command.startswith("countersign reject") for command in entry["next"])

    shared.answer("reject", "life/a", "--feedback", "say two", "--as", "human:ann", "--json")
    assert status(shared, "life/a") == ("in_progress", "changes_requested")
    assert waits(shared, "life") == []
    assert "say two" in shared.run("todo", "show", "life/a").stdout, "the worker is told"

    claims(shared, "life/a", "two")
    becomes(shared, "life/a", "needs_human")
    assert shared.run("override", "life/a", "--kind", "check", "--reason", "it is fine").returncode == 1
    shared.answer("approve", "life/a", "--reason", "read it", "--as", "human:ann", "--json")
    assert status(shared, "life/a") == ("verified", "approved")
    assert waits(shared, "life") == []
    told = deciders(shared, "life/a", "escalated", "changes_requested", "approved")
    assert told == [
        ("escalated", "system", ""),
        ("changes_requested", "unattributed", "ann"),
        ("escalated", "system", ""),
        ("approved", "unattributed", "ann"),
    ]
    wait_for(lambda: shared.answer("session", "show", "life", "--json")["session"]["status"] == "completed")
    assert shared.run("log", "verify").returncode == 0


def test_a_failed_check_is_given_back_and_then_overruled_by_name(shared: Project) -> None:
    session(shared, "overruled", "a", **FAILING)
    claims(shared, "overruled/a", "one")
    becomes(shared, "overruled/a", "needs_human")
    assert "audit_cap_exceeded" in waits(shared, "overruled")[0]["why"]

    shared.answer("return", "overruled/a", "--attempts", "1", "--reason", "once more", "--as", "human:ann", "--json")
    assert status(shared, "overruled/a")[0] == "in_progress"
    claims(shared, "overruled/a", "two")
    becomes(shared, "overruled/a", "needs_human")

    override = ("override", "overruled/a", "--kind", "check", "--as", "human:ann", "--json")
    assert shared.run("approve", "overruled/a", "--json").returncode == 1
    assert shared.run(*override, "--acknowledge", "ruff").returncode == 1, "without a reason"
    assert shared.run(*override, "--reason", "the rule is wrong").returncode == 1, "not by name"
    assert status(shared, "overruled/a")[0] == "needs_human"
    shared.answer(*override, "--acknowledge", "ruff", "--reason", "the rule is wrong")
    assert status(shared, "overruled/a") == ("verified", "overridden")
    codes = [row["payload"]["code"] for row in rows(shared, "overruled/a", "refused")]
    assert codes == ["not_passed", "reason_required", "not_acknowledged"]
    assert deciders(shared, "overruled/a", "returned", "human_override") == [
        ("returned", "unattributed", "ann"),
        ("human_override", "unattributed", "ann"),
    ]


def test_a_question_is_answered_and_a_todo_deleted_and_its_record_stays(shared: Project) -> None:
    session(shared, "asked", "a", "b")
    shared.answer("todo", "start", "asked/a", "--as", "worker:bot", "--json")
    shared.answer("todo", "block", "asked/a", "--question", "which one?", "--as", "worker:bot", "--json")
    (entry,) = waits(shared, "asked")
    assert (entry["todo"], entry["status"], entry["why"]) == ("a", "blocked", "which one?")
    shared.answer("unblock", "asked/a", "--clarification", "the first", "--json")
    assert status(shared, "asked/a")[0] == "in_progress"
    assert waits(shared, "asked") == []
    before = len(shared.rows("asked/a"))
    shared.answer("todo", "delete", "asked/a", "--reason", "not needed", "--json")
    assert view(shared, "asked/a")["status"] == "cancelled"
    assert len(shared.rows("asked/a")) == before + 1
    assert shared.run("todo", "start", "asked/a", "--json").returncode == 1
    assert view(shared, "asked/b")["status"] == "pending"


@pytest.mark.parametrize("variable", [False, True])
def test_whoever_says_to_be_a_human_is_unattributed(shared: Project, variable: bool) -> None:
    """The agent's own user has the same command, and no key."""
    name = f"agent{int(variable)}"
    session(shared, name, "a")
    claims(shared, f"{name}/a", f"by an agent {name}")
    becomes(shared, f"{name}/a", "needs_human")
    if variable:
        approved = shared.run("approve", f"{name}/a", "--json", COUNTERSIGN_ACTOR="human:ann")
    else:
        approved = shared.run("approve", f"{name}/a", "--as", "human:ann", "--json")
    assert approved.returncode == 0, approved.stderr
    assert deciders(shared, f"{name}/a", "approved") == [("approved", "unattributed", "ann")]
    assert "human" not in {row["actor"]["role"] for row in shared.rows(f"{name}/a")}


def test_a_worker_decides_nothing(shared: Project) -> None:
    session(shared, "worker", "a")
    claims(shared, "worker/a", "by a worker")
    becomes(shared, "worker/a", "needs_human")
    for line in (
        ("approve",),
        ("override", "--kind", "direct", "--reason", "I say so"),
        ("reject", "--feedback", "no"),
        ("return",),
    ):
        refused = shared.run(line[0], "worker/a", *line[1:], "--as", "worker:bot", "--json")
        assert refused.returncode == 1, line
    assert {row["payload"]["code"] for row in rows(shared, "worker/a", "refused")} == {"forbidden"}
    assert status(shared, "worker/a")[0] == "needs_human"
