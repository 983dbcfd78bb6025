"""What composition hides from worker commands, and which ports it closes to them."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import pytest

from adapters.config.settings import Settings
from entrypoints.agents import hidden_from_workers, ports_of_authority
from entrypoints.host_files import Files, HostState, Process


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DOCKER_HOST", "COUNTERSIGN_DOCKER_HOST", "COUNTERSIGN_DATABASE_URL", "TEMPORAL_CONFIG_FILE"):
        monkeypatch.delenv(name, raising=False)


def settings(root: Path, **given: Any) -> Settings:
    return Settings(project=root, state_dir=root / "state", **given)


def test_evidence_database_engine_and_profiles_are_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEMPORAL_CONFIG_FILE", "/profiles.toml")
    url = "sqlite+pysqlite:////data/trail.db?timeout=3"
    hidden = hidden_from_workers(settings(tmp_path, evidence_dir=tmp_path / "blobs", database_url=url))
    files = {Path(f"/data/trail.db{suffix}") for suffix in ("", "-wal", "-shm", "-journal")}
    assert set(hidden) == {tmp_path / "blobs", Path("/var/run/docker.sock"), Path("/profiles.toml"), *files}


def test_the_key_of_payloads_is_hidden(tmp_path: Path) -> None:
    assert tmp_path / "payload.key" in hidden_from_workers(
        settings(tmp_path, payload_key_file=tmp_path / "payload.key")
    )


def test_an_engine_elsewhere_has_no_socket_to_hide(tmp_path: Path) -> None:
    remote = hidden_from_workers(settings(tmp_path, docker_host="tcp://10.0.0.5:2376"))
    assert not any(path.name == "docker.sock" for path in remote)
    assert Path("/run/user/7/podman.sock") in hidden_from_workers(
        settings(tmp_path, docker_host="unix:///run/user/7/podman.sock")
    )


def test_ports_are_temporal_s_and_the_database_s(tmp_path: Path) -> None:
    assert ports_of_authority(settings(tmp_path)) == frozenset()
    given = settings(tmp_path, database_url="postgresql://user@db.example/trail")
    assert ports_of_authority(given, "temporal.example:7233") == {7233, 5432}
    assert ports_of_authority(settings(tmp_path, database_url="postgresql://user@db.example:6000/trail")) == {6000}


def test_the_port_of_a_bucket_s_store_is_closed_and_what_opens_the_bucket_is_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://store.example:9000")
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", "/run/secrets/token")
    assert ports_of_authority(settings(tmp_path)) == frozenset()
    given = settings(tmp_path, evidence_url="s3://bucket")
    assert ports_of_authority(given) == {9000}
    assert Path("/run/secrets/token") in hidden_from_workers(given)
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "https://store.example:443")
    assert ports_of_authority(given) == frozenset(), "everything else on the web is there, too"


def test_all_that_the_embedded_server_listens_on_is_closed(tmp_path: Path) -> None:
    ours = settings(tmp_path)
    ours.state_dir.mkdir()
    this = Process.of(os.getpid())
    with socket.create_server(("127.0.0.1", 0)) as server:
        Files(ours.state_dir).write(HostState(host=this, server=this))
        assert server.getsockname()[1] in ports_of_authority(ours)
    Files(ours.state_dir).write(HostState(host=this, server=Process(2**22 + 1, 0.0)))
    assert ports_of_authority(ours) == frozenset()
