"""Judges claims as people do: real rounds on one host, some at once, asked for by a client that stays."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import docker
from temporalio.client import Client

from adapters.config.order_file import load_order
from adapters.config.settings import Settings, load_settings
from bench.held import environment
from domain.errors import CountersignError
from domain.ports import Trail
from domain.report import Report
from domain.report_lines import CheckReport, CriterionReport
from entrypoints.client import connect, start_round
from entrypoints.stores import build_evidence, build_trail
from tests.docker_bench import Bench
from tests.integration.conftest import Project
from tests.tamper import naive
from tests.tamper.cheats_git import MARK
from tests.tamper.claims import Claim

AT_ONCE = 3
ALONE, BOTH = "alone", "both"


@dataclass(frozen=True)
class Judged:
    """What became of a claim: the naive verifier's exit code, and each order's report or why there is none.

    `naive` is None where that verifier was not asked.
    `ran_outside`: git ran something of the worker's tree, which left its mark there.
    """

    claim: Claim
    naive: int | None
    alone: Report | str
    both: Report | str
    ran_outside: bool = False

    @property
    def problems(self) -> list[str]:
        """Everything that is not as the claim says."""
        return [f"{self.claim.family}/{self.claim.name}: {problem}" for problem in self._problems()]

    def _problems(self) -> Iterator[str]:
        claim = self.claim
        if self.naive is not None and (self.naive == 0) != claim.naive:
            yield f"the naive verifier's command ended with {self.naive}"
        if self.ran_outside:
            yield "something of the worker's tree ran outside of a container"
        if claim.honest:
            yield from (f"{kind}: {told(r)}" for kind, r in self._each() if outcome(r) != "verified")
            return
        if outcome(self.both) == "verified":
            yield f"{BOTH}: verified"
        if outcome(self.alone) == "verified":
            if not claim.only_outside or isolations(self.alone) != {"in_process"}:
                yield f"{ALONE}: verified, isolation {isolations(self.alone)}"
        elif claim.right_on_its_tests:
            yield f"{ALONE}: {told(self.alone)}"
        kind, report = (BOTH, self.both) if claim.only_outside else (ALONE, self.alone)
        if missing := set(claim.expected) - named(report):
            yield f"{kind}: {sorted(missing)} not named: {told(report)}"

    def _each(self) -> tuple[tuple[str, Report | str], ...]:
        return ((ALONE, self.alone), (BOTH, self.both))


def outcome(report: Report | str) -> str:
    """The decision's word, or that there was no round."""
    return "no round" if isinstance(report, str) else str(report.outcome.value)


def _results(report: Report) -> list[CheckReport | CriterionReport]:
    return [*report.checks, *report.criteria]


def isolations(report: Report | str) -> set[str]:
    """Where the results that passed were compared."""
    if isinstance(report, str):
        return set()
    return {part.isolation for part in _results(report) if part.passed}


def named(report: Report | str) -> set[str]:
    """What a report names: the codes of what did not pass, of the decision's reasons, and every path not taken."""
    if isinstance(report, str):
        return {report.partition(":")[0]}
    codes = {part.code for part in _results(report) if not part.passed}
    codes |= {reason.code for reason in report.reasons}
    if report.snapshot:
        codes |= {f"restored {path}" for path in report.snapshot.restored}
        codes |= {f"dropped {dropped.path}" for dropped in report.snapshot.dropped}
    return codes


def told(report: Report | str) -> str:
    """A report in a few lines."""
    if isinstance(report, str):
        return report
    parts = [f"{p.code}: {p.text}" for p in _results(report) if not p.passed]
    paths = sorted(name for name in named(report) if name.startswith(("restored", "dropped")))
    return "; ".join([outcome(report), *parts, *paths, *(r.text for r in report.reasons)])[:900]


class Court:
    """A host that runs, a client that stays connected to it, and the engine for the naive verifier."""

    def __init__(self, project: Project) -> None:
        self._project = project

    def judge(self, claims: Sequence[Claim], seen: Callable[[Judged], None], short: bool = False) -> list[Judged]:
        """Every claim, by the naive verifier and under both orders; `seen` is told of each as it comes.

        `short`: not by the naive verifier, and under one order where that tells the other's outcome: a check that
        fails alone fails beside a criterion, and one that passes beside it passes alone.
        """
        up = self._project.run("up")
        assert up.returncode == 0, up.stderr
        images = asyncio.run(_images({claim.project.image for claim in claims}))
        with environment(self._project.environment):
            settings = load_settings(self._project.root)
        trail = build_trail(settings)
        try:
            session = Session(settings, trail, images, self._project.root / "claims", short)
            address = str(self._project.status()["temporal_address"])
            return asyncio.run(session.judge(claims, address, seen))
        finally:
            trail.close()


class Session:
    """One client, which judges claims until there are no more."""

    def __init__(self, settings: Settings, trail: Trail, images: Mapping[str, str], folder: Path, short: bool) -> None:
        self._settings = settings
        self._trail = trail
        self._images = images
        self._folder = folder
        self._short = short
        self._api = docker.APIClient()
        self._turn = asyncio.Semaphore(AT_ONCE)

    async def judge(self, claims: Sequence[Claim], address: str, seen: Callable[[Judged], None]) -> list[Judged]:
        """All claims, `AT_ONCE` rounds at a time, in their order."""
        client = await connect(self._settings, address)

        async def one(claim: Claim) -> Judged:
            async with self._turn:
                judged = await self._claim(client, claim)
            seen(judged)
            return judged

        return await asyncio.gather(*(one(claim) for claim in claims))

    async def _claim(self, client: Client, claim: Claim) -> Judged:
        folder = self._folder / claim.name
        claim.write(folder)
        image = self._images[claim.project.image]
        code = None
        if not self._short:
            code = await asyncio.to_thread(naive.exit_code, self._api, image, claim, folder / "work")
        kinds: tuple[str, ...] = (BOTH, ALONE)
        if self._short and not claim.only_outside:
            kinds = (BOTH,) if claim.honest else (ALONE,)
        reports = [await self._round(client, folder, kind) for kind in kinds]
        return Judged(claim, code, reports[-1], reports[0], (folder / "work" / MARK).exists())

    async def _round(self, client: Client, folder: Path, kind: str) -> Report | str:
        """The report of one round, or the code of the error for which there is none, and its text."""
        order_file = folder / f"{kind}.yaml"
        try:
            order = load_order(order_file)
            _, handle = await start_round(client, self._trail, order, str(order_file))
            result = await handle.result()
        except CountersignError as error:
            return f"{type(error).__name__.lower()}: {error}"
        evidence = build_evidence(self._settings)
        return Report.model_validate_json(evidence.get(result.report))


async def _images(names: set[str]) -> dict[str, str]:
    """Ids of the images that the projects' orders name."""
    bench = Bench()
    try:
        return {name: (await bench.sandbox.prepare(name, lambda _: None)).id for name in sorted(names)}
    finally:
        bench.close()
