"""A worker as a process of its own: connect, poll, drain on SIGTERM."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from typing import Annotated

import typer
from temporalio.client import Client

from adapters.config.settings import Settings, load_settings
from adapters.masking.known import masker_of
from adapters.masking.streams import mask_standard_streams
from domain.errors import Malformed, Unavailable
from entrypoints import telemetry
from entrypoints.client import connect, register_search_attributes
from entrypoints.host import QUEUE_NAMES, QueueName, work

SERVER_SECONDS = 40.0
SERVER_POLL_SECONDS = 0.05

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def worker(
    queues: Annotated[
        str, typer.Option(help=f"Which queues to poll, of {', '.join(QUEUE_NAMES)}.", show_default=True)
    ] = ",".join(QUEUE_NAMES),
    address: Annotated[str | None, typer.Option(help="The Temporal server, instead of the configured one.")] = None,
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
        settings = load_settings()
        masker_of(settings)
        telemetry.start(settings)
        polled = tuple(name for name in QUEUE_NAMES if name in chosen)
        asyncio.run(_serve(settings, address, polled, ready_fd, alone))
    except Malformed as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from error
    except Unavailable as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(3) from error


async def _serve(
    settings: Settings, address: str | None, queues: tuple[QueueName, ...], ready_fd: int | None, alone: bool
) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop.set)
    client = await (connect(settings, address) if ready_fd is None else _connect_in_time(settings, address))
    await register_search_attributes(client)
    await work(settings, client, queues, stop, lambda: _say(ready_fd), alone)


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
    app()
