"""The ways of fix loops of which a history is kept: the real workflow and real rounds, with ports as they are told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from temporalio.client import WorkflowHandle
from temporalio.testing import WorkflowEnvironment

from domain.acts.standalone import StandaloneActInput, Standing
from domain.events import Actor
from domain.fix_messages import Applied, FixLoopInput, FixLoopResult
from domain.requests import Approve
from tests.fakes.evidence import MemoryStore
from tests.fakes.trail import MemoryTrail
from tests.replay.ways import Histories, compact
from tests.workflow.conftest import FAILED, House, Script, order_of, working
from tests.workflow.fixing import loop_of, looped, repairs, rounds, started
from tests.workflow.scripted_role import refused, repaired, unrepaired
from workflows.fix_loop import FixLoopWorkflow
from workflows.options import WORKFLOWS_QUEUE
from workflows.standalone_act import StandaloneActWorkflow
from workflows.verification import VerificationWorkflow

Loop = WorkflowHandle[FixLoopWorkflow, FixLoopResult]


async def fixed(server: WorkflowEnvironment) -> Histories:
    """A round that begins its loop, which repairs in two; one whose patch is only offered."""
    async with _house(server) as house:
        house.script.items = {"tests": rounds(False, False, True)}
        repairs(house, repaired("1", refused=refused("Bash")), repaired("2"))
        request = house.round(looped())
        round = await house.client.start_workflow(
            VerificationWorkflow.run, request, id=request.workflow_id, task_queue=WORKFLOWS_QUEUE
        )
        alone: Loop = house.client.get_workflow_handle((await round.result()).fix, result_type=FixLoopResult)
        await alone.result()
        found = {"looped": await _history(round), "fix_loop_alone": await _history(alone)}
    async with _house(server) as house:
        house.script.applies = [Applied(why="a.py has changed since")]
        repairs(house, repaired())
        return {**found, "fix_loop_offered": await _ended(house, loop_of(house))}


async def given_up(server: WorkflowEnvironment) -> Histories:
    """Never repaired; and nothing that could be."""
    async with _house(server) as house:
        house.script.items = {"tests": [FAILED]}
        repairs(house, *(repaired(name) for name in "123"))
        never = await _ended(house, loop_of(house))
        repairs(house, unrepaired("it takes a new file"))
        return {"fix_loop_never": never, "fix_loop_not_applied": await _ended(house, loop_of(house))}


async def stopped(server: WorkflowEnvironment) -> Histories:
    """Cancelled in a pass, and in a round, that one having been paused."""
    async with _house(server) as house:
        house.script.auditor.held = asyncio.Event()
        repairs(house, repaired())
        in_pass = await started(house, loop_of(house))
        await house.script.auditor.began.wait()
        found = {"fix_loop_cancelled": await _cancelled(in_pass)}
    async with _house(server) as house:
        house.script.held = {"tests": asyncio.Event()}
        repairs(house, repaired())
        in_round = await started(house, loop_of(house))
        await in_round.signal("pause")
        await in_round.signal("resume")
        await house.script.runs("tests")
        return {**found, "fix_loop_cancelled_in_a_round": await _cancelled(in_round)}


async def acted(server: WorkflowEnvironment) -> Histories:
    """A person's act on a standalone round: done, and refused where another has decided meanwhile."""
    async with _house(server) as house:
        request = house.round(order_of("wo-a", verification={"objective_only": True}))
        await house.client.execute_workflow(
            VerificationWorkflow.run, request, id=f"{request.workflow_id}/acted", task_queue=WORKFLOWS_QUEUE
        )
        (view,) = house.trail.state("local", "wo-a").todos
        found = {}
        for name in ("standalone_act", "standalone_act_stale"):
            act = StandaloneActInput(
                session="local",
                todo="wo-a",
                store=house.trail.store_id(),
                seen=Standing.of(view),
                request=Approve(actor=Actor(role="unattributed", identity="ann")),
                key=name,
            )
            handle = await house.client.start_workflow(
                StandaloneActWorkflow.run, act, id=act.workflow_id, task_queue=WORKFLOWS_QUEUE
            )
            await handle.result()
            found[name] = compact(await handle.fetch_history())
        return found


FIXES = (fixed, given_up, stopped, acted)


@asynccontextmanager
async def _house(server: WorkflowEnvironment) -> AsyncIterator[House]:
    house = House(client=server.client, script=Script(), trail=MemoryTrail(), store=MemoryStore())
    async with working(house.client, house.script, house.trail, house.store):
        yield house


async def _history(handle: WorkflowHandle[Any, Any]) -> str:
    return compact(await handle.fetch_history())


async def _ended(house: House, loop: FixLoopInput) -> str:
    handle = await started(house, loop)
    await handle.result()
    return await _history(handle)


async def _cancelled(handle: Loop) -> str:
    await handle.cancel()
    assert (await handle.result()).ending == "aborted"
    return await _history(handle)
