"""Runs what a command has to fail, beside the command itself; what that means for the check is `domain.controls`'s.

The order's own control, or for a run of tests the automatic one: the same command over tests whose expected values were
changed. A command that is neither has none.
"""

from __future__ import annotations

import asyncio
from typing import Any

from adapters.checkers.commands import request
from adapters.checkers.control_trees import ControlTree, patched, with_changed_values
from adapters.checkers.together import together
from domain.base import canonical_json, sha256_hex
from domain.checks import Item, Observation
from domain.command_criteria import CommandParams, ExitParams
from domain.controls import ControlRun, ControlRuns
from domain.ports import CheckContext, EvidenceStore, Sandbox
from domain.suite.commands import runs_tests


class Controls:
    """The controls of commands that have to end with 0."""

    def __init__(self, sandbox: Sandbox, store: EvidenceStore) -> None:
        self._sandbox = sandbox
        self._store = store

    async def run(self, item: Item, params: ExitParams, context: CheckContext) -> ControlRuns | None:
        """Everything that the command has to fail on, run on the work; None where nothing is known to do to it.

        Raises `Unavailable`.
        """
        if not context.controls or not context.base:
            return None
        control = ControlRuns(kind="tests", command=params.command, cwd=params.cwd, limit=item.criterion.timeout)
        if params.control and params.control.patch:
            made = await asyncio.to_thread(
                patched, self._store, context.tree, context.base, context.order_files, params.control.patch
            )
            trees: tuple[ControlTree, ...] = (made.tree,) if made.tree else ()
            update: dict[str, Any] = {"kind": "patch", "moved": made.moved, "unusable": made.unusable}
        elif params.control and params.control.command:
            params = params.model_copy(update={"command": params.control.command})
            trees = (ControlTree(params.command, context.tree, context.base),)
            update = {"kind": "command"}
        else:
            seed = int(sha256_hex(f"{context.tree}/{item.id}".encode())[:15], 16)
            trees = await self._with_changed_values(params, context, seed)
            update = {"seed": seed}
        if not trees and not update.get("moved") and not update.get("unusable"):
            return None
        runs = await together(*(self._run(item, params, context, tree) for tree in trees))
        return control.model_copy(update={**update, "runs": tuple(runs)})

    async def on_base(self, control: ControlRuns, item: Item, params: ExitParams, context: CheckContext) -> ControlRuns:
        """`control` with what the base has to say of the runs that had to fail and did not. Raises `Unavailable`."""
        if not control.missed:
            return control
        changed = params
        if params.control and params.control.command:
            changed = params.model_copy(update={"command": params.control.command})
        unchanged = None
        if control.kind == "tests":
            unchanged = await self.on(context.base, item, params, context)
        runs = []
        for run in control.runs:
            if run in control.missed and run.base:
                on_base = await self.on(run.base, item, changed, context, "control")
                runs.append(run.model_copy(update={"on_base": on_base}))
            else:
                runs.append(run)
        return control.model_copy(update={"unchanged": unchanged, "runs": tuple(runs)})

    async def _with_changed_values(
        self, params: ExitParams, context: CheckContext, seed: int
    ) -> tuple[ControlTree, ...]:
        if not context.trusted or not runs_tests(params.command):
            return ()
        return await asyncio.to_thread(
            with_changed_values, self._store, context.tree, context.base, context.trusted, seed
        )

    async def _run(self, item: Item, params: CommandParams, context: CheckContext, made: ControlTree) -> ControlRun:
        observed = await self._sandbox.run(request(item, context, params, tree=made.tree, name="control"))
        return ControlRun(
            what=made.what,
            tree=made.tree,
            base=made.base,
            paths=made.paths,
            marks=made.marks,
            observation=observed,
        )

    async def on(
        self, tree: str, item: Item, params: CommandParams, context: CheckContext, name: str = ""
    ) -> Observation:
        """What a run on the base, or what was made of it, comes to, run once for all rounds: it is the same in them."""
        asked = request(item, context, params, tree=tree, name=name)
        what = asked.model_dump(mode="json", exclude={"key", "round"})
        key = sha256_hex(canonical_json(["run on the base", what]))
        if known := await asyncio.to_thread(self._store.recall, key):
            return Observation.model_validate_json(known)
        observed = await self._sandbox.run(asked)
        if not observed.copy_failed:
            await asyncio.to_thread(self._store.remember, key, observed.model_dump_json().encode())
        return observed
