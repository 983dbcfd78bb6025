"""Makes the containers that the sandbox uses, all with the same restrictions; no caller can leave one out.

Source: DESIGN section 7, "Flags".
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import docker
from docker.errors import APIError, ImageNotFound
from docker.types import LogConfig, Mount, Ulimit

from adapters.sandbox.archive import WORKER_ID
from adapters.sandbox.engine import explanation, remove_container, status_of
from domain.errors import Cause, Unavailable

SEALED = "/src"
WORK = "/work"
TEMPORARY = "/tmp"  # noqa: S108  # a path inside a container, on a tmpfs of its own

HOSTS = "/etc/hosts"

MIB = 1024 * 1024
_CPU_PERIOD = 100_000  # microseconds
_SHARED_MEMORY = 16 * MIB
_OPEN_FILES = 4096
_SPARE_INODES = 65_536
_NO_SUCH_SOURCE = "bind source path does not exist"


@dataclass(frozen=True)
class Limits:
    """What one container may use. Bytes; `disk` bounds each writable folder.

    `tree_bytes` and `tree_inodes` come on top: what is copied to /work fills memory, and neither what the worker hands
    in nor what is installed for it must decide whether it fits.
    """

    memory: int = 64 * MIB
    cpus: float = 1.0
    pids: int = 32
    disk: int = 4 * MIB
    tree_bytes: int = 0
    tree_inodes: int = 0


@dataclass(frozen=True)
class Container:
    """One container to be: `script` is run by the image's `sh` with `arguments` as its positional parameters.

    `volume` is mounted at /src, read-only unless `writable`. `image_volumes` are the folders that the image declares
    as volumes: without a tmpfs in their place each would be writable, unbounded disk of the engine. `waiting` keeps
    standard input open, so that `read` waits for ever. `beside` is a running container whose network, itself none, this
    one shares: its loopback is all that the two have in common.

    Every other container has a network of its own with nothing but a loopback. `bare`: the engine sets up nothing more.
    The program that it starts to do so takes half of the time that a container takes to start (measured on Docker
    20.10: 123 ms instead of 263), but writes /etc/hosts, which is empty otherwise; `hosts` is a file on the engine's
    host that takes its place.
    """

    name: str
    image: str
    script: str
    labels: Mapping[str, str]
    arguments: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = Limits()
    image_volumes: Sequence[str] = ()
    volume: str = ""
    writable: bool = False
    init: bool = True
    waiting: bool = False
    beside: str = ""
    bare: bool = False
    hosts: str = ""


class HostsGone(Exception):
    """There is no such file of hosts: whatever container had it is gone."""


def create(api: docker.APIClient, container: Container) -> str:
    """Create, not start; a leftover of the same name goes first, its output with it. Answers with the engine's id.

    Raises `Unavailable` (image_missing, engine_limits), `HostsGone` and docker's own errors.
    """
    try:
        return _create(api, container)
    except ImageNotFound as error:
        raise image_missing(container.image) from error
    except APIError as error:
        if container.hosts and _NO_SUCH_SOURCE in explanation(error):
            raise HostsGone from error
        if status_of(error) == 400:
            raise Unavailable(
                Cause.ENGINE_LIMITS,
                f"the Docker engine refuses these resources: {explanation(error)}",
                "change the order's resources, or run: countersign doctor",
            ) from error
        if status_of(error) != 409:
            raise
    remove_container(api, container.name)
    return _create(api, container)


def image_missing(image: str) -> Unavailable:
    """The image is not on the engine, though it was when it was prepared."""
    return Unavailable(
        Cause.IMAGE_MISSING, f"the Docker engine has no image {image}", "run the round again, which prepares it anew"
    )


def _create(api: docker.APIClient, container: Container) -> str:
    made = api.create_container(
        container.image,
        name=container.name,
        entrypoint=["sh", "-c", container.script, "sh"],
        command=list(container.arguments),
        environment=dict(container.environment),
        labels=dict(container.labels),
        user=f"{WORKER_ID}:{WORKER_ID}",
        hostname=None if container.beside else "sandbox",  # the engine refuses a name for what shares a network
        working_dir="/",
        stdin_open=container.waiting,
        healthcheck={"test": ["NONE"]},
        use_config_proxy=False,
        network_disabled=container.bare and not container.beside,
        host_config=_host_config(api, container),
    )
    return str(made["Id"])


def _host_config(api: docker.APIClient, container: Container) -> object:
    limits = container.limits
    memory = limits.memory + limits.tree_bytes
    largest = limits.disk + limits.tree_bytes
    mounts = []
    if container.volume:
        source = Mount(SEALED, container.volume, type="volume", read_only=not container.writable, no_copy=True)
        mounts.append(source)
    if container.hosts:
        mounts.append(Mount(HOSTS, container.hosts, type="bind", read_only=True))
    return api.create_host_config(
        network_mode=f"container:{container.beside}" if container.beside else "none",
        read_only=True,
        cap_drop=["ALL"],
        security_opt=["no-new-privileges:true"],
        init=container.init,
        mem_limit=memory,
        memswap_limit=memory,
        pids_limit=limits.pids,
        cpu_period=_CPU_PERIOD,
        cpu_quota=max(1000, int(limits.cpus * _CPU_PERIOD)),
        ipc_mode="private",
        shm_size=_SHARED_MEMORY,
        ulimits=[
            Ulimit(name="nofile", soft=_OPEN_FILES, hard=_OPEN_FILES),
            Ulimit(name="fsize", soft=largest, hard=largest),
            Ulimit(name="core", soft=0, hard=0),
        ],
        log_config=LogConfig(type="none"),
        tmpfs=_writable_folders(container),
        mounts=mounts,
    )


def writable_besides_work(image_volumes: Sequence[str]) -> list[str]:
    """The folders beside /work that a container of an image with these volumes may write to."""
    others = [path for path in map(posixpath.normpath, image_volumes) if path not in (WORK, SEALED)]
    return [TEMPORARY, "/dev/shm", *others]  # noqa: S108  # folders of a container


def _writable_folders(container: Container) -> dict[str, str]:
    limits = container.limits
    own = _tmpfs(limits.disk, _SPARE_INODES)
    folders = {posixpath.normpath(path): own for path in container.image_volumes}
    folders.pop(SEALED, None)
    folders[TEMPORARY] = own
    folders[WORK] = _tmpfs(limits.disk + limits.tree_bytes, _SPARE_INODES + limits.tree_inodes)
    return folders


def _tmpfs(size: int, inodes: int) -> str:
    return f"rw,exec,nosuid,nodev,size={size},nr_inodes={inodes},mode=0755,uid={WORKER_ID},gid={WORKER_ID}"
