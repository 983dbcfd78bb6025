"""People are told that a todo waits for them, and reminded, while nothing waits for whoever tells them."""

from __future__ import annotations

import pytest
from temporalio.client import WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Replayer

from domain.notifications import Whom
from domain.requests import Approve, Block, Delete, Override, Return, Unblock
from domain.status import SessionStatus, TodoStatus
from domain.todo import Gate
from tests.fakes.notifier import ScriptedNotifier
from tests.workflow.lives import ANN, WORKER, Life, living, until
from tests.workflow.scripted import Plan
from tests.workflow.sittings import sitting, todo
from workflows import options
from workflows.notification import NotificationWorkflow

TEAM = Whom(first=("team",), reminded=("team",), second=("boss",), remind_after=3600, second_after=14_400)
HARD_FAIL = Plan(outcome="failed", trigger="hard_fail", passed=False, not_passed=("tests",))


async def asks(life: Life, question: str = "which one?") -> None:
    """It waits for a person, and a workflow tells them so."""
    await life.started()
    assert (await life.ask("block", Block(actor=WORKER, question=question))).status == "blocked"
    await life.has("notified")


async def ended(life: Life, number: int) -> bool:
    """Whether the workflow that tells people the `number`th thing has begun, and ended."""
    try:
        return (await life.told_by(number).describe()).status is WorkflowExecutionStatus.COMPLETED
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise
        return False


async def replayed(life: Life, number: int) -> None:
    history = await life.told_by(number).fetch_history()
    replayer = Replayer(workflows=[NotificationWorkflow], data_converter=life.client.data_converter, debug_mode=True)
    await replayer.replay_workflow(history)


async def test_a_question_is_told_once_and_its_answer_too(server: WorkflowEnvironment) -> None:
    async with living(server) as life:
        life.notifier.told = TEAM
        await asks(life)
        (told,) = life.notifier.taken
        assert (told.notice.kind, told.notice.status, told.notice.reason) == ("question", "blocked", "which one?")
        assert told.id == f"notification/{life.todo.session}/wo-1/1/question/team"
        assert (await life.ask("unblock", Unblock(actor=ANN, clarification="the first"))).refused is None
        await until(lambda: ended(life, 1))
        await until(lambda: ended(life, 2))
        over = life.notifier.taken[-1].notice
        assert (over.kind, over.status, over.by, over.how) == (
            "resolved",
            "in_progress",
            "unattributed:ann",
            "todo_unblocked",
        )
        assert life.notifier.kinds() == ["question", "resolved"]
        rows = life.rows("notified", "reminded")
        assert [(row.payload["kind"], row.payload["address"], row.payload["tries"]) for row in rows] == [
            ("question", "team", 1),
            ("resolved", "team", 1),
        ]
        await replayed(life, 1)
        await replayed(life, 2)


async def test_whoever_does_not_look_is_reminded_twice_and_then_left_alone(server: WorkflowEnvironment) -> None:
    async with living(server) as life:
        life.notifier.told = TEAM
        await asks(life)
        since = life.rows("todo_blocked")[0].timestamp
        handle = life.told_by(1)
        await life.environment.fast_forward(handle, 3000)
        assert life.rows("reminded") == []
        await life.environment.fast_forward(handle, 700)
        first = await life.has("reminded")
        assert (first.payload["number"], first.payload["addresses"]) == (1, ["team"])
        assert first.payload["since"] == since.isoformat(timespec="seconds")
        assert (first.timestamp - since).total_seconds() >= 3600
        await life.environment.fast_forward(handle, 10_000)
        assert len(life.rows("reminded")) == 1
        await life.environment.fast_forward(handle, 1000)
        second = await life.has("reminded", 2)
        assert (second.payload["number"], second.payload["addresses"]) == (2, ["team", "boss"])
        assert (second.timestamp - since).total_seconds() >= 14_400
        await until(lambda: ended(life, 1))
        assert life.notifier.kinds("team") == ["question", "reminder", "reminder"]
        assert life.notifier.kinds("boss") == ["reminder"]
        assert (await life.state()).status == "blocked", "a wait never expires into anything"
        assert len({one.id for one in life.notifier.taken}) == 4
        await replayed(life, 1)
        await life.ask("unblock", Unblock(actor=ANN, clarification="with a dash"))
        await until(lambda: ended(life, 2))
        over = life.notifier.planned[-1]
        answered = life.rows("todo_unblocked")[0].timestamp
        assert over.kind == "resolved"
        assert over.waited == pytest.approx((answered - since).total_seconds(), abs=1)


async def test_nobody_is_reminded_of_what_is_over(server: WorkflowEnvironment) -> None:
    async with living(server) as life:
        life.notifier.told = TEAM
        await asks(life)
        await life.ask("delete", Delete(actor=ANN, reason="no longer wanted"))
        await until(lambda: ended(life, 1))
        await until(lambda: ended(life, 2))
        assert life.rows("reminded") == []
        assert life.notifier.taken[-1].notice.how == "deleted"


async def test_every_wait_is_told_by_itself(server: WorkflowEnvironment) -> None:
    async with living(server) as life:
        life.notifier.told = TEAM
        life.script.rounds = [HARD_FAIL, HARD_FAIL]
        await life.started()
        await life.claims()
        await life.becomes("failed", "escalated")
        await life.has("notified")
        assert (await life.ask("return", Return(actor=ANN, reason="once more"))).status == "in_progress"
        await life.claims("did it again")
        await life.has("notified", 3)
        kinds = [(one.notice.kind, one.notice.trigger) for one in life.notifier.taken]
        assert sorted(kinds) == [("escalated", "hard_fail"), ("escalated", "hard_fail"), ("resolved", "")]
        assert not await ended(life, 3)


async def test_an_address_that_refuses_or_hangs_delays_neither_the_todo_nor_the_others(
    server: WorkflowEnvironment,
) -> None:
    async with living(server) as life:
        life.notifier.told = TEAM.model_copy(update={"first": ("hangs", "down", "team")})
        life.notifier.refusals, life.notifier.hangs = {"down": 2}, {"hangs"}
        await asks(life)

        async def told() -> bool:
            return life.notifier.kinds("team") == ["question"]

        await until(told)
        answer = await life.ask("unblock", Unblock(actor=ANN, clarification="the first"))
        assert answer.status == "in_progress"
        await life.has("notified", 4)
        tries = [row.payload["tries"] for row in life.rows("notified") if row.payload["address"] == "down"]
        assert sum(map(int, map(str, tries))) == 4, "two that were refused, and the two that were taken"
        assert len({one.id for one in life.notifier.asked if one.address == "down"}) == 2, "a receiver can tell"
        assert not await ended(life, 1), "it waits for the one that hangs, and nobody waits for it"
        await life.told_by(1).terminate()
        await life.told_by(2).terminate()


async def test_reminders_go_out_while_the_first_message_is_still_tried(server: WorkflowEnvironment) -> None:
    async with living(server) as life:
        life.notifier.told = TEAM.model_copy(update={"first": ("hangs", "team")})
        life.notifier.hangs = {"hangs"}
        await asks(life)
        handle = life.told_by(1)
        notice = (await life.state()).notifications
        assert notice == 0, "the number is carried from run to run, and not told"
        history = await handle.fetch_history()
        timers = [
            e.timer_started_event_attributes for e in history.events if e.HasField("timer_started_event_attributes")
        ]
        (timer,) = timers
        assert 3000 < timer.start_to_fire_timeout.ToTimedelta().total_seconds() <= 3600
        await handle.terminate()


async def test_what_cannot_be_told_for_good_is_in_the_trail(server: WorkflowEnvironment) -> None:
    async with living(server) as life:
        life.notifier.told = TEAM.model_copy(update={"first": ("gone",), "reminded": (), "second": ()})
        life.notifier.gone = {"gone"}
        await life.started()
        await life.ask("block", Block(actor=WORKER, question="which one?"))
        row = await life.has("notification_failed")
        assert (row.payload["kind"], row.payload["address"]) == ("question", "gone")
        assert row.payload["reason"] == "there is no gone"
        assert len(life.notifier.asked) == 1
        await until(lambda: ended(life, 1))


async def test_with_nobody_to_tell_it_ends_at_once(server: WorkflowEnvironment) -> None:
    async with living(server) as life:
        life.notifier.told = Whom(remind_after=3600, second_after=14_400)
        await life.started()
        await life.ask("block", Block(actor=WORKER, question="which one?"))

        async def planned() -> bool:
            return len(life.notifier.planned) == 1

        await until(planned)
        await until(lambda: ended(life, 1))
        assert life.rows("reminded", "notified", "notification_failed") == []


async def test_numbers_and_what_is_open_go_on_in_the_next_run(
    server: WorkflowEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(options, "UPDATES_A_RUN", 2)
    async with living(server) as life:
        life.notifier.told = TEAM
        await asks(life)

        async def carried() -> bool:
            return (await life.state()).notifications == 1

        await until(carried)
        await life.ask("unblock", Unblock(actor=ANN, clarification="the first"))
        await until(lambda: ended(life, 1))
        await until(lambda: ended(life, 2))
        assert [one.id.split("/", 2)[2] for one in life.notifier.taken] == [
            "wo-1/1/question/team",
            "wo-1/2/resolved/team",
        ]
        waited = life.rows("todo_unblocked")[0].timestamp - life.rows("todo_blocked")[0].timestamp
        assert 0 < life.notifier.planned[-1].waited == pytest.approx(waited.total_seconds(), abs=1)


async def test_todos_of_a_session_whose_time_is_over_say_nothing_of_it(server: WorkflowEnvironment) -> None:
    async with living(server) as life:
        life.notifier.told = TEAM
        await life.started()
        await life.says(Gate(status=SessionStatus.TIMED_OUT))
        await life.becomes("needs_human")
        order = life.todo.order
        request = Override(actor=ANN, kind="direct", reason="looked at it")
        assert (await life.ask("override", request)).refused is not None, order.id
        assert (await life.ask("delete", Delete(actor=ANN))).refused is None
        assert life.notifier.planned == []


async def test_the_end_of_a_sessions_time_is_told_once_for_all_its_todos(server: WorkflowEnvironment) -> None:
    notifier = ScriptedNotifier(told=TEAM)
    async with sitting(server, todo("a"), todo("b"), todo("c"), seconds=600, notifier=notifier) as s:
        await s.passes(700)

        async def told() -> bool:
            return bool(notifier.taken)

        await until(told)
        (one,) = notifier.taken
        assert (one.notice.session, one.notice.todo, one.notice.trigger) == (s.id, "", "timeout")
        assert "3 of its todos are not finished" in one.notice.reason
        handle = s.client.get_workflow_handle(f"notification/{s.id}")
        assert await handle.result() is None, "nobody is reminded of a session"


async def test_a_todo_that_waited_before_goes_on_being_one_wait(server: WorkflowEnvironment) -> None:
    async with living(server) as life:
        life.notifier.told = TEAM
        await asks(life)
        await life.says(Gate(status=SessionStatus.PAUSED))
        assert (await life.ask("approve", Approve(actor=ANN))).refused is not None
        assert life.notifier.kinds() == ["question"]
        assert (await life.state()).status is TodoStatus.BLOCKED
