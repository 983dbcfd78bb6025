"""Which images are there, asked of a socket that answers as an engine does; what folders are called."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import unquote

import pytest

from adapters.sandbox.present import LOCAL_BASE, PresentImages, id_on, tag_of
from domain.errors import Cause, Unavailable
from domain.messages import Image


class Said:
    """What the engine has, by name; `status` other than 200 is answered to everything."""

    def __init__(self, path: Path) -> None:
        self.host = f"unix://{path}"
        self.ids: dict[str, str] = {}
        self.status = 200
        self.body: bytes | None = None
        self.paths: list[str] = []


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Said]:
    said = Said(tmp_path / "engine.sock")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            said.paths.append(self.path)
            name = unquote(self.path.removeprefix("/images/").removesuffix("/json"))
            status = 404 if said.status == 200 and name not in said.ids and said.body is None else said.status
            body = said.body if said.body is not None else json.dumps({"Id": said.ids.get(name)}).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def address_string(self) -> str:
            return "socket"

        def log_message(self, *_: object) -> None:
            """Not on the tests' stderr."""

    with socketserver.ThreadingUnixStreamServer(str(tmp_path / "engine.sock"), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield said
        server.shutdown()
        thread.join()


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    (tmp_path / "images/python").mkdir(parents=True)
    (tmp_path / "images/python/Dockerfile").write_text("ARG BASE=debian:12\nFROM ${BASE}\n")
    return tmp_path / "images"


def test_a_reference_has_the_id_that_the_engine_says(engine: Said) -> None:
    engine.ids = {"registry.example:5000/a/b:1": "sha256:a", "a@sha256:0": "sha256:b"}
    known = id_on(engine.host)
    assert known("registry.example:5000/a/b:1") == "sha256:a"
    assert known("a@sha256:0") == "sha256:b"
    assert known("none") is None
    assert known("a b?c#d") is None
    assert engine.paths[-1] == "/images/a%20b%3Fc%23d/json", "nothing in a name is read as anything else"


def test_a_folder_is_looked_for_on_the_best_base_first(engine: Said, folders: Path) -> None:
    images = PresentImages(id_on(engine.host), folders, None)
    assert images.present("python") is None
    local, usual = (tag_of(folders / "python", base) for base in (LOCAL_BASE, "debian:12"))
    engine.ids = {local: "sha256:local"}
    assert images.present("python") == Image(reference=local, id="sha256:local")
    engine.ids[usual] = "sha256:usual"
    assert images.present("python") == Image(reference=usual, id="sha256:usual")
    (folders / "python/Dockerfile").write_text("ARG BASE=debian:12\nFROM ${BASE}\nRUN true\n")
    assert images.present("python") is None, "another folder makes another image"
    engine.ids["node:22"] = "sha256:node"
    assert images.present("node:22") == Image(reference="node:22", id="sha256:node")


def test_an_engine_that_does_not_answer_as_one_is_unavailable(engine: Said, tmp_path: Path) -> None:
    engine.status = 500
    with pytest.raises(Unavailable, match="it answers 500") as caught:
        id_on(engine.host)("python")
    assert caught.value.cause is Cause.ENGINE_UNAVAILABLE
    engine.status, engine.body = 200, b"no JSON"
    with pytest.raises(Unavailable):
        id_on(engine.host)("python")
    engine.body = b"[]"
    with pytest.raises(Unavailable):
        id_on(engine.host)("python")
    for host in (f"unix://{tmp_path}/none.sock", "tcp://127.0.0.1:1"):
        with pytest.raises(Unavailable) as caught:
            id_on(host)("python")
        assert caught.value.cause is Cause.ENGINE_UNAVAILABLE
