"""A sandbox without containers, for tests only: it confines nothing, and must never run what is not ours."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from adapters.sandbox.output import FLOOD_BYTES, KEPT_BYTES, Kept
from domain.checks import Observation
from domain.errors import Cause, Unavailable
from domain.messages import Image
from domain.ports import EvidenceStore, Progress, RunRequest
from domain.tree import Manifest

KNOWN_IMAGES = {"python": "local-python"}
TERM_TO_KILL_SECONDS = 2.0


class LocalSandbox:
    """`domain.ports.Sandbox` on this host: the command runs in a copy of the tree, with the test's own user id."""

    def __init__(self, store: EvidenceStore) -> None:
        self._store = store

    async def prepare(self, image: str, progress: Progress) -> Image:
        if image not in KNOWN_IMAGES:
            raise Unavailable(Cause.IMAGE_MISSING, f"there is no image {image}", "use one of KNOWN_IMAGES")
        progress(f"found {image}")
        return Image(reference=image, id=KNOWN_IMAGES[image])

    async def run(self, request: RunRequest) -> Observation:
        if request.image not in KNOWN_IMAGES.values():
            raise Unavailable(Cause.IMAGE_MISSING, f"there is no image {request.image}", "prepare it first")
        with tempfile.TemporaryDirectory(prefix="countersign-local-") as folder:
            place = Path(folder)
            self._copy(request.tree, place / "tree")
            (place / "home").mkdir()
            return await self._observe(request, place)

    async def release(self, round: str) -> None:
        """Nothing is sealed."""

    async def reap(self) -> int:
        return 0

    def _copy(self, tree: str, to: Path) -> None:
        to.mkdir()
        for entry in Manifest.decode(self._store.get(tree)).entries:
            path = to / entry.path
            path.parent.mkdir(parents=True, exist_ok=True)
            if entry.kind == "link":
                path.symlink_to(entry.target)
            else:
                path.write_bytes(self._store.get(entry.digest))
                path.chmod(0o755 if entry.executable else 0o644)

    async def _observe(self, request: RunRequest, place: Path) -> Observation:
        cwd = place / "tree" / request.cwd
        if not cwd.is_dir():
            return Observation(exit_code=1, stderr=f"cannot cd to {request.cwd}\n", image_id=request.image)
        began = time.monotonic()
        with (place / "stdout").open("wb") as stdout, (place / "stderr").open("wb") as stderr:
            process = subprocess.Popen(  # noqa: ASYNC220 - it is waited for with pauses
                ["/bin/sh", "-c", request.command],
                cwd=cwd,
                env={"PATH": os.environ["PATH"], "HOME": str(place / "home"), **request.env},
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
            try:
                timed_out, flooded = await self._wait(process, request.timeout, place)
            finally:
                _kill_group(process, signal.SIGKILL)
                process.wait()
        out, err = _kept(place / "stdout"), _kept(place / "stderr")
        code = process.returncode
        return Observation(
            exit_code=128 - code if code < 0 else code,
            stdout=out.text(KEPT_BYTES // 2),
            stderr=err.text(KEPT_BYTES // 2),
            truncated=out.total + err.total > KEPT_BYTES,
            flooded=flooded,
            timed_out=timed_out,
            duration_ms=round((time.monotonic() - began) * 1000),
            image_id=request.image,
        )

    async def _wait(self, process: subprocess.Popen[bytes], limit: float, place: Path) -> tuple[bool, bool]:
        """Whether it timed out, whether it flooded; when neither, it ended by itself."""
        deadline = time.monotonic() + limit
        warned = False
        while process.poll() is None:
            if sum((place / name).stat().st_size for name in ("stdout", "stderr")) > FLOOD_BYTES:
                return False, True
            if time.monotonic() > deadline:
                if warned:
                    return True, False
                _kill_group(process, signal.SIGTERM)
                warned, deadline = True, deadline + TERM_TO_KILL_SECONDS
            await asyncio.sleep(0.01)
        return warned, False


def _kill_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        return


def _kept(path: Path) -> Kept:
    kept = Kept()
    kept.add(path.read_bytes())
    return kept
