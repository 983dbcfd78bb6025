"""Stands in front of the real Docker engine and lies about limits, for tests of what notices."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

import docker

ENGINE = "/var/run/docker.sock"


class LyingEngine:
    """A Unix socket at `path`. `dropped` are fields of HostConfig that never reach the engine; without a NetworkMode
    it is the host's. `info` is laid over what it says of itself, `created` counts the containers asked for.
    """

    def __init__(self, path: Path, dropped: Iterable[str] = (), info: Mapping[str, object] | None = None) -> None:
        self.host = f"unix://{path}"
        self.created = 0
        self._dropped = tuple(dropped)
        self._info = info
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(path))
        self._listening.listen()

    def __enter__(self) -> LyingEngine:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._pass_on, args=[client], daemon=True).start()

    def _pass_on(self, client: socket.socket) -> None:
        engine = socket.socket(socket.AF_UNIX)
        engine.connect(ENGINE)
        answers = threading.Thread(target=_copy, args=[engine, client], daemon=True)
        answers.start()
        with client, engine, client.makefile("rb") as asked:
            try:
                while self._request(asked, engine, client):
                    pass
                engine.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # one of the two has closed its side: so does the other
            answers.join()

    def _request(self, asked: BinaryIO, engine: socket.socket, client: socket.socket) -> bool:
        """Pass on one request, or, after one without a length, all that comes as it is; whether more may come."""
        head = []
        while (line := asked.readline()) not in (b"\r\n", b""):
            head.append(line)
        if not head:
            return False
        fields = {name.lower(): value.strip() for name, _, value in (line.partition(b":") for line in head[1:])}
        path = head[0].split()[1].decode()
        body = asked.read(int(fields.get(b"content-length", b"0")))
        if path.endswith("/containers/create") or "/containers/create?" in path:
            self.created += 1
            body = self._without_limits(body)
            head = [line for line in head if not line.lower().startswith(b"content-length:")]
            head.append(b"Content-Length: %d\r\n" % len(body))
        if self._info is not None and path.endswith("/info"):
            client.sendall(_as_answer({**_truth(), **self._info}))
            return True
        engine.sendall(b"".join(head) + b"\r\n" + body)
        if b"upgrade" in fields or fields.get(b"transfer-encoding") == b"chunked":
            while data := asked.read1(65536):  # type: ignore[attr-defined]  # a BufferedReader
                engine.sendall(data)
            return False
        return True

    def _without_limits(self, body: bytes) -> bytes:
        asked = json.loads(body)
        for name in self._dropped:
            asked["HostConfig"].pop(name, None)
        asked["HostConfig"].setdefault("NetworkMode", "host")
        return json.dumps(asked).encode()


def _truth() -> dict[str, object]:
    api = docker.APIClient(base_url=f"unix://{ENGINE}")
    try:
        said: dict[str, object] = api.info()
        return said
    finally:
        api.close()


def _as_answer(said: Mapping[str, object]) -> bytes:
    body = json.dumps(said).encode()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    return head + body


def _copy(engine: socket.socket, client: socket.socket) -> None:
    try:
        while data := engine.recv(65536):
            client.sendall(data)
        client.shutdown(socket.SHUT_WR)
    except OSError:
        return
