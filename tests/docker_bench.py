"""A sandbox on the real engine, and the engine itself to look behind it."""

from __future__ import annotations

import asyncio
import itertools
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import docker

from adapters.sandbox import engine, present
from adapters.sandbox.sandbox import DockerSandbox
from domain.checks import Observation
from domain.order import Resources
from domain.ports import ProbeRequest, RunRequest, Served
from domain.tree import Entry, Manifest
from tests.fakes.evidence import MemoryStore

IMAGES = Path(__file__).resolve().parents[1] / "sandbox_images"
MIB = 1024 * 1024
UP_SECONDS = 120.0
"""A container that never comes up is what is found; a busy engine takes its time."""

LIMIT = 120.0
"""Seconds, for what ends by itself: a machine that is slow, or stands still for a while, must not stop it."""

LONG = 300
"""Seconds of what does not end by itself."""

HELD = "until [ -e /work/go ]; do sleep 0.05; done"
"""A command that ends once it is `let_go`."""

MEMORY_BOMB = "python3 -c 'x = bytearray(1 << 30)'; code=$?; sleep 1; exit $code"
"""Is killed for want of memory, and goes on a little: one whose container ends with that is at times gone before the
engine has heard why, and then nobody ever knows."""

KNOCK = """python3 -c '
import socket, time
while True:
    try:
        socket.create_connection(("127.0.0.1", 8000)).close()
        break
    except OSError:
        time.sleep(0.1)
'"""
"""Ends once somebody listens, which whoever serves does as its last word."""
HEAR = """python3 -c '
import socket
socket.create_server(("127.0.0.1", 8000)).accept()
'"""
"""Listens, and ends once somebody has knocked."""

SMALL = Resources(memory="64m", disk="16m", pids=32)


class Bench:
    """One owner's sandbox on the engine, its store, and the engine itself to look behind it."""

    def __init__(self, images_dir: Path = IMAGES, base_image: str | None = None) -> None:
        self.owner = f"test-{uuid.uuid4().hex}"
        self.round = f"round/{self.owner}/1"
        self.store = MemoryStore()
        self.sandbox = self.another(images_dir, base_image)
        self.api = docker.APIClient()
        self.image = ""
        self._keys = itertools.count()

    def another(
        self, images_dir: Path = IMAGES, base_image: str | None = None, docker_host: str | None = None
    ) -> DockerSandbox:
        """As a second process of the same owner would have it."""
        return DockerSandbox(
            self.store, images_dir=images_dir, base_image=base_image, owner=self.owner, docker_host=docker_host
        )

    def tree(self, files: Mapping[str, bytes], links: Mapping[str, str] | None = None) -> str:
        entries = [Entry(path=path, size=len(data), digest=self.store.put(data)) for path, data in files.items()]
        entries += [Entry(path=path, kind="link", target=target) for path, target in (links or {}).items()]
        return self.store.put(Manifest.of(entries).encode())

    def request(self, command: str, tree: str | None = None, **other: Any) -> RunRequest:
        fields = {
            "key": f"{self.round}/{next(self._keys)}",
            "round": self.round,
            "tree": self.tree({"file": b"content"}) if tree is None else tree,
            "image": self.image,
            "command": command,
            "timeout": LIMIT,
            "resources": SMALL,
        }
        return RunRequest.model_validate({**fields, **other})

    async def run(self, command: str, tree: str | None = None, **other: Any) -> Observation:
        return await self.sandbox.run(self.request(command, tree, **other))

    async def serve(self, command: str, probe: str, **other: Any) -> Served:
        return await self.sandbox.serve(self.request(command, **other), ProbeRequest(image=self.image, command=probe))

    def containers(self, label: str = "") -> list[Any]:
        found: list[Any] = self.api.containers(all=True, filters={"label": label or f"countersign.owner={self.owner}"})
        return found

    def volumes(self) -> list[str]:
        found = self.api.volumes(filters={"label": f"countersign.owner={self.owner}"})["Volumes"] or []
        return [volume["Name"] for volume in found]

    async def running(
        self, command: str, sandbox: DockerSandbox | None = None, **other: Any
    ) -> tuple[asyncio.Task[Observation], str]:
        """The task of a run, and its container once that is up."""
        request = self.request(command, **other)
        task = asyncio.create_task((sandbox or self.sandbox).run(request))
        return task, await self.up(request.key)

    async def up(self, key: str) -> str:
        """The container of that run, once it is up."""
        deadline = time.monotonic() + UP_SECONDS
        while True:
            for container in self.containers(f"countersign.run={key}"):
                if container["State"] == "running":
                    return str(container["Id"])
            assert time.monotonic() < deadline, "the container did not come up"
            await asyncio.sleep(0.05)

    def inside(self, container: str, command: str) -> None:
        """Run a command beside the one that a container runs, to its end."""
        made = str(self.api.exec_create(container, ["sh", "-c", command])["Id"])
        said = self.api.exec_start(made)
        assert self.api.exec_inspect(made)["ExitCode"] == 0, said

    def let_go(self, container: str) -> None:
        """Let a container's `HELD` end."""
        self.inside(container, "touch /work/go")

    def tamper(self, volume: str, command: str) -> None:
        """Run a command as root in a container that may write to the volume."""
        made = self.api.create_container(
            self.image,
            ["sh", "-c", command],
            user="0",
            host_config=self.api.create_host_config(
                binds={volume: {"bind": "/src", "mode": "rw"}}, network_mode="none"
            ),
        )
        try:
            self.api.start(made)
            assert self.api.wait(made)["StatusCode"] == 0
        finally:
            self.api.remove_container(made, force=True)

    def close(self) -> None:
        self.sandbox.close()
        self.api.close()


def new_folder(folders: Path, *lines: str) -> str:
    """A new image folder on the base that is here in any case; its name."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    (folders / name).mkdir(parents=True)
    text = "\n".join((f"ARG BASE={present.LOCAL_BASE}", "FROM ${BASE}", *lines))
    (folders / name / "Dockerfile").write_text(text)
    return name


def engine_id(bench: Bench, reference: str) -> str:
    found = engine.inspect_image(bench.api, reference)
    assert found is not None
    return str(found["Id"])
