"""Runs a command that serves and a probe on its network side by side; the probe's end, or the limit, ends both.

Source: DESIGN section 7, "`http_response`". The network is the serving container's own, which is none: its loopback is
all that the two share. It reports what was seen and judges nothing.
"""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import docker
from docker.errors import APIError

from adapters.sandbox.check import BEGAN, GRACE_SECONDS, TO_START_SECONDS, Ending, Watch, variables
from adapters.sandbox.confinement import MIB, Container, Limits, create
from adapters.sandbox.engine import DEADLINE, OWNER, ROUND, RUN, Engine, name_of, remove_container
from domain.checks import Observation
from domain.errors import Cause, Unavailable
from domain.ports import ProbeRequest, RunRequest

AFTER_THE_SERVER_SECONDS = 5.0
"""How long a probe may go on once what it asks has ended: to finish, not to wait for an answer that cannot come."""

NOT_BEGUN = 125
"""The exit code of a probe that was not started, as `docker run` has it."""

_PROBE_LIMITS = Limits(memory=128 * MIB, pids=32)
_REAPER_SLACK_SECONDS = 60.0
_POLL_SECONDS = 0.05

# All marks at once: nothing in this container is the worker's.
_PROBE_SCRIPT = r"""
umask 022
mkdir /work/home && cd /work || exit 1
printf '\006\006\006'
exec timeout -k 2 "$COUNTERSIGN_LIMIT" sh -c '
    unset COUNTERSIGN_COMMAND COUNTERSIGN_LIMIT
    [ $# = 0 ] || export "$@"
    exec sh -c "$0"
' "$COUNTERSIGN_COMMAND" "$@"
"""


@dataclass(frozen=True)
class Pair:
    """What was seen of both; `probe` is None when there was nothing to probe. `ended`: the server did, by itself."""

    server: Ending
    probe: Ending | None
    ended: bool


def probe_container(served: RunRequest, probe: ProbeRequest, volumes: tuple[str, ...], owner: str) -> Container:
    """The probe's container, but for whom it stands beside and how long it may take."""
    return Container(
        name=name_of("check", owner, served.key, "probe"),
        image=probe.image,
        script=_PROBE_SCRIPT,
        arguments=variables(probe.env),
        environment={"HOME": "/work/home", "COUNTERSIGN_COMMAND": probe.command},
        labels={
            OWNER: owner,
            ROUND: served.round,
            RUN: f"{served.key}/probe",
            DEADLINE: str(_deadline(served.timeout)),
        },
        limits=_PROBE_LIMITS,
        image_volumes=volumes,
    )


def lasting(container: Container, limit: float) -> Container:
    """The check's container as one that serves: its own timer is a last resort, since the probe's end is its end."""
    longest = limit + TO_START_SECONDS + 2 * GRACE_SECONDS
    return dataclasses.replace(
        container,
        environment={**container.environment, "COUNTERSIGN_LIMIT": f"{longest:.3f}"},
        labels={**container.labels, DEADLINE: str(_deadline(limit))},
        bare=False,
        hosts="",
    )


def not_begun(probe: ProbeRequest) -> Observation:
    """What there is to see of a probe that was not started."""
    return Observation(
        exit_code=NOT_BEGUN, stderr="not started: what it was to ask had ended already\n", image_id=probe.image
    )


def side_by_side(engine: Engine, server: Container, probe: Container, limit: float, cancelled: threading.Event) -> Pair:
    """Live through both. `limit` in seconds bounds the server's build, then both. Both containers go.

    Raises `Unavailable`, and `Abandoned` soon after `cancelled` is set.
    """
    with engine.speaking("run a check that serves") as api:
        identity = create(api, server)
        over = threading.Event()
        try:
            watch = Watch(api, identity, limit, cancelled, stop=over.is_set, beyond=TO_START_SECONDS + GRACE_SECONDS)
            with ThreadPoolExecutor(1, thread_name_prefix="serve") as pool:
                serving = pool.submit(watch.to_the_end)
                try:
                    probed = _probed(api, dataclasses.replace(probe, beside=identity), limit, cancelled, watch, serving)
                    ended = serving.done()
                finally:
                    over.set()
            seen = serving.result()
            return Pair(seen, probed, ended and not seen.killed)
        finally:
            remove_container(api, identity)


def _probed(
    api: docker.APIClient,
    container: Container,
    limit: float,
    cancelled: threading.Event,
    server: Watch,
    serving: Future[Ending],
) -> Ending | None:
    """What was seen of the probe, None when the server ended before it could be started."""
    while not server.began.wait(_POLL_SECONDS):
        if serving.done():
            return None
    left = max(1.0, server.counting_since + limit - time.monotonic())
    environment = {**container.environment, "COUNTERSIGN_LIMIT": f"{left:.3f}"}
    identity = ""
    try:
        identity = create(api, dataclasses.replace(container, environment=environment))
        probe = Watch(api, identity, left, cancelled, stop=_some_time_after(serving))
        return _a_probe(probe.to_the_end())
    except APIError:
        # no network to join: the server ended meanwhile, which its watch is about to see
        if _ends_within(serving, GRACE_SECONDS):
            return None
        raise
    finally:
        if identity:
            remove_container(api, identity)


def _a_probe(ending: Ending) -> Ending:
    if ending.marks < BEGAN and not ending.killed:
        raise Unavailable(
            Cause.ENGINE_UNAVAILABLE,
            f"the probe of a check that serves did not begin: its container ended with {ending.exit_code}",
            "run the round again; if it stays so, run: countersign doctor",
        )
    return ending


def _some_time_after(serving: Future[Ending]) -> Callable[[], bool]:
    """Whether the server has ended long enough ago."""
    ended: list[float] = []
    serving.add_done_callback(lambda _: ended.append(time.monotonic()))
    return lambda: bool(ended) and time.monotonic() - ended[0] > AFTER_THE_SERVER_SECONDS


def _ends_within(serving: Future[Ending], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not serving.done() and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
    return serving.done()


def _deadline(limit: float) -> int:
    return int(time.time() + 2 * TO_START_SECONDS + limit + 2 * GRACE_SECONDS + _REAPER_SLACK_SECONDS)
