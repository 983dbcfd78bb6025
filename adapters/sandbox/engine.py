"""Talks to one Docker engine; every way in which that can fail becomes `Unavailable`, never a verdict."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import docker
from docker.errors import APIError, DockerException, NotFound
from docker.utils import kwargs_from_env
from requests.exceptions import RequestException
from urllib3.exceptions import HTTPError

from domain.base import canonical_json, sha256_hex
from domain.errors import Cause, Unavailable

OWNER = "countersign.owner"
ROUND = "countersign.round"
RUN = "countersign.run"
DEADLINE = "countersign.deadline"
"""Labels of everything made here. `DEADLINE` is in whole seconds of Unix time: after it, the reaper may act."""

TIMEOUT_SECONDS = 60
CONNECTIONS = 64
START_ENGINE = "start the Docker engine (systemctl start docker, or set DOCKER_HOST) and run: countersign doctor"
FREE_SPACE = "free space on the engine's disk (docker system df) and run the round again"

ENGINE_ERRORS = (DockerException, RequestException, HTTPError, OSError)


class Engine:
    """One engine, connected to when it is first needed. Safe to share between threads."""

    def __init__(self, docker_host: str | None = None) -> None:
        self.docker_host = docker_host
        self._lock = threading.Lock()
        self._api: docker.APIClient | None = None

    @contextmanager
    def speaking(self, doing: str) -> Iterator[docker.APIClient]:
        """The engine's interface; `doing` completes "could not ..." should it fail.

        Raises `Unavailable` (engine_unavailable, disk_full).
        """
        try:
            yield self._connected()
        except ENGINE_ERRORS as error:
            raise unavailable(doing, error) from error

    def answers(self, seconds: int) -> bool:
        """Whether it answers a ping in so many seconds, on a connection of the ping's own."""
        try:
            api = docker.APIClient(**self._where(), timeout=seconds)
            try:
                return bool(api.ping())
            finally:
                api.close()
        except ENGINE_ERRORS:
            return False

    def close(self) -> None:
        """Let go of every connection; the next call connects again."""
        with self._lock:
            if self._api is not None:
                self._api.close()
                self._api = None

    def _connected(self) -> docker.APIClient:
        with self._lock:
            if self._api is None:
                self._api = docker.APIClient(**self._where(), timeout=TIMEOUT_SECONDS, max_pool_size=CONNECTIONS)
            return self._api

    def _where(self) -> dict[str, Any]:
        return {**kwargs_from_env()} if self.docker_host is None else {"base_url": self.docker_host}


def unavailable(doing: str, error: Exception) -> Unavailable:
    """What an error of the engine, or of the way to it, means to a person."""
    said = explanation(error)
    if "no space left on device" in said.lower():
        return Unavailable(Cause.DISK_FULL, f"the Docker engine could not {doing}: {said}", FREE_SPACE)
    return Unavailable(Cause.ENGINE_UNAVAILABLE, f"the Docker engine could not {doing}: {said}", START_ENGINE)


def explanation(error: Exception) -> str:
    """The engine's own words where it has any."""
    if isinstance(error, APIError) and error.explanation:
        return str(error.explanation)
    return str(error) or type(error).__name__


def status_of(error: APIError) -> int:
    """The HTTP status of the engine's answer, 0 when there was none."""
    return error.status_code or 0


def name_of(kind: str, *parts: str) -> str:
    """The one name that these parts lead to, short enough for the engine and free of what they spell."""
    return f"countersign-{kind}-{sha256_hex(canonical_json(list(parts)))[:24]}"


def inspect_image(api: docker.APIClient, reference: str) -> dict[str, Any] | None:
    """What the engine knows of an image, None when it has none of that name or id."""
    try:
        found: dict[str, Any] = api.inspect_image(reference)  # type: ignore[no-untyped-call]  # docker's stubs lack it
    except NotFound:
        return None
    return found


def remove_container(api: docker.APIClient, container: str) -> bool:
    """Kill and remove; whether it was there and not already being removed."""
    try:
        api.remove_container(container, v=True, force=True)
    except APIError as error:
        if status_of(error) not in (404, 409):
            raise
        return False
    return True


def remove_volume(api: docker.APIClient, volume: str) -> bool:
    """Remove; whether it was there and nothing used it. One in use stays for its user, then for the reaper."""
    try:
        api.remove_volume(volume)
    except APIError as error:
        if status_of(error) not in (404, 409):
            raise
        return False
    return True
