"""`countersign up`, `down` and `status`: the embedded host of the current project."""

from __future__ import annotations

import asyncio
from typing import Annotated

import psutil
import typer

from entrypoints.cli import common
from entrypoints.host_files import Files, HostState, Process
from entrypoints.host_state import ensure_up, take_down

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
        "metrics": _metrics(state),
        "state_dir": str(common.settings().state_dir),
        "configuration": [str(one.path) for one in (*common.settings().files, *common.settings().above)],
    }
    if as_json:
        common.emit_json(facts)
        return
    facts["configuration"] = ", ".join(map(str, facts["configuration"])) or "none"  # type: ignore[call-overload] # a list
    for name, value in facts.items():
        common.out(f"{name.replace('_', ' '):18}{value}")


def _metrics(state: HostState) -> str:
    """Where this host's worker serves them, if it is that worker that listens there."""
    address = state.settings.get("metrics_address", "None")
    if address == "None":
        return "off"
    worker = state.worker.find() if state.worker else None
    port = int(address.rpartition(":")[2])
    listening = worker is not None and any(
        connection.status == psutil.CONN_LISTEN and connection.laddr.port == port
        for connection in worker.net_connections("tcp")
    )
    log = Files(common.settings().state_dir).log("worker")
    return f"http://{address}/metrics" if listening else f"not served at {address}: {log} says why"


def _pid(process: Process | None) -> int | None:
    found = process.find() if process else None
    return found.pid if found else None
