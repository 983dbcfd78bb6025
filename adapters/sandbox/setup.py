"""Installs on an image what a project needs, once, with network; it sees the base's inputs and nothing of the worker's.

Source: DESIGN section 7, "environment". What is installed is committed as an image, whose tag names all it follows
from but the secrets: those reach the container by its standard input alone, and no layer. The tag is the same on every
engine; a label says which image of its own engine it was made on.
"""

from __future__ import annotations

import os
import tarfile
import tempfile
import threading
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from typing import IO, Any
from urllib.parse import urlsplit

import docker
from docker.errors import ImageNotFound
from docker.types import LogConfig
from docker.utils import kwargs_from_env

from adapters.sandbox.archive import FIXED_TIME
from adapters.sandbox.check import Abandoned
from adapters.sandbox.confinement import MIB, image_missing
from adapters.sandbox.engine import (
    DEADLINE,
    ENGINE_ERRORS,
    FREE_SPACE,
    OWNER,
    Engine,
    inspect_image,
    remove_container,
    unavailable,
)
from adapters.sandbox.images import host_certificates
from adapters.sandbox.secrets import Secrets
from adapters.sandbox.setup_program import DEPS, PROTOCOL, READ_PROGRAM, TEMPORARY, program
from adapters.sandbox.setup_watch import Ended, Watch
from domain.base import canonical_json, sha256_hex
from domain.errors import Cause, Unavailable
from domain.messages import Image, SetupInput
from domain.ports import EvidenceStore, Progress
from domain.tree import Entry, Manifest

REPOSITORY = "countersign/setup"
MADE_ON = "countersign.made-on"
"""Label of what a set-up made: the id of the image below it, which its tag does not name."""

LIMIT_SECONDS = 25 * 60.0

_ENGINE_SECONDS = 600
"""How long one call may take: the engine answers to a commit only when the layer is written."""

_SLACK_SECONDS = 900.0
_MEMORY = 4096 * MIB
_TEMPORARY_BYTES = 2048 * MIB
_PROCESSES = 4096
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
_AGAIN = "correct environment in the order or what it installs from, then verify again"


class Setups:
    """The images that set-ups made, on one engine. `limit` in seconds bounds the commands of one set-up together."""

    def __init__(self, engine: Engine, store: EvidenceStore, owner: str, limit: float = LIMIT_SECONDS) -> None:
        self._engine = engine
        self._store = store
        self._owner = owner
        self._limit = limit
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def find_or_make(self, request: SetupInput, progress: Progress, cancelled: threading.Event) -> Image:
        """The image, made if it is absent or was made on another image than `request.image`, which this engine has.

        What is found needs neither network nor secrets.

        Raises `Unavailable` (setup_failed, image_missing, engine_unavailable, store_unavailable, disk_full), and
        `Abandoned` soon after `cancelled` is set. No container stays.
        """
        inputs = _inputs(Manifest.decode(self._store.get(request.base)), request.inputs)
        tag = tag_of(request, inputs)
        with self._turn(tag, cancelled):
            with self._engine.speaking("look for what the set-up made") as api:
                found = _made(api, tag, request.image.id)
            if found is None:
                secrets = _environment(request.secrets)
                with _patient(self._engine) as api:
                    found = self._make(api, tag, request, inputs, secrets, progress, cancelled)
            return Image(reference=tag, id=str(found["Id"]))

    @contextmanager
    def _turn(self, tag: str, cancelled: threading.Event) -> Iterator[None]:
        """One at a time for each tag: who comes second finds what the first made."""
        lock = self._locks[tag]
        while not lock.acquire(timeout=0.25):
            if cancelled.is_set():
                raise Abandoned
        try:
            yield
        finally:
            lock.release()

    def _make(
        self,
        api: docker.APIClient,
        tag: str,
        request: SetupInput,
        inputs: Sequence[Entry],
        secrets: dict[str, bytes],
        progress: Progress,
        cancelled: threading.Event,
    ) -> dict[str, Any]:
        original = inspect_image(api, request.image.id)
        if original is None:
            raise image_missing(request.image.id)
        hidden = Secrets(secrets | _proxy_passwords())
        end_mark = uuid.uuid4().hex
        identity = self._create(api, request.image.id, end_mark)
        try:
            with tempfile.TemporaryFile() as archive:
                _write_archive(archive, inputs, self._store.get)
                api.put_archive(identity, "/", archive)
            text = program(request.setup, inputs, end_mark, exports=secrets | _proxies(), bundle=host_certificates())
            watch = Watch(api, identity, request.setup, hidden, progress)
            ended = watch.to_the_end(text, self._limit, cancelled)
            if ended.wrong:
                raise _failed_command(ended)
            progress("setup: keeping what was installed")
            _refuse_a_secret(api, identity, hidden)
            if cancelled.is_set():
                raise Abandoned
            return _keep(api, identity, tag, original)
        finally:
            remove_container(api, identity)

    def _create(self, api: docker.APIClient, image: str, end_mark: str) -> str:
        """A container as root, with network and a root that can be written: nothing of the worker's is in it."""
        lasts = self._limit + _SLACK_SECONDS
        try:
            made = api.create_container(
                image,
                name=f"countersign-setup-{uuid.uuid4().hex[:24]}",
                entrypoint=["sh", "-c", READ_PROGRAM, "sh", end_mark],
                labels={OWNER: self._owner, DEADLINE: str(int(time.time() + lasts))},
                user="0:0",
                stdin_open=True,
                use_config_proxy=False,
                host_config=api.create_host_config(
                    network_mode="bridge",
                    security_opt=["no-new-privileges:true"],
                    init=True,
                    mem_limit=_MEMORY,
                    memswap_limit=_MEMORY,
                    pids_limit=_PROCESSES,
                    ipc_mode="private",
                    log_config=LogConfig(type="none"),
                    tmpfs={TEMPORARY: f"rw,exec,nosuid,nodev,size={_TEMPORARY_BYTES},mode=0755"},
                ),
            )
        except ImageNotFound as error:
            raise image_missing(image) from error
        return str(made["Id"])


def tag_of(request: SetupInput, inputs: Iterable[Entry]) -> str:
    """The name that says all that the image follows from; the secrets are how it was fetched, not what."""
    follows = [
        PROTOCOL,
        request.image.reference,
        list(request.setup),
        [[entry.path, *entry.identity] for entry in inputs],
    ]
    return f"{REPOSITORY}:{sha256_hex(canonical_json(follows))[:24]}"


def _inputs(base: Manifest, wanted: Iterable[str]) -> list[Entry]:
    """Every file and link at or below one of the paths, by path. Raises `Unavailable` for a path that has none."""
    found: dict[str, Entry] = {}
    for path in wanted:
        name = path.rstrip("/")
        below = [e for e in base.entries if name in (".", e.path) or e.path.startswith(f"{name}/")]
        if not below:
            raise Unavailable(
                Cause.SETUP_FAILED,
                f"environment.inputs names {path}, which the base does not have",
                "name files or folders of the base, or add it to the base, then verify again",
            )
        found |= {entry.path: entry for entry in below}
    return [found[path] for path in sorted(found)]


def _environment(names: Iterable[str]) -> dict[str, bytes]:
    """The values that this process has. Raises `Unavailable` for one that it has not."""
    missing = [name for name in names if name not in os.environ]
    if missing:
        raise Unavailable(
            Cause.SETUP_FAILED,
            f"environment.secrets names {', '.join(missing)}, which the worker's environment does not have",
            "set it where countersign verify is run, whose embedded host hands its environment to the worker, or, "
            "with a server of your own, where that worker is started; then verify again",
        )
    return {name: os.fsencode(os.environ[name]) for name in names}


def _proxies() -> dict[str, bytes]:
    names = [*_PROXIES, *(name.lower() for name in _PROXIES)]
    return {name: os.fsencode(os.environ[name]) for name in names if name in os.environ}


def _proxy_passwords() -> dict[str, bytes]:
    """What must not be seen of the proxies' addresses."""
    parts = {name: urlsplit(os.fsdecode(value)) for name, value in _proxies().items()}
    return {name: os.fsencode(part.password) for name, part in parts.items() if part.password}


@contextmanager
def _patient(engine: Engine) -> Iterator[docker.APIClient]:
    """The engine over a connection that waits longer than a check's may."""
    where = kwargs_from_env() if engine.docker_host is None else {"base_url": engine.docker_host}
    try:
        api = docker.APIClient(**where, timeout=_ENGINE_SECONDS)
        try:
            yield api
        finally:
            api.close()
    except ENGINE_ERRORS as error:
        raise unavailable("run the set-up", error) from error


def _write_archive(file: IO[bytes], entries: Sequence[Entry], read: Callable[[str], bytes]) -> None:
    """The inputs below /deps, owned by root: npm runs a package's scripts as the owner of its folder."""
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for directory in sorted(Manifest(entries=tuple(entries)).directories):
            tar.addfile(_info(directory, tarfile.DIRTYPE, 0o755))
        for entry in entries:
            if any(part in ("", ".", "..") for part in entry.path.split("/")):
                raise ValueError(f"{entry.path!r} is no path inside a tree")
            if entry.kind == "link":
                info = _info(entry.path, tarfile.SYMTYPE, 0o777)
                info.linkname = entry.target
                tar.addfile(info)
            else:
                data = read(entry.digest)
                info = _info(entry.path, tarfile.REGTYPE, 0o755 if entry.executable else 0o644)
                info.size = len(data)
                tar.addfile(info, BytesIO(data))
    file.seek(0)


def _info(path: str, kind: bytes, mode: int) -> tarfile.TarInfo:
    info = tarfile.TarInfo(f"{DEPS}/{path}".strip("/"))
    info.type, info.mode, info.mtime = kind, mode, FIXED_TIME
    return info


def _failed_command(ended: Ended) -> Unavailable:
    reason = f"environment.setup: {ended.wrong}: {' / '.join(ended.lines) or 'it said nothing'}"
    if any("no space left on device" in line.lower() for line in ended.lines):
        room = f"HOME and TMPDIR of a set-up hold {_TEMPORARY_BYTES // MIB} MiB, large files belong in {DEPS}"
        return Unavailable(Cause.DISK_FULL, reason, f"{FREE_SPACE}; {room}")
    return Unavailable(Cause.SETUP_FAILED, reason, _AGAIN)


def _refuse_a_secret(api: docker.APIClient, container: str, secrets: Secrets) -> None:
    """What was deleted again is no part of the layer; everything else that was added or changed is looked at."""
    if not secrets:
        return
    changed = {change["Path"] for change in api.diff(container) or ()}
    found = secrets.find(lambda: api.export(container, chunk_size=MIB), changed)
    if found is not None:
        name, path = found
        raise Unavailable(
            Cause.SETUP_FAILED,
            f"the secret {name} would be in the image: {path}",
            f"have environment.setup hand it over by the environment ({name}) or a file below $HOME, which is not "
            "kept, or remove that file at its end; a short value can also be there by chance",
        )


def _keep(api: docker.APIClient, container: str, tag: str, original: dict[str, Any]) -> dict[str, Any]:
    """Commit to the tag with the original's configuration, unless another process has been faster."""
    found = _made(api, tag, original["Id"])
    if found is None:
        repository, _, name = tag.partition(":")
        api.commit(container, repository, name, message="countersign setup", conf=_configuration(original))
        found = _made(api, tag, original["Id"])
    if found is None:
        raise Unavailable(
            Cause.ENGINE_UNAVAILABLE, f"the image {tag} was made and is gone again", "verify again, which makes it anew"
        )
    return found


def _made(api: docker.APIClient, tag: str, original: str) -> dict[str, Any] | None:
    """The image of that tag, if it was made on `original`: what a reference leads to may change, and so must this."""
    found = inspect_image(api, tag)
    if found is None or (found["Config"].get("Labels") or {}).get(MADE_ON) != original:
        return None
    return found


def _configuration(original: dict[str, Any]) -> dict[str, Any]:
    """The original's, in words that the engine does not complete with the container's.

    It takes the container's for what is absent (`User`, null for `Entrypoint`), and each of its labels that is not
    named: were the owner's kept, containers that a person runs on this image would be the reaper's.
    """
    config = dict(original["Config"])
    return config | {
        "User": config.get("User") or "0:0",
        "Entrypoint": config.get("Entrypoint") or [],
        "Labels": {**dict.fromkeys((OWNER, DEADLINE), ""), **(config.get("Labels") or {}), MADE_ON: original["Id"]},
    }
