"""Looks for images without the engine's library: what a folder's image is called, and which id an engine has it under.

A Unix socket is asked directly, since loading the library takes longer than everything else that a remembered verdict
needs; an engine elsewhere is asked through it. It builds and pulls nothing.
"""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import quote

from domain.base import canonical_json, sha256_hex
from domain.errors import Cause, Unavailable
from domain.messages import Image

LOCAL_BASE = "countersign-base:bookworm"
"""What images are built on where no registry answers; `sandbox_images/debian-base` makes it."""

FOLDER_NAME = re.compile(r"[a-z0-9]+([._-][a-z0-9]+)*")
_BASE = re.compile(r"^ARG\s+BASE(?:=(\S+))?\s*$", re.MULTILINE)
_UNIX = "unix://"
_DEFAULT_SOCKET = "/var/run/docker.sock"
_SECONDS = 10.0
"""How long the engine may take to answer: what it is asked, it knows."""


class PresentImages:
    """The images that are there. `local_id` gives the engine's id of a reference, None for one that it does not have.

    `folders` and `base_image` as in `images.Images`.
    """

    def __init__(self, local_id: Callable[[str], str | None], folders: Path, base_image: str | None) -> None:
        self.local_id = local_id
        self._folders = folders
        self._base_image = base_image

    def present(self, image: str) -> Image | None:
        """What a round would run on that names `image`, if nothing has to be built or pulled. Raises `Unavailable`."""
        folder = self._folders / image
        is_folder = FOLDER_NAME.fullmatch(image) and (folder / "Dockerfile").is_file()
        names = [tag_of(folder, base) for base in bases_of(folder, self._base_image)] if is_folder else [image]
        found = ((name, self.local_id(name)) for name in names)
        return next((Image(reference=name, id=known) for name, known in found if known), None)


def bases_of(folder: Path, base_image: str | None) -> list[str]:
    """What the folder may be built on, best first; nothing ("") when its Dockerfile takes no base."""
    takes = _BASE.search((folder / "Dockerfile").read_text())
    if takes is None:
        return [""]
    if base_image is not None:
        return [base_image]
    return [takes[1], LOCAL_BASE] if takes[1] else [LOCAL_BASE]


def tag_of(folder: Path, base: str) -> str:
    """The name that says what is in the image: the folder's files and the base that they are built on."""
    files = [[path, sha256_hex(data)] for path, data in files_of(folder)]
    return f"countersign/{folder.name}:{sha256_hex(canonical_json([files, base]))[:12]}"


def files_of(folder: Path) -> list[tuple[str, bytes]]:
    """The folder's files by their paths in it, sorted."""
    return sorted((p.relative_to(folder).as_posix(), p.read_bytes()) for p in folder.rglob("*") if p.is_file())


def id_on(docker_host: str | None) -> Callable[[str], str | None]:
    """What finds an image's id on that engine, by a reference or an id; it raises `Unavailable`."""
    host = docker_host or f"{_UNIX}{_DEFAULT_SOCKET}"
    if not host.startswith(_UNIX):
        from adapters.sandbox.engine import Engine, inspect_image  # noqa: PLC0415 - docker: slow to load, and this is rare

        engine = Engine(docker_host)

        def through_the_library(reference: str) -> str | None:
            with engine.speaking(f"look for the image {reference}") as api:
                found = inspect_image(api, reference)
                return None if found is None else str(found["Id"])

        return through_the_library
    return lambda reference: _asked(host.removeprefix(_UNIX), reference)


class _UnixConnection(HTTPConnection):
    """HTTP over the socket at `path`."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=_SECONDS)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(_SECONDS)
        self.sock.connect(self._path)


def _asked(path: str, reference: str) -> str | None:
    connection = _UnixConnection(path)
    try:
        connection.request("GET", f"/images/{quote(reference, safe='/:@')}/json")
        answer = connection.getresponse()
        data = answer.read()
        if answer.status == 404:
            return None
        if answer.status != 200:
            raise _silent(path, f"it answers {answer.status}")
        return str(json.loads(data)["Id"])
    except (OSError, HTTPException, ValueError, KeyError, TypeError) as error:
        raise _silent(path, str(error) or type(error).__name__) from error
    finally:
        connection.close()


def _silent(path: str, why: str) -> Unavailable:
    return Unavailable(
        Cause.ENGINE_UNAVAILABLE,
        f"the Docker engine at {path} cannot be asked which images it has: {why}",
        "start the Docker engine (systemctl start docker, or set DOCKER_HOST) and run: countersign doctor",
    )
