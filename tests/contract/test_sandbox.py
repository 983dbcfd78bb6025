"""What every sandbox does, run on Docker and on the one without containers."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import docker
import pytest

from adapters.sandbox.sandbox import DockerSandbox
from domain.checks import Observation
from domain.errors import Cause, Unavailable
from domain.messages import SetupInput
from domain.order import Resources
from domain.ports import ProbeRequest, RunRequest, Sandbox, Served
from domain.tree import Entry, Manifest
from tests.fakes.evidence import MemoryStore
from tests.fakes.sandbox import KNOWN_IMAGES, LocalSandbox
from tests.ports import held
from tests.worker_commands import alive

IMAGES = Path(__file__).resolve().parents[2] / "sandbox_images"
STORE = MemoryStore()
RESOURCES = Resources(memory="128m", disk="16m", pids=64)
MIB = 1024 * 1024
LIMIT = 120.0
"""Seconds, for what ends by itself: a machine that is slow, or stands still for a while, must not stop it."""

LONG = 300
"""Seconds of what does not end by itself."""

SOON = 150.0
"""Seconds: as far from what ends at once as from `LONG`."""

SERVE = 'exec python3 -u -m http.server --bind 127.0.0.1 "$PORT"'
ASK = """exec python3 -c '
import os, time, urllib.request
while True:
    try:
        print(urllib.request.urlopen("http://127.0.0.1:%s/page.txt" % os.environ["PORT"]).read().decode(), end="")
        break
    except OSError:
        time.sleep(0.1)
'"""
KNOCK = """python3 -c '
import os, socket, time
while True:
    try:
        socket.create_connection(("127.0.0.1", int(os.environ["PORT"]))).close()
        break
    except OSError:
        time.sleep(0.1)
'"""
"""Ends once somebody listens."""
HEAR = """python3 -c '
import os, socket
socket.create_server(("127.0.0.1", int(os.environ["PORT"]))).accept()
'"""
"""Listens, and ends once somebody has knocked."""


@dataclass
class Bench:
    """A sandbox, an image that is ready in it, and a round of its own."""

    sandbox: Sandbox
    image: str
    round: str = field(default_factory=lambda: f"round/test/{uuid.uuid4().hex}/1")
    runs: int = 0

    def tree(
        self, files: Mapping[str, bytes], *, executable: bool = False, links: Mapping[str, str] | None = None
    ) -> str:
        entries = [
            Entry(path=path, executable=executable, size=len(data), digest=STORE.put(data))
            for path, data in files.items()
        ]
        entries += [Entry(path=path, kind="link", target=target) for path, target in (links or {}).items()]
        return STORE.put(Manifest.of(entries).encode())

    async def run(self, command: str, tree: str | None = None, *, limit: float = LIMIT, **other: Any) -> Observation:
        return await self.sandbox.run(self.request(command, tree, limit, **other))

    async def serve(
        self,
        command: str,
        probe: str,
        tree: str | None = None,
        *,
        limit: float = LIMIT,
        probe_env: dict[str, str] | None = None,
        probe_image: str = "",
        **other: Any,
    ) -> Served:
        """A port that is free on this host, and stays so for others, is `$PORT` for both."""
        with held() as holding:
            port = {"PORT": str(holding.getsockname()[1])}
            env = {**port, **other.pop("env", {})}
            asking = ProbeRequest(image=probe_image or self.image, command=probe, env={**port, **(probe_env or {})})
            return await self.sandbox.serve(self.request(command, tree, limit, env=env, **other), asking)

    def request(self, command: str, tree: str | None, limit: float, **other: Any) -> RunRequest:
        self.runs += 1
        fields = {
            "key": f"{self.round}/{self.runs}",
            "round": self.round,
            "tree": self.tree({}) if tree is None else tree,
            "image": self.image,
            "command": command,
            "timeout": limit,
            "resources": RESOURCES,
        }
        return RunRequest.model_validate({**fields, **other})


def lasting() -> str:
    """A command that nobody else has, and that lasts."""
    return f"sleep {LONG}.{uuid.uuid4().int}"


async def runs(*commands: str) -> None:
    """Wait until they all run, in a container or not."""
    deadline = time.monotonic() + LIMIT
    while not all(alive(command.removeprefix("sleep ")) for command in commands):
        assert time.monotonic() < deadline, "it does not run"
        await asyncio.sleep(0.05)


async def cancelled(task: asyncio.Task[Any]) -> None:
    """Cancel what would last, and see that it ends."""
    began = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - began < SOON


@pytest.fixture(scope="module")
def docker_sandbox() -> Iterator[DockerSandbox]:
    owner = f"test-{uuid.uuid4().hex}"
    sandbox = DockerSandbox(STORE, images_dir=IMAGES, base_image=None, owner=owner)
    yield sandbox
    sandbox.close()
    assert left_behind(f"countersign.owner={owner}") == []


@pytest.fixture(scope="module")
def local_sandbox() -> LocalSandbox:
    return LocalSandbox(STORE)


@pytest.fixture(params=["docker", "local"])
async def bench(request: pytest.FixtureRequest) -> AsyncIterator[Bench]:
    sandbox = request.getfixturevalue(f"{request.param}_sandbox")
    bench = Bench(sandbox, (await sandbox.prepare("python", print)).id)
    yield bench
    await sandbox.release(bench.round)
    if request.param == "docker":
        assert left_behind(f"countersign.round={bench.round}") == []


def left_behind(label: str) -> list[str]:
    """Names of the engine's containers and volumes with this label."""
    api = docker.APIClient()
    try:
        containers = api.containers(all=True, filters={"label": label})
        volumes = api.volumes(filters={"label": label})["Volumes"] or []
        return [container["Names"][0] for container in containers] + [volume["Name"] for volume in volumes]
    finally:
        api.close()


class TestExitCodes:
    @pytest.mark.parametrize("code", [0, 1, 7, 117, 118, 124, 137, 255])
    async def test_reports_the_exit_code(self, bench: Bench, code: int) -> None:
        began = time.monotonic()
        seen = await bench.run(f"exit {code}")
        took = time.monotonic() - began
        assert (seen.exit_code, seen.timed_out, seen.copy_failed, seen.oom_killed) == (code, False, False, False)
        assert seen.image_id == bench.image
        assert 0 <= seen.duration_ms <= took * 1000 + 1

    async def test_a_command_that_is_not_there_ends_with_127(self, bench: Bench) -> None:
        seen = await bench.run("no-such-command --at-all")
        assert seen.exit_code == 127
        assert "no-such-command" in seen.stderr

    async def test_a_cwd_that_is_not_there_is_an_ordinary_failure(self, bench: Bench) -> None:
        seen = await bench.run("true", cwd="nowhere")
        assert (seen.exit_code, seen.copy_failed) == (1, False)

    async def test_a_command_outlives_its_outputs(self, bench: Bench) -> None:
        assert (await bench.run("exec >&- 2>&-; sleep 0.5; exit 3")).exit_code == 3


class TestSignals:
    async def test_reports_death_by_a_signal(self, bench: Bench) -> None:
        seen = await bench.run("kill -9 $$")
        assert (seen.exit_code, seen.timed_out) == (137, False)

    @pytest.mark.parametrize(("name", "number"), [("TERM", 15), ("SEGV", 11), ("INT", 2)])
    async def test_reports_which_signal_ended_a_child(self, bench: Bench, name: str, number: int) -> None:
        seen = await bench.run(f"sh -c 'kill -{name} $$'; exit $?")
        assert (seen.exit_code, seen.timed_out) == (128 + number, False)

    async def test_a_command_may_catch_a_signal(self, bench: Bench) -> None:
        seen = await bench.run("trap 'echo caught; exit 5' TERM; kill -TERM $$; sleep 5")
        assert (seen.exit_code, seen.stdout) == (5, "caught\n")


class TestOutput:
    async def test_keeps_stdout_and_stderr_apart(self, bench: Bench) -> None:
        seen = await bench.run("echo out; echo err >&2; printf 'no newline'")
        assert (seen.stdout, seen.stderr) == ("out\nno newline", "err\n")
        assert not seen.truncated

    async def test_of_large_output_head_and_tail_are_kept(self, bench: Bench) -> None:
        seen = await bench.run("echo head; seq 1000000; echo tail; echo error >&2")
        assert seen.truncated
        assert not seen.flooded
        assert seen.stdout.startswith("head\n1\n")
        assert seen.stdout.endswith("\n1000000\ntail\n")
        assert "bytes left out" in seen.stdout
        assert seen.stderr == "error\n"
        assert len(seen.stdout) + len(seen.stderr) <= MIB

    async def test_output_up_to_a_mebibyte_is_kept_whole(self, bench: Bench) -> None:
        seen = await bench.run("seq 40000; seq 40000 >&2")
        assert not seen.truncated
        assert seen.stdout == seen.stderr == "".join(f"{i}\n" for i in range(1, 40001))

    async def test_a_flood_is_stopped(self, bench: Bench) -> None:
        seen = await bench.run("yes")
        assert seen.flooded
        assert not seen.timed_out
        assert seen.exit_code != 0
        assert len(seen.stdout) <= MIB

    async def test_output_that_is_no_text_becomes_text(self, bench: Bench) -> None:
        seen = await bench.run(r"printf 'a\377b\000c\303\244'")
        assert seen.stdout == "a\ufffdb\ufffdcä"

    async def test_what_looks_like_our_own_marks_is_the_command_s(self, bench: Bench) -> None:
        assert (await bench.run(r"printf '\006\006\006x'")).stdout == "\x06\x06\x06x"

    async def test_no_output_is_no_output(self, bench: Bench) -> None:
        seen = await bench.run("true")
        assert (seen.stdout, seen.stderr, seen.truncated, seen.flooded) == ("", "", False, False)


class TestTime:
    async def test_stops_at_the_limit(self, bench: Bench) -> None:
        began = time.monotonic()
        seen = await bench.run(f"echo begun; sleep {LONG}; echo done", limit=5)
        assert seen.timed_out
        assert seen.exit_code != 0
        assert seen.stdout == "begun\n"
        assert 0 <= seen.duration_ms <= (time.monotonic() - began) * 1000 + 1 < SOON * 1000

    async def test_stops_what_ignores_term(self, bench: Bench) -> None:
        seen = await bench.run("trap '' TERM; while :; do sleep 0.2; done", limit=1)
        assert seen.timed_out
        assert seen.exit_code != 0

    async def test_a_success_after_term_is_still_a_timeout(self, bench: Bench) -> None:
        assert (await bench.run("trap 'exit 0' TERM; while :; do sleep 0.1; done", limit=1)).timed_out

    async def test_a_process_left_behind_holds_nothing_up(self, bench: Bench) -> None:
        began = time.monotonic()
        seen = await bench.run(f"sleep {LONG} & echo started", limit=LONG)
        assert (seen.exit_code, seen.stdout) == (0, "started\n")
        assert time.monotonic() - began < SOON

    async def test_what_ends_before_the_limit_is_no_timeout(self, bench: Bench) -> None:
        began = time.monotonic()
        seen = await bench.run("sleep 1; exit 124")
        assert (seen.exit_code, seen.timed_out) == (124, False)
        assert 0 <= seen.duration_ms <= (time.monotonic() - began) * 1000 + 1


class TestFiles:
    async def test_the_tree_arrives_whole(self, bench: Bench) -> None:
        files = {"a.txt": b"text\n", "d/e/f.bin": bytes(range(256)), "empty": b""}
        tree = bench.tree(files, links={"link": "d/e/f.bin", "d/up": "../a.txt", "dangling": "none"})
        seen = await bench.run(
            "cat a.txt d/up; sha256sum < link; ls -A; readlink dangling; stat -c %a a.txt d; test -s empty", tree
        )
        digest = "40aff2e9d2d8922e47afd4648e6967497158785fbd1da870e7110266bf944880"
        assert seen.stdout == f"text\ntext\n{digest}  -\na.txt\nd\ndangling\nempty\nlink\nnone\n644\n755\n"
        assert seen.exit_code == 1

    async def test_executable_files_are(self, bench: Bench) -> None:
        tree = bench.tree({"run.sh": b"#!/bin/sh\necho ran\n"}, executable=True)
        assert (await bench.run("./run.sh", tree)).stdout == "ran\n"

    async def test_an_empty_tree_is_a_tree(self, bench: Bench) -> None:
        seen = await bench.run("ls -A; pwd")
        assert seen.exit_code == 0
        assert seen.stdout.splitlines() == [seen.stdout.strip()], "one line, the folder's"

    async def test_names_that_are_meant_to_harm_arrive_as_names(self, bench: Bench) -> None:
        names = ["-rf", "new\nline", "quote'\"", "$(id)", "üñí/☃", ("long" * 60), "/".join(["deep"] * 60)]
        tree = bench.tree({name: name.encode() for name in names})
        seen = await bench.run("find . -type f | wc -l; cat ./-rf ./new*line", tree)
        assert seen.stdout.split("\n", 1)[1] == "-rfnew\nline"
        assert seen.exit_code == 0

    async def test_a_tree_larger_than_the_disk_limit_arrives(self, bench: Bench) -> None:
        tree = bench.tree({f"f{i}": bytes([i]) * 4 * MIB for i in range(6)})
        seen = await bench.run("cat f* | wc -c", tree)
        assert (seen.stdout.strip(), seen.copy_failed) == (str(24 * MIB), False)

    async def test_home_is_there_and_not_in_the_tree(self, bench: Bench) -> None:
        seen = await bench.run('touch "$HOME/x" && ls -A')
        assert (seen.exit_code, seen.stdout) == (0, "")

    async def test_the_tree_may_be_changed_and_added_to(self, bench: Bench) -> None:
        tree = bench.tree({"d/file": b"old"})
        seen = await bench.run("echo new > d/file; mkdir e; mv d/file e; rmdir d; cat e/file; ls", tree)
        assert (seen.exit_code, seen.stdout) == (0, "new\ne\n")


class TestEnvironment:
    async def test_runs_in_cwd_with_env(self, bench: Bench) -> None:
        tree = bench.tree({"a/b/file": b"here"})
        seen = await bench.run(
            'cat file; echo " $NAME $EMPTY|$pair"', tree, cwd="a/b", env={"NAME": "x 'y' $z", "EMPTY": "", "pair": "p"}
        )
        assert seen.stdout == "here x 'y' $z |p\n"

    async def test_none_of_our_variables_reach_the_command(self, bench: Bench) -> None:
        seen = await bench.run("env | grep COUNTERSIGN")
        assert (seen.exit_code, seen.stdout) == (1, "")

    async def test_a_variable_of_one_run_is_not_in_the_next(self, bench: Bench) -> None:
        await bench.run("true", env={"SECRET": "x"})
        assert (await bench.run('echo "<$SECRET>"')).stdout == "<>\n"

    async def test_the_command_is_one_shell_script(self, bench: Bench) -> None:
        seen = await bench.run("for i in 1 2; do\n  echo \"$i 'quoted' \\\\\"\ndone # end\nexit 6")
        assert (seen.exit_code, seen.stdout) == (6, "1 'quoted' \\\n2 'quoted' \\\n")


class TestIsolation:
    async def test_what_one_run_writes_the_next_does_not_see(self, bench: Bench) -> None:
        tree = bench.tree({"file": b"original"})
        first = await bench.run("echo changed > file; touch new; cat file", tree)
        second = await bench.run("cat file; ls", tree)
        assert (first.stdout, second.stdout) == ("changed\n", "originalfile\n")

    async def test_runs_side_by_side_do_not_meet(self, bench: Bench) -> None:
        tree = bench.tree({"file": b"x"})
        seen = await asyncio.gather(
            *(bench.run(f"sleep 0.3; cat file; echo {i} | tee -a file", tree) for i in range(4))
        )
        assert [one.stdout for one in seen] == [f"x{i}\n" for i in range(4)]

    async def test_home_is_new_for_every_run(self, bench: Bench) -> None:
        await bench.run('touch "$HOME/left"')
        assert (await bench.run('ls -A "$HOME"')).stdout == ""

    async def test_two_trees_of_one_round_do_not_meet(self, bench: Bench) -> None:
        one, other = bench.tree({"file": b"one"}), bench.tree({"file": b"other"})
        seen = await asyncio.gather(bench.run("cat file", one), bench.run("cat file", other))
        assert [each.stdout for each in seen] == ["one", "other"]


class TestInput:
    async def test_input_is_empty(self, bench: Bench) -> None:
        assert (await bench.run("cat; echo end")).stdout == "end\n"

    @pytest.mark.parametrize("text", ["a line\n", "no newline", "\n", "üñí ☃\n", "%s \\n $HOME 'x' \"y\" `id`\n\n\n"])
    async def test_input_arrives_as_it_is(self, bench: Bench, text: str) -> None:
        seen = await bench.run("cat", stdin=text)
        assert (seen.exit_code, seen.stdout, seen.stderr) == (0, text, "")

    async def test_96_kib_of_input_arrive(self, bench: Bench) -> None:
        text = "0123456789abcde\n" * 6144
        assert (await bench.run("cat", stdin=text)).stdout == text

    async def test_input_ends(self, bench: Bench) -> None:
        assert (await bench.run("read -r a; read -r b || echo end; echo $a", stdin="x\n")).stdout == "end\nx\n"

    async def test_input_need_not_be_read(self, bench: Bench) -> None:
        assert (await bench.run("exit 4", stdin="x" * 90_000)).exit_code == 4

    async def test_input_is_in_no_variable(self, bench: Bench) -> None:
        assert (await bench.run("env", stdin="sentinel")).stdout.find("sentinel") == -1

    async def test_input_that_no_program_can_be_started_with_is_refused(self, bench: Bench) -> None:
        with pytest.raises(Unavailable) as caught:
            await bench.run("cat", stdin="x" * 140_000)
        assert caught.value.cause is Cause.ENGINE_LIMITS


class TestBuild:
    async def test_a_build_comes_first_and_is_not_heard(self, bench: Bench) -> None:
        seen = await bench.run("cat made; echo ran", build=("echo noise; echo noise >&2; echo built > made",))
        assert (seen.exit_code, seen.stdout, seen.stderr) == (0, "built\nran\n", "")
        assert not seen.build_failed

    async def test_builds_run_in_order_in_the_root(self, bench: Bench) -> None:
        tree = bench.tree({"sub/file": b""})
        seen = await bench.run("cat ../log", tree, cwd="sub", build=("ls > log", "cd sub", "ls >> log; echo 3 >> log"))
        assert seen.stdout == "log\nsub\nlog\nsub\n3\n"

    async def test_a_build_that_fails_is_the_end(self, bench: Bench) -> None:
        seen = await bench.run("echo ran", build=("true", "echo out; echo why >&2; exit 42", "echo third"))
        assert (seen.build_failed, seen.exit_code, seen.stdout) == (True, 42, "")
        assert seen.stderr.split() == ["out", "why"]
        assert (seen.copy_failed, seen.timed_out) == (False, False)

    async def test_a_command_that_fails_after_its_build_is_no_failed_build(self, bench: Bench) -> None:
        seen = await bench.run("echo ran; exit 42", build=("true",))
        assert (seen.build_failed, seen.exit_code, seen.stdout) == (False, 42, "ran\n")

    async def test_the_limit_bounds_build_and_command_together(self, bench: Bench) -> None:
        seen = await bench.run("sleep 29.8; echo done", build=("sleep 0.4",), limit=30)
        assert (seen.timed_out, seen.build_failed, seen.stdout) == (True, False, "")

    async def test_a_build_that_does_not_end_is_stopped_and_heard(self, bench: Bench) -> None:
        seen = await bench.run("echo ran", build=(f"echo building; sleep {LONG}",), limit=5)
        assert (seen.timed_out, seen.build_failed, seen.stdout) == (True, True, "")
        assert "building\n" in seen.stderr
        assert seen.exit_code != 0

    async def test_a_build_has_the_variables_and_no_input(self, bench: Bench) -> None:
        seen = await bench.run(
            "cat kept; cat", build=('cat > kept; echo "$NAME" $# >> kept',), env={"NAME": "a b"}, stdin="input"
        )
        assert seen.stdout == "a b 0\ninput"

    async def test_none_of_our_variables_reach_a_build(self, bench: Bench) -> None:
        seen = await bench.run("cat seen", build=("env | grep -ic countersign_ > seen; true",), env={"A": "b"})
        assert seen.stdout == "0\n"

    async def test_what_is_not_there_fails_the_build(self, bench: Bench) -> None:
        seen = await bench.run("true", build=("no-such-tool",))
        assert (seen.build_failed, seen.exit_code) == (True, 127)
        assert "no-such-tool" in seen.stderr

    async def test_a_build_may_make_where_the_command_runs(self, bench: Bench) -> None:
        assert (await bench.run("pwd", build=("mkdir dist",), cwd="dist")).stdout.endswith("/tree/dist\n")


class TestServe:
    async def test_a_probe_reaches_what_is_served(self, bench: Bench) -> None:
        tree = bench.tree({"page.txt": b"served content"})
        seen = await bench.serve(SERVE, ASK, tree)
        assert (seen.probe.exit_code, seen.probe.stdout) == (0, "served content"), seen
        assert not seen.ended
        assert "GET /page.txt" in seen.server.stderr
        assert (seen.probe.image_id, seen.server.image_id) == (bench.image, bench.image)

    async def test_the_probe_sees_nothing_of_the_tree(self, bench: Bench) -> None:
        seen = await bench.serve(f"sleep {LONG}", "ls -A; pwd; env; ls /src", bench.tree({"page.txt": b"x"}))
        assert "page.txt" not in seen.probe.stdout
        assert "COUNTERSIGN_" not in seen.probe.stdout

    async def test_the_probe_has_its_variables_and_the_server_its_own(self, bench: Bench) -> None:
        seen = await bench.serve(
            f"echo $WHO; {HEAR}; sleep {LONG}",
            f'{KNOCK}; echo "$WHO"',
            env={"WHO": "server"},
            probe_env={"WHO": "pro  be"},
        )
        assert (seen.probe.stdout, seen.server.stdout) == ("pro  be\n", "server\n")

    async def test_a_probe_that_fails_is_told_as_it_ended(self, bench: Bench) -> None:
        seen = await bench.serve(f"sleep {LONG}", "echo why >&2; exit 9")
        assert (seen.probe.exit_code, seen.probe.stderr, seen.ended) == (9, "why\n", False)

    async def test_a_server_that_ends_is_told(self, bench: Bench) -> None:
        began = time.monotonic()
        seen = await bench.serve("echo crashed >&2; exit 3", f"sleep {LONG}", limit=LONG)
        assert (seen.ended, seen.server.exit_code, seen.server.stderr) == (True, 3, "crashed\n")
        assert seen.probe.exit_code != 0
        assert time.monotonic() - began < SOON, "the probe had a little time and no more"

    async def test_a_probe_does_not_wait_for_a_server_that_has_ended(self, bench: Bench) -> None:
        began = time.monotonic()
        seen = await bench.serve(f"{HEAR}; exit 3", f"echo asking; {KNOCK}; sleep {LONG}", limit=LONG)
        assert (seen.ended, seen.server.exit_code, seen.probe.stdout) == (True, 3, "asking\n")
        assert (seen.probe.exit_code != 0, seen.probe.timed_out) == (True, False)
        assert time.monotonic() - began < SOON

    async def test_a_server_that_cannot_begin_is_told(self, bench: Bench) -> None:
        seen = await bench.serve("no-such-server", ASK)
        assert (seen.ended, seen.server.exit_code) == (True, 127)
        assert seen.probe.exit_code != 0

    async def test_the_limit_ends_both(self, bench: Bench) -> None:
        seen = await bench.serve(f"echo up; sleep {LONG}", f"echo asking; sleep {LONG}", limit=10)
        assert (seen.probe.timed_out, seen.ended) == (True, False)
        assert (seen.probe.stdout, seen.server.stdout) == ("asking\n", "up\n")

    async def test_a_server_that_floods_is_stopped(self, bench: Bench) -> None:
        seen = await bench.serve("yes", f"sleep {LONG}", limit=LONG)
        assert seen.server.flooded
        assert not seen.server.timed_out
        assert not seen.ended, "it was ended"

    async def test_a_server_has_its_build(self, bench: Bench) -> None:
        seen = await bench.serve(SERVE, ASK, build=("echo built > page.txt",))
        assert (seen.probe.stdout, seen.server.build_failed) == ("built\n", False)

    async def test_without_its_build_nothing_is_asked(self, bench: Bench) -> None:
        seen = await bench.serve(SERVE, ASK, build=("echo why; exit 8",))
        assert (seen.server.build_failed, seen.server.exit_code, seen.ended) == (True, 8, True)
        assert seen.server.stderr == "why\n"
        assert seen.probe.exit_code != 0

    async def test_a_server_s_daemons_go_with_it(self, bench: Bench) -> None:
        began = time.monotonic()
        seen = await bench.serve(f"sleep {LONG} & sleep {LONG} & wait", "true", limit=LONG)
        assert (seen.probe.exit_code, seen.ended) == (0, False)
        assert time.monotonic() - began < SOON

    async def test_serving_cancelled_leaves_nothing(self, bench: Bench) -> None:
        server, probe = lasting(), lasting()
        task = asyncio.create_task(bench.serve(server, probe, limit=LONG))
        await runs(server, probe)
        await cancelled(task)

    async def test_a_probe_without_an_image_is_no_verdict(self, bench: Bench) -> None:
        with pytest.raises(Unavailable) as caught:
            await bench.serve(f"sleep {LONG}", "true", probe_image="sha256:" + "0" * 64)
        assert caught.value.cause is Cause.IMAGE_MISSING


class TestSetup:
    """Of the sandbox without containers only: what Docker's installs has tests of its own."""

    async def test_its_commands_see_the_inputs_and_no_more(self, local_sandbox: LocalSandbox) -> None:
        image = await local_sandbox.prepare("python", print)
        base = Bench(local_sandbox, image.id).tree({"a/lock": b"pin", "other": b"x"})
        request = SetupInput(image=image, base=base, setup=("test -s a/lock", "test ! -e other"), inputs=("a/lock",))
        assert (await local_sandbox.setup(request, print)).id in KNOWN_IMAGES.values()

    @pytest.mark.parametrize(("command", "path"), [("exit 3", "lock"), ("true", "no-such-input")])
    async def test_what_cannot_be_set_up_is_named(self, local_sandbox: LocalSandbox, command: str, path: str) -> None:
        image = await local_sandbox.prepare("python", print)
        base = Bench(local_sandbox, image.id).tree({"lock": b"pin"})
        with pytest.raises(Unavailable) as caught:
            await local_sandbox.setup(SetupInput(image=image, base=base, setup=(command,), inputs=(path,)), print)
        assert caught.value.cause is Cause.SETUP_FAILED
        assert (command if path == "lock" else path) in caught.value.reason


class TestImages:
    async def test_an_image_that_is_not_there_cannot_be_prepared(self, bench: Bench) -> None:
        with pytest.raises(Unavailable) as caught:
            await bench.sandbox.prepare("localhost:1/no/such-image", print)
        assert caught.value.cause is Cause.IMAGE_MISSING
        assert "localhost:1/no/such-image" in caught.value.reason

    async def test_an_image_that_is_not_there_cannot_be_run(self, bench: Bench) -> None:
        bench.image = "sha256:" + "0" * 64
        with pytest.raises(Unavailable) as caught:
            await bench.run("true")
        assert caught.value.cause is Cause.IMAGE_MISSING


class TestCrash:
    async def test_a_command_that_kills_its_group_is_no_more_than_dead(self, bench: Bench) -> None:
        seen = await bench.run("setsid sh -c 'kill -9 0'; exit 5")
        assert (seen.exit_code, seen.timed_out) == (5, False)

    async def test_a_crash_of_one_leaves_the_other_alone(self, bench: Bench) -> None:
        crashed, fine = await asyncio.gather(bench.run("kill -SEGV $$"), bench.run("sleep 0.5; echo fine"))
        assert (crashed.exit_code, fine.stdout) == (139, "fine\n")

    async def test_the_same_key_runs_again_after_a_crash(self, bench: Bench) -> None:
        await bench.run("kill -9 $$", key="again")
        assert (await bench.run("echo again", key="again")).stdout == "again\n"


class TestEndings:
    async def test_cancelled_it_stops_and_leaves_nothing(self, bench: Bench) -> None:
        command = lasting()
        task = asyncio.create_task(bench.run(command, limit=LONG))
        await runs(command)
        await cancelled(task)

    async def test_releasing_twice_is_no_error(self, bench: Bench) -> None:
        await bench.run("true")
        await bench.sandbox.release(bench.round)
        await bench.sandbox.release(bench.round)
        await bench.sandbox.release("never/seen")
        assert (await bench.run("true")).exit_code == 0, "and a released round seals again"

    async def test_cancelled_in_its_build_it_stops(self, bench: Bench) -> None:
        build = lasting()
        task = asyncio.create_task(bench.run("true", build=(build,), limit=LONG))
        await runs(build)
        await cancelled(task)

    async def test_reaping_spares_what_is_not_due(self, bench: Bench) -> None:
        command = lasting()
        running = asyncio.create_task(bench.run(command, limit=LONG))
        await runs(command)
        await bench.sandbox.reap()
        await asyncio.sleep(0.2)
        assert not running.done()
        await runs(command)
        await cancelled(running)
