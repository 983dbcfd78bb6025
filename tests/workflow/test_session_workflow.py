"""A session: whom it tells what, whom it lets go on, and what it refuses."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from temporalio.client import WorkflowFailureError, WorkflowUpdateFailedError
from temporalio.testing import WorkflowEnvironment

from domain.errors import Cause, Unavailable
from domain.events import Actor
from domain.life import SessionInput
from domain.requests import MAX_TEXT, Create, Drive, Pause, Replace, Resume, Stop
from domain.status import SessionStatus, TodoStatus
from domain.terms import terms_of
from tests.workflow.asking import told_by
from tests.workflow.lives import until
from tests.workflow.scripted_todo import ScriptedTodo
from tests.workflow.sittings import ANN, BOT, Sitting, sitting, todo
from workflows import options
from workflows.options import SESSION_STATUS_ATTRIBUTE
from workflows.session.workflow import SessionWorkflow

PAUSED = SessionStatus.PAUSED


async def test_it_begins_with_one_row_and_its_todos_know_how_things_stand(server: WorkflowEnvironment) -> None:
    async with sitting(server, todo("a"), todo("b", "a"), todo("p"), todo("c", parent="p", order_index=3)) as s:
        (row,) = s.rows()
        assert (row.action, row.actor, row.payload) == (
            "session_created",
            ANN,
            {"todos": 4, "timeout": 86400.0, "order": ""},
        )
        assert (await s.gates("b"))[0].waits_for == ("a",)
        assert (await s.gates("p"))[0].open_children == ("c",)
        assert [gate.number for gate in await s.gates("a")] == [0], "an open gate is not worth a word"
        asked = await told_by(s.todo("c"), ScriptedTodo.begun_with)
        assert asked.siblings == 4
        begun = asked.todo
        assert (begun.parent, begun.order_index, begun.clock.limit, begun.host) == ("p", 3, 3600.0, "here")
        assert begun.order_digest == begun.order.digest
        assert s.store.has(begun.order_digest), "the order is a blob under its digest"
        described = await s.handle.describe()
        assert described.typed_search_attributes[SESSION_STATUS_ATTRIBUTE] == "running"
        found = await s.todo("a").describe()
        assert await found.static_summary() == "some work"


async def test_a_pause_is_answered_when_every_todo_knows(server: WorkflowEnvironment) -> None:
    async with sitting(server, *(todo(f"t{n}") for n in range(20))) as s:
        await s.becomes("t0", "verified")
        answer = await s.ask("pause", Pause(actor=ANN, reason="lunch"))
        assert answer.status == "paused"
        assert answer.sequence == s.rows("paused")[0].sequence
        said = await asyncio.gather(*(s.gates(f"t{n}") for n in range(1, 20)))
        assert {gates[-1].status for gates in said} == {PAUSED}
        assert (await s.ask("resume", Resume(actor=ANN))).status == "running"
        await s.told("t1", status=SessionStatus.RUNNING)
        assert (await s.ask("stop", Stop(actor=ANN, reason="enough"))).status == "stopped"
        said = await asyncio.gather(*(s.gates(f"t{n}") for n in range(1, 20)))
        assert {gates[-1].status for gates in said} == {SessionStatus.STOPPED}
        refused = (await s.ask("resume", Resume(actor=ANN))).refused
        assert refused is not None
        assert refused.code == "session_stopped"
        assert [row.action for row in s.rows()] == ["session_created", "paused", "resumed", "stopped", "refused"]


async def test_plain_signals_pause_and_resume(server: WorkflowEnvironment) -> None:
    async with sitting(server, todo("a")) as s:
        await s.handle.signal("pause", {"by": "ann", "reason": "lunch"})
        await s.is_("paused")
        (row,) = s.rows("paused")
        assert (row.actor, row.payload["reason"]) == (ANN, "lunch")
        await s.handle.signal("resume")
        await s.is_("running")
        assert s.rows("resumed")[0].actor == Actor(role="unattributed")
        await s.handle.signal("stop", {"by": "ann"})
        assert (await s.asks("a", "pending")).status is SessionStatus.RUNNING


MALFORMED = [
    (["nonsense"], "", "the input is text, expected an object"),
    ([{"by": "ann"}, {"by": "bob"}], "", "2 inputs, expected one"),
    ([{"by": "ann", "why": "lunch"}], "ann", "unknown field 'why'"),
    ([{"by": "ann", "reason": "x" * (MAX_TEXT + 1)}], "ann", "reason: 65537 characters, expected at most 65536"),
    ([7.5], "", "the input is a number, expected an object"),
]


@pytest.mark.parametrize(("inputs", "by", "reason"), MALFORMED)
async def test_a_signal_that_makes_no_sense_is_recorded_and_harms_nothing(
    server: WorkflowEnvironment, inputs: list[Any], by: str, reason: str
) -> None:
    async with sitting(server, todo("a")) as s:
        for name in ("pause", "resume"):
            await s.handle.signal(name, args=inputs)
        await s.handle.signal("pause", {})
        await s.is_("paused")
        assert {row.actor for row in s.rows("refused")} == {Actor(role="unattributed", identity=by)}
        told = [{"code": "malformed", "reason": reason, "count": 1, "command": name} for name in ("pause", "resume")]
        assert [row.payload for row in s.rows("refused")] == told


async def test_a_signal_that_comes_while_the_trail_is_away_is_done_once_it_is_back(server: WorkflowEnvironment) -> None:
    async with sitting(server, todo("a")) as s:
        s.trail.memory.trouble = Unavailable(Cause.STORE_MISMATCH, "another store", "use the same")
        await s.handle.signal("pause", {"by": "ann"})
        await s.handle.signal("pause", "nonsense")
        await s.passes(40)
        s.trail.memory.trouble = None
        await s.passes(60)
        await s.is_("paused")
        await until(lambda: _has(s, "refused"))
        assert sorted(row.action for row in s.rows("paused", "refused")) == ["paused", "refused"], "in either order"


async def _has(s: Sitting, action: str) -> bool:
    return bool(s.rows(action))


async def test_who_asks_is_not_held_back_by_a_report_that_is_on_its_way(server: WorkflowEnvironment) -> None:
    async with sitting(server, todo("a"), todo("b", "a"), todo("c", parent="a"), todo("d", "a")) as s:
        for one in ("a", "c"):
            await s.todo(one).signal(ScriptedTodo.mean, TodoStatus.VERIFIED)
        assert (await s.asks("b", "pending")).waits_for == ()
        assert (await s.told("d", waits_for=())).open_children == ()
        await s.becomes("c", "in_progress")
        assert (await s.asks("b", "pending")).waits_for == ("a",), "asked, it still is open"
        assert [row.action for row in s.rows()] == ["session_created"]


async def test_who_does_not_answer_keeps_nobody_waiting_for_ever(
    server: WorkflowEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(options, "ASKED_SECONDS", 0.3)
    async with sitting(server, todo("a"), todo("b", "a")) as s:
        await s.todo("a").signal(ScriptedTodo.fall_silent)
        assert (await s.asks("b", "pending")).waits_for == ("a",)


async def test_dependants_and_parents_hear_of_it(server: WorkflowEnvironment) -> None:
    async with sitting(server, todo("p"), todo("c", parent="p"), todo("d", "p")) as s:
        assert (await s.asks("d", "pending")).waits_for == ("p",)
        await s.becomes("c", "verified")
        assert (await s.told("p", open_children=())).number > 0
        await s.becomes("p", "verified")
        await s.told("d", waits_for=())
        await s.becomes("d", "in_progress")
        await s.becomes("c", "in_progress")
        assert (await s.told("p", open_children=("c",))).status is SessionStatus.RUNNING
        await s.told("d", waits_for=("p",), dependency_reopened="p")


async def test_an_escalation_pauses_and_its_end_resumes_and_all_is_completed(server: WorkflowEnvironment) -> None:
    async with sitting(server, todo("a"), todo("b")) as s:
        await s.becomes("a", "needs_human")
        await s.told("b", status=PAUSED)
        await s.becomes("a", "in_progress")
        await s.told("b", status=SessionStatus.RUNNING)
        await s.becomes("a", "verified")
        await s.becomes("b", "verified")
        assert (await s.is_("completed")).todos["a"].status == "verified"
        found = (await s.handle.describe()).typed_search_attributes[SESSION_STATUS_ATTRIBUTE]
        assert found == "completed"
        assert (await s.becomes("a", "in_progress")).status is SessionStatus.RUNNING
        await s.becomes("a", "verified")
        actions = ["session_created", "paused", "resumed", "session_completed", "resumed", "session_completed"]
        assert [row.action for row in s.rows()] == actions
        assert [row.payload.get("escalation") for row in s.rows("paused")] == ["a"]


async def test_new_todos_are_started_before_it_answers(server: WorkflowEnvironment) -> None:
    async with sitting(server, todo("a"), todo("v")) as s:
        await s.becomes("v", "verified")
        plan = s.plan(todo("b", "a"), todo("c", parent="v"))
        answer = await s.ask("create", Create(actor=ANN, orders=plan, ids=("b", "c")))
        assert (answer.status, answer.refused) == ("running", None)
        assert (await s.gates("b"))[0].waits_for == ("a",)
        await s.told("v", open_children=("c",))
        for wrong, code in (
            (todo("a"), "id_taken"),
            (todo("x", "nobody"), "unknown_todo"),
            (todo("y", "v", parent="c"), "dependency_cycle"),
        ):
            request = Create(actor=ANN, orders=s.plan(wrong), ids=(wrong.order.id,))
            refused = (await s.ask("create", request)).refused
            assert refused is not None
            assert refused.code == code
        assert [row.payload["code"] for row in s.rows("refused")] == ["id_taken", "unknown_todo", "dependency_cycle"]


async def test_what_an_agent_creates_has_the_gate_of_others(server: WorkflowEnvironment) -> None:
    async with sitting(server, todo("p", domain="docs"), defaults=True) as s:
        own = [{"id": "mine", "type": "file_exists", "params": {"path": "x"}}]
        fine = todo("a", content="more work", acceptance_criteria=own).model_copy(
            update={"authored": frozenset({"mine"})}
        )
        below = todo("b", parent="p", domain="docs")
        cheats = (
            todo("c", verification={"auditor": {"enabled": False}}),
            todo("d", worker={"command": "rm -rf /"}),
            todo("e", base="/elsewhere"),
            todo("f", parent="p", domain="unknown"),
            todo("g", acceptance_criteria=own),
        )
        for one in (fine, below):
            assert (await s.ask("create", Create(actor=BOT, orders=s.plan(one), ids=(one.order.id,)))).refused is None
        for one in cheats:
            refused = (await s.ask("create", Create(actor=BOT, orders=s.plan(one), ids=(one.order.id,)))).refused
            assert refused is not None
            assert refused.code == "not_yours", one.order.id
        assert set((await s.state()).todos) == {"p", "a", "b"}
        assert s.rows("refused")[0].actor == BOT
        assert terms_of(fine.order, fine.authored) == (await s.state()).terms


async def test_what_is_refused_is_in_the_trail(server: WorkflowEnvironment) -> None:
    async with sitting(server, todo("a")) as s:
        asked = {
            "pause": Pause(actor=BOT),
            "stop": Stop(actor=BOT, session=s.id),
            "replace": Replace(actor=ANN),
            "resume": Resume(actor=ANN, session="another"),
            "drive": Drive(actor=BOT, on=True),
        }
        for name, request in asked.items():
            answer = await s.ask(name, request)
            assert (answer.status, answer.refused is None) == ("running", False)
        rows = [(row.payload["command"], row.payload["code"]) for row in s.rows("refused")]
        assert rows == [
            ("pause", "forbidden"),
            ("stop", "forbidden"),
            ("replace", "replace_forbidden"),
            ("resume", "other_session"),
            ("drive", "forbidden"),
        ]
        with pytest.raises(WorkflowUpdateFailedError) as caught:
            await s.ask("pause", Pause(actor=Actor(role="system")))
        assert "asks for nothing" in str(caught.value.cause)


async def test_turns_come_with_a_driver_and_go_with_it(server: WorkflowEnvironment) -> None:
    worker = {"command": "./agent.sh"}
    async with sitting(server, todo("a", worker=worker), todo("b", worker=worker, order_index=1)) as s:
        assert not (await s.asks("a", "pending")).turn
        await s.ask("drive", Drive(actor=ANN, on=True))
        await s.told("a", turn=True)
        assert not (await s.asks("b", "pending")).turn
        await s.becomes("a", "verified")
        await s.told("b", turn=True)
        await s.ask("drive", Drive(actor=ANN, on=False))
        await s.told("b", turn=False)


async def test_an_update_is_done_once_and_what_cannot_be_recorded_changes_nothing(server: WorkflowEnvironment) -> None:
    async with sitting(server, todo("a")) as s:
        first = await s.ask("pause", Pause(actor=ANN), update_id="u1")
        assert await s.ask("pause", Pause(actor=ANN), update_id="u1") == first
        s.trail.memory.trouble = Unavailable(Cause.STORE_MISMATCH, "another store", "use the same")
        with pytest.raises(WorkflowUpdateFailedError) as caught:
            await s.ask("resume", Resume(actor=ANN))
        assert getattr(caught.value.cause, "type", "") == "unavailable"
        s.trail.memory.trouble = None
        assert (await s.state()).status is PAUSED
        assert (await s.ask("resume", Resume(actor=ANN))).status == "running"


async def test_a_session_that_goes_in_circles_is_not_opened(server: WorkflowEnvironment) -> None:
    async with sitting(server, todo("a")) as s:
        state = (await s.state()).model_copy(update={"id": f"{s.id}-circle", "todos": {}})
        plan = s.plan(todo("x", "y"), todo("y", "x"))
        with pytest.raises(WorkflowFailureError) as caught:
            await s.client.execute_workflow(
                SessionWorkflow.run,
                SessionInput(session=state, plan=plan, actor=ANN),
                id=state.workflow_id,
                task_queue="workflows",
            )
        assert getattr(caught.value.cause, "type", "") == "dependency_cycle"
        assert len(s.rows()) == 1, "nothing of it is in the trail"


async def test_many_reports_at_once_are_few_words(server: WorkflowEnvironment) -> None:
    async with sitting(server, *(todo(f"t{n}") for n in range(60))) as s:
        await asyncio.gather(*(s.reports(f"t{n}", "in_progress") for n in range(60)))

        async def all_there() -> bool:
            return all(entry.status == "in_progress" for entry in (await s.state()).todos.values())

        await until(all_there)
        assert (await s.state()).todos["t7"].report == 1


async def test_cancelled_through_temporal_it_is_stopped_and_can_be_asked(server: WorkflowEnvironment) -> None:
    async with sitting(server, todo("a")) as s:
        await s.handle.cancel()
        await s.is_("stopped")
        assert [(row.action, str(row.actor)) for row in s.rows()][1:] == [("stopped", "unattributed")]
        assert (await s.told("a", status=SessionStatus.STOPPED)).status == "stopped"
        await s.handle.cancel()
        assert (await s.ask("resume", Resume(actor=ANN))).status == "stopped"
