"""Starts the embedded host and says what it is to do. It imports little, so that a command can do it first of all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict

from adapters.config.settings import CONFIGURATION, Settings
from adapters.masking.known import secrets_of
from adapters.masking.masker import Masker
from entrypoints.host_files import Files, Plan
from entrypoints.names import code_version
from entrypoints.role_models import require_models
from entrypoints.state_dir import prepare_state_dir
from entrypoints.temporal_binary import server_binary
from workflows import attributes

PYTHON = (sys.executable, "-P")
"""Without the current directory on the import path: it may be a workspace, with modules of its worker's in it."""

FAIR = (
    "matching.enableFairness=true",
    "matching.numTaskqueueReadPartitions=1",
    "matching.numTaskqueueWritePartitions=1",
)
"""What makes the server let sessions take turns (docs/scaling.md). In several partitions each takes turns by itself."""


def begin(settings: Settings) -> subprocess.Popen[bytes] | None:
    """Start the host unless one is alive, and wait for nothing: a command has more to import.

    Raises `Unavailable`, and `Malformed` for models that could not be asked.
    """
    files = Files(settings.state_dir)
    prepare_state_dir(settings.state_dir)
    files.used.touch()
    return spawn(settings, files) if files.alive() is None else None


def spawn(settings: Settings, files: Files) -> subprocess.Popen[bytes]:
    """Start a host, which ends at once where there is one.

    Raises `Unavailable` where there is no server to start, `Malformed` for models that could not be asked.
    """
    require_models(settings)
    absolute = {name: str(getattr(settings, name)) for name in ("project", "state_dir", "evidence_dir")}
    environment = os.environ | {f"COUNTERSIGN_{name.upper()}": path for name, path in absolute.items()}
    environment[CONFIGURATION] = os.pathsep.join(str(one.path) for one in settings.files)
    plan = _plan(settings, files)
    with files.log("host").open("ab") as log:
        spawned = subprocess.Popen(  # noqa: S603 - ourselves
            [*PYTHON, "-m", "entrypoints.embedded"],
            cwd=settings.state_dir,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            env=environment,
            start_new_session=True,
        )
    assert spawned.stdin is not None
    with suppress(BrokenPipeError), spawned.stdin as told:  # it has ended already, and its log says why
        told.write(json.dumps(asdict(plan)).encode())
    return spawned


def _plan(settings: Settings, files: Files) -> Plan:
    """What the host is to do. Raises `Unavailable` where there is no server to start."""
    known = [f"--search-attribute={name}=Keyword" for name in attributes.NAMES]
    return Plan(
        state_dir=str(settings.state_dir),
        settings=shown(settings),
        server=[
            server_binary(settings.temporal_binary),
            *("server", "start-dev", "--ip", "127.0.0.1", "--log-level", "warn"),
            *("--port", "{port}", "--ui-port", "{ui_port}"),
            *("--db-filename", str(files.database), "--sqlite-pragma", "journal_mode=wal"),
            *(f"--dynamic-config-value={setting}" for setting in FAIR),
            *("--namespace", settings.temporal_namespace),
            *known,
        ],
        worker=[*PYTHON, "-m", "worker", "--address", "127.0.0.1:{port}"],
        clear=[*PYTHON, "-m", "entrypoints.clear"],
        namespace=settings.temporal_namespace,
        idle_timeout=settings.idle_timeout,
        drain_timeout=settings.drain_timeout,
        log_level=settings.log_level,
        log_format=settings.log_format,
    )


def shown(settings: Settings) -> dict[str, str]:
    """Every setting as text, and the code's age: what a host was started with, to compare with what a command has.

    Secrets are masked: whether they are the same, `other_secrets` says.
    """
    masked = Masker(secrets_of(settings)).text
    return {"version of the code": code_version(), **{name: masked(str(value)) for name, value in settings}}
