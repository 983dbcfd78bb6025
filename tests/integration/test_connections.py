"""Servers behind TLS and API keys: every way in that Temporal's variables and profiles name, and why one is refused."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import socket
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
import pytest_asyncio
from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment

from adapters.config.settings import Settings, load_settings
from adapters.masking.known import KNOWN
from domain.errors import Cause, Malformed, Unavailable
from domain.todo import Todo
from entrypoints.agents import hidden_from_workers
from entrypoints.client import connect, register_search_attributes
from entrypoints.temporal_binary import server_binary
from tests.acting import COUNTERSIGN
from tests.door import NAME, Authority, Pair, door

WORKER = Path(__file__).parents[2] / "worker.py"
API_KEY = "sesame-5f1c2e"
PATIENCE = 120.0
"""Seconds: who is refused is told so at once, not when they are over."""


@dataclass(frozen=True)
class Doors:
    """Addresses before one server: itself, one that wants a client's certificate, one a key, one with an old pair,
    one for whom search attributes are its operator's."""

    plain: str
    mutual: str
    keyed: str
    expired: str
    hosted: str


ours, others = Authority(), Authority()
client, stranger, late = ours.issue(), others.issue(), ours.issue(days=-1)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def doors() -> AsyncIterator[Doors]:
    """One server and its doors for the whole module."""
    async with (
        await WorkflowEnvironment.start_local(
            dev_server_existing_path=server_binary(None), dev_server_log_level="error"
        ) as server,
        door(behind := server.client.service_client.config.target_host, ours.issue(), "", [ours.certificate]) as mutual,
        door(behind, ours.issue(), API_KEY) as keyed,
        door(behind, ours.issue(days=-1)) as expired,
        door(behind, ours.issue(), closed="AddSearchAttributes") as hosted,
    ):
        yield Doors(behind, mutual, keyed, expired, hosted)


@pytest.fixture(autouse=True)
def _an_empty_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith(("COUNTERSIGN_", "TEMPORAL_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "project").mkdir()


@dataclass
class Here:
    """A project on a machine with files of certificates."""

    folder: Path
    monkeypatch: pytest.MonkeyPatch

    def file(self, name: str, data: bytes) -> str:
        path = self.folder / name
        path.write_bytes(data)
        path.chmod(0o600)
        return str(path)

    def settings(self, address: str, **variables: str) -> Settings:
        """As a command has them, with these of Temporal's variables."""
        for name, value in {"ADDRESS": address, **variables}.items():
            self.monkeypatch.setenv(f"TEMPORAL_{name}", value)
        return load_settings(self.folder / "project")

    def pair(self, pair: Pair, name: str) -> dict[str, str]:
        certificate, key = pair.write(self.folder, name)
        return {"TLS_CLIENT_CERT_PATH": certificate, "TLS_CLIENT_KEY_PATH": key}

    def trusting(self, authority: Authority) -> dict[str, str]:
        return {"TLS_SERVER_CA_CERT_PATH": self.file("ca.pem", authority.certificate)}


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that stands still for a while says what it has to say all the same."""
    monkeypatch.setattr("entrypoints.client.CONNECT_SECONDS", PATIENCE)
    monkeypatch.setattr("entrypoints.client.RPC", timedelta(seconds=PATIENCE))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Here:
    return Here(tmp_path, monkeypatch)


async def why(settings: Settings) -> str:
    """Why it does not connect, and that it does not take long to say so."""
    began = time.monotonic()
    with pytest.raises(Unavailable) as caught:
        await connect(settings)
    assert time.monotonic() - began < PATIENCE / 2, "it waited for what had been said"
    assert caught.value.cause is Cause.SERVER_UNAVAILABLE
    return f"{caught.value.reason}: {caught.value.next_step}"


class TestTls:
    async def test_with_a_certificate_on_either_side(self, doors: Doors, here: Here) -> None:
        known = await connect(here.settings(doors.mutual, **here.trusting(ours), **here.pair(client, "client")))
        assert await known.service_client.check_health()

    async def test_by_a_name_that_the_certificate_has(self, doors: Doors, here: Here) -> None:
        given = here.trusting(ours) | here.pair(client, "client")
        await connect(here.settings(doors.mutual, **given, TLS_SERVER_NAME=NAME))
        assert "shows a certificate for another name" in await why(
            here.settings(doors.mutual, **given, TLS_SERVER_NAME="else.where")
        )

    async def test_a_server_that_nobody_vouches_for(self, doors: Doors, here: Here) -> None:
        for given in ({"TLS": "true"}, here.trusting(others)):
            said = await why(here.settings(doors.mutual, **given))
            assert "that nobody trusted here has signed" in said
            assert "TEMPORAL_TLS_SERVER_CA_CERT_PATH" in said
            assert doors.mutual in said

    async def test_a_server_whose_certificate_has_expired(self, doors: Doors, here: Here) -> None:
        assert "has expired" in await why(here.settings(doors.expired, **here.trusting(ours)))

    async def test_a_client_without_certificate(self, doors: Doors, here: Here) -> None:
        assert "may want a client's certificate" in await why(here.settings(doors.mutual, **here.trusting(ours)))

    @pytest.mark.parametrize("pair", [stranger, late], ids=["of another CA", "expired"])
    async def test_a_client_s_certificate_that_is_not_taken(self, doors: Doors, here: Here, pair: Pair) -> None:
        given = here.trusting(ours) | here.pair(pair, "client")
        assert "does not take the client's certificate" in await why(here.settings(doors.mutual, **given))

    @pytest.mark.parametrize(
        ("key", "said"),
        [(stranger.key, "is not that of the client's certificate"), (b"nonsense", "private key is none")],
    )
    async def test_a_private_key_that_is_none_of_it(self, doors: Doors, here: Here, key: bytes, said: str) -> None:
        given = here.trusting(ours) | here.pair(Pair(client.certificate, key), "client")
        assert said in await why(here.settings(doors.mutual, **given))

    async def test_half_a_pair(self, doors: Doors, here: Here) -> None:
        given = here.trusting(ours) | here.pair(client, "client")
        del given["TLS_CLIENT_KEY_PATH"]
        assert "there is one alone" in await why(here.settings(doors.mutual, **given))

    async def test_only_one_side_speaks_it(self, doors: Doors, here: Here) -> None:
        assert "may want TLS" in await why(here.settings(doors.mutual))
        assert "speaks no TLS" in await why(here.settings(doors.plain, TLS="true"))

    async def test_a_file_that_is_not_there(self, doors: Doors, here: Here) -> None:
        with pytest.raises(Malformed, match=r"/not/there\.pem: cannot be read: No such file"):
            await connect(here.settings(doors.mutual, TLS_SERVER_CA_CERT_PATH="/not/there.pem"))


class TestApiKeys:
    async def test_the_right_one(self, doors: Doors, here: Here) -> None:
        known = await connect(here.settings(doors.keyed, **here.trusting(ours), API_KEY=API_KEY))
        assert await known.service_client.check_health()

    async def test_none_and_another(self, doors: Doors, here: Here) -> None:
        assert "wants credentials" in await why(here.settings(doors.keyed, **here.trusting(ours)))
        said = await why(here.settings(doors.keyed, **here.trusting(ours), API_KEY="not-sesame"))
        assert "does not take this API key" in said
        assert "not-sesame" not in said

    async def test_a_namespace_that_is_not_there(self, doors: Doors, here: Here) -> None:
        said = await why(here.settings(doors.plain, NAMESPACE="nowhere"))
        assert "has no namespace 'nowhere'" in said

    async def test_our_own_variable_says_which_namespace(self, doors: Doors, here: Here) -> None:
        here.monkeypatch.setenv("COUNTERSIGN_TEMPORAL_NAMESPACE", "default")
        assert (await connect(here.settings(doors.plain, NAMESPACE="nowhere"))).namespace == "default"

    async def test_one_who_says_nothing_is_not_waited_for_long(self, here: Here) -> None:
        here.monkeypatch.setattr("entrypoints.client.CONNECT_SECONDS", 0.2)
        with socket.create_server(("127.0.0.1", 0)) as silent:
            assert "does not answer in time" in await why(here.settings(f"127.0.0.1:{silent.getsockname()[1]}"))


class TestProfiles:
    def profile(self, here: Here, name: str, address: str) -> str:
        """A configuration file with one profile: TLS with our CA, and the key in it."""
        ca = here.file("ca.pem", ours.certificate)
        lines = [
            f"[profile.{name}]",
            f'address = "{address}"',
            f'api_key = "{API_KEY}-of-a-profile"',
            f"[profile.{name}.tls]",
            f'server_ca_cert_path = "{ca}"',
            f'client_key_path = "{here.folder}/client.key"',
            f'client_cert_path = "{here.folder}/client.pem"',
        ]
        client.write(here.folder, "client")
        return here.file("temporal.toml", "\n".join(lines).encode())

    async def test_says_address_tls_and_key_and_its_key_is_masked(self, doors: Doors, here: Here) -> None:
        file = self.profile(here, "cloud", doors.mutual)
        here.monkeypatch.setenv("TEMPORAL_CONFIG_FILE", file)
        here.monkeypatch.setenv("TEMPORAL_PROFILE", "cloud")
        settings = load_settings(here.folder / "project")
        connected = await connect(settings)
        assert connected.service_client.config.target_host == doors.mutual
        assert "of-a-profile" not in KNOWN.text(f"Bearer {API_KEY}-of-a-profile")
        assert Path(file) in hidden_from_workers(settings)
        assert here.folder / "client.key" in hidden_from_workers(settings)

    async def test_a_variable_goes_before_it(self, doors: Doors, here: Here) -> None:
        here.monkeypatch.setenv("TEMPORAL_CONFIG_FILE", self.profile(here, "cloud", "127.0.0.1:1"))
        settings = here.settings(doors.keyed, PROFILE="cloud", API_KEY=API_KEY)
        assert (await connect(settings)).service_client.config.target_host == doors.keyed
        here.monkeypatch.setenv("COUNTERSIGN_TEMPORAL_ADDRESS", doors.mutual)
        settings = load_settings(here.folder / "project")
        assert (await connect(settings)).service_client.config.target_host == doors.mutual

    async def test_a_project_s_address_is_told_no_default_profile_s_key(self, doors: Doors, here: Here) -> None:
        """Nobody chose that profile: the address may be in a file that came with the project."""
        os.renames(self.profile(here, "default", doors.mutual), here.folder / "config" / "temporalio" / "temporal.toml")
        here.file("project/countersign.toml", f'[temporal]\naddress = "{doors.plain}"\n'.encode())
        connected = await connect(load_settings(here.folder / "project"))
        assert connected.service_client.config.target_host == doors.plain
        assert connected.service_client.config.api_key is None


async def test_a_server_whose_operator_alone_registers_search_attributes(doors: Doors, here: Here) -> None:
    """Before any worker of this module has."""
    connected = await connect(here.settings(doors.hosted, **here.trusting(ours)))
    with pytest.raises(Unavailable, match=r"operator register CountersignSession, .* each of type Keyword"):
        await register_search_attributes(connected)


SESSION = {"id": "made", "todos": [{"id": "a", "content": "About the merger", "workspace": "w", "base": "b"}]}


@asynccontextmanager
async def worker(folder: Path, address: str) -> AsyncIterator[None]:
    """A worker of its own for workflows, as this environment has it; it ends well when it is told to."""
    command = (sys.executable, str(WORKER), "--address", address, "--queues", "workflows")
    started = await asyncio.create_subprocess_exec(*command, cwd=folder, stderr=asyncio.subprocess.PIPE)
    assert started.stderr is not None
    try:
        before = b""
        while b"worker polls" not in (said := await started.stderr.readline()):
            before += said
            assert said, before
        yield
    finally:
        with suppress(ProcessLookupError):
            started.terminate()
        _, said = await started.communicate()
    assert (started.returncode, b"Traceback" in said) == (0, False), said.decode()


async def test_through_a_door_with_payloads_that_the_server_cannot_read(doors: Doors, here: Here) -> None:
    """A worker of one's own and a command find each other behind TLS and an API key, and the server has ciphertext."""
    keys = {name: here.file(name, base64.b64encode(os.urandom(32))) for name in ("payload.key", "other.key")}
    here.monkeypatch.setenv("COUNTERSIGN_PAYLOAD_KEY_FILE", keys["payload.key"])
    settings = here.settings(doors.keyed, **here.trusting(ours), API_KEY=API_KEY)
    for folder in ("w", "b"):
        (settings.project / folder).mkdir()
    here.file("project/made.yaml", json.dumps(SESSION).encode())
    async with worker(settings.project, doors.keyed):
        command = (COUNTERSIGN, "session", "create", "made.yaml", "--json")
        created = await asyncio.create_subprocess_exec(
            *command, cwd=settings.project, stdout=asyncio.subprocess.DEVNULL
        )
        assert await created.wait() == 0
        told = await state_of_todo(await connect(settings))
        assert told.order.content == "About the merger"
        for given, said in ((keys["other.key"], "which payload_key_file does not have"), (None, "no payload_key_file")):
            unreadable = await connect(settings.model_copy(update={"payload_key_file": given and Path(given)}))
            with pytest.raises(Unavailable, match=said):
                await state_of_todo(unreadable)
    server = await Client.connect(doors.plain)
    for workflow in ("session/made", "todo/made/a"):
        stored = (await server.get_workflow_handle(workflow).fetch_history()).to_json()
        kinds = Counter(base64.b64decode(kind) for kind in re.findall(r'"encoding": "([^"]+)"', stored))
        clear = [base64.b64decode(data) for data in re.findall(r'"data": "([^"]+)"', stored)]
        assert kinds[b"binary/encrypted"] > 2
        assert not [data for data in clear if b"merger" in data]
        assert b'"made"' in clear, "what it is found by is not encrypted"


async def state_of_todo(connected: Client) -> Todo:
    state: Todo = await connected.get_workflow_handle("todo/made/a").query(
        "state", result_type=Todo, rpc_timeout=timedelta(seconds=60)
    )
    return state
