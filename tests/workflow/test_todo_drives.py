"""A todo's worker command: started when it is its turn, once for each drive, and handed in like any worker's claim."""

from __future__ import annotations

import asyncio

from temporalio.testing import WorkflowEnvironment

from domain.decision import RoundOutcome
from domain.requests import Delete, Unblock
from domain.todo import Gate
from tests.workflow.lives import ANN, Life, claim_of, living, until, worked
from tests.workflow.scripted import Plan

COMMAND = {"command": "./agent.sh", "timeout": 60.0}
TURN = Gate(turn=True)


async def begun(life: Life, count: int = 1) -> None:
    """Wait until the command was started that often."""

    async def there() -> bool:
        return len(life.script.worked) >= count

    await until(there)


async def test_a_worker_command_repairs_itself(server: WorkflowEnvironment) -> None:
    async with living(server, worker=COMMAND) as life:
        life.script.rounds = [Plan(outcome=RoundOutcome.CHANGES_REQUESTED, passed=False)]
        life.script.works = [worked(claim_of("tried it")), worked(claim_of("mended it"))]
        await life.says(Gate())
        await asyncio.sleep(0.1)
        assert (life.rows("todo_started"), life.script.worked) == ([], []), "it is not its turn"
        await life.says(TURN)
        await life.becomes("verified")
        assert [(work.attempt, work.drive) for work in life.script.worked] == [(1, 1), (2, 2)]
        assert [str(row.actor) for row in life.rows("todo_started", "todo_claimed")] == ["worker:command"] * 3
        actions = [row.action for row in life.rows()][2:7]
        assert actions == ["worker_started", "worker_ended", "todo_claimed", "audit_started", "changes_requested"]
        await life.told(status="verified", busy=False)
        assert any(report.busy for report in await life.reports())


async def test_a_pause_lets_it_finish_and_its_claim_waits(server: WorkflowEnvironment) -> None:
    async with living(server, worker=COMMAND) as life:
        life.script.works, life.script.working = [worked(claim_of("did it"))], asyncio.Event()
        await life.says(TURN)
        await begun(life)
        await life.says(Gate(status="paused"))
        life.script.working.set()
        await life.has("worker_ended")
        assert (await life.state()).status == "in_progress"
        assert life.rows("refused") == []
        await life.says(TURN)
        await life.becomes("verified")
        assert (len(life.script.worked), life.script.cancelled) == (1, 0)


async def test_it_is_ended_when_nobody_waits_for_it_any_more(server: WorkflowEnvironment) -> None:
    async with living(server, worker=COMMAND) as life:
        life.script.working = asyncio.Event()
        await life.says(TURN)
        await begun(life)
        await life.says(Gate())
        ended = await life.has("worker_ended")
        assert (ended.payload["exit_code"], life.script.cancelled) == (None, 1)
        assert (await life.state()).status == "in_progress"
        await life.says(TURN)
        await begun(life, 2)
        assert (await life.ask("delete", Delete(actor=ANN))).status == "cancelled"
        await life.has("worker_ended", 2)
        assert [work.drive for work in life.script.worked] == [1, 2]


async def test_a_command_that_asks_blocks_and_goes_on_with_the_answer(server: WorkflowEnvironment) -> None:
    async with living(server, worker=COMMAND) as life:
        life.script.works = [worked(question="which one?"), worked(claim_of("took the first"))]
        await life.says(TURN)
        assert (await life.becomes("blocked")).question is not None
        await life.ask("unblock", Unblock(actor=ANN, clarification="the first"))
        await life.says(TURN)
        await life.becomes("verified")
        assert life.script.worked[1].todo.clarification == "the first"


async def test_a_command_that_claims_nothing_three_times_needs_a_human(server: WorkflowEnvironment) -> None:
    async with living(server, worker=COMMAND) as life:
        life.script.works = [worked(problems=("claim: is no JSON",)) for _ in range(3)]
        await life.session.signal("mean", args=["wo-1", TURN])
        await life.says(TURN)
        todo = await life.becomes("needs_human")
        assert (todo.trigger, todo.drives) == ("no_progress", 3)
        (refused,) = life.rows("refused")
        assert "claim: is no JSON" in str(refused.payload["reason"])
