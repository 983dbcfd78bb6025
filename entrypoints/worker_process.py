"""A worker as a process of its own: connect, poll, drain on SIGTERM."""

from __future__ import annotations

import asyncio
import logging
import signal
from typing import Annotated

import typer

from adapters.config.settings import Settings, load_settings
from domain.errors import Malformed, Unavailable
from entrypoints.client import connect, log_to_stderr, register_search_attributes
from entrypoints.host import QUEUE_NAMES, QueueName, work

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def worker(
    queues: Annotated[
        str, typer.Option(help=f"Which queues to poll, of {', '.join(QUEUE_NAMES)}.", show_default=True)
    ] = ",".join(QUEUE_NAMES),
    address: Annotated[str | None, typer.Option(help="The Temporal server, instead of the configured one.")] = None,
) -> None:
    """Host workflows and activities until SIGTERM; what runs then may end first.

    Example: python worker.py --queues sandbox --address 10.0.0.5:7233
    """
    chosen = tuple(queues.split(","))
    unknown = [name for name in chosen if name not in QUEUE_NAMES]
    if unknown:
        raise typer.BadParameter(f"{unknown[0]!r} is no queue, expected {', '.join(QUEUE_NAMES)}")
    log_to_stderr(logging.WARNING)
    try:
        asyncio.run(_serve(load_settings(), address, tuple(name for name in QUEUE_NAMES if name in chosen)))
    except Malformed as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from error
    except Unavailable as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(3) from error


async def _serve(settings: Settings, address: str | None, queues: tuple[QueueName, ...]) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop.set)
    client = await connect(settings, address)
    await register_search_attributes(client)
    await work(settings, client, queues, stop)


def main() -> None:
    """Run the command."""
    app()
