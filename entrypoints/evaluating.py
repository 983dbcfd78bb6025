"""Runs the claims of a data set as rounds, some at once, or takes the verdicts that are stored: what `eval` does.

A round is that of `countersign verify`. One that could not be told is a verdict that says so, and ends nothing. What
the verdicts are worth is `domain.evaluation`'s.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from adapters.config.dataset_file import LoadedClaim
from adapters.config.in_force import authority_of
from adapters.config.settings import Settings
from domain.errors import Unavailable
from domain.evaluation.verdicts import Verdict, verdict_of
from domain.order import FixLoop
from domain.ports import EvidenceStore, Trail
from domain.report import Report
from domain.roles.models import key_variables
from entrypoints import rounds
from entrypoints.stored_verdicts import StoredVerdicts

NOT_STORED = "no verdict on this order and this work is stored"


@dataclass(frozen=True)
class Plan:
    """How many rounds each claim has, and how many run at once.

    `stored`: verdicts that are there are taken first; `run`: what is missing is run.
    """

    rounds: int = 1
    at_once: int = 1
    stored: bool = False
    run: bool = True


class Evaluation:
    """One evaluation. `seen` is told of each verdict as it comes."""

    def __init__(
        self, settings: Settings, trail: Trail, store: EvidenceStore, plan: Plan, seen: Callable[[Verdict], None]
    ) -> None:
        self._settings = settings
        self._trail = trail
        self._store = store
        self._plan = plan
        self._seen = seen
        self._stored = StoredVerdicts(settings, trail, store)
        self._turn = asyncio.Semaphore(plan.at_once)

    async def run(self, claims: Sequence[LoadedClaim]) -> list[Verdict]:
        """The verdicts on `claims`, in their order. Raises `Unavailable` where nothing can be run at all."""
        claims = [_not_repaired(claim) for claim in claims]
        found = [self._take(claim) for claim in claims]
        if self._plan.run and any(len(taken) < self._plan.rounds for taken in found):
            await self._open(claims)
        verdicts = await asyncio.gather(*(self._claim(*each) for each in zip(claims, found, strict=True)))
        return [verdict for one in verdicts for verdict in one]

    async def _open(self, claims: Sequence[LoadedClaim]) -> None:
        """One host for all rounds: with the variables of all, so that no round has it started again."""
        needed = dict.fromkeys(name for claim in claims for name in rounds.variables_of(claim.order))
        names = [*needed, *key_variables(self._settings.agents)]
        roles = any(claim.order.verification.asks_auditor for claim in claims)
        await rounds.open_server(self._settings, names, roles=roles)

    def _take(self, claim: LoadedClaim) -> list[Report]:
        return self._stored.reports(claim, self._plan.rounds) if self._plan.stored else []

    async def _claim(self, claim: LoadedClaim, taken: Sequence[Report]) -> list[Verdict]:
        verdicts = [verdict_of(claim.label, report, stored=True) for report in taken]
        for verdict in verdicts:
            self._seen(verdict)
        for _ in range(self._plan.rounds - len(taken)):
            async with self._turn:
                verdict = await self._round(claim) if self._plan.run else _untold(claim, NOT_STORED)
            self._seen(verdict)
            verdicts.append(verdict)
        return verdicts

    async def _round(self, claim: LoadedClaim) -> Verdict:
        """One round, started now and followed to its end; cancelled, it cancels the round."""
        authority = authority_of(self._settings, claim.policy.files)
        work = rounds.Work(claim.order, claim.order_file, claim.claim, authority)
        try:
            ended = await rounds.verify(self._settings, self._trail, work, lambda *_: None, lambda _: None)
            report = Report.model_validate_json(self._store.get(ended.result.report))
        except Unavailable as error:
            return _untold(claim, f"{error.reason} ({error.cause})")
        return verdict_of(claim.label, report)


def _not_repaired(claim: LoadedClaim) -> LoadedClaim:
    """What is measured is the verdict on the work as it was claimed; and no workspace of a data set is written to."""
    order = claim.order.model_copy(update={"fix_loop": FixLoop()})
    return replace(claim, order=order)


def _untold(claim: LoadedClaim, why: str) -> Verdict:
    return Verdict(claim=claim.label, outcome=None, why=why)
