"""What the engine does to a round: its holder killed, its volume taken, the daemon restarted, limits that do not bind.

A lost seal is an empty tree. So each round has checks that only a whole tree passes, and checks that only an empty one
does: whatever happens, none of the first may fail and none of the second may pass.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import socketserver
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

import pytest
from docker import APIClient
from docker.errors import APIError, DockerException
from requests.exceptions import RequestException

from tests.integration.conftest import LIMIT_SECONDS, Project, wait_for
from tests.integration.engines import HELD, TINY, PrivateEngine, let_go, private

WHOLE = "sleep 0.7; test -f a.txt && grep -q after a.txt"
EMPTY = "sleep 0.7; ! test -e a.txt"
CHECKS: list[dict[str, Any]] = [
    {"name": f"{name}-{number}", "command": command, "required": command == WHOLE}
    for number in range(3)
    for name, command in (("whole", WHOLE), ("empty", EMPTY))
]
ROUNDS = 5
"""Of how many one is met while a check of it runs, where a machine that stands still lets the others pass by."""

GONE_SECONDS = 300.0
ROUND = {"mode": "sequence", "checks": CHECKS}
HELD_FIRST = [{"name": "whole-held", "command": f"{HELD}; {WHOLE}", "required": True}, *CHECKS]
"""A round that does not pass by before its engine is restarted."""

Fault = Callable[[APIClient, dict[str, Any]], None]


def holders(engine: APIClient, project: Project) -> list[dict[str, Any]]:
    """The running holders of this project; none where the engine is away."""
    try:
        found = engine.containers(filters={"name": "countersign-seal-", "label": "countersign.owner"})
    except (DockerException, RequestException):
        return []
    state = project.environment["XDG_STATE_HOME"]
    return [c for c in found if c["Labels"]["countersign.owner"].startswith(state)]


def checks_run(engine: APIClient, project: Project) -> bool:
    found = engine.containers(filters={"name": "countersign-check-", "label": "countersign.owner"})
    return any(c["Labels"]["countersign.owner"].startswith(project.environment["XDG_STATE_HOME"]) for c in found)


def left(engine: APIClient, project: Project, volumes: set[str]) -> list[str]:
    """What is still on the engine: by label, and of the seals that were seen by name, should it have lost its label."""
    state = project.environment["XDG_STATE_HOME"]
    things = [(c["Names"][0], c["Labels"]) for c in engine.containers(all=True)]
    things += [(v["Name"], v["Labels"] or {}) for v in engine.volumes()["Volumes"] or []]
    return [n for n, labels in things if labels.get("countersign.owner", "").startswith(state) or n in volumes]


def kill_holder(engine: APIClient, holder: dict[str, Any]) -> None:
    with suppress(APIError):  # it may be going already
        engine.kill(holder["Id"])
        engine.wait(holder["Id"])


def take_all(engine: APIClient, holder: dict[str, Any]) -> None:
    """The holder, then its volume: that one refuses as long as a check has it mounted."""
    with suppress(APIError):
        engine.remove_container(holder["Id"], force=True)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            engine.remove_volume(holder["Labels"]["countersign.volume"], force=True)
        except APIError as error:
            if error.status_code != 409:
                return
            time.sleep(0.02)
        else:
            return


def ended(verify: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
    out, err = verify.communicate(timeout=LIMIT_SECONDS)
    return subprocess.CompletedProcess(verify.args, verify.returncode, out, err)


def judge(verify: subprocess.CompletedProcess[str], checks: list[dict[str, Any]] = CHECKS) -> None:
    """The round either has every outcome right or could not tell."""
    assert verify.returncode in (0, 3), verify.stdout + verify.stderr
    report = json.loads(verify.stdout)
    outcomes = {check["name"]: check["outcome"] for check in report["checks"]}
    for name, outcome in outcomes.items():
        assert outcome != ("failed" if name.startswith("whole") else "passed"), outcomes
    if verify.returncode == 0:
        assert outcomes == {c["name"]: "passed" if c["required"] else "failed" for c in checks}


@pytest.mark.parametrize(
    ("fault", "times"),
    [
        pytest.param(kill_holder, 1, marks=pytest.mark.slow),
        pytest.param(take_all, 1, marks=pytest.mark.slow),
        pytest.param(take_all, 4, marks=pytest.mark.slow),
    ],
)
def test_a_round_whose_seal_is_lost_is_judged_on_the_whole_tree_or_not_at_all(
    project: Project, engine: APIClient, fault: Fault, times: int
) -> None:
    order = project.order(id="wo-seal", verification=ROUND)
    volumes: set[str] = set()
    for _ in range(ROUNDS):
        verify = project.start("verify", order, "--json")
        met = 0
        while met < times and comes_to_run(engine, project, verify):
            fault_them(engine, project, fault, volumes)
            met += 1
        judge(ended(verify))
        if met == times:
            break
    assert met == times, "each round was over before anybody looked"
    assert volumes
    wait_for(lambda: left(engine, project, volumes) == [], GONE_SECONDS)


def comes_to_run(engine: APIClient, project: Project, verify: subprocess.Popen[str]) -> bool:
    """Whether the round is met while a check runs, once it does or has ended."""
    wait_for(lambda: verify.poll() is not None or bool(holders(engine, project) and checks_run(engine, project)))
    return verify.poll() is None


def fault_them(engine: APIClient, project: Project, fault: Fault, volumes: set[str]) -> None:
    for holder in holders(engine, project):
        volumes.add(holder["Labels"]["countersign.volume"])
        fault(engine, holder)


@pytest.fixture
def private_engine() -> Iterator[PrivateEngine]:
    """One that may be restarted."""
    with private() as made:
        yield made


def test_a_round_whose_engine_is_restarted_is_judged_on_the_whole_tree_or_not_at_all(
    project: Project, private_engine: PrivateEngine
) -> None:
    project.environment["DOCKER_HOST"] = private_engine.address
    held = {"mode": "sequence", "checks": HELD_FIRST}
    order = project.order(id="wo-restart", verification=held, environment={"image": TINY})
    verify = project.start("verify", order, "--json")
    with private_engine.api() as api:
        assert comes_to_run(api, project, verify), ended(verify)
        volumes = {holder["Labels"]["countersign.volume"] for holder in holders(api, project)}
    private_engine.stop()
    time.sleep(1)
    assert verify.poll() is None, "its check was held"
    private_engine.start()
    with private_engine.api() as api:
        wait_for(lambda: goes_on_to_its_end(api, project, verify), LIMIT_SECONDS)
        judge(ended(verify), HELD_FIRST)
        wait_for(lambda: left(api, project, volumes) == [], GONE_SECONDS)


def goes_on_to_its_end(api: APIClient, project: Project, verify: subprocess.Popen[str]) -> bool:
    """Let whichever try of the check is held now go on, and see whether the round is over."""
    let_go(api, project)
    return verify.poll() is not None


class _Door(socketserver.StreamRequestHandler):
    """One connection to the engine for one request: so that none goes past unread on a connection kept alive."""

    engine: ClassVar[str]
    mode: ClassVar[str]
    before_a_check: ClassVar[Callable[[], None]]

    def handle(self) -> None:
        head = self._head()
        if not head:
            return
        if re.match(rb"POST \S*/containers/create\?\S*name=countersign-check-", head):
            type(self).before_a_check()
        length = int((re.search(rb"(?i)^content-length: *(\d+)", head, re.MULTILINE) or [b"", b"0"])[1])
        if self.mode == "strip" and re.match(rb"POST \S*/containers/create", head):
            head, body = self._with_length(head, self._without_limits(self.rfile.read(length)))
            head += body
        with socket.socket(socket.AF_UNIX) as engine:
            engine.connect(self.engine)
            engine.sendall(head)
            if self.mode == "info" and re.match(rb"GET \S*/info[ ?]", head):
                self._say_it_has_no_limits(engine)
            else:
                self._pass_on(engine)

    def _head(self) -> bytes:
        """The request's head. One that takes the connection over (an attach) keeps it, all others close it."""
        lines = []
        for line in self.rfile:
            lines.append(line)
            if line == b"\r\n":
                break
        head = b"".join(lines)
        if not head or re.search(rb"(?i)^upgrade:", head, re.MULTILINE):
            return head
        kept = [line for line in lines[1:-1] if not line.lower().startswith(b"connection:")]
        return b"".join([lines[0], *kept, b"Connection: close\r\n\r\n"])

    @staticmethod
    def _with_length(head: bytes, body: bytes) -> tuple[bytes, bytes]:
        return re.sub(rb"(?im)^content-length: *\d+", f"Content-Length: {len(body)}".encode(), head), body

    @staticmethod
    def _without_limits(body: bytes) -> bytes:
        """Without that of processes alone: a probe that no memory limit held would take all that this machine has."""
        asked = json.loads(body)
        asked["HostConfig"].pop("PidsLimit", None)
        return json.dumps(asked).encode()

    def _say_it_has_no_limits(self, engine: socket.socket) -> None:
        answer = b"".join(iter(partial(engine.recv, 65536), b""))
        start = answer.index(b"{")
        info = json.loads(answer[start : answer.rindex(b"}") + 1]) | {"MemoryLimit": False, "PidsLimit": False}
        body = json.dumps(info).encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        self.wfile.write(f"{head}Connection: close\r\n\r\n".encode() + body)

    def _pass_on(self, engine: socket.socket) -> None:
        """Raw bytes both ways, until the engine has said all."""
        towards = threading.Thread(target=self._feed, args=(engine,), daemon=True)
        towards.start()
        with suppress(OSError):  # the client may leave first
            for data in iter(partial(engine.recv, 65536), b""):
                self.wfile.write(data)
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)
        towards.join(5)

    def _feed(self, engine: socket.socket) -> None:
        with suppress(OSError):
            for data in iter(partial(self.rfile.read1, 65536), b""):
                engine.sendall(data)
            engine.shutdown(socket.SHUT_WR)


@contextmanager
def door(mode: str, before_a_check: Callable[[], None] = lambda: None) -> Iterator[str]:
    """A socket in front of the engine's own, as in DOCKER_HOST. `before_a_check` is called when one is to be made."""
    upstream = urlsplit(os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock"))
    if upstream.scheme != "unix":
        pytest.skip("the engine does not answer on a unix socket")
    handler = type(
        "Door", (_Door,), {"engine": upstream.path, "mode": mode, "before_a_check": staticmethod(before_a_check)}
    )
    folder = Path(tempfile.mkdtemp(prefix="cs-", dir="/tmp"))

    class Server(socketserver.ThreadingUnixStreamServer):
        daemon_threads = True
        request_queue_size = 64

    with Server(str(folder / "docker.sock"), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"unix://{folder}/docker.sock"
        finally:
            server.shutdown()
            shutil.rmtree(folder)


@pytest.mark.slow
def test_a_round_through_the_door_is_like_any_other(project: Project) -> None:
    """Without this the two tests below could refuse for a reason of the door's own."""
    with door("none") as address:
        project.environment["DOCKER_HOST"] = address
        order = project.order(verification={"checks": [{"name": "new", "command": "grep after a.txt"}]})
        result = project.run("verify", order, "--json")
        assert result.returncode == 0, result.stdout + result.stderr
        assert json.loads(result.stdout)["checks"][0]["output"] == "after"
        assert project.run("doctor").returncode == 0
        assert project.run("down").returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("fault", [kill_holder, take_all])
@pytest.mark.parametrize("times", [1, 5])
def test_a_seal_that_is_lost_when_a_check_is_about_to_mount_it_is_noticed_by_the_check(
    project: Project, engine: APIClient, fault: Fault, times: int
) -> None:
    """Its holder was found alive a moment ago: what is mounted then is an empty volume, and no error."""
    volumes: list[str] = []

    def lose() -> None:
        for holder in holders(engine, project) if len(volumes) < times else ():
            volumes.append(holder["Labels"]["countersign.volume"])
            fault(engine, holder)

    with door("none", lose) as address:
        project.environment["DOCKER_HOST"] = address
        judge(project.run("verify", project.order(id="wo-race", verification=ROUND), "--json"))
        assert project.run("down").returncode == 0
    assert len(volumes) == times
    assert left(engine, project, set(volumes)) == []


@pytest.mark.parametrize("mode", ["info", pytest.param("strip", marks=pytest.mark.slow)])
def test_the_doctor_names_limits_that_do_not_bind(project: Project, mode: str) -> None:
    with door(mode) as address:
        doctor = project.run("doctor", "--json", DOCKER_HOST=address)
        assert doctor.returncode == 3, doctor.stdout
        fixes = [finding["fix"] for finding in json.loads(doctor.stdout) if not finding["ok"]]
        assert any("cgroup" in fix for fix in fixes), fixes


@pytest.mark.parametrize("mode", [pytest.param("info", marks=pytest.mark.slow), "strip"])
@pytest.mark.slow
def test_an_engine_whose_limits_do_not_bind_gives_no_verdict(project: Project, mode: str) -> None:
    with door(mode) as address:
        project.environment["DOCKER_HOST"] = address
        order = project.order(id="wo-limits", verification={"checks": [{"name": "any", "command": "true"}]})
        result = project.run("verify", order)
        assert result.returncode == 3, result.stdout + result.stderr
        assert "cgroup" in result.stdout + result.stderr
        completed = [row for row in project.rows("wo-limits") if row["action"] == "check_completed"]
        assert {row["payload"]["outcome"] for row in completed} <= {"could_not_run"}
        assert project.run("down").returncode == 0
