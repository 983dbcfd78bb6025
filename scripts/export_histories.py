"""Exports one history a path of each workflow, which `tests/replay` then replays: `make histories`.

A new path of a round is an entry in `paths`, one of a session or todo a function in `tests/replay/ways.py`, one of a
fix loop in `tests/replay/fixes.py`; what comes of it is a line in `tests/replay/results.py`, whose test fails without.
`make histories ONLY=NAME` keeps only these.
Until the first tag, histories are exported anew when a workflow changes; afterwards that is `workflow.patched`, and
what was recorded before stays as it is.
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue
from temporalio.client import WorkflowFailureError
from temporalio.testing import WorkflowEnvironment

from domain.errors import Cause, Unavailable, WorkspaceRefused
from domain.order import Order
from domain.roles.results import PassResult
from tests.fakes.evidence import MemoryStore
from tests.fakes.trail import MemoryTrail
from tests.replay.fixes import FIXES
from tests.replay.ways import SHORT_RUNS, WAYS, compact, continued
from tests.workflow.conftest import FAILED, PASSED, House, Script, order_of, start_server, working
from tests.workflow.scripted_role import APPROVED, CAPPED, LOOKED, Sayings, arguing, refused, ruling, wanting
from workflows.options import WORKFLOWS_QUEUE
from workflows.verification import VerificationWorkflow

HISTORIES = Path(__file__).resolve().parent.parent / "tests" / "replay" / "histories"

CHECKS: JsonValue = [{"name": "tests", "command": "true"}, {"name": "lint", "command": "true", "required": False}]
SET_UP: JsonValue = {"setup": ["install"], "inputs": ["lock"]}
CRITERIA: JsonValue = [{"id": "AC-1", "type": "file_exists", "params": {"path": "a"}}]
DISPUTED: JsonValue = [{"id": "AC-8", "type": "subjective", "description": "it reads well"}]
ENGINE_GONE = Unavailable(Cause.ENGINE_UNAVAILABLE, "the engine is gone", "start it")


@dataclass(frozen=True)
class Way:
    """One way through the workflow."""

    order: Order
    script: Script
    cancel_at: str = ""


def paths() -> dict[str, Way]:
    """Every way that has a history."""
    both: dict[str, JsonValue] = {"checks": CHECKS}
    return {
        "verified": Way(order_of("wo-1", acceptance_criteria=CRITERIA, verification=both), Script()),
        "sequence": Way(order_of("wo-2", verification={**both, "mode": "sequence"}), Script()),
        "failed": Way(order_of("wo-3", verification=both), Script(items={"tests": [FAILED]})),
        "engine_back": Way(order_of("wo-4", verification=both), Script(items={"tests": [ENGINE_GONE, PASSED]})),
        "no_image": Way(order_of("wo-5", verification=both), Script(prepare=[_no_image()])),
        "refused": Way(order_of("wo-6", verification=both), Script(freeze=[WorkspaceRefused("too many", "less")])),
        "set_up": Way(order_of("wo-8", environment=SET_UP, verification=both), Script()),
        "no_set_up": Way(order_of("wo-9", environment=SET_UP, verification=both), Script(setup=[_no_set_up()])),
        "cancelled": Way(order_of("wo-7", verification=both), Script(seconds={"tests": 60.0}), cancel_at="tests"),
        "audited": Way(order_of("wo-10", verification=both), _audited(_meddling(), APPROVED)),
        "tests_wanted": Way(order_of("wo-11", verification=both), _audited(wanting("tests"), LOOKED, APPROVED)),
        "cost_cap": Way(order_of("wo-12", verification=both), _audited(LOOKED, CAPPED)),
        "disputed": Way(order_of("wo-13", acceptance_criteria=DISPUTED, verification=both), _disputed()),
    }


async def main(only: str) -> None:
    """Run every path on a real server and keep what it recorded; with `only`, what has that in its name."""
    HISTORIES.mkdir(exist_ok=True)
    found: dict[str, str] = {}
    async with await start_server() as server:
        for name, path in paths().items():
            found[name] = await _history(server, path)
        for way in (*WAYS, *FIXES):
            found |= await way(server)
    async with await start_server(SHORT_RUNS) as server:
        found |= await continued(server)
    for name, history in found.items():
        if only in name:
            (HISTORIES / f"{name}.json").write_text(history)


async def _history(server: WorkflowEnvironment, path: Way) -> str:
    trail, store = MemoryTrail(), MemoryStore()
    house = House(client=server.client, script=path.script, trail=trail, store=store)
    async with working(server.client, path.script, trail, store):
        request = house.round(path.order)
        handle = await server.client.start_workflow(
            VerificationWorkflow.run, request, id=request.workflow_id, task_queue=WORKFLOWS_QUEUE
        )
        if path.cancel_at:
            await path.script.runs(path.cancel_at)
            await handle.cancel()
        try:
            await handle.result()
        except WorkflowFailureError:
            assert path.cancel_at, "only the cancelled round fails"
        return compact(await handle.fetch_history())


def _audited(*passes: PassResult) -> Script:
    return Script(auditor=Sayings(list(passes)))


def _disputed() -> Script:
    """A judge that is not sure the first time, and says the same with the arguments in the other order."""
    others = arguing(ruling(confidence=0.6, AC_8="PASS"), ruling(AC_8="PASS"))
    return Script(auditor=Sayings([LOOKED, APPROVED], by_role=others))


def _meddling() -> PassResult:
    return LOOKED.model_copy(update={"refused": refused("Write")})


def _no_image() -> Unavailable:
    return Unavailable(Cause.IMAGE_MISSING, "no image 'nope'", "build it")


def _no_set_up() -> Unavailable:
    return Unavailable(Cause.SETUP_FAILED, "install ended with 1", "mend it")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else ""))
