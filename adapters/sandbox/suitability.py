"""Finds out, once an image, whether checks can run on it; what an image lacks or takes is not the worker's fault."""

from __future__ import annotations

import threading
import time
import uuid
from dataclasses import dataclass

import docker
from docker.errors import APIError

from adapters.sandbox.archive import PAGE
from adapters.sandbox.confinement import Container, create, image_missing
from adapters.sandbox.engine import DEADLINE, OWNER, Engine, explanation, inspect_image, remove_container, status_of
from adapters.sandbox.output import Attachment, Output
from domain.errors import Cause, Unavailable

TOOLS = {1: "cp", 2: "timeout with -k"}
"""What the script of a check needs besides `sh`, by the bit of the exit code that says that it is missing."""

# Counts too what a check copies from /deps: kibibytes on the disk, where the tool can tell them also as they are read
# (a file system may compress), then names. Hard links count as often as they are there: the copy makes files of them.
_SCRIPT = """
missing=0
: > /work/original && cp -RPp /work/original /work/copy || missing=$((missing + 1))
timeout -k 1 60 sh -c : >/dev/null 2>&1 || missing=$((missing + 2))
if [ -d /deps ]; then
    du -skl /deps || du -sk /deps
    du -skl --apparent-size /deps
    echo names
    find /deps | wc -l
fi 2>/dev/null
exit $missing
"""
_NO_SUCH_PROGRAM = ("executable file not found", "no such file or directory", "exec format error", "permission denied")
_LIFETIME_SECONDS = 600


@dataclass(frozen=True)
class Suitable:
    """An image that checks can run on; `volumes` are the folders that it declares as volumes.

    `deps_bytes` and `deps_inodes` are what a copy of its /deps takes, 0 without one or where it has no `du`, `find`.
    """

    volumes: tuple[str, ...]
    deps_bytes: int = 0
    deps_inodes: int = 0


class Suitability:
    """What is known of the images of one engine. An id names its content, so the answer holds for good."""

    def __init__(self, engine: Engine, owner: str) -> None:
        self._engine = engine
        self._owner = owner
        self._lock = threading.Lock()
        self._known: dict[str, Suitable] = {}

    def of(self, image: str) -> Suitable:
        """Raises `Unavailable` (image_missing, image_unsuitable), naming the image and what it lacks."""
        with self._lock:
            if image not in self._known:
                with self._engine.speaking("look at the image") as api:
                    self._known[image] = self._look(api, image)
            return self._known[image]

    def _look(self, api: docker.APIClient, image: str) -> Suitable:
        found = inspect_image(api, image)
        if found is None:
            raise image_missing(image)
        labels = {OWNER: self._owner, DEADLINE: str(int(time.time()) + _LIFETIME_SECONDS)}
        name = f"countersign-look-{uuid.uuid4().hex[:12]}"
        missing, said = _looked(api, Container(name, image, _SCRIPT, labels, init=False, bare=True))
        if missing:
            raise Unavailable(
                Cause.IMAGE_UNSUITABLE,
                f"checks cannot run on image {image}: it has no {' and no '.join(missing)}",
                "use an image with sh, cp and timeout (coreutils or busybox)",
            )
        return Suitable(tuple(found["Config"].get("Volumes") or ()), *_measured(said))


def _looked(api: docker.APIClient, container: Container) -> tuple[list[str], str]:
    """What is missing, and what the script wrote."""
    identity = create(api, container)
    output = Output()
    try:
        attachment = Attachment(api, identity)
        try:
            api.start(identity)
            _read(attachment, output)
        finally:
            attachment.close()
        code = int(api.wait(identity)["StatusCode"])
    except APIError as error:
        said = explanation(error)
        if status_of(error) in (400, 404) or any(words in said for words in _NO_SUCH_PROGRAM):
            return [f"sh that runs here ({said})"], ""
        raise
    finally:
        remove_container(api, identity)
    missing = [tool for bit, tool in TOOLS.items() if code & bit]
    if code >= 4:
        missing = [f"sh that can run a script (it ended with {code})"]
    return missing, output.texts()[0]


def _read(attachment: Attachment, output: Output) -> None:
    deadline = time.monotonic() + _LIFETIME_SECONDS
    while time.monotonic() < deadline:
        data = attachment.receive()
        if data is None:
            continue
        if not data:
            return
        output.feed(data)
    raise Unavailable(
        Cause.ENGINE_UNAVAILABLE,
        f"looking at an image took more than {_LIFETIME_SECONDS} s",
        "see what keeps the Docker engine's disk busy, or whether the image's /deps is as large as it should be",
    )


def _measured(said: str) -> tuple[int, int]:
    """Bytes and inodes of /deps in a tmpfs, where everything fills whole pages."""
    sizes, _, names = said.partition("names")
    kibibytes = [int(line.split()[0]) for line in sizes.splitlines() if line[:1].isdigit()]
    count = int(names) if names.strip().isdigit() else 0
    return max(kibibytes, default=0) * 1024 + count * PAGE, count
