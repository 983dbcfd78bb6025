"""Checks that a command ends with exit code 0, and that it can end otherwise: with controls that it has to fail.

Codes: those of `domain.checks.classify`, of `domain.controls` and of `domain.suite.doctests`.
"""

from __future__ import annotations

import asyncio

from pydantic import JsonValue

from adapters.checkers.commands import finding, request
from adapters.checkers.controls import Controls
from adapters.checkers.facts import lost_examples
from adapters.checkers.single_controls import SingleControls
from adapters.checkers.together import ended
from domain.checks import Item, Outcome, classify
from domain.command_criteria import CommandExitZero, ExitParams
from domain.controls import judge, next_step
from domain.ports import CheckContext, EvidenceStore, Finding, Sandbox
from domain.suite.doctests import NEXT_STEP, lost_to
from domain.suite.doctests import verdict as judge_lost


class CommandExitZeroChecker:
    """A command ends with exit code 0, which the engine reports; whatever the command runs had its hand in it.

    So a command that has a control passes only if that fails. It runs at the same time, and counts where the command
    passed: one that fails needs no proof that it can.
    """

    type = "command_exit_zero"

    def __init__(self, sandbox: Sandbox, store: EvidenceStore) -> None:
        self._sandbox = sandbox
        self._store = store
        self._controls = Controls(sandbox, store)
        self._singles = SingleControls(sandbox, store, self._controls)

    async def check(self, item: Item, context: CheckContext) -> Finding:
        """What the exit code says, and the control's. Raises `Unavailable`."""
        criterion = item.criterion
        assert isinstance(criterion, CommandExitZero)
        params = criterion.params
        beside = asyncio.create_task(self._controls.run(item, params, context))
        try:
            observed = await self._sandbox.run(request(item, context, params))
            control = await beside
        finally:
            await ended(beside)
        verdict = classify(observed, criterion.timeout)
        if verdict[0] is Outcome.PASSED and (lost := await asyncio.to_thread(self._lost, params, context)):
            return _without_its_examples(finding(item, context, observed, verdict, out_of_process=False), lost)
        if control is None or verdict[0] is not Outcome.PASSED:
            return finding(item, context, observed, verdict, out_of_process=False)
        control = await self._controls.on_base(control, item, params, context)
        if judge(control)[1] is None:
            control = await self._singles.run(control, item, params, context, observed.duration_ms / 1000)
        seen, objection = judge(control)
        found = finding(item, context, observed, objection or verdict, out_of_process=False)
        return found.model_copy(
            update={
                "control": seen,
                "next_step": next_step(found.code),
                "seen": {**found.seen, "control": control.model_dump(mode="json")},
            }
        )

    def _lost(self, params: ExitParams, context: CheckContext) -> dict[str, tuple[str, ...]]:
        return lost_to(params.command, params.cwd, lost_examples(self._store, context))


def _without_its_examples(found: Finding, lost: dict[str, tuple[str, ...]]) -> Finding:
    """A command passed that runs doctest, but not on what the base expects."""
    outcome, code, text = judge_lost(lost) or (found.outcome, found.code, found.text)
    more: dict[str, JsonValue] = {"lost": {path: list(lines) for path, lines in lost.items()}}
    return found.model_copy(
        update={"outcome": outcome, "code": code, "text": text, "next_step": NEXT_STEP, "seen": {**found.seen, **more}}
    )
