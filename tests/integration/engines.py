"""A Docker engine of a test's own beside this machine's, and an image that needs no registry."""

from __future__ import annotations

import io
import os
import re
import shutil
import signal
import socket
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from docker import APIClient
from docker.errors import APIError, DockerException
from requests.exceptions import RequestException

from tests.integration.conftest import Project, wait_for

TINY = "countersign-test-tiny:1"
PATIENCE_SECONDS = 120.0
TOOLS = ("sh", "cp", "mkdir", "timeout", "sleep", "cat", "grep")


class PrivateEngine:
    """A Docker engine of this test's own, with an own containerd, that may be ended and started again.

    It has a network namespace of its own: a daemon that is told to have no bridge removes `docker0` where it finds it,
    and that would be the one of this machine's engine.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.address = f"unix://{folder}/docker.sock"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        where = [f"--data-root={self.folder}/data", f"--exec-root={self.folder}/run", f"--pidfile={self.folder}/pid"]
        alone = ["--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-forward=false", "--ip-masq=false"]
        command = ["unshare", "--net", "dockerd", "-H", self.address, *where, *alone, "--shutdown-timeout=2"]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_for(self._answers)

    def stop(self) -> None:
        """SIGTERM, to that process alone, until it has ended. One that was killed first takes back what it ran."""
        if self._process is not None:
            if self._process.poll() is not None:
                self.start()
            self._process.send_signal(signal.SIGTERM)
            self._process.wait(PATIENCE_SECONDS)

    def kill(self) -> None:
        """SIGKILL; what it ran goes on without it, until it is started again."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(PATIENCE_SECONDS)

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self.folder / "log").read_text()[-2000:]
        with socket.socket(socket.AF_UNIX) as door:  # docker's client leaves one open that nobody answers
            if door.connect_ex(self.address.removeprefix("unix://")) != 0:
                return False
        with suppress(DockerException, RequestException), self.api() as api:
            return bool(api.ping())
        return False

    @contextmanager
    def api(self) -> Iterator[APIClient]:
        client = APIClient(base_url=self.address)
        try:
            yield client
        finally:
            client.close()


HELD = "until test -e /tmp/go; do sleep 0.1; done"
"""What a check does until it is let go."""


def checks_of(api: APIClient, project: Project) -> list[dict[str, Any]]:
    """The containers in which checks of this project run."""
    found = api.containers(filters={"name": "countersign-check-", "label": "countersign.owner"})
    return [c for c in found if c["Labels"]["countersign.owner"].startswith(project.environment["XDG_STATE_HOME"])]


def inside(api: APIClient, container: dict[str, Any], command: str) -> bool:
    """Run a command of the shell in a container; whether it ended well. A container may be gone, or be none yet."""
    with suppress(APIError):
        made = api.exec_create(container["Id"], ["sh", "-c", command])
        api.exec_start(made["Id"])
        return bool(api.exec_inspect(made["Id"])["ExitCode"] == 0)
    return False


def let_go(api: APIClient, project: Project) -> bool:
    """Let every check of the project that is held go on; whether there was one."""
    gone_on = [inside(api, container, ": > /tmp/go") for container in checks_of(api, project)]
    return any(gone_on)


def tiny_image() -> bytes:
    """A root file system of this machine's own `sh` and what checks need beside it, with the libraries of each."""
    programs = {tool: shutil.which(tool) for tool in TOOLS}
    files = {f"bin/{tool}": path for tool, path in programs.items() if path is not None}
    for path in list(files.values()):
        linked = subprocess.run(["ldd", path], capture_output=True, text=True, check=False).stdout
        files |= {name.lstrip("/"): name for name in re.findall(r"(/\S+) \(0x", linked)}
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", dereference=True) as tar:
        for name, path in files.items():
            tar.add(Path(path).resolve(), arcname=name)
    return packed.getvalue()


def import_tiny(api: APIClient) -> str:
    """Make the image known as `TINY`; its id, which is another each time."""
    repository, _, tag = TINY.partition(":")
    api.import_image_from_data(tiny_image(), repository=repository, tag=tag)
    return str(api.inspect_image(TINY)["Id"])  # type: ignore[no-untyped-call]  # docker's stubs lack it


@contextmanager
def private() -> Iterator[PrivateEngine]:
    """It has `TINY`, and is removed with all it made; its folder is a short one, since paths of sockets have to be."""
    if os.geteuid() != 0 or not all(shutil.which(tool) for tool in ("dockerd", "ldd", "unshare")):
        pytest.skip("a second Docker engine needs root, and dockerd, ldd and unshare on this machine")
    bridge = _bridge()
    folder = Path(tempfile.mkdtemp(prefix="cs-", dir="/tmp"))
    made = PrivateEngine(folder)
    try:
        made.start()
        with made.api() as api:
            import_tiny(api)
        yield made
    finally:
        made.stop()
        _unmount(folder)
        shutil.rmtree(folder)
    assert _bridge() == bridge, "it touched this machine's own engine"


def _bridge() -> str:
    """Which bridge this machine's engine has: a new one has another number."""
    number = Path("/sys/class/net/docker0/ifindex")
    return number.read_text() if number.exists() else ""


def _unmount(folder: Path) -> None:
    """What an engine that was killed, or had no time to end, left mounted below its folder."""
    mounted = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
    for path in sorted((path for path in mounted if path.startswith(f"{folder}/")), reverse=True):
        subprocess.run(["umount", "--lazy", path], check=True)
