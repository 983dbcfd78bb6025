"""`countersign up`, `down` and `status`: the embedded host of the current project."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from entrypoints.cli import common
from entrypoints.host_state import Files, HostState, Process, ensure_up, take_down

Json = Annotated[bool, typer.Option("--json", help="Machine-readable on stdout.")]


def up(as_json: Json = False) -> None:
    """Start this project's host, unless it runs: Temporal server, Web UI, worker.

    Example: countersign up
    """
    if common.settings().remote:
        common.err("a Temporal server is configured, so there is no host to start; a worker: python worker.py")
        raise typer.Exit(common.EXIT_REFUSED)
    _show(asyncio.run(ensure_up(common.settings())), as_json)


def down(as_json: Json = False) -> None:
    """End this project's host. Rounds that run are kept and go on at the next `up`.

    Example: countersign down
    """
    ended = asyncio.run(take_down(common.settings()))
    if as_json:
        common.emit_json({"ended": ended})
    else:
        common.out("ended" if ended else "no host runs here")


def status(as_json: Json = False) -> None:
    """Say what runs for this project, and where. Exit code 5 when nothing does.

    Example: countersign status --json
    """
    state = Files(common.settings().state_dir).alive()
    if state is None:
        if as_json:
            common.emit_json({"running": False, "state_dir": str(common.settings().state_dir)})
        else:
            common.out(f"no host runs here; state is in {common.settings().state_dir}")
        raise typer.Exit(common.EXIT_NOT_FOUND)
    _show(state, as_json)


def _show(state: HostState, as_json: bool) -> None:
    facts: dict[str, object] = {
        "running": True,
        "ready": state.ready,
        "web_ui": state.ui,
        "temporal_address": state.address,
        "host_pid": state.host.pid,
        "server_pid": _pid(state.server),
        "worker_pid": _pid(state.worker),
        "worker_restarts": state.worker_restarts,
        "state_dir": str(common.settings().state_dir),
    }
    if as_json:
        common.emit_json(facts)
        return
    for name, value in facts.items():
        common.out(f"{name.replace('_', ' '):18}{value}")


def _pid(process: Process | None) -> int | None:
    found = process.find() if process else None
    return found.pid if found else None
