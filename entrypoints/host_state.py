"""How the embedded host is found, started and ended by others.

What the host itself does is `entrypoints.embedded`'s; the files it shares with its clients are `host_files`'.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psutil
from temporalio.service import RPCError

from adapters.config.settings import Settings
from adapters.masking.known import variables_with_secrets
from domain.addresses import variables as notification_variables
from domain.errors import Cause, Unavailable
from domain.roles.models import key_variables
from entrypoints import telemetry
from entrypoints.client import SOON, connect
from entrypoints.host_files import Files, HostState, Process
from entrypoints.leftovers import end_leftovers
from entrypoints.names import ROUNDS
from entrypoints.spawning import shown, spawn
from entrypoints.state_dir import prepare_state_dir

__all__ = ["Files", "HostState", "Process", "ensure_up", "other_secrets", "prepare_state_dir", "shown", "take_down"]

UP_SECONDS = 180.0
ENDS_SECONDS = 120.0
"""How long a host may need to end after its worker has drained: it clears up, and kills what does not end."""

POLL_SECONDS = 0.02


async def ensure_up(
    settings: Settings, secrets: Sequence[str] = (), begun: subprocess.Popen[bytes] | None = None
) -> HostState:
    """The host of this state directory, started if there is none, once a worker polls. Raises `Unavailable`.

    `secrets` are variables that its worker needs as they are here, as far as they are set here. `begun` is a host that
    was started just now. Keys of models and addresses of people that are set here and that its worker has not at all it
    gets, too, unless it is at work: another command may have started it from a shell without them.
    """
    telemetry.require_extras(settings)
    files = Files(settings.state_dir)
    prepare_state_dir(settings.state_dir)
    deadline = time.monotonic() + UP_SECONDS
    spawned = begun
    while time.monotonic() < deadline:
        files.used.touch()  # a host that takes its time to come up is waited for all the while
        state = files.alive()
        if state is not None and state.ready:
            differing = [name for name, value in shown(settings).items() if state.settings.get(name) != value]
            names = dict.fromkeys((*variables_with_secrets(settings), *secrets))
            differing += [f"secret {name}" for name in other_secrets(state, list(names))]
            if not differing and not keys_lacking(state, settings):
                return state
            if not await _end_if_idle(settings, state, differing) and not differing:
                return state
        elif state is None and (spawned is None or spawned.poll() is not None):
            if spawned is not None and spawned.returncode > 0:  # one that was killed is started again
                raise _did_not_start(files)
            spawned = spawn(settings, files)
        await asyncio.sleep(POLL_SECONDS)
    raise _did_not_start(files)


def other_secrets(state: HostState, names: Sequence[str]) -> list[str]:
    """Which of the variables, of those set here, the host's worker has not or with another value; never the value."""
    here = [name for name in names if name in os.environ]
    there = _environment(state) if here else {}
    return [name for name in here if there.get(name) != _lines_as_read(os.environ[name])]


def keys_lacking(state: HostState, settings: Settings) -> list[str]:
    """Which keys of models and addresses of people, of those set here, the host's worker has not at all."""
    named = (*key_variables(settings.agents), *notification_variables(settings.notifications))
    here = [name for name in named if os.environ.get(name, "").strip()]
    there = _environment(state) if here else {}
    return [name for name in here if not there.get(name, "").strip()]


def _environment(state: HostState) -> dict[str, str]:
    """What the worker was started with; while it is being started again, the host, from which it inherits."""
    for part in (state.worker, state.host):
        process = part.find() if part else None
        if process is not None:
            with suppress(psutil.Error):  # it has just ended
                return {name: _lines_as_read(value) for name, value in process.environ().items()}
    return {}


def _lines_as_read(value: str) -> str:
    """psutil reads an environment as a text file, in which every end of a line becomes the same."""
    return value.replace("\r\n", "\n").replace("\r", "\n")


async def _end_if_idle(settings: Settings, state: HostState, differing: list[str]) -> bool:
    """End it; False where it is at work and stays. With other settings it would run the round otherwise than asked.

    Raises `Unavailable` where it is at work and something differs.
    """
    at_work = await _is_at_work(settings, state)
    if at_work and differing:
        raise Unavailable(
            Cause.SERVER_UNAVAILABLE,
            f"this project's host was started with another {', '.join(differing)}, and it is at work",
            "wait for the round or the worker command, or end the host (countersign down), then run it again",
        )
    if at_work is False:
        await take_down(settings, state)
    return not at_work


async def _is_at_work(settings: Settings, state: HostState) -> bool | None:
    """Whether a round or a worker command goes on, which a host does not make way in the middle of.

    None where nobody can say: another command has had it make way, or it dies.
    """
    try:
        client = await connect(settings, state.address)
        rounds = (await client.count_workflows(ROUNDS, rpc_timeout=SOON)).count
    except (RPCError, Unavailable):
        return None
    return bool(rounds) or _runs_a_worker_command(state)


def _runs_a_worker_command(state: HostState) -> bool:
    """The worker starts no other processes; ended in the middle, an agent would begin anew."""
    worker = state.worker.find() if state.worker else None
    try:
        return bool(worker and worker.children())
    except psutil.Error:  # it has just ended
        return False


async def take_down(settings: Settings, only: HostState | None = None) -> bool:
    """End the host of this state directory, or what one that was killed left; whether there was anything to end.

    `only`: that host and no other; one may have taken its place by now. Raises `Unavailable` where it does not end.
    """
    state = Files(settings.state_dir).read()
    if state is None or (only is not None and state.host != only.host):
        return False
    process = state.host.find()
    if process is None:
        return end_leftovers(state)
    with suppress(psutil.NoSuchProcess):  # it has just ended
        process.terminate()
    patience = settings.drain_timeout + ENDS_SECONDS
    deadline = time.monotonic() + patience
    while state.host.find() is not None:
        if time.monotonic() > deadline:
            raise Unavailable(
                Cause.SERVER_UNAVAILABLE,
                f"this project's host, process {process.pid}, has not ended for {patience:g} s",
                f"{Files(settings.state_dir).log('host')} may say why; end it, then run countersign down again",
            )
        await asyncio.sleep(POLL_SECONDS)
    return True


def _did_not_start(files: Files) -> Unavailable:
    """Why; raises it itself where the disk has filled up since, which leaves a host no room to say so."""
    prepare_state_dir(files.root)
    state = files.read()
    said = state.error if state and state.error else _last_line(files.log("host"))
    return Unavailable(
        Cause.SERVER_UNAVAILABLE,
        f"the embedded host did not start: {said}",
        f"its logs are {files.log('host')}, {files.log('server').name} and {files.log('worker').name}",
    )


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").split("\n") if log.exists() else []
    return next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")
