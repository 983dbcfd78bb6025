"""The worker's image as deploy/ uses it: workers by queue, in containers, beside PostgreSQL, a bucket and a server."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from docker import APIClient
from temporalio.testing import WorkflowEnvironment

from entrypoints.temporal_binary import server_binary
from tests.integration.conftest import Project, wait_for
from tests.postgres import Cluster
from tests.s3 import S3Server

ROOT = Path(__file__).parents[2]
BASE = "countersign-base:bookworm"
TAG = "countersign-worker:tested"
SOCKET = Path("/var/run/docker.sock")
CHECK = [{"name": "says", "command": "grep -q after a.txt"}]

POLLS_SECONDS = 240.0
"""Three containers begin at once, each with seconds of imports, beside whatever else the machine does."""

pytestmark = [
    pytest.mark.slow,  # test_deploy_files looks at the files; this builds and runs them
    pytest.mark.timeout(1200),  # its own deadlines say more, and sooner
]


@pytest.fixture(scope="module")
def image(engine: APIClient) -> Iterator[str]:
    base = {"BASE": BASE} if engine.images(BASE) else {}
    build = [str(ROOT / "deploy/build-image"), TAG]
    subprocess.run(build, env=os.environ | base, check=True, capture_output=True, timeout=900)
    yield TAG
    engine.remove_image(TAG, force=True)


@pytest.fixture
def bucket(tmp_path: Path) -> Iterator[S3Server]:
    server = S3Server(tmp_path / "s3")
    server.start()
    yield server
    server.stop()


async def test_a_round_goes_through_workers_in_containers(
    image: str, project: Project, bucket: S3Server, postgres_cluster: Cluster, engine: APIClient
) -> None:
    async with await WorkflowEnvironment.start_local(dev_server_existing_path=server_binary(None)) as server:
        settings = {
            "TEMPORAL_ADDRESS": server.client.service_client.config.target_host,
            "COUNTERSIGN_DATABASE_URL": postgres_cluster.create_database("imaged"),
            "COUNTERSIGN_EVIDENCE_URL": "s3://evidence",
            "COUNTERSIGN_LOG_FORMAT": "json",
            **bucket.environment,
        }
        names: list[str] = []
        try:
            for queue in ("workflows", "sandbox", "roles"):
                names.append(started(image, queue, settings))
            for name in names:
                wait_for(lambda name=name: polls(engine, name), POLLS_SECONDS)  # type: ignore[misc]  # a lambda's default
            project.environment |= settings
            here = beside_the_work(project)
            try:
                wait_for(lambda: "worker polls" in (project.root / "workspace.log").read_text())
                order = project.order(id="wo-one", verification={"checks": CHECK})
                verified = project.run("verify", order, "--output", "report.json")
                assert verified.returncode == 0, verified.stderr + verified.stdout
                assert project.run("log", "verify").returncode == 0
            finally:
                here.terminate()
                here.wait(150)
            for name in names:
                engine.stop(name, timeout=60)
                wait_for(lambda name=name: not engine.inspect_container(name)["State"]["Running"])  # type: ignore[misc]  # as above
                assert engine.inspect_container(name)["State"]["ExitCode"] == 0, engine.logs(name)
                assert engine.inspect_container(name)["Config"]["User"] == "1000:1000"
        finally:
            for name in names:
                engine.remove_container(name, force=True)


def polls(engine: APIClient, name: str) -> bool:
    """Whether the container's worker has said so; fails with what it said where it has ended instead."""
    said: bytes = engine.logs(name)
    assert engine.inspect_container(name)["State"]["Running"], said.decode()
    return b"worker polls" in said


def beside_the_work(project: Project) -> subprocess.Popen[bytes]:
    """The worker of this machine, which has the workspace."""
    with (project.root / "workspace.log").open("wb") as log:
        command = [sys.executable, str(ROOT / "worker.py"), "--queues", "workspace"]
        return subprocess.Popen(command, cwd=project.root, env=project.environment, stdout=log, stderr=log)


def started(image: str, queue: str, settings: dict[str, str]) -> str:
    """A worker of `queue` in a container, as the compose file confines it; its container's id."""
    options = [f"--env={name}={value}" for name, value in settings.items()]
    if queue == "sandbox":
        options += [f"--volume={SOCKET}:{SOCKET}", f"--group-add={SOCKET.stat().st_gid}"]
    command = ["docker", "run", "--detach", "--network=host", "--cap-drop=ALL", "--security-opt=no-new-privileges"]
    command += [f"--hostname={socket.gethostname()}-{queue}", *options, image, "--queues", queue]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
