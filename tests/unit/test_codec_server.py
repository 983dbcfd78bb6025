"""The codec server as the Web UI and `temporal` ask it, over HTTP: who is answered, with what, and who is not."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import threading
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from google.protobuf.json_format import MessageToJson
from temporalio.api.common.v1 import Payload, Payloads

from adapters.encryption import server as served
from adapters.encryption.codec import EncryptedPayloads
from adapters.encryption.keys import Keys, read_keys
from adapters.encryption.server import CodecServer, path_of
from domain.errors import Malformed, Unavailable
from entrypoints.cli import codec_server, common

UI = "http://127.0.0.1:8233"
CLEAR = Payload(metadata={"encoding": b"json/plain"}, data=b'"hidden words"')


def keys_in(folder: Path, name: str = "payload.key") -> Keys:
    file = folder / name
    file.write_bytes(b64encode(os.urandom(32)))
    file.chmod(0o600)
    return read_keys(file)


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    return keys_in(tmp_path)


@pytest.fixture
def server(keys: Keys) -> Iterator[CodecServer]:
    with CodecServer(0, keys, [UI]) as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def ask(
    server: CodecServer, path: str, body: bytes | None = b'{"payloads": []}', method: str = "POST", **headers: str
) -> tuple[int, http.client.HTTPResponse, str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, answer, text


def below(server: CodecServer, name: str) -> str:
    return f"{urlsplit(server.endpoint).path}/{name}"


def as_json(*payloads: Payload) -> bytes:
    return MessageToJson(Payloads(payloads=payloads)).encode()


def hidden_with(keys: Keys) -> Payload:
    (hidden,) = asyncio.run(EncryptedPayloads(keys).encode([CLEAR]))
    return hidden


class TestWhatIsAnswered:
    def test_what_workers_encrypted_comes_back_in_clear_and_what_is_clear_as_it_is(
        self, server: CodecServer, keys: Keys
    ) -> None:
        status, answer, text = ask(server, below(server, "decode"), as_json(hidden_with(keys), CLEAR))
        shown = {"metadata": {"encoding": b64encode(b"json/plain").decode()}, "data": b64encode(CLEAR.data).decode()}
        assert (status, json.loads(text)) == (200, {"payloads": [shown, shown]})
        assert answer.headers["Content-Type"] == "application/json"
        assert answer.headers["Cache-Control"] == "no-store"

    def test_what_it_encodes_workers_read(self, server: CodecServer, keys: Keys) -> None:
        status, _, text = ask(server, below(server, "encode"), as_json(CLEAR))
        assert (status, "hidden words" in text) == (200, False)
        again = ask(server, below(server, "decode"), text.encode())
        assert b64encode(CLEAR.data).decode() in again[2]

    def test_no_payloads_are_none(self, server: CodecServer) -> None:
        assert ask(server, below(server, "decode"))[0::2] == (200, "{}")

    def test_another_s_key_is_named_and_not_passed_over(self, server: CodecServer, tmp_path: Path) -> None:
        others = keys_in(tmp_path, "other.key")
        status, _, text = ask(server, below(server, "decode"), as_json(CLEAR, hidden_with(others)))
        assert status == 400
        assert f"the key '{next(iter(others))}', which payload_key_file does not have" in text

    @pytest.mark.parametrize(
        "body", [b"", b"{", b"3", b'{"payloads": 3}', b'{"payloads": [{"dato": ""}]}', b"\xff\xfe", b"[" * 100_000]
    )
    def test_what_is_no_payloads_is_refused(self, server: CodecServer, body: bytes) -> None:
        status, _, text = ask(server, below(server, "decode"), body)
        assert (status, text.startswith("expected payloads as JSON")) == (400, True)

    def test_what_is_too_much_is_not_read(self, server: CodecServer, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(served, "MAX_BYTES", 10)
        assert ask(server, below(server, "decode"))[0] == 413
        assert ask(server, below(server, "decode"), b"", Content_Length="-1")[0] == 411


class TestWhoIsAnswered:
    def test_the_endpoint_stays_the_same_for_a_key_and_says_nothing_of_it(self, keys: Keys, tmp_path: Path) -> None:
        assert path_of(keys) == path_of(dict(keys))
        assert path_of(keys) != path_of(keys_in(tmp_path, "other.key"))
        ((name, key),) = keys.items()
        assert name not in path_of(keys)
        assert key.hex()[:8] not in path_of(keys)

    @pytest.mark.parametrize("path", ["/decode", "/", "/0123456789abcdef0123456789abcdef/decode"])
    def test_who_does_not_know_the_path_is_not(self, server: CodecServer, keys: Keys, path: str) -> None:
        assert ask(server, path, as_json(hidden_with(keys)), Origin=UI)[0::2] == (404, "not here\n")
        assert ask(server, below(server, "keys"))[0] == 404

    def test_the_page_that_was_named_may_ask(self, server: CodecServer) -> None:
        for method, expected in (("OPTIONS", 204), ("POST", 200)):
            status, answer, _ = ask(server, below(server, "decode"), method=method, Origin=UI)
            assert (status, answer.headers["Access-Control-Allow-Origin"]) == (expected, UI)
            assert "x-namespace" in answer.headers["Access-Control-Allow-Headers"]
            assert answer.headers["Vary"] == "Origin"

    def test_the_web_ui_asks_with_a_query(self, server: CodecServer, keys: Keys) -> None:
        path = below(server, "decode?preserveStorageRefs=true")
        assert ask(server, path, method="OPTIONS", Origin=UI)[0] == 204
        status, _, text = ask(server, path, as_json(hidden_with(keys)), Origin=UI)
        assert (status, b64encode(CLEAR.data).decode() in text) == (200, True)

    @pytest.mark.parametrize("origin", ["http://127.0.0.1:8234", "https://evil.example", "null"])
    def test_another_page_may_not(self, server: CodecServer, keys: Keys, origin: str) -> None:
        for method in ("OPTIONS", "POST"):
            status, answer, text = ask(
                server, below(server, "decode"), as_json(hidden_with(keys)), method=method, Origin=origin
            )
            assert (status, "Access-Control-Allow-Origin" in answer.headers) == (403, False)
            assert b64encode(CLEAR.data).decode() not in text

    def test_it_listens_on_this_machine_alone(self, server: CodecServer) -> None:
        assert server.server_address[0] == "127.0.0.1"
        assert server.endpoint.startswith(f"http://127.0.0.1:{server.server_port}/")

    def test_a_port_that_is_taken_is_said(self, server: CodecServer, keys: Keys) -> None:
        with pytest.raises(Unavailable, match=f"nothing can listen at 127.0.0.1:{server.server_port}"):
            CodecServer(server.server_port, keys, [])


class TestTheCommand:
    def test_it_wants_a_key(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(common, "settings", lambda: _Settings(None))
        with pytest.raises(Malformed, match="COUNTERSIGN_PAYLOAD_KEY_FILE: is not set"):
            codec_server.codec_server()

    @pytest.mark.parametrize("origin", ["*", "temporal.example", "https://temporal.example/x", "https://", "file://x"])
    def test_an_origin_is_one(self, origin: str) -> None:
        with pytest.raises(Malformed, match="is no page's origin"):
            codec_server._checked(origin)

    def test_a_page_s_last_slash_is_none_of_its_origin(self) -> None:
        assert codec_server._checked("https://temporal.example:8443/") == "https://temporal.example:8443"


class _Settings:
    """What the command asks of the settings first."""

    def __init__(self, payload_key_file: Any) -> None:
        self.payload_key_file = payload_key_file
