"""Checks that a command ends with exit code 0, and that it can end otherwise: with controls that it has to fail.

One of tests has to run as many as on the base, too. Codes: those of `domain.checks.classify`, of `domain.controls`, of
`domain.suite.counted` and of `domain.suite.doctests`.
"""

from __future__ import annotations

import asyncio

from pydantic import JsonValue

from adapters.checkers.commands import finding, request
from adapters.checkers.controls import Controls
from adapters.checkers.facts import lost_examples
from adapters.checkers.single_controls import SingleControls
from adapters.checkers.together import ended
from domain.checks import Item, Observation, Outcome, classify
from domain.command_criteria import CommandExitZero, ExitParams
from domain.controls import judge, next_step
from domain.ports import CheckContext, EvidenceStore, Finding, Sandbox
from domain.suite import counted
from domain.suite.commands import runs_tests
from domain.suite.doctests import NEXT_STEP, lost_to
from domain.suite.doctests import verdict as judge_lost
from domain.suite.runner_output import total_of


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
        verdict = by_exit_code(observed, params.command, criterion.timeout)
        if verdict[0] is Outcome.PASSED and (lost := await asyncio.to_thread(self._lost, params, context)):
            return _without_its_examples(finding(item, context, observed, verdict, out_of_process=False), lost)
        if verdict[0] is not Outcome.PASSED:
            return finding(item, context, observed, verdict, out_of_process=False)
        if control is None:
            found = finding(item, context, observed, verdict, out_of_process=False)
            return await self._beside_the_base(found, item, params, context)
        control = await self._controls.on_base(control, item, params, context)
        if judge(control)[1] is None:
            control = await self._singles.run(control, item, params, context, observed.duration_ms / 1000)
        seen, objection = judge(control)
        found = finding(item, context, observed, objection or verdict, out_of_process=False)
        found = found.model_copy(
            update={
                "control": seen,
                "next_step": next_step(found.code),
                "seen": {**found.seen, "control": control.model_dump(mode="json")},
            }
        )
        return found if objection else await self._beside_the_base(found, item, params, context)

    async def _beside_the_base(self, found: Finding, item: Item, params: ExitParams, context: CheckContext) -> Finding:
        """A pass, unless fewer tests ran than on the base: what the base comes to is run once for all rounds.

        Where the runner printed no counts and the control failed, its tests ran.
        """
        if not (context.controls and context.base and runs_tests(params.command)):
            return found
        output = f"{found.stdout}\n{found.stderr}"
        if found.control and found.control.outcome == "noticed" and total_of(output) is None:
            return found
        base = await self._controls.on(context.base, item, params, context)
        observed = Observation.model_validate(found.seen["observation"])
        outcome, code, text = counted.beside(observed, base, item.criterion.timeout) or (
            found.outcome,
            found.code,
            found.text,
        )
        seen = {**found.seen, "on_base": base.model_dump(mode="json")}
        step = counted.FEWER if code == "tests_missing" else found.next_step
        return found.model_copy(
            update={"outcome": outcome, "code": code, "text": text, "next_step": step, "seen": seen}
        )

    def _lost(self, params: ExitParams, context: CheckContext) -> dict[str, tuple[str, ...]]:
        return lost_to(params.command, params.cwd, lost_examples(self._store, context))


def by_exit_code(observed: Observation, command: str, limit: float) -> tuple[Outcome, str, str]:
    """Outcome, code and text; of a command of tests also by what its runner says of how many there were."""
    return counted.by_itself(observed, limit) if runs_tests(command) else classify(observed, limit)


def _without_its_examples(found: Finding, lost: dict[str, tuple[str, ...]]) -> Finding:
    """A command passed that runs doctest, but not on what the base expects."""
    outcome, code, text = judge_lost(lost) or (found.outcome, found.code, found.text)
    more: dict[str, JsonValue] = {"lost": {path: list(lines) for path, lines in lost.items()}}
    return found.model_copy(
        update={"outcome": outcome, "code": code, "text": text, "next_step": NEXT_STEP, "seen": {**found.seen, **more}}
    )
