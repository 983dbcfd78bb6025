"""Runs one check or criterion and stores everything that was seen as evidence."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Literal

from temporalio import activity

from activities.boundary import beating, speaks_temporal
from domain.base import canonical_json, sha256_hex
from domain.checks import BaseOutcome, CheckResult, Outcome, beside_the_base
from domain.excerpts import log_command
from domain.failing_tests.readers import failed_tests
from domain.feedback import tail
from domain.flakes import standing, worth_another_run
from domain.messages import CheckInput, Image, SetupInput
from domain.ports import CheckContext, Checker, EvidenceStore, Finding, Progress, Sandbox

TRAVELLING_LINES = 50
TRAVELLING_CHARACTERS = 1_000
TRAVELLING_NAME = 300
"""Everything a round came to has to fit one message of at most 2 MiB, with 200 items in it."""


class CheckActivities:
    """Activities on checks; `checkers` has one for each type of criterion.

    Images are ready on the engine that made them so. A check that comes to another engine runs on what that one has.
    """

    def __init__(self, checkers: Mapping[str, Checker], store: EvidenceStore, sandbox: Sandbox) -> None:
        self._checkers = checkers
        self._store = store
        self._sandbox = sandbox

    @activity.defn(name="check.run")
    @speaks_temporal
    async def run(self, request: CheckInput) -> CheckResult:
        """The item's result. Its evidence is minted here: bound to session, todo, attempt and tree (DESIGN 8).

        What failed by chance, perhaps, is run again in fresh containers, up to `request.retries` times.
        """
        async with beating() as say:
            request = await self._here(request, say)
            findings = [await self._check(request, run=request.run)]
            while len(findings) <= request.retries and worth_another_run(request.item, findings[-1]):
                findings.append(await self._check(request, run=request.run + len(findings)))
            finding = standing(findings, flaky_passes=request.flaky_passes)
            evidence = await asyncio.to_thread(self._mint, request, finding, findings)
            result = _result(request, finding, evidence)
            if len(findings) > 1:
                result = result.model_copy(update={"outcomes": tuple(each.outcome for each in findings)})
            return beside_the_base(result, finding.base) if finding.base else result

    @activity.defn(name="check.run_on_base")
    @speaks_temporal
    async def run_on_base(self, request: CheckInput) -> BaseOutcome:
        """What the item comes to where `request.tree` is the base: run once for the same base, command and image."""
        async with beating() as say:
            request = await self._here(request, say)
            key = _base_run_key(request)
            if known := await asyncio.to_thread(self._store.recall, key):
                return BaseOutcome.model_validate_json(known)
            finding = await self._check(request.model_copy(update={"base": "", "controls": False}))
            evidence = await asyncio.to_thread(self._mint, request, finding)
            base = BaseOutcome(outcome=finding.outcome, code=finding.code, evidence=evidence)
            if base.outcome is not Outcome.COULD_NOT_RUN:
                await asyncio.to_thread(self._store.remember, key, base.model_dump_json().encode())
            return base

    async def _here(self, request: CheckInput, say: Progress) -> CheckInput:
        """`request` with the ids under which this engine has its images."""
        if not request.item.needs_sandbox:
            return request
        image = await self._id_here(request.image, request.reference, request.set_up, say)
        probe_image = await self._id_here(request.probe_image, request.probe_reference, None, say)
        return request.model_copy(update={"image": image, "probe_image": probe_image})

    async def _id_here(self, image: str, reference: str, set_up: SetupInput | None, say: Progress) -> str:
        if not reference:
            return image
        return (await self._sandbox.ready(Image(reference=reference, id=image), set_up, say)).id

    async def _check(self, request: CheckInput, run: int = 0) -> Finding:
        context = CheckContext(
            round=request.round,
            tree=request.tree,
            image=request.image,
            resources=request.resources,
            build=request.build,
            probe_image=request.probe_image,
            commits=request.commits,
            base=request.base,
            trusted=request.trusted,
            build_rules=request.build_rules,
            doctests=request.doctests,
            order_files=request.order_files,
            controls=request.controls,
            run=run,
        )
        return _worded(await self._checkers[request.item.criterion.type].check(request.item, context))

    def _mint(self, request: CheckInput, finding: Finding, findings: Sequence[Finding] = ()) -> str:
        """Store what was seen, of every run where there were several. Outputs are whole here; their tails travel."""
        body = {
            "session": request.session,
            "todo": request.todo,
            "attempt": request.attempt,
            "tree": request.tree,
            "image": request.image,
            "item": request.item.model_dump(mode="json"),
            "finding": finding.model_dump(mode="json"),
        }
        if len(findings) > 1:
            body["findings"] = [each.model_dump(mode="json") for each in findings]
        return self._store.put(canonical_json(body))


def _base_run_key(request: CheckInput) -> str:
    """Everything that the outcome on the base follows from; what the item is called is no part of it."""
    criterion = request.item.criterion.model_dump(mode="json", exclude={"id", "description", "required"})
    where = [request.tree, request.image, request.probe_image, list(request.build)]
    if request.order_files:
        where.append(request.order_files)
    return sha256_hex(
        canonical_json(["base run, some test passes", criterion, where, request.resources.model_dump(mode="json")])
    )


def _result(request: CheckInput, finding: Finding, evidence: str) -> CheckResult:
    item = request.item
    all_of_it = log_command(request.session, request.todo, request.attempt, item.id)
    isolation: Literal["in_process", "out_of_process"] = "out_of_process" if finding.out_of_process else "in_process"
    return CheckResult(
        id=item.id,
        spelling=item.spelling,
        type=item.criterion.type,
        label=item.label[:TRAVELLING_NAME],
        command=item.command[:TRAVELLING_NAME],
        required=item.criterion.required,
        outcome=finding.outcome,
        code=finding.code,
        text=finding.text,
        next_step=finding.next_step,
        exit_code=finding.exit_code,
        stdout=tail(finding.stdout, all_of_it, TRAVELLING_LINES, TRAVELLING_CHARACTERS),
        stderr=tail(finding.stderr, all_of_it, TRAVELLING_LINES, TRAVELLING_CHARACTERS),
        duration_ms=finding.duration_ms,
        isolation=isolation,
        evidence=evidence,
        tests=finding.tests,
        control=finding.control,
        expectation=finding.expectation,
        seed=finding.seed,
    )


def _worded(finding: Finding) -> Finding:
    """Where an exit code says that a command failed, with the tests that it names as failed in the text."""
    if finding.outcome is not Outcome.FAILED or finding.code != "exit_code":
        return finding
    found = failed_tests(f"{finding.stdout}\n{finding.stderr}")
    return finding.model_copy(update={"text": f"{finding.text}; {found}"}) if found else finding
