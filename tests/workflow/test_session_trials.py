"""What people ask of a session: of the version that they saw, as a trial, and what they are told has changed."""

from __future__ import annotations

from temporalio.testing import WorkflowEnvironment

from domain.events import Actor
from domain.requests import AddNote, Answer, Create, Edit, Pause, Resume, Stop
from tests.workflow.asking import answer_of
from tests.workflow.lives import Script
from tests.workflow.sittings import ANN, BOT, sitting, todo


def told(answer: Answer) -> dict[str, tuple[object, object]]:
    return {name: (change.before, change.after) for name, change in answer.changed.items()}


def code(answer: Answer) -> str:
    return answer.refused.code if answer.refused else ""


async def test_a_trial_is_answered_and_nothing_else(server: WorkflowEnvironment) -> None:
    async with sitting(server, todo("a"), todo("p")) as s:
        before = await s.state()
        answer = await s.ask("pause", Pause(actor=ANN, dry_run=True, reason="lunch"))
        assert (answer.status, answer.version, answer.sequence, answer.dry_run) == ("paused", 2, 0, True)
        assert told(answer) == {
            "status": ("running", "paused"),
            "version": (1, 2),
            "paused_by_human": (False, True),
        }
        assert told(await s.ask("stop", Stop(actor=ANN, dry_run=True)))["status"] == ("running", "stopped")
        for refused, why in (
            (Stop(actor=BOT, dry_run=True), "forbidden"),
            (Stop(actor=ANN, dry_run=True, expected_version=7), "stale_version"),
            (Stop(actor=BOT, session="another", dry_run=True), "other_session"),
        ):
            answer = await s.ask("stop", refused)
            assert (code(answer), answer.dry_run, answer.status) == (why, True, "running")
        nothing = await s.ask("resume", Resume(actor=ANN, dry_run=True))
        assert (nothing.changed, nothing.dry_run, nothing.status) == ({}, True, "running")
        plan = s.plan(todo("c", parent="p"))
        answer = await s.ask("create", Create(actor=ANN, orders=plan, ids=("c",), dry_run=True))
        assert (code(answer), answer.dry_run, told(answer)) == ("", True, {"todos": (2, 3)})
        taken = await s.ask("create", Create(actor=ANN, orders=s.plan(todo("a")), ids=("a",), dry_run=True))
        assert (code(taken), taken.dry_run) == ("id_taken", True)
        assert await s.state() == before
        assert [row.action for row in s.trail.rows()] == ["session_created"]


async def test_a_session_is_asked_of_the_version_that_was_seen(server: WorkflowEnvironment) -> None:
    async with sitting(server, todo("a")) as s:
        answer = await s.ask("pause", Pause(actor=ANN, expected_version=1))
        assert (answer.status, answer.version, answer.dry_run) == ("paused", 2, False)
        assert told(answer)["version"] == (1, 2)
        stale = await s.ask("resume", Resume(actor=ANN, expected_version=1, reason="I was here first"))
        assert (code(stale), stale.status, stale.version) == ("stale_version", "paused", 2)
        assert told(await s.ask("resume", Resume(actor=ANN, expected_version=2)))["status"] == ("paused", "running")
        rows = [(row.action, row.after.get("version"), row.payload.get("code")) for row in s.rows()]
        assert rows == [
            ("session_created", 1, None),
            ("paused", 2, None),
            ("refused", None, "stale_version"),
            ("resumed", 3, None),
        ]


async def test_in_a_session_nobody_is_human_by_saying_so(server: WorkflowEnvironment) -> None:
    eve = Actor(role="human", identity="eve")
    async with sitting(server, todo("a"), outside=Script(), by=eve) as s:
        await s.ask("pause", Pause(actor=eve))
        await s.ask("create", Create(actor=eve, orders=s.plan(todo("c")), ids=("c",)))
        note = AddNote(actor=eve, content="begun")
        await answer_of(s.client.get_workflow_handle(f"todo/{s.id}/c"), "note", note, result_type=Answer)
        people = {str(row.actor) for row in s.trail.rows() if row.actor.role != "system"}
        assert people == {"unattributed:eve"}
        assert {row.action for row in s.trail.rows()} >= {"session_created", "paused", "todo_created", "noted"}


async def test_a_subtask_is_of_the_version_of_its_parent_and_says_why(server: WorkflowEnvironment) -> None:
    async with sitting(server, todo("p"), outside=Script()) as s:
        parent = s.client.get_workflow_handle(f"todo/{s.id}/p")
        edit = Edit(actor=ANN, expected_version=1, changes={"content": "Otherwise"})
        assert (await answer_of(parent, "edit", edit, result_type=Answer)).version == 2
        below = s.plan(todo("c", parent="p"))
        stale = await s.ask("create", Create(actor=ANN, orders=below, ids=("c",), expected_version=1))
        assert code(stale) == "stale_version"
        fits = Create(actor=ANN, orders=below, ids=("c",), expected_version=2, reason="It was forgotten")
        answer = await s.ask("create", fits)
        assert (code(answer), told(answer)) == ("", {"todos": (1, 2)})
        note = AddNote(actor=ANN, content="begun")
        await answer_of(s.client.get_workflow_handle(f"todo/{s.id}/c"), "note", note, result_type=Answer)
        created = {row.todo_id: row.payload.get("reason") for row in s.trail.rows() if row.action == "todo_created"}
        assert created == {"p": None, "c": "It was forgotten"}
