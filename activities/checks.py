"""Runs one check or criterion and stores everything that was seen as evidence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from temporalio import activity

from activities.boundary import beating, speaks_temporal
from domain.base import canonical_json, sha256_hex
from domain.checks import BaseOutcome, CheckResult, Outcome
from domain.feedback import tail
from domain.messages import CheckInput
from domain.ports import CheckContext, Checker, EvidenceStore, Finding

TRAVELLING_LINES = 50
TRAVELLING_CHARACTERS = 1_000
TRAVELLING_NAME = 300
"""Everything a round came to has to fit one message of at most 2 MiB, with 200 items in it."""


class CheckActivities:
    """Activities on checks; `checkers` has one for each type of criterion."""

    def __init__(self, checkers: Mapping[str, Checker], store: EvidenceStore) -> None:
        self._checkers = checkers
        self._store = store

    @activity.defn(name="check.run")
    @speaks_temporal
    async def run(self, request: CheckInput) -> CheckResult:
        """The item's result. Its evidence is minted here: bound to session, todo, attempt and tree (DESIGN 8)."""
        async with beating():
            finding = await self._check(request)
            return _result(request, finding, self._mint(request, finding))

    @activity.defn(name="check.run_on_base")
    @speaks_temporal
    async def run_on_base(self, request: CheckInput) -> BaseOutcome:
        """What the item comes to where `request.tree` is the base: run once for the same base, command and image."""
        key = _base_run_key(request)
        async with beating():
            if known := self._store.recall(key):
                return BaseOutcome.model_validate_json(known)
            finding = await self._check(request)
            base = BaseOutcome(outcome=finding.outcome, code=finding.code, evidence=self._mint(request, finding))
            if base.outcome is not Outcome.COULD_NOT_RUN:
                self._store.remember(key, base.model_dump_json().encode())
            return base

    async def _check(self, request: CheckInput) -> Finding:
        context = CheckContext(
            round=request.round,
            tree=request.tree,
            image=request.image,
            resources=request.resources,
            build=request.build,
            probe_image=request.probe_image,
            commits=request.commits,
        )
        return await self._checkers[request.item.criterion.type].check(request.item, context)

    def _mint(self, request: CheckInput, finding: Finding) -> str:
        """Store what was seen. Outputs are whole in here; what travels is their tail."""
        return self._store.put(
            canonical_json(
                {
                    "session": request.session,
                    "todo": request.todo,
                    "attempt": request.attempt,
                    "tree": request.tree,
                    "image": request.image,
                    "item": request.item.model_dump(mode="json"),
                    "finding": finding.model_dump(mode="json"),
                }
            )
        )


def _base_run_key(request: CheckInput) -> str:
    """Everything that the outcome on the base follows from; what the item is called is no part of it."""
    criterion = request.item.criterion.model_dump(mode="json", exclude={"id", "description", "required"})
    where = [request.tree, request.image, request.probe_image, list(request.build)]
    return sha256_hex(canonical_json(["base run", criterion, where, request.resources.model_dump(mode="json")]))


def _result(request: CheckInput, finding: Finding, evidence: str) -> CheckResult:
    item = request.item
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
        stdout=tail(finding.stdout, TRAVELLING_LINES, TRAVELLING_CHARACTERS),
        stderr=tail(finding.stderr, TRAVELLING_LINES, TRAVELLING_CHARACTERS),
        duration_ms=finding.duration_ms,
        isolation=isolation,
        evidence=evidence,
    )
