"""Lives through one check's container, from creation to removal; it reports what was seen and judges nothing.

Source: DESIGN section 7, "Check" and "Attach before start". What the exit code means is `domain.checks.classify`'s.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import docker
from docker.errors import APIError

from adapters.sandbox.confinement import Container, create
from adapters.sandbox.engine import Engine, remove_container, status_of
from adapters.sandbox.output import Attachment, Output
from adapters.sandbox.script import SEAL_MISMATCH
from domain.errors import Cause, Unavailable

TO_START_SECONDS = 120.0
"""How long a container may take until the limit counts; the copy of the tree and of /deps is in it."""

GRACE_SECONDS = 4.0
"""How far beyond the limit the host waits for `timeout`, which a command can stop (`kill -STOP -1`)."""

COPIED, COUNTING, BEGAN = 1, 2, 3
"""The marks: the tree is where it should be; the limit counts; the build, if any, has passed and the command begins."""

_MARK = b"\x06"
_TO_DIE_SECONDS = 30.0
_TIMEOUT_EXITS = (124, 137)
_KILLED_EXITS = (137, 143)


def variables(env: Mapping[str, str]) -> list[str]:
    """As arguments for the script's `export`."""
    return [f"{name}={value}" for name, value in env.items()]


class Abandoned(Exception):
    """The run was cancelled; its container is gone."""


@dataclass(frozen=True)
class Ending:
    """What was seen of a container. Before the mark `COPIED` its exit code is the script's, as `marks` tells.

    `killed`: by us, so that the exit code says nothing.
    """

    exit_code: int
    marks: int
    oom_killed: bool
    timed_out: bool
    killed: bool
    output: Output
    seconds: float

    @property
    def wrong_seal(self) -> bool:
        """Whether what was mounted is not the tree that was asked for."""
        return self.marks < COPIED and self.exit_code == SEAL_MISMATCH


def live(engine: Engine, container: Container, limit: float, cancelled: threading.Event) -> Ending:
    """Create, run to the end, remove. `limit` in seconds bounds the command; the host enforces it a little later.

    Raises `Unavailable`, and `Abandoned` soon after `cancelled` is set. Whatever happens, the container goes.
    """
    with engine.speaking("run a check") as api:
        identity = create(api, container)
        try:
            return Watch(api, identity, limit, cancelled).to_the_end()
        finally:
            remove_container(api, identity)


class Watch:
    """One container that is not started yet, seen from outside from its start to its end.

    `stop` is asked now and then: once it says so, the container is killed, which is no time-out. `beyond` is how many
    seconds more a command has once it began, for one that is not meant to end.
    """

    def __init__(
        self,
        api: docker.APIClient,
        container: str,
        limit: float,
        cancelled: threading.Event,
        *,
        stop: Callable[[], bool] = lambda: False,
        beyond: float = 0.0,
    ) -> None:
        self.began = threading.Event()
        self.counting_since = time.monotonic()
        self._api = api
        self._container = container
        self._limit = limit
        self._cancelled = cancelled
        self._stop = stop
        self._beyond = beyond
        self._output = Output(_MARK, BEGAN)
        self._created = self.counting_since
        self._wall = time.time()
        self._late = False

    def to_the_end(self) -> Ending:
        """Start it and read until it ends, or has to be ended. Raises `Unavailable`, `Abandoned`, docker's errors."""
        attachment = Attachment(self._api, self._container)
        try:
            self._api.start(self._container)
            self._read(attachment)
        finally:
            attachment.close()
        state = self._stopped()
        killed = state is None
        ended = time.monotonic()
        if state is None:
            state = self._kill()
        code = int(state["ExitCode"])
        # Measured from before the start, so that no timeout is missed; a command that ends with 124 by itself is
        # taken for one only if that happens within its own start-up time before the limit.
        by_limit = not killed and code in _TIMEOUT_EXITS and ended - self._created >= self._limit
        ending = Ending(
            exit_code=code,
            marks=self._output.passed,
            oom_killed=bool(state["OOMKilled"]),
            timed_out=not self._output.flooded and (self._late or by_limit),
            killed=killed,
            output=self._output,
            seconds=ended - self.counting_since,
        )
        if code in _KILLED_EXITS and not (killed or by_limit or ending.oom_killed):
            self._refuse_a_kill_from_outside()
        return ending

    def _read(self, attachment: Attachment) -> None:
        """To the end of the output, a flood or the deadline."""
        while not self._output.flooded and not self._overdue():
            data = attachment.receive()
            if data is None:
                continue
            if not data:
                return
            waiting = self._output.passed < COUNTING
            self._output.feed(data)
            if waiting and self._output.passed >= COUNTING:
                self.counting_since = time.monotonic()
            if self._output.passed == BEGAN:
                self.began.set()

    def _stopped(self) -> dict[str, Any] | None:
        """The state of the container once it has stopped; None when it has to be stopped. It may outlive its output."""
        pause = 0.01
        while not self._output.flooded:
            state = self._state()
            if not state["Running"]:
                return state
            if self._overdue():
                break
            time.sleep(pause)
            pause = min(2 * pause, 0.25)
        return None

    def _kill(self) -> dict[str, Any]:
        try:
            self._api.kill(self._container)
        except APIError as error:
            if status_of(error) != 409:  # it has just ended by itself
                raise
        deadline = time.monotonic() + _TO_DIE_SECONDS
        while time.monotonic() < deadline:
            state = self._state()
            if not state["Running"]:
                return state
            time.sleep(0.05)
        raise Unavailable(
            Cause.ENGINE_UNAVAILABLE,
            f"the Docker engine did not end a container within {_TO_DIE_SECONDS:g} s of killing it",
            "restart the Docker engine and run: countersign doctor",
        )

    def _state(self) -> dict[str, Any]:
        state: dict[str, Any] = self._api.inspect_container(self._container)["State"]
        return state

    def _overdue(self) -> bool:
        """Whether it has to be stopped: asked to, or late. Raises `Abandoned`."""
        if self._cancelled.is_set():
            raise Abandoned
        if self._stop():
            return True
        allowed = TO_START_SECONDS
        if self._output.passed >= COUNTING:
            allowed = self._limit + GRACE_SECONDS + (self._beyond if self.began.is_set() else 0.0)
        self._late = time.monotonic() - self.counting_since > allowed
        return self._late

    def _refuse_a_kill_from_outside(self) -> None:
        """A person, or an engine that shuts down, ended the container: that says nothing about the work."""
        events = self._api.events(
            since=int(self._wall) - 1,
            until=int(time.time()) + 1,
            filters={"container": self._container, "event": ["kill", "stop", "destroy"]},
            decode=True,
        )
        if list(events):  # all of them: a stream left half read stays open
            raise Unavailable(
                Cause.ENGINE_UNAVAILABLE,
                "the container of a check was killed from outside while it ran",
                "leave the containers named countersign-check-* alone, and run the round again",
            )
