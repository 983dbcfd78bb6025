"""A worker as a process of its own: connect, poll, drain on SIGTERM."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from typing import Annotated, Any

import structlog
import typer
from pydantic import TypeAdapter, ValidationError
from temporalio.client import Client

from adapters.config.settings import BuildId, DeploymentName, Settings, load_settings
from adapters.masking.known import masker_of
from adapters.masking.streams import mask_standard_streams
from domain.errors import Malformed, Unavailable
from entrypoints import telemetry
from entrypoints.client import connect, register_search_attributes
from entrypoints.host import QUEUE_NAMES, QueueName, work
from entrypoints.leaving import leave
from entrypoints.role_models import keys_not_set, require_models

SERVER_SECONDS = 40.0
SERVER_POLL_SECONDS = 0.05

app = typer.Typer(add_completion=False, rich_markup_mode=None)
log = structlog.get_logger("entrypoints.worker_process")


@app.command()
def worker(
    queues: Annotated[
        str, typer.Option(help=f"Which queues to poll, of {', '.join(QUEUE_NAMES)}.", show_default=True)
    ] = ",".join(QUEUE_NAMES),
    address: Annotated[str | None, typer.Option(help="The Temporal server, instead of the configured one.")] = None,
    deployment: Annotated[
        str | None, typer.Option(help="The worker deployment that it belongs to, instead of COUNTERSIGN_DEPLOYMENT.")
    ] = None,
    build_id: Annotated[
        str | None, typer.Option(help="Which version of it this is, instead of COUNTERSIGN_BUILD_ID.")
    ] = None,
    ready_fd: Annotated[int | None, typer.Option(hidden=True, help="Where to say that it polls.")] = None,
    alone: Annotated[bool, typer.Option(hidden=True, help="No other worker of this state directory runs.")] = False,
) -> None:
    """Host workflows and activities until SIGTERM; what runs then may end first.

    Example: python worker.py --queues sandbox --address 10.0.0.5:7233
    """
    chosen = tuple(queues.split(","))
    unknown = [name for name in chosen if name not in QUEUE_NAMES]
    if unknown:
        raise typer.BadParameter(f"{unknown[0]!r} is no queue, expected {', '.join(QUEUE_NAMES)}")
    try:
        settings = _asked(load_settings(), address, deployment, build_id, embedded=ready_fd is not None)
        masker_of(settings)
        polled = tuple(name for name in QUEUE_NAMES if name in chosen)
        if "roles" in polled:
            require_models(settings)
        telemetry.start(settings)
        if "roles" in polled:
            for problem in keys_not_set(settings):
                log.warning("a model's key is not set", variable=problem.field)
        try:
            asyncio.run(_serve(settings, address, polled, ready_fd, alone))
        finally:
            telemetry.stop(settings)
    except Malformed as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from error
    except Unavailable as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(3) from error


def _asked(
    settings: Settings, address: str | None, deployment: str | None, build_id: str | None, *, embedded: bool
) -> Settings:
    """The settings, as the options change them. The embedded host's worker is no deployment's: it goes with its host.

    A worker that is given an address by a person takes TLS and key from where one that has it in a variable does.
    """
    if embedded:
        return settings.model_copy(update={"deployment": None, "build_id": None})
    version = {
        "deployment": _checked(DeploymentName, "--deployment", deployment) or settings.deployment,
        "build_id": _checked(BuildId, "--build-id", build_id) or settings.build_id,
    }
    if None in version.values() and version != dict.fromkeys(version):
        raise typer.BadParameter("a deployment and a build id go together: --deployment NAME --build-id VERSION")
    return settings.model_copy(update=version | ({"temporal_address": address} if address else {}))


def _checked(kind: Any, option: str, value: str | None) -> str | None:
    try:
        return value if value is None else TypeAdapter[str](kind).validate_python(value)
    except ValidationError as error:
        expected = kind.__metadata__[0].description
        raise typer.BadParameter(f"{option} is {value!r}, expected {expected}") from error


async def _serve(
    settings: Settings, address: str | None, queues: tuple[QueueName, ...], ready_fd: int | None, alone: bool
) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop.set)
    client = await (connect(settings, address) if ready_fd is None else _connect_in_time(settings, address))
    await register_search_attributes(client)
    await work(settings, client, queues, stop, lambda: _say(ready_fd), alone, embedded=ready_fd is not None)


async def _connect_in_time(settings: Settings, address: str | None) -> Client:
    """To a server that was started at the same time. Raises `Unavailable`."""
    deadline = time.monotonic() + SERVER_SECONDS
    while True:
        try:
            return await connect(settings, address)
        except Unavailable:
            if time.monotonic() > deadline:
                raise
        await asyncio.sleep(SERVER_POLL_SECONDS)


def _say(ready_fd: int | None) -> None:
    """To the host, which waits for it."""
    if ready_fd is not None:
        os.write(ready_fd, b"polls")
        os.close(ready_fd)


def main() -> None:
    """Run the command."""
    mask_standard_streams()
    try:
        app()
    except SystemExit as ended:
        leave(ended)
