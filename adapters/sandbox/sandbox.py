"""The `Sandbox` port on a Docker engine: puts images, seals and checks together, off the event loop.

Source: DESIGN section 7. In a container the tree is at /work/tree, and HOME at /work/home, beside it and not in it.
"""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path

from adapters.sandbox import check, limits
from adapters.sandbox.confinement import Container, Limits
from adapters.sandbox.engine import DEADLINE, OWNER, ROUND, RUN, Engine, name_of
from adapters.sandbox.images import Images
from adapters.sandbox.limits import ProbeResult
from adapters.sandbox.reaper import reap
from adapters.sandbox.seal import Seal, Seals
from adapters.sandbox.suitability import Suitability
from domain.checks import Observation
from domain.errors import Cause, Unavailable
from domain.fields import size_in_bytes
from domain.messages import Image
from domain.ports import EvidenceStore, Progress, RunRequest

LONGEST_STRING = 131_071
"""Bytes in one argument or variable that Linux starts a program with (MAX_ARG_STRLEN, execve(2))."""

_SEALINGS = 2
_REAPER_SLACK_SECONDS = 60.0


class DockerSandbox:
    """Runs commands in containers on one engine.

    `owner` names this state directory: what it makes on the engine is labelled so, and only that is removed.
    `base_image` is what the images of `images_dir` are built on, None for what each Dockerfile says. `docker_host` is
    as in DOCKER_HOST, None for the environment's.
    """

    def __init__(
        self,
        store: EvidenceStore,
        *,
        images_dir: Path,
        base_image: str | None,
        owner: str,
        docker_host: str | None = None,
    ) -> None:
        self._owner = owner
        self._engine = Engine(docker_host)
        self._images = Images(self._engine, images_dir, base_image)
        self._suitability = Suitability(self._engine, owner)
        self._seals = Seals(self._engine, store, owner)

    async def prepare(self, image: str, progress: Progress) -> Image:
        """Find, build or pull `image`.

        Raises `Unavailable` (image_missing, image_unsuitable, engine_unavailable, disk_full).
        """
        return await asyncio.to_thread(self._prepare, image, progress)

    async def run(self, request: RunRequest) -> Observation:
        """Run the command over the tree and say what was seen. Cancelled, it removes its container first.

        Raises `Unavailable` (engine_unavailable, engine_limits, image_missing, image_unsuitable, seal_mismatch,
        store_unavailable, disk_full).
        """
        cancelled = threading.Event()
        work = asyncio.ensure_future(asyncio.to_thread(self._run, request, cancelled))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            cancelled.set()
            await asyncio.wait([work])
            work.exception()  # retrieved: nobody is left to hear it
            raise

    async def release(self, round: str) -> None:
        """Remove what the round left sealed. Doing it twice is no error. Raises `Unavailable`."""
        await asyncio.to_thread(self._seals.release, round)

    async def reap(self) -> int:
        """Remove this owner's containers and volumes whose deadline has passed; how many. Raises `Unavailable`."""
        return await asyncio.to_thread(reap, self._engine, self._owner)

    async def clear(self) -> int:
        """Remove everything of this owner, running or not; how many. For when none of its workers runs.

        Raises `Unavailable`.
        """
        return await asyncio.to_thread(reap, self._engine, self._owner, everything=True)

    async def probe(self) -> tuple[ProbeResult, ...]:
        """Whether the engine answers and its limits bind, proven on containers; for `countersign doctor`.

        Raises nothing that the engine can bring about: that is what it reports.
        """
        return await asyncio.to_thread(limits.probe, self._engine, self._owner)

    def close(self) -> None:
        """Let go of the connections to the engine."""
        self._engine.close()

    def _prepare(self, image: str, progress: Progress) -> Image:
        found = self._images.prepare(image, progress)
        self._suitability.of(found.id)
        return found

    def _run(self, request: RunRequest, cancelled: threading.Event) -> Observation:
        _refuse_what_linux_cannot_start(request)
        volumes = self._suitability.of(request.image).volumes
        for _ in range(_SEALINGS):
            seal = self._seals.find_or_make(request.round, request.tree, request.image)
            if cancelled.is_set():
                raise check.Abandoned
            container = _container(request, seal, volumes, self._owner)
            ending = check.live(self._engine, container, request.timeout, cancelled)
            if ending.reached or ending.exit_code != check.SEAL_MISMATCH:
                return _observation(request, ending)
            self._seals.discard(request.round, request.tree, seal)
        raise Unavailable(
            Cause.SEAL_MISMATCH,
            f"the sealed tree on the Docker engine is not {request.tree}, though it was sealed anew",
            "see whether something else removes or changes the volumes named countersign-seal-*",
        )


def _container(request: RunRequest, seal: Seal, image_volumes: tuple[str, ...], owner: str) -> Container:
    resources = request.resources
    lasts = check.TO_START_SECONDS + request.timeout + check.GRACE_SECONDS + _REAPER_SLACK_SECONDS
    return Container(
        name=name_of("check", owner, request.key),
        image=request.image,
        script=check.SCRIPT,
        arguments=_variables(request),
        environment={
            "HOME": "/work/home",
            "COUNTERSIGN_COMMAND": request.command,
            "COUNTERSIGN_CWD": request.cwd,
            "COUNTERSIGN_LIMIT": f"{request.timeout:.3f}",
            "COUNTERSIGN_TREE": request.tree,
        },
        labels={
            OWNER: owner,
            ROUND: request.round,
            RUN: request.key,
            DEADLINE: str(int(time.time() + lasts)),
        },
        limits=Limits(
            memory=size_in_bytes(resources.memory),
            cpus=resources.cpus,
            pids=resources.pids,
            disk=size_in_bytes(resources.disk),
            tree_bytes=seal.bytes,
            tree_inodes=seal.inodes,
        ),
        image_volumes=image_volumes,
        volume=seal.volume,
    )


def _variables(request: RunRequest) -> list[str]:
    return [f"{name}={value}" for name, value in request.env.items()]


def _refuse_what_linux_cannot_start(request: RunRequest) -> None:
    for text in (f"COUNTERSIGN_COMMAND={request.command}", *_variables(request)):
        if len(text.encode()) > LONGEST_STRING:
            raise Unavailable(
                Cause.ENGINE_LIMITS,
                f"{text[:40]!r}... is longer than the {LONGEST_STRING} bytes that a program can be started with",
                "put it into a file of the base and run that",
            )


def _observation(request: RunRequest, ending: check.Ending) -> Observation:
    stdout, stderr = ending.output.texts()
    return Observation(
        exit_code=ending.exit_code,
        stdout=stdout,
        stderr=stderr,
        truncated=ending.output.truncated,
        flooded=ending.output.flooded,
        timed_out=ending.timed_out,
        oom_killed=ending.oom_killed,
        copy_failed=not ending.reached,
        duration_ms=round(ending.seconds * 1000),
        image_id=request.image,
    )
