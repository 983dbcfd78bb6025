"""The `Sandbox` port on a Docker engine: puts images, seals and checks together, off the event loop.

Source: DESIGN section 7. In a container the tree is at /work/tree, and HOME at /work/home, beside it and not in it.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from adapters.sandbox import build_script, check, limits, script, serve
from adapters.sandbox.confinement import Container, HostsGone, Limits, writable_besides_work
from adapters.sandbox.engine import CONNECTIONS, DEADLINE, OWNER, ROUND, RUN, Engine, name_of
from adapters.sandbox.hosts import Hosts
from adapters.sandbox.images import Images
from adapters.sandbox.limits import ProbeResult
from adapters.sandbox.reaper import reap
from adapters.sandbox.seal import Seal, Seals
from adapters.sandbox.setup import Setups
from adapters.sandbox.slots import Slots
from adapters.sandbox.suitability import Suitability, Suitable
from domain.checks import Observation
from domain.errors import Cause, Unavailable
from domain.fields import size_in_bytes
from domain.messages import Image, SetupInput
from domain.ports import EvidenceStore, ProbeRequest, Progress, RunRequest, Served

LONGEST_STRING = 131_071
"""Bytes in one argument or variable that Linux starts a program with (MAX_ARG_STRLEN, execve(2))."""

_T = TypeVar("_T")
_SEALINGS = 2
_REAPER_SLACK_SECONDS = 60.0


class DockerSandbox:
    """Runs commands in containers on one engine.

    `owner` names this state directory: what it makes on the engine is labelled so, and only that is removed.
    `base_image` is what the images of `images_dir` are built on, None for what each Dockerfile says. `docker_host` is
    as in DOCKER_HOST, None for the environment's. `slots`: how many runs there may be at once, a served one with its
    probe being one; the others wait, which counts to no limit.
    """

    def __init__(
        self,
        store: EvidenceStore,
        *,
        images_dir: Path,
        base_image: str | None,
        owner: str,
        docker_host: str | None = None,
        slots: int = CONNECTIONS,
    ) -> None:
        self._owner = owner
        self._slots = Slots(slots)
        self._engine = Engine(docker_host)
        self._images = Images(self._engine, images_dir, base_image)
        self._suitability = Suitability(self._engine, owner)
        self._gate = limits.Gate(self._engine, store, owner)
        self._seals = Seals(self._engine, store, owner, Hosts(self._gate, self._engine, store, owner))
        self._setups = Setups(self._engine, store, owner)

    async def prepare(self, image: str, progress: Progress) -> Image:
        """Find, build or pull `image`, on an engine whose limits bind.

        Raises `Unavailable` (engine_limits, image_missing, image_unsuitable, engine_unavailable, store_unavailable,
        disk_full).
        """
        return await asyncio.to_thread(self._prepare, image, progress)

    async def setup(self, request: SetupInput, progress: Progress) -> Image:
        """The image with what the base's inputs ask for, found or made. Cancelled, it removes its container first.

        Raises `Unavailable` (setup_failed, image_missing, engine_unavailable, store_unavailable, disk_full).
        """
        return await _cancellable(lambda cancelled: self._setup(request, progress, cancelled))

    async def ready(self, image: Image, setup: SetupInput | None, progress: Progress) -> Image:
        """What `prepare`, then `setup`, made ready on some engine, as this one has it: made anew where it has not.

        This engine's limits bind, too. Raises `Unavailable` as `prepare` and `setup` do.
        """
        return await _cancellable(lambda cancelled: self._ready(image, setup, progress, cancelled))

    async def run(self, request: RunRequest) -> Observation:
        """Run the command over the tree and say what was seen. Cancelled, it removes its container first.

        Raises `Unavailable` (engine_unavailable, engine_limits, image_missing, image_unsuitable, seal_mismatch,
        store_unavailable, disk_full).
        """
        async with self._slots.one():
            return await _cancellable(lambda cancelled: self._run(request, cancelled))

    async def serve(self, served: RunRequest, probe: ProbeRequest) -> Served:
        """Run both side by side until the probe ends or the limit has passed. Cancelled, it removes both first.

        Raises `Unavailable` as `run` does.
        """
        async with self._slots.one():
            return await _cancellable(lambda cancelled: self._serve(served, probe, cancelled))

    async def release(self, round: str) -> None:
        """Remove what the round left sealed. Doing it twice is no error. Raises `Unavailable`."""
        await asyncio.to_thread(self._seals.release, round)

    async def rounds(self) -> frozenset[str]:
        """The rounds that have something on the engine. Raises `Unavailable`."""
        return await asyncio.to_thread(self._seals.rounds)

    async def answers(self, seconds: int) -> bool:
        """Whether the engine answers in so many seconds."""
        return await asyncio.to_thread(self._engine.answers, seconds)

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
        engine = self._gate.ask()
        found = self._images.prepare(image, progress)
        self._suitability.of(found.id)
        self._gate.prove(engine, found.id)
        return found

    def _setup(self, request: SetupInput, progress: Progress, cancelled: threading.Event) -> Image:
        here = self._images.again(request.image, progress)
        return self._setups.find_or_make(request.model_copy(update={"image": here}), progress, cancelled)

    def _ready(self, image: Image, setup: SetupInput | None, progress: Progress, cancelled: threading.Event) -> Image:
        if setup is None:
            found = self._images.again(image, progress)
        elif self._images.has(image.id):
            found = image
        else:
            found = self._setup(setup, progress, cancelled)
        self._suitability.of(found.id)
        if not self._gate.bound_lately:
            self._gate.prove(self._gate.ask(), found.id)
        return found

    def _run(self, request: RunRequest, cancelled: threading.Event) -> Observation:
        def live(container: Container) -> check.Ending:
            return check.live(self._engine, container, request.timeout, cancelled)

        return _observation(request, self._over_a_seal(request, cancelled, live, lambda ending: ending.wrong_seal))

    def _serve(self, request: RunRequest, probe: ProbeRequest, cancelled: threading.Event) -> Served:
        _refuse_what_linux_cannot_start(probe.command, probe.env)
        beside = serve.probe_container(request, probe, self._suitability.of(probe.image).volumes, self._owner)

        def live(container: Container) -> serve.Pair:
            server = serve.lasting(container, request.timeout)
            return serve.side_by_side(self._engine, server, beside, request.timeout, cancelled)

        pair = self._over_a_seal(request, cancelled, live, lambda pair: pair.server.wrong_seal)
        return Served(
            probe=serve.not_begun(probe) if pair.probe is None else _seen(pair.probe, probe.image),
            server=_observation(request, pair.server),
            ended=pair.ended,
        )

    def _over_a_seal(
        self,
        request: RunRequest,
        cancelled: threading.Event,
        live: Callable[[Container], _T],
        wrong: Callable[[_T], bool],
    ) -> _T:
        """What `live` came to with the container for `request`; the tree is sealed anew when the seal was `wrong`."""
        _refuse_what_linux_cannot_start(
            request.command, request.env, *request.build, f"COUNTERSIGN_STDIN={request.stdin}"
        )
        suitable = self._suitability.of(request.image)
        rules = request.build_rules if request.build else None
        for _ in range(_SEALINGS):
            seal = self._seals.find_or_make(request.round, request.tree, request.image, rules)
            if cancelled.is_set():
                raise check.Abandoned
            with suppress(HostsGone):  # with the holder, whose they were
                lived = live(_container(request, seal, suitable, self._owner))
                if not wrong(lived):
                    return lived
            self._seals.discard(request.round, request.tree, seal, rules)
        raise Unavailable(
            Cause.SEAL_MISMATCH,
            f"the sealed tree on the Docker engine is not {request.tree}, though it was sealed anew",
            "see whether something else removes or changes the volumes named countersign-seal-*",
        )


async def _cancellable(work: Callable[[threading.Event], _T]) -> _T:
    """`work` in a thread; cancelled, it is told so by the event, and has ended when this does."""
    cancelled = threading.Event()
    running = asyncio.ensure_future(asyncio.to_thread(work, cancelled))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        cancelled.set()
        await asyncio.wait([running])
        running.exception()  # retrieved: nobody is left to hear it
        raise


def _container(request: RunRequest, seal: Seal, image: Suitable, owner: str) -> Container:
    resources = request.resources
    lasts = check.TO_START_SECONDS + request.timeout + check.GRACE_SECONDS + _REAPER_SLACK_SECONDS
    return Container(
        name=name_of("check", owner, request.key),
        image=request.image,
        script=build_script.SCRIPT if request.build else script.SCRIPT,
        arguments=[*_builds(request), *check.variables(request.env)],
        environment={
            "HOME": "/work/home",
            "COUNTERSIGN_BUILDS": str(len(request.build)),
            "COUNTERSIGN_COMMAND": request.command,
            "COUNTERSIGN_CWD": request.cwd,
            "COUNTERSIGN_FOLDERS": "\n".join(writable_besides_work(image.volumes)),
            "COUNTERSIGN_LIMIT": f"{request.timeout:.3f}",
            "COUNTERSIGN_STDIN": request.stdin,
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
            tree_bytes=seal.bytes
            + image.deps_bytes
            + len(request.stdin.encode())
            + (build_script.KEEPER_BYTES if request.build else 0),
            tree_inodes=seal.inodes + image.deps_inodes,
        ),
        image_volumes=image.volumes,
        volume=seal.volume,
        init=not request.build,
        bare=bool(seal.hosts),
        hosts=seal.hosts,
    )


def _builds(request: RunRequest) -> list[str]:
    """The arguments that come before the variables."""
    return [build_script.KEEPER, *request.build] if request.build else []


def _refuse_what_linux_cannot_start(command: str, env: Mapping[str, str], *others: str) -> None:
    for text in (f"COUNTERSIGN_COMMAND={command}", *check.variables(env), *others):
        if len(text.encode()) > LONGEST_STRING:
            raise Unavailable(
                Cause.ENGINE_LIMITS,
                f"{text[:40]!r}... is longer than the {LONGEST_STRING} bytes that a program can be started with",
                "put it into a file of the base and run that",
            )


def _observation(request: RunRequest, ending: check.Ending) -> Observation:
    """Of a check: what happened before its command began has names of its own. Raises `Unavailable`."""
    if request.build and ending.marks < check.COPIED:
        _refuse_where_nothing_can_be_built(ending)
    return _seen(ending, request.image).model_copy(
        update={
            "copy_failed": ending.marks < check.COPIED,
            "build_failed": bool(request.build) and ending.marks == check.COUNTING,
        }
    )


def _refuse_where_nothing_can_be_built(ending: check.Ending) -> None:
    if ending.exit_code == build_script.MISSING_TOOL:
        raise Unavailable(
            Cause.IMAGE_UNSUITABLE,
            f"nothing can be built on this image: {ending.output.texts()[1].strip()}",
            f"use an image with {', '.join(build_script.TOOLS)}, or an order without environment.build",
        )
    if ending.exit_code == build_script.NOT_APART:
        raise Unavailable(
            Cause.ENGINE_LIMITS,
            "the Docker engine lets a build write into the memory of the shell that runs it",
            "use an engine that runs containers on Linux itself, or an order without environment.build",
        )


def _seen(ending: check.Ending, image: str) -> Observation:
    stdout, stderr = ending.output.texts()
    return Observation(
        exit_code=ending.exit_code,
        stdout=stdout,
        stderr=stderr,
        truncated=ending.output.truncated,
        flooded=ending.output.flooded,
        timed_out=ending.timed_out,
        oom_killed=ending.oom_killed,
        duration_ms=round(ending.seconds * 1000),
        image_id=image,
    )
