"""Checks a run of pytest by its tests, beside those of the base, and by a control run that has to fail.

Tests share their process with the work, so what they say is `in_process`. Codes: those of `domain.suite.verdict` and of
`domain.checks.classify`; `not_recorded` (no pytest loaded the recorder), `no_report` (one began and did not come to
its end). Source: DESIGN 8.
"""

from __future__ import annotations

import asyncio
import secrets

from adapters.checkers.commands import request
from adapters.checkers.facts import seen
from adapters.checkers.pytest_case import Case, Concluded, Prepared, conclude
from adapters.checkers.pytest_plan import Plan
from adapters.checkers.recording import RECORDER, Canary, Job, Recorded, recorded, with_recorder
from adapters.checkers.together import together
from domain.base import canonical_json, sha256_hex
from domain.checks import BaseOutcome, Item, Outcome
from domain.command_criteria import Pytest
from domain.ports import CheckContext, EvidenceStore, Finding, Sandbox
from domain.suite.control import Change, companions, edits_of, kept, sample, spared
from domain.suite.runs import function_of

CONTROL_OUTPUT = 20_000  # characters of a control's output that are stored


class PytestChecker:
    """Every expected test passes on the tree, and the run can fail."""

    type = "pytest"

    def __init__(self, store: EvidenceStore, sandbox: Sandbox) -> None:
        self._store = store
        self._sandbox = sandbox

    async def check(self, item: Item, context: CheckContext) -> Finding:
        """What the tests come to. Where there is a base, it runs there first. Raises `Unavailable`."""
        criterion = item.criterion
        assert isinstance(criterion, Pytest)
        plan = await asyncio.to_thread(Plan, self._store, context)
        base = await self._on_base(item, context) if context.base else None
        prepared = await asyncio.to_thread(_prepared, plan, base and base[0], item, context)
        case = await self._run_both(prepared, plan, item, context)
        if (case.measured.blind or case.measured.turned) and context.base:
            case = case.model_copy(update={"control_of_base": await self._control_of_base(case, plan, item, context)})
        if case.turned:
            case = await self._apart(case, plan, item, context)
        concluded = conclude(case, criterion.params, criterion.timeout)
        return _finding(item, context, case, concluded).model_copy(update={"base": base and base[1]})

    async def _on_base(self, item: Item, context: CheckContext) -> tuple[Recorded, BaseOutcome]:
        """The same command on the base: once for all that it follows from."""
        there = context.model_copy(update={"tree": context.base, "base": ""})
        key = _base_key(item, there)
        known = await asyncio.to_thread(self._store.recall, key)
        if known:
            outcome = BaseOutcome.model_validate_json(known)
            if await asyncio.to_thread(self._store.has, outcome.evidence):
                seen = await asyncio.to_thread(self._store.get, outcome.evidence)
                return Case.model_validate(Finding.model_validate_json(seen).seen["case"]).head, outcome
        job = _job(await asyncio.to_thread(Plan, self._store, there))
        case = Case(head=await self._run(job, item, there, "base"))
        criterion = item.criterion
        assert isinstance(criterion, Pytest)
        alone = criterion.params.model_copy(update={"fail_to_pass": [], "pass_to_pass": "base"})
        finding = _finding(item, there, case, conclude(case, alone, criterion.timeout))
        evidence = await asyncio.to_thread(self._store.put, finding.model_dump_json().encode())
        outcome = BaseOutcome(outcome=finding.outcome, code=finding.code, evidence=evidence)
        if outcome.outcome is not Outcome.COULD_NOT_RUN:
            await asyncio.to_thread(self._store.remember, key, outcome.model_dump_json().encode())
        return case.head, outcome

    async def _run_both(self, prepared: Prepared, plan: Plan, item: Item, context: CheckContext) -> Case:
        """The run that is judged and, at the same time, the one that has to fail.

        That one may run for ever where an input was changed, never where only what is expected was.
        """
        head = self._run(_job(plan), item, context, "head")
        if not (context.controls and context.base):
            return Case.model_validate({**dict(prepared), "head": await head})
        canary = Canary(name=_name(), token=secrets.token_hex(16))
        job = _job(plan, prepared.changes, prepared.companions)
        ran, control = await together(head, self._control(job, canary, item, context))
        case = Case.model_validate({**dict(prepared), "head": ran, "control": control, "canary": canary})
        stopped = control.observation.timed_out or control.observation.oom_killed or control.observation.flooded
        sure = tuple(change for change in prepared.changes if change.decisive)
        if stopped and ran.run and sure != prepared.changes:
            why = "tests whose input was changed did not come to an end, so only expected values were changed"
            again = await self._control(_job(plan, sure, prepared.companions), canary, item, context)
            case = case.model_copy(update={"control": again, "changes": sure, "unchanged": why})
        return case

    async def _control(self, job: Job, canary: Canary, item: Item, context: CheckContext) -> Recorded:
        ran = await self._run(job.model_copy(update={"canary": canary}), item, context, "control")
        return ran.without_output(keep=CONTROL_OUTPUT)

    async def _control_of_base(self, case: Case, plan: Plan, item: Item, context: CheckContext) -> Recorded:
        """Whether what is suspicious of the head's tests is so on the base, too: then it is their own weakness."""
        assert case.canary is not None
        there = context.model_copy(update={"tree": context.base, "base": ""})
        told = [[c.model_dump(mode="json") for c in case.changes], list(case.companions)]
        key = sha256_hex(canonical_json([_base_key(item, there), told]))
        if known := await asyncio.to_thread(self._store.recall, key):
            return Recorded.model_validate_json(known)
        ran = await self._control(_job(plan, case.changes, case.companions), case.canary, item, there)
        await asyncio.to_thread(self._store.remember, key, ran.model_dump_json().encode())
        return ran

    async def _apart(self, case: Case, plan: Plan, item: Item, context: CheckContext) -> Case:
        """Tests that fail once others are changed, without those others: do they need them, or did they see that?"""
        assert case.canary is not None
        functions = [function_of(name) for name in case.turned]
        job = _job(plan, case.changes).model_copy(update={"keep": kept(functions)})
        alone = _job(plan).model_copy(update={"keep": kept(functions)})
        disturbed, plain = await together(
            self._run(job.model_copy(update={"canary": case.canary}), item, context, "disturbed"),
            self._run(alone, item, context, "plain"),
        )
        kept_of_them = {"disturbed": disturbed.without_output(), "plain": plain.without_output()}
        return case.model_copy(update=kept_of_them)

    async def _run(self, job: Job, item: Item, context: CheckContext, what: str) -> Recorded:
        criterion = item.criterion
        assert isinstance(criterion, Pytest)
        observed = await self._sandbox.run(request(item, context, with_recorder(criterion.params, job), name=what))
        return recorded(observed, job.nonce)


def again(criterion: Pytest, finding: Finding) -> tuple[Outcome, str] | None:
    """Outcome and code by what was recorded then; None where nothing is."""
    if "case" not in finding.seen:
        return None
    concluded = conclude(Case.model_validate(finding.seen["case"]), criterion.params, criterion.timeout)
    return concluded.outcome, concluded.code


def _prepared(plan: Plan, base: Recorded | None, item: Item, context: CheckContext) -> Prepared:
    """What the head will be held against, and what its control changes."""
    criterion = item.criterion
    assert isinstance(criterion, Pytest)
    if base is None:
        return Prepared()
    seed = int(sha256_hex(canonical_json([context.tree, item.id]))[:12], 16)
    functions = plan.functions(base.run)
    changes: tuple[Change, ...] = ()
    if context.controls:
        possible = plan.changes(base.run, functions, seed, criterion.params)
        changes = spared(sample(possible, base.run, seed), base.run, seed)
    return Prepared(
        base=base.without_output(),
        has_base=True,
        functions=functions,
        changed=tuple(sorted(plan.changed)),
        lost=plan.lost,
        changes=changes,
        companions=companions(changes, base.run, seed) if context.controls else (),
        seed=seed,
    )


def _job(plan: Plan, changes: tuple[Change, ...] = (), companions: tuple[str, ...] = ()) -> Job:
    return Job(
        nonce=secrets.token_hex(16),
        name=_name(),
        files=plan.digests(changes),
        edits=edits_of(changes),
        keep=kept((*(change.function for change in changes), *companions)),
    )


def _name() -> str:
    """A name for a module that nobody can guess, and that says nothing."""
    return f"test_{secrets.token_hex(8)}"


def _base_key(item: Item, context: CheckContext) -> str:
    """Everything that the run on the base follows from; what the item is called is no part of it."""
    criterion = item.criterion
    assert isinstance(criterion, Pytest)
    what = criterion.params.model_dump(mode="json", include={"command", "cwd", "env"})
    where = [context.tree, context.image, list(context.build), context.resources.model_dump(mode="json")]
    return sha256_hex(
        canonical_json(
            ["pytest on the base, some test passes", what, criterion.timeout, where, sha256_hex(RECORDER.encode())]
        )
    )


def _finding(item: Item, context: CheckContext, case: Case, concluded: Concluded) -> Finding:
    observed = case.head.observation
    stored = case.model_copy(update={"head": case.head.without_output()}).model_dump(mode="json")
    return Finding(
        outcome=concluded.outcome,
        code=concluded.code,
        text=concluded.text,
        next_step=concluded.next_step,
        exit_code=observed.exit_code,
        stdout=observed.stdout,
        stderr=observed.stderr,
        duration_ms=observed.duration_ms,
        seen=seen(item, context, case=stored),
        tests=concluded.tests,
        control=concluded.control,
        expectation=concluded.expectation,
        seed=case.seed if case.changes else None,
    )
