"""Finds out, once an image, whether checks can run on it; what an image lacks is never blamed on the worker."""

from __future__ import annotations

import threading
import time
import uuid
from dataclasses import dataclass

import docker
from docker.errors import APIError

from adapters.sandbox.confinement import Container, create, image_missing
from adapters.sandbox.engine import DEADLINE, OWNER, Engine, explanation, inspect_image, remove_container, status_of
from domain.errors import Cause, Unavailable

TOOLS = {1: "cp", 2: "timeout with -k"}
"""What the script of a check needs besides `sh`, by the bit of the exit code that says that it is missing."""

_SCRIPT = """
missing=0
: > /work/original && cp -RPp /work/original /work/copy || missing=$((missing + 1))
timeout -k 1 5 sh -c : >/dev/null 2>&1 || missing=$((missing + 2))
exit $missing
"""
_NO_SUCH_PROGRAM = ("executable file not found", "no such file or directory", "exec format error", "permission denied")
_LIFETIME_SECONDS = 600


@dataclass(frozen=True)
class Suitable:
    """An image that checks can run on; `volumes` are the folders that it declares as volumes."""

    volumes: tuple[str, ...]


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
        missing = _missing(api, Container(name, image, _SCRIPT, labels, init=False))
        if missing:
            raise Unavailable(
                Cause.IMAGE_UNSUITABLE,
                f"checks cannot run on image {image}: it has no {' and no '.join(missing)}",
                "use an image with sh, cp and timeout (coreutils or busybox)",
            )
        return Suitable(tuple(found["Config"].get("Volumes") or ()))


def _missing(api: docker.APIClient, container: Container) -> list[str]:
    identity = create(api, container)
    try:
        api.start(identity)
        code = int(api.wait(identity)["StatusCode"])
    except APIError as error:
        said = explanation(error)
        if status_of(error) in (400, 404) or any(words in said for words in _NO_SUCH_PROGRAM):
            return [f"sh that runs here ({said})"]
        raise
    finally:
        remove_container(api, identity)
    missing = [tool for bit, tool in TOOLS.items() if code & bit]
    return missing if code < 4 else [f"sh that can run a script (it ended with {code})"]
