"""Composition of what runs worker commands: what is hidden from them, which ports are closed to them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import psutil

from adapters.config.settings import Settings
from adapters.masking.known import masker_of
from adapters.workers.commands import CommandWorkers
from domain.ports import EvidenceStore
from entrypoints.connection import key_files
from entrypoints.evidence_store import secret_files, store_port
from entrypoints.host_files import Files

SQLITE = "sqlite"
POSTGRESQL_PORT = 5432
DOCKER_SOCKET = "/var/run/docker.sock"
TEMPORAL_PROFILES = Path("~/.config/temporalio/temporal.toml")


def build_workers(settings: Settings, evidence: EvidenceStore, temporal: str = "") -> CommandWorkers:
    """What runs worker commands on this host; `temporal` is the server's address."""
    ports = partial(ports_of_authority, settings, temporal)
    return CommandWorkers(evidence, masker_of(settings), settings.state_dir, hidden_from_workers(settings), ports)


def hidden_from_workers(settings: Settings) -> tuple[Path, ...]:
    """Evidence, database, the engine's socket, Temporal's profiles and keys: whoever has one, decides (DESIGN 1.4)."""
    engine = settings.docker_host or f"unix://{DOCKER_SOCKET}"
    profiles = Path(os.environ.get("TEMPORAL_CONFIG_FILE") or TEMPORAL_PROFILES).expanduser()
    return (
        settings.evidence_dir,
        *_database_files(settings.database_url),
        *([Path(engine.removeprefix("unix://"))] if engine.startswith("unix://") else []),
        profiles,
        *key_files(settings),
        *secret_files(),
    )


def _database_files(url: str) -> Iterator[Path]:
    kind, _, path = url.partition(":///")
    if kind.partition("+")[0] == SQLITE:
        for suffix in ("", "-wal", "-shm", "-journal"):
            yield Path(path.partition("?")[0] + suffix)


def ports_of_authority(settings: Settings, temporal: str = "") -> frozenset[int]:
    """Ports of Temporal, all that the embedded server listens on included, of the database and of the bucket."""
    urls = [f"//{temporal}"] if temporal else []
    database = urlsplit(settings.database_url)
    known = {port for url in urls if (port := urlsplit(url).port)}
    if not database.scheme.startswith(SQLITE):
        known.add(database.port or POSTGRESQL_PORT)
    if port := store_port(settings):
        known.add(port)
    return frozenset(known | set(_embedded_ports(settings.state_dir)))


def _embedded_ports(state_dir: Path) -> Iterator[int]:
    state = Files(state_dir).read()
    server = state.server.find() if state and state.server else None
    try:
        for connection in server.net_connections("tcp") if server else ():
            if connection.status == psutil.CONN_LISTEN:
                yield connection.laddr.port
    except psutil.Error:  # it has ended meanwhile, and listens no more
        return
