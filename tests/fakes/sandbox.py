"""A sandbox without containers, for tests only: it confines nothing, and must never run what is not ours."""

from __future__ import annotations

import asyncio
import fnmatch
import os
import posixpath
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from adapters.sandbox.output import FLOOD_BYTES, KEPT_BYTES, Kept
from domain.builds import STRICT, BuildRules
from domain.checks import Observation
from domain.errors import Cause, Unavailable
from domain.messages import Image, SetupInput
from domain.ports import EvidenceStore, ProbeRequest, Progress, RunRequest, Served
from domain.tree import Entry, Manifest

KNOWN_IMAGES = {"python": "local-python"}
TERM_TO_KILL_SECONDS = 2.0
AFTER_THE_SERVER_SECONDS = 2.0
SETUP_SECONDS = 60.0
NOT_BEGUN = 125
LONGEST_STRING = 131_071


class LocalSandbox:
    """`domain.ports.Sandbox` on this host: the command runs in a copy of the tree, with the test's own user id."""

    def __init__(self, store: EvidenceStore) -> None:
        self._store = store

    async def prepare(self, image: str, progress: Progress) -> Image:
        if image not in KNOWN_IMAGES:
            raise Unavailable(Cause.IMAGE_MISSING, f"there is no image {image}", "use one of KNOWN_IMAGES")
        progress(f"found {image}")
        return Image(reference=image, id=KNOWN_IMAGES[image])

    async def setup(self, request: SetupInput, progress: Progress) -> Image:
        """Runs the commands over the inputs, and answers with the image as it was: it has no place to install into."""
        _refuse_unknown(request.image.id)
        entries = {entry.path: entry for entry in Manifest.decode(self._store.get(request.base)).entries}
        missing = [path for path in request.inputs if path not in entries]
        if missing:
            raise Unavailable(Cause.SETUP_FAILED, f"the base has no {missing[0]}", "change environment.inputs")
        secrets = {name: os.environ[name] for name in request.secrets if name in os.environ}
        with tempfile.TemporaryDirectory(prefix="countersign-local-") as folder:
            place = _Place(Path(folder))
            for path in request.inputs:
                self._write(entries[path], place.tree / path)
            for command in request.setup:
                progress(command)
                ended = await place.run("setup", command, env=secrets, limit=SETUP_SECONDS)
                if ended.code or ended.timed_out:
                    said = f"{command!r} ended with {ended.code}: {ended.stderr.text(200)}"
                    raise Unavailable(Cause.SETUP_FAILED, said, "change environment.setup")
        return request.image

    async def ready(self, image: Image, setup: SetupInput | None, progress: Progress) -> Image:
        """As it is where it is known, else as `prepare` has it: there is nothing that a set-up could leave."""
        return image if image.id in KNOWN_IMAGES.values() else await self.prepare(image.reference, progress)

    async def run(self, request: RunRequest) -> Observation:
        _refuse(request)
        with tempfile.TemporaryDirectory(prefix="countersign-local-") as folder:
            place = self._place(request.tree, Path(folder))
            timer = _Timer(request.timeout)
            if failed := await _build(request, place, timer):
                return failed
            self._after_builds(request, place)
            ended = await place.run("command", request.command, request.cwd, request.env, timer.left, request.stdin)
            return ended.seen(request.image, timer.began)

    async def serve(self, served: RunRequest, probe: ProbeRequest) -> Served:
        _refuse(served)
        _refuse_unknown(probe.image)
        with tempfile.TemporaryDirectory(prefix="countersign-local-") as folder:
            place = self._place(served.tree, Path(folder))
            timer = _Timer(served.timeout)
            if failed := await _build(served, place, timer):
                unasked = Observation(exit_code=NOT_BEGUN, stderr="not started\n", image_id=probe.image)
                return Served(probe=unasked, server=failed, ended=not failed.timed_out)
            self._after_builds(served, place)
            return await _side_by_side(served, probe, place, timer)

    async def release(self, round: str) -> None:
        """Nothing is sealed."""

    async def reap(self) -> int:
        return 0

    def _place(self, tree: str, folder: Path) -> _Place:
        place = _Place(folder)
        for entry in Manifest.decode(self._store.get(tree)).entries:
            self._write(entry, place.tree / entry.path)
        return place

    def _after_builds(self, request: RunRequest, place: _Place) -> None:
        """As the real one does, but for what only an enemy would do: it knows files in folders, and nothing else."""
        if not request.build:
            return
        rules = BuildRules.model_validate_json(self._store.get(request.build_rules)) if request.build_rules else STRICT
        sealed = Manifest.decode(self._store.get(request.tree))
        for entry in sealed.entries:
            if entry.kind == "link" or entry.path not in rules.changeable:
                (place.tree / entry.path).unlink(missing_ok=True)
                self._write(entry, place.tree / entry.path)
        for path in [*place.tree.rglob("*"), *place.home.rglob("*")]:
            if path.is_file() and not _is_kept(path, place, sealed, rules):
                path.unlink()

    def _write(self, entry: Entry, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        if entry.kind == "link":
            path.symlink_to(entry.target)
            return
        path.write_bytes(self._store.get(entry.digest))
        path.chmod(0o755 if entry.executable else 0o644)


@dataclass
class _Ended:
    """How one process ended, and what it wrote."""

    code: int
    timed_out: bool
    flooded: bool
    stopped: bool
    stdout: Kept
    stderr: Kept

    def seen(self, image: str, began: float) -> Observation:
        out, err, half = self.stdout, self.stderr, KEPT_BYTES // 2
        return Observation(
            exit_code=self.code,
            stdout=out.text(max(half, KEPT_BYTES - err.total)),
            stderr=err.text(max(half, KEPT_BYTES - out.total)),
            truncated=out.total + err.total > KEPT_BYTES,
            flooded=self.flooded,
            timed_out=self.timed_out,
            duration_ms=round((time.monotonic() - began) * 1000),
            image_id=image,
        )


class _Place:
    """A folder with a tree and a home, in which processes are run."""

    def __init__(self, folder: Path) -> None:
        self.tree = folder / "tree"
        self.home = folder / "home"
        self._folder = folder
        self.tree.mkdir()
        self.home.mkdir()

    async def run(
        self,
        name: str,
        command: str,
        cwd: str = ".",
        env: Mapping[str, str] | None = None,
        limit: float = 60.0,
        stdin: str = "",
        stop: Callable[[], bool] = lambda: False,
    ) -> _Ended:
        """To its end, that of the limit, a flood, or until `stop` says so; its process group goes with it."""
        if not (self.tree / cwd).is_dir():
            stderr = Kept()
            stderr.add(f"cannot cd to {cwd}\n".encode())
            return _Ended(1, False, False, False, Kept(), stderr)
        files = [self._folder / f"{name}.{end}" for end in ("out", "err", "in")]
        files[2].write_text(stdin)
        with files[0].open("wb") as out, files[1].open("wb") as err, files[2].open("rb") as given:
            process = subprocess.Popen(  # noqa: ASYNC220 - it is waited for with pauses
                ["/bin/sh", "-c", command],
                cwd=self.tree / cwd,
                env={"PATH": os.environ["PATH"], "HOME": str(self.home), **(env or {})},
                stdin=given,
                stdout=out,
                stderr=err,
                start_new_session=True,
                preexec_fn=_as_in_a_container,  # noqa: PLW1509 - resets one signal, and nothing else
            )
            try:
                why = await _wait(process, limit, files[:2], stop)
            finally:
                _kill_group(process, signal.SIGKILL)
                process.wait()
        code = process.returncode
        return _Ended(
            code=128 - code if code < 0 else code,
            timed_out=why == "late",
            flooded=why == "flood",
            stopped=why == "stopped",
            stdout=_kept(files[0]),
            stderr=_kept(files[1]),
        )


def _is_kept(path: Path, place: _Place, sealed: Manifest, rules: BuildRules) -> bool:
    """Whether a build may have made it."""
    inside = path.is_relative_to(place.tree)
    name = path.relative_to(place.tree if inside else place.home).as_posix()
    if inside and name in sealed.by_path:
        return True
    known = inside and posixpath.dirname(name) in sealed.directories
    return (inside or name[0] != ".") and not any(
        fnmatch.fnmatchcase(path.name, unwanted.name)
        and (known or not unwanted.known_folders)
        and unwanted.holding in path.read_text(errors="replace")
        for unwanted in rules.unwanted
    )


@dataclass
class _Timer:
    """What is left of a limit. Builds take of it, and not what this process does itself, or does not get to."""

    left: float
    began: float = field(default_factory=time.monotonic)

    @contextmanager
    def running(self) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.left = max(0.0, self.left - (time.monotonic() - began))


async def _build(request: RunRequest, place: _Place, timer: _Timer) -> Observation | None:
    """What was seen of the build command that failed, None when all passed."""
    began = time.monotonic()
    for command in request.build:
        with timer.running():
            ended = await place.run("build", f"exec 2>&1\n{command}", env=request.env, limit=timer.left)
        if ended.code or ended.timed_out or ended.flooded:
            seen = ended.seen(request.image, began)
            return seen.model_copy(update={"build_failed": True, "stdout": "", "stderr": seen.stdout})
    return None


async def _side_by_side(served: RunRequest, probe: ProbeRequest, place: _Place, timer: _Timer) -> Served:
    over = asyncio.Event()
    server = asyncio.create_task(
        place.run("server", served.command, served.cwd, served.env, timer.left + 60, served.stdin, over.is_set)
    )
    await asyncio.sleep(0)  # it has begun when the probe does
    server_ended: list[float] = []
    server.add_done_callback(lambda _: server_ended.append(time.monotonic()))

    def stop() -> bool:
        return bool(server_ended) and time.monotonic() - server_ended[0] > AFTER_THE_SERVER_SECONDS

    try:
        with tempfile.TemporaryDirectory(prefix="countersign-probe-") as folder:
            asked = await _Place(Path(folder)).run("probe", probe.command, env=probe.env, limit=timer.left, stop=stop)
        ended = server.done()
    except BaseException:
        server.cancel()
        await asyncio.wait([server])
        raise
    over.set()
    seen = await server
    return Served(
        probe=asked.seen(probe.image, timer.began),
        server=seen.seen(served.image, timer.began),
        ended=ended and not seen.flooded,
    )


async def _wait(
    process: subprocess.Popen[bytes], limit: float, outputs: Sequence[Path], stop: Callable[[], bool]
) -> str:
    """`late`, `flood` or `stopped`; empty when it ended by itself."""
    now = time.monotonic()
    deadline = now + limit
    warned = False
    while process.poll() is None:
        if sum(path.stat().st_size for path in outputs) > FLOOD_BYTES:
            return "flood"
        if stop():
            return "stopped"
        if now > deadline:  # it ran then: between a look at it and one at the clock it may have ended
            if warned:
                return "late"
            _kill_group(process, signal.SIGTERM)
            warned, deadline = True, now + TERM_TO_KILL_SECONDS
        await asyncio.sleep(0.01)
        now = time.monotonic()
    return "late" if warned else ""


def _refuse(request: RunRequest) -> None:
    _refuse_unknown(request.image)
    if any(len(text.encode()) > LONGEST_STRING for text in (request.command, request.stdin, *request.build)):
        raise Unavailable(Cause.ENGINE_LIMITS, "longer than a program can be started with", "put it into a file")


def _refuse_unknown(image: str) -> None:
    if image not in KNOWN_IMAGES.values():
        raise Unavailable(Cause.IMAGE_MISSING, f"there is no image {image}", "prepare it first")


def _as_in_a_container() -> None:
    """A shell that runs the tests in the background has them, and so their children, ignore SIGINT."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _kill_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        return


def _kept(path: Path) -> Kept:
    kept = Kept()
    kept.add(path.read_bytes())
    return kept
