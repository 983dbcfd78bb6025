"""Lives through one check's container, from creation to removal; it reports what was seen and judges nothing.

Source: DESIGN section 7, "Check" and "Attach before start". What the exit code means is `domain.checks.classify`'s.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Any

import docker
from docker.errors import APIError

from adapters.sandbox.confinement import Container, create
from adapters.sandbox.engine import Engine, remove_container, status_of
from adapters.sandbox.output import Attachment, Output
from domain.errors import Cause, Unavailable

COPY_FAILED = 117
SEAL_MISMATCH = 118

TO_START_SECONDS = 120.0
"""How long a container may take until its command begins; the copy of the tree is in it, the command's limit is not."""

GRACE_SECONDS = 4.0
"""How far beyond the limit the host waits for `timeout`, which a command can stop (`kill -STOP -1`)."""

_TO_DIE_SECONDS = 30.0
_STARTED = b"\x06"
_TIMEOUT_EXITS = (124, 137)
_KILLED_EXITS = (137, 143)

# Runs as the worker's id but, up to the printf, nothing of the worker's: so an exit before that mark is ours, whatever
# its code, and one after it is the command's. The variables of the order come as arguments and are set last, lest a
# PATH or LD_PRELOAD of theirs choose which `cp` and `timeout` these are.
SCRIPT = rf"""
umask 022
read -r sealed < /src/seal && [ "$sealed" = "$COUNTERSIGN_TREE" ] || exit {SEAL_MISMATCH}
mkdir /work/home /work/tree && cp -RPp /src/tree/. /work/tree || exit {COPY_FAILED}
printf '\006'
cd -- "/work/tree/$COUNTERSIGN_CWD" || exit 1
exec timeout -k 2 "$COUNTERSIGN_LIMIT" sh -c '
    unset COUNTERSIGN_COMMAND COUNTERSIGN_CWD COUNTERSIGN_LIMIT COUNTERSIGN_TREE
    [ $# = 0 ] || export "$@"
    exec sh -c "$0"
' "$COUNTERSIGN_COMMAND" "$@"
"""


class Abandoned(Exception):
    """The run was cancelled; its container is gone."""


@dataclass(frozen=True)
class Ending:
    """What was seen of a container. `reached`: its command began; before that, its exit code is the script's."""

    exit_code: int
    reached: bool
    oom_killed: bool
    timed_out: bool
    output: Output
    seconds: float


def live(engine: Engine, container: Container, limit: float, cancelled: threading.Event) -> Ending:
    """Create, run to the end, remove. `limit` in seconds bounds the command; the host enforces it a little later.

    Raises `Unavailable`, and `Abandoned` soon after `cancelled` is set. Whatever happens, the container goes.
    """
    with engine.speaking("run a check") as api:
        identity = create(api, container)
        try:
            return _Watch(api, identity, limit, cancelled).to_the_end()
        finally:
            remove_container(api, identity)


class _Watch:
    """One running container, seen from outside."""

    def __init__(self, api: docker.APIClient, container: str, limit: float, cancelled: threading.Event) -> None:
        self._api = api
        self._container = container
        self._limit = limit
        self._cancelled = cancelled
        self._output = Output(_STARTED)
        self._created = time.monotonic()
        self._began = self._created
        self._wall = time.time()

    def to_the_end(self) -> Ending:
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
        by_limit = code in _TIMEOUT_EXITS and ended - self._created >= self._limit
        ending = Ending(
            exit_code=code,
            reached=self._output.started,
            oom_killed=bool(state["OOMKilled"]),
            timed_out=not self._output.flooded and (killed or by_limit),
            output=self._output,
            seconds=ended - self._began,
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
            waiting = not self._output.started
            self._output.feed(data)
            if waiting and self._output.started:
                self._began = time.monotonic()

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
        if self._cancelled.is_set():
            raise Abandoned
        allowed = self._limit + GRACE_SECONDS if self._output.started else TO_START_SECONDS
        return time.monotonic() - self._began > allowed

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
