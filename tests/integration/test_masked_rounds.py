"""Secrets that a project names: after `countersign verify` they are nowhere but in the base that has them itself."""

from __future__ import annotations

import asyncio
import base64
import json
import socket
import threading
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from temporalio.client import Client

from domain.base import sha256_hex
from tests.integration.conftest import Project, make_project

PLAIN = f"s3cret{uuid.uuid4().hex}"
HARD = f'p"ä\\ss/w+{uuid.uuid4().hex}'
SECRETS = {"PLAIN_KEY": PLAIN, "HARD_KEY": HARD}
TOKEN = f"t0ken-{uuid.uuid4().hex}"
ENVIRONMENT = {**SECRETS, "TOKEN": TOKEN, "COUNTERSIGN_SECRETS": ",".join([*SECRETS, "NOT_SET"])}


def needles(value: str) -> Iterator[bytes]:
    """How a value would be found where nobody masked it."""
    raw = value.encode()
    yield raw
    yield json.dumps(value)[1:-1].encode()
    yield json.dumps(value, ensure_ascii=False)[1:-1].encode()
    yield json.dumps(json.dumps(value))[3:-3].encode()
    yield quote(value, safe="").encode()
    for before in range(3):
        yield base64.b64encode(bytes(before) + raw)[4 : -4 or None]


NEEDLES = [needle for value in (PLAIN, HARD, TOKEN) for needle in needles(value)]


def leaks(data: bytes) -> list[bytes]:
    return [needle for needle in NEEDLES if needle in data]


@pytest.fixture(scope="module")
def service() -> Iterator[str]:
    """A service that answers `/echo` with the secrets, and anything else with a line that is no HTTP and has one."""
    listener = socket.create_server(("127.0.0.1", 0))
    body = json.dumps({"echo": HARD, PLAIN: [f"x{PLAIN}y"], "text": f"{HARD} {PLAIN}"}).encode()

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                asked = connection.recv(65536)
                good = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: "
                answer = good + str(len(body)).encode() + b"\r\n\r\n" + body
                connection.sendall(answer if asked.startswith(b"GET /echo") else HARD.encode() + b"\r\n\r\n")

    thread = threading.Thread(target=serve)
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()


@pytest.fixture(scope="module")
def secretive(tmp_path_factory: pytest.TempPathFactory, service: str) -> Iterator[Project]:
    """A project whose base has the secrets, in a file and in a file's name, and a host that knows them."""
    made = make_project(tmp_path_factory.mktemp("project"), tmp_path_factory.mktemp("state"))
    made.environment.update(ENVIRONMENT, COUNTERSIGN_API_ALLOW=service)
    for tree in ("base", "work"):
        (made.root / tree / "config.txt").write_text(f"{HARD}\n{PLAIN}\n")
        (made.root / tree / f"{PLAIN}.txt").write_text("named\n")
    yield made
    made.run("down")


def state_of(project: Project) -> Path:
    return Path(project.answer("doctor", "--json") and project.status()["state_dir"])


def own_blobs(project: Project) -> set[str]:
    """The blobs that are the base's own: its files, and the manifests of trees that have a file's name of it."""
    found = {sha256_hex(path.read_bytes()) for path in (project.root / "base").iterdir()}
    shown = project.run("log", "show", "--json")
    for row in json.loads(shown.stdout) if shown.returncode == 0 else []:
        found |= {row["payload"][name] for name in ("base", "head", "tree") if row["payload"].get(name)}
    return found


async def histories(address: str) -> dict[str, bytes]:
    """Every history that the server has, as the bytes that it sent, payloads and all, and as JSON."""
    client = await Client.connect(address)
    found = {}
    async for execution in client.list_workflows():
        handle = client.get_workflow_handle(execution.id)
        history = await handle.fetch_history()
        described = await handle.describe()
        parts = [event.SerializeToString() for event in history.events]
        parts += [history.to_json().encode(), described.raw_description.SerializeToString()]
        found[execution.id] = b"\n".join(parts)
    return found


def found_in_state(project: Project, allowed: set[str]) -> dict[str, list[bytes]]:
    found = {}
    for path in state_of(project).rglob("*"):
        with suppress(FileNotFoundError):  # the host has just replaced it by another, which has a name too
            if path.is_file() and path.name not in allowed and (kept := leaks(path.read_bytes())):
                found[str(path)] = kept
    return found


@pytest.mark.slow
def test_a_secret_of_the_base_is_nowhere_else(secretive: Project, service: str) -> None:
    printed = "cat config.txt; base64 -w0 config.txt; ls; python -c \"print(repr(open('config.txt').read()))\"; exit 1"
    order = secretive.order(
        id="wo-masked",
        environment={"setup": ['echo "told $TOKEN"; echo $TOKEN | base64; touch made'], "secrets": ["TOKEN"]},
        acceptance_criteria=[
            {"id": "AC-1", "type": "api_response", "params": {"url": f"{service}/echo", "body_contains": "never"}},
            {"id": "AC-2", "type": "api_response", "params": {"url": f"{service}/broken"}, "required": False},
            {"id": "AC-3", "type": "file_contains", "params": {"path": "config.txt", "pattern": "^never$"}},
        ],
        verification={"checks": [{"name": "prints", "command": printed}]},
        safeguards={"tool_retries": 0},
    )
    verified = secretive.run("verify", order, "--verbose", "--output", "report.json")
    assert verified.returncode == 1, verified.stderr
    shown = [verified, secretive.run("verify", order, "--again", "--json")]
    report = json.loads(shown[1].stdout)
    shown += [
        secretive.run(*arguments)
        for arguments in (
            ("log", "show", "wo-masked"),
            ("log", "show", "--json"),
            ("log", "export"),
            ("evidence", "show", "wo-masked"),
            ("evidence", "show", report["checks"][0]["evidence"]),
            ("evidence", "show", report["criteria"][0]["evidence"]["id"]),
            ("status", "--json"),
        )
    ]
    for result in shown:
        assert leaks((result.stdout + result.stderr).encode()) == [], result.args
    assert "[secret HARD_KEY]" in report["checks"][0]["output"]
    assert leaks((secretive.root / "report.json").read_bytes()) == []
    assert found_in_state(secretive, own_blobs(secretive)) == {}
    for name, data in asyncio.run(histories(secretive.status()["temporal_address"])).items():
        assert leaks(data) == [], name
    told = [notice for notice in report["notices"] if "PLAIN_KEY" in notice or "HARD_KEY" in notice]
    assert len(told) == 2
    assert "config.txt" in told[0] + told[1]
    assert secretive.run("log", "verify").returncode == 0


@pytest.mark.slow
def test_a_set_up_that_says_its_secret_and_fails(secretive: Project) -> None:
    environment = {"setup": ['echo "told $TOKEN"; exit 7'], "secrets": ["TOKEN"]}
    order = secretive.order(
        id="wo-set-up", environment=environment, verification={"checks": [{"name": "any", "command": "true"}]}
    )
    result = secretive.run("verify", order, "--json")
    assert result.returncode == 3
    assert "told [secret TOKEN]" in result.stdout
    assert found_in_state(secretive, own_blobs(secretive)) == {}
    for name, data in asyncio.run(histories(secretive.status()["temporal_address"])).items():
        assert leaks(data) == [], name


@pytest.mark.parametrize("where", ["content", "command", "key"])
def test_an_order_with_a_secret_is_refused_with_its_line(secretive: Project, where: str) -> None:
    orders: dict[str, dict[str, Any]] = {
        "content": {"content": f"use {PLAIN}"},
        "command": {"verification": {"checks": [{"name": "any", "command": f"curl -H 'X: {HARD}'"}]}},
        "key": {"verification": {"checks": [{"name": "any", "command": "true", "env": {PLAIN: "x"}}]}},
    }
    order = secretive.order(id="wo-refused", **orders[where])
    needle = {"content": "content:", "command": "command:", "key": PLAIN}[where]
    line = next(n for n, text in enumerate((secretive.root / order).read_text().splitlines(), 1) if needle in text)
    for command in ("verify", "graph"):
        result = secretive.run(command, order)
        assert result.returncode == 2, result.stderr
        assert f"{order}:{line}: " in result.stderr
        assert "holds the value of the secret" in result.stderr
        assert leaks((result.stdout + result.stderr).encode()) == []
    assert secretive.rows("wo-refused") == []


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("new.txt", id="added"),
        pytest.param("a.txt", id="changed", marks=pytest.mark.slow),
        pytest.param(f"{PLAIN}-too.txt", id="named", marks=pytest.mark.slow),
    ],
)
def test_work_with_a_secret_is_refused_and_not_stored(secretive: Project, path: str) -> None:
    file = secretive.root / "work" / path
    before = file.read_text() if file.exists() else None
    file.write_text("named\n" if PLAIN in path else f"{'x' * 3_000_000}{HARD}\n")
    try:
        order = secretive.order(id="wo-leak", verification={"checks": [{"name": "any", "command": "true"}]})
        result = secretive.run("verify", order, "--json")
    finally:
        if before is None:
            file.unlink()
        else:
            file.write_text(before)
    assert result.returncode == 1, result.stdout + result.stderr
    report = json.loads(result.stdout)
    assert report["verdict"] == "FAIL"
    reason = " ".join(reason["text"] for reason in report["reasons"])
    assert ("PLAIN_KEY" if PLAIN in path else "HARD_KEY") in reason
    assert path.replace(PLAIN, "[secret PLAIN_KEY]") in reason
    assert leaks((result.stdout + result.stderr).encode()) == []
    assert found_in_state(secretive, own_blobs(secretive)) == {}


@pytest.mark.slow
def test_a_host_without_the_secret_makes_way(secretive: Project) -> None:
    assert secretive.run("up", PLAIN_KEY=f"another-{uuid.uuid4().hex}").returncode == 0
    other = secretive.status()["host_pid"]
    assert secretive.run("up").returncode == 0
    assert secretive.status()["host_pid"] != other


def test_a_secret_too_short_is_refused_without_its_value(secretive: Project) -> None:
    result = secretive.run("status", PLAIN_KEY="qx7z")
    assert result.returncode == 2
    assert "PLAIN_KEY: has a value of less than 6 characters" in result.stderr
    assert "qx7z" not in result.stdout + result.stderr
