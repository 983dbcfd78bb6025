"""What every sandbox does, run on Docker and on the one without containers."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import docker
import pytest

from adapters.sandbox import DockerSandbox
from domain.checks import Observation
from domain.errors import Cause, Unavailable
from domain.order import Resources
from domain.ports import RunRequest, Sandbox
from domain.tree import Entry, Manifest
from tests.fakes.evidence import MemoryStore
from tests.fakes.sandbox import LocalSandbox

IMAGES = Path(__file__).resolve().parents[2] / "sandbox_images"
STORE = MemoryStore()
RESOURCES = Resources(memory="128m", disk="16m", pids=64)
MIB = 1024 * 1024


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

    async def run(
        self,
        command: str,
        tree: str | None = None,
        *,
        limit: float = 20.0,
        cwd: str = ".",
        env: dict[str, str] | None = None,
    ) -> Observation:
        request = RunRequest(
            key=f"{self.round}/{self.runs}",
            round=self.round,
            tree=self.tree({}) if tree is None else tree,
            image=self.image,
            command=command,
            cwd=cwd,
            env=env or {},
            timeout=limit,
            resources=RESOURCES,
        )
        self.runs += 1
        return await self.sandbox.run(request)


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


@pytest.mark.parametrize("code", [0, 1, 7, 117, 118, 124, 137, 255])
async def test_reports_the_exit_code(bench: Bench, code: int) -> None:
    seen = await bench.run(f"exit {code}")
    assert (seen.exit_code, seen.timed_out, seen.copy_failed, seen.oom_killed) == (code, False, False, False)
    assert seen.image_id == bench.image
    assert 0 <= seen.duration_ms < 10_000


async def test_keeps_stdout_and_stderr_apart(bench: Bench) -> None:
    seen = await bench.run("echo out; echo err >&2; printf 'no newline'")
    assert (seen.stdout, seen.stderr) == ("out\nno newline", "err\n")
    assert not seen.truncated


async def test_reports_death_by_a_signal(bench: Bench) -> None:
    seen = await bench.run("kill -9 $$")
    assert (seen.exit_code, seen.timed_out) == (137, False)


async def test_a_command_that_is_not_there_ends_with_127(bench: Bench) -> None:
    seen = await bench.run("no-such-command --at-all")
    assert seen.exit_code == 127
    assert "no-such-command" in seen.stderr


async def test_stops_at_the_limit(bench: Bench) -> None:
    began = time.monotonic()
    seen = await bench.run("echo begun; sleep 60; echo done", limit=1)
    assert seen.timed_out
    assert seen.exit_code != 0
    assert seen.stdout == "begun\n"
    assert 1000 <= seen.duration_ms < 4000
    assert time.monotonic() - began < 20


async def test_stops_what_ignores_term(bench: Bench) -> None:
    seen = await bench.run("trap '' TERM; while :; do sleep 0.2; done", limit=1)
    assert seen.timed_out
    assert seen.exit_code != 0


async def test_a_success_after_term_is_still_a_timeout(bench: Bench) -> None:
    assert (await bench.run("trap 'exit 0' TERM; while :; do sleep 0.1; done", limit=1)).timed_out


async def test_runs_in_cwd_with_env(bench: Bench) -> None:
    tree = bench.tree({"a/b/file": b"here"})
    seen = await bench.run(
        'cat file; echo " $NAME $EMPTY|$pair"', tree, cwd="a/b", env={"NAME": "x 'y' $z", "EMPTY": "", "pair": "p"}
    )
    assert seen.stdout == "here x 'y' $z |p\n"


async def test_a_cwd_that_is_not_there_is_an_ordinary_failure(bench: Bench) -> None:
    seen = await bench.run("true", cwd="nowhere")
    assert (seen.exit_code, seen.copy_failed) == (1, False)


async def test_none_of_our_variables_reach_the_command(bench: Bench) -> None:
    seen = await bench.run("env | grep COUNTERSIGN")
    assert (seen.exit_code, seen.stdout) == (1, "")


async def test_the_tree_arrives_whole(bench: Bench) -> None:
    files = {"a.txt": b"text\n", "d/e/f.bin": bytes(range(256)), "empty": b""}
    tree = bench.tree(files, links={"link": "d/e/f.bin", "d/up": "../a.txt", "dangling": "none"})
    seen = await bench.run(
        "cat a.txt d/up; sha256sum < link; ls -A; readlink dangling; stat -c %a a.txt d; test -s empty", tree
    )
    digest = "40aff2e9d2d8922e47afd4648e6967497158785fbd1da870e7110266bf944880"
    assert seen.stdout == f"text\ntext\n{digest}  -\na.txt\nd\ndangling\nempty\nlink\nnone\n644\n755\n"
    assert seen.exit_code == 1


async def test_executable_files_are(bench: Bench) -> None:
    tree = bench.tree({"run.sh": b"#!/bin/sh\necho ran\n"}, executable=True)
    assert (await bench.run("./run.sh", tree)).stdout == "ran\n"


async def test_an_empty_tree_is_a_tree(bench: Bench) -> None:
    seen = await bench.run("ls -A; pwd")
    assert seen.exit_code == 0
    assert seen.stdout.splitlines() == [seen.stdout.strip()], "one line, the folder's"


async def test_names_that_are_meant_to_harm_arrive_as_names(bench: Bench) -> None:
    names = ["-rf", "new\nline", "quote'\"", "$(id)", "üñí/☃", ("long" * 60), "/".join(["deep"] * 60)]
    tree = bench.tree({name: name.encode() for name in names})
    seen = await bench.run("find . -type f | wc -l; cat ./-rf ./new*line", tree)
    assert seen.stdout.split("\n", 1)[1] == "-rfnew\nline"
    assert seen.exit_code == 0


async def test_a_tree_larger_than_the_disk_limit_arrives(bench: Bench) -> None:
    tree = bench.tree({f"f{i}": bytes([i]) * 4 * MIB for i in range(6)})
    seen = await bench.run("cat f* | wc -c", tree)
    assert (seen.stdout.strip(), seen.copy_failed) == (str(24 * MIB), False)


async def test_home_is_there_and_not_in_the_tree(bench: Bench) -> None:
    seen = await bench.run('touch "$HOME/x" && ls -A')
    assert (seen.exit_code, seen.stdout) == (0, "")


async def test_what_one_run_writes_the_next_does_not_see(bench: Bench) -> None:
    tree = bench.tree({"file": b"original"})
    first = await bench.run("echo changed > file; touch new; cat file", tree)
    second = await bench.run("cat file; ls", tree)
    assert (first.stdout, second.stdout) == ("changed\n", "originalfile\n")


async def test_a_process_left_behind_holds_nothing_up(bench: Bench) -> None:
    began = time.monotonic()
    seen = await bench.run("sleep 60 & echo started")
    assert (seen.exit_code, seen.stdout) == (0, "started\n")
    assert time.monotonic() - began < 20


async def test_a_command_outlives_its_outputs(bench: Bench) -> None:
    assert (await bench.run("exec >&- 2>&-; sleep 0.5; exit 3")).exit_code == 3


async def test_of_large_output_head_and_tail_are_kept(bench: Bench) -> None:
    seen = await bench.run("echo head; seq 1000000; echo tail; echo error >&2")
    assert seen.truncated
    assert not seen.flooded
    assert seen.stdout.startswith("head\n1\n")
    assert seen.stdout.endswith("\n1000000\ntail\n")
    assert "bytes left out" in seen.stdout
    assert seen.stderr == "error\n"
    assert len(seen.stdout) + len(seen.stderr) <= MIB


async def test_output_up_to_a_mebibyte_is_kept_whole(bench: Bench) -> None:
    seen = await bench.run("seq 40000; seq 40000 >&2")
    assert not seen.truncated
    assert seen.stdout == seen.stderr == "".join(f"{i}\n" for i in range(1, 40001))


async def test_a_flood_is_stopped(bench: Bench) -> None:
    seen = await bench.run("yes", limit=60)
    assert seen.flooded
    assert not seen.timed_out
    assert seen.exit_code != 0
    assert len(seen.stdout) <= MIB


async def test_output_that_is_no_text_becomes_text(bench: Bench) -> None:
    seen = await bench.run(r"printf 'a\377b\000c\303\244'")
    assert seen.stdout == "a\ufffdb\ufffdcä"


async def test_input_is_empty(bench: Bench) -> None:
    assert (await bench.run("cat; echo end")).stdout == "end\n"


async def test_an_image_that_is_not_there_cannot_be_prepared(bench: Bench) -> None:
    with pytest.raises(Unavailable) as caught:
        await bench.sandbox.prepare("localhost:1/no/such-image", print)
    assert caught.value.cause is Cause.IMAGE_MISSING
    assert "localhost:1/no/such-image" in caught.value.reason


async def test_an_image_that_is_not_there_cannot_be_run(bench: Bench) -> None:
    bench.image = "sha256:" + "0" * 64
    with pytest.raises(Unavailable) as caught:
        await bench.run("true")
    assert caught.value.cause is Cause.IMAGE_MISSING


async def test_cancelled_it_stops_and_leaves_nothing(bench: Bench) -> None:
    task = asyncio.create_task(bench.run("sleep 60", limit=60))
    await asyncio.sleep(1.5)
    began = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - began < 10


async def test_releasing_twice_is_no_error(bench: Bench) -> None:
    await bench.run("true")
    await bench.sandbox.release(bench.round)
    await bench.sandbox.release(bench.round)
    await bench.sandbox.release("never/seen")
    assert (await bench.run("true")).exit_code == 0, "and a released round seals again"


async def test_runs_side_by_side_do_not_meet(bench: Bench) -> None:
    tree = bench.tree({"file": b"x"})
    seen = await asyncio.gather(*(bench.run(f"sleep 0.3; cat file; echo {i} | tee -a file", tree) for i in range(4)))
    assert [one.stdout for one in seen] == [f"x{i}\n" for i in range(4)]
