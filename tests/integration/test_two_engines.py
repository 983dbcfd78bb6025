"""Workers split by queue over processes and two Docker engines, one of which is killed while rounds run on both.

The engines have different images of the same name, as two that built or pulled one each have.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from docker import APIClient
from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment

from adapters.config.order_file import load_order
from adapters.config.settings import Settings
from domain.messages import RoundResult
from domain.report import Report
from entrypoints.client import connect, start_round
from entrypoints.stores import build_evidence, build_trail
from entrypoints.temporal_binary import server_binary
from tests.integration.conftest import Project, alive
from tests.integration.engines import TINY, PrivateEngine, import_tiny, private
from workflows.options import SEARCH_ATTRIBUTES

WORKER = Path(__file__).parents[2] / "worker.py"
CHECKS = [{"name": name, "command": "sleep 0.5; grep -q after a.txt"} for name in ("one", "two", "three")]
ROUNDS = 12
PARALLELISM = 2
IN_TIME = 300.0
REAPED = 300.0


@pytest.fixture
def tiny(engine: APIClient) -> Iterator[str]:
    """The id of the image on this machine's own engine."""
    yield import_tiny(engine)
    engine.remove_image(TINY, force=True)


@dataclass
class Site:
    """A server, a project whose rounds run on it, and where the logs of its workers are."""

    project: Project
    client: Client
    settings: Settings

    def worker(self, name: str, queues: str, docker_host: str | None = None) -> subprocess.Popen[bytes]:
        """A worker as one's own is, with an engine of its own."""
        more = {} if docker_host is None else {"COUNTERSIGN_DOCKER_HOST": docker_host}
        address = self.client.service_client.config.target_host
        with self.log(name).open("ab") as log:
            return subprocess.Popen(
                [sys.executable, WORKER, "--queues", queues, "--address", address],
                cwd=self.project.root,
                env=self.project.environment | more,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def log(self, name: str) -> Path:
        return self.project.root / f"{name}.log"

    def says(self, name: str, text: str) -> Callable[[], bool]:
        """Whether the worker has said so."""
        return lambda: text in self.log(name).read_text()

    async def round(self, todo: str) -> Report:
        """One round, to its end."""
        file = self.project.order(id=todo, verification={"checks": CHECKS}, environment={"image": TINY})
        trail = build_trail(self.settings)
        try:
            _, handle = await start_round(
                self.client, trail, load_order(self.project.root / file), str(self.project.root / file)
            )
        finally:
            trail.close()
        result: RoundResult = await handle.result()
        return Report.model_validate_json(build_evidence(self.settings).get(result.report))

    def images(self, report: Report) -> list[str]:
        """Which image each of its checks ran on, by the evidence."""
        blobs = build_evidence(self.settings)
        return [json.loads(blobs.get(check.evidence))["image"] for check in report.checks]

    def left(self, api: APIClient) -> list[str]:
        """What of this project is on an engine."""
        ours = {"label": f"countersign.owner={self.settings.state_dir}"}
        return [c["Names"][0] for c in api.containers(all=True, filters=ours)] + [
            volume["Name"] for volume in api.volumes(filters=ours)["Volumes"] or ()
        ]

    def checks(self, api: APIClient) -> set[str]:
        """The checks that an engine has."""
        return {name for name in self.left(api) if "countersign-check-" in name}


@asynccontextmanager
async def site(project: Project, state: Path) -> AsyncIterator[Site]:
    """A server that is up, and a project that knows where its state is."""
    project.environment |= {"COUNTERSIGN_STATE_DIR": str(state), "COUNTERSIGN_PARALLELISM": str(PARALLELISM)}
    settings = Settings(project=project.root, state_dir=state, parallelism=PARALLELISM)
    async with await WorkflowEnvironment.start_local(
        dev_server_existing_path=server_binary(None), search_attributes=SEARCH_ATTRIBUTES
    ) as server:
        client = await connect(settings, server.client.service_client.config.target_host)
        yield Site(project, client, settings)


async def until(what: Callable[[], bool], seconds: float = IN_TIME) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "it never came"
        await asyncio.sleep(0.2)


def _some_ended_and_some_run(seen: set[str], running: set[str]) -> bool:
    """Whether more checks were seen than run at once, and one runs now."""
    seen |= running
    return len(seen) > 2 * PARALLELISM and bool(running)


@pytest.mark.slow  # test_engine_failover.py and test_elsewhere.py have its parts
@pytest.mark.timeout(1200)  # its own deadlines say more, and sooner
async def test_rounds_of_an_engine_that_is_killed_end_on_the_other(
    project: Project, tmp_path: Path, engine: APIClient, tiny: str
) -> None:
    with private() as dies:
        async with site(project, tmp_path / "state" / "own") as here:
            workers = [
                here.worker("workflows", "workflows,workspace,roles"),
                here.worker("stays", "sandbox"),
                here.worker("dies", "sandbox", dies.address),
            ]
            try:
                await _live_through(here, dies, engine, tiny, workers)
            finally:
                for worker in workers:
                    if alive(worker.pid):
                        worker.send_signal(signal.SIGTERM)
                    worker.wait(150)


async def _live_through(
    here: Site, dies: PrivateEngine, engine: APIClient, tiny: str, workers: list[subprocess.Popen[bytes]]
) -> None:
    rounds = asyncio.gather(*(here.round(f"wo-{number}") for number in range(ROUNDS)))
    with dies.api() as api:
        other = str(api.inspect_image(TINY)["Id"])  # type: ignore[no-untyped-call]  # docker's stubs lack it
        seen: set[str] = set()
        await until(lambda: rounds.done() or _some_ended_and_some_run(seen, here.checks(api)))
        dies.kill()
    async with asyncio.timeout(IN_TIME):
        reports = await rounds
    assert [report.verdict for report in reports] == ["PASS"] * ROUNDS
    assert {check.outcome for report in reports for check in report.checks} == {"passed"}
    assert {image for report in reports for image in here.images(report)} == {tiny, other}, "both ran checks"
    await until(here.says("dies", "does not answer"))

    dies.start()
    await until(here.says("dies", "answers again"))
    os.kill(workers[1].pid, signal.SIGTERM)
    workers[1].wait(150)
    async with asyncio.timeout(IN_TIME):
        report = await here.round("wo-alone")
    assert (report.verdict, set(here.images(report))) == ("PASS", {other})

    workers[1] = here.worker("stays", "sandbox")
    with dies.api() as api:
        await until(lambda: here.left(api) == [] and here.left(engine) == [], REAPED)
