"""What only containers can show: that they confine, that a seal cannot be talked away, that nothing stays behind."""

from __future__ import annotations

import asyncio
import gc
import io
import itertools
import shutil
import tarfile
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
import pytest

from adapters.sandbox import DockerSandbox, archive, engine, images, seal
from domain.checks import Observation, Outcome, classify
from domain.errors import Cause, Unavailable
from domain.order import Resources
from domain.ports import ProbeRequest, RunRequest, Served
from domain.tree import Entry, Manifest
from tests.fakes.evidence import MemoryStore
from tests.fakes.lying_engine import LyingEngine

IMAGES = Path(__file__).resolve().parents[2] / "sandbox_images"
MIB = 1024 * 1024
SMALL = Resources(memory="64m", disk="16m", pids=32)


class Bench:
    """One owner's sandbox on the engine, its store, and the engine itself to look behind it."""

    def __init__(self, images_dir: Path = IMAGES, base_image: str | None = None) -> None:
        self.owner = f"test-{uuid.uuid4().hex}"
        self.round = f"round/{self.owner}/1"
        self.store = MemoryStore()
        self.sandbox = self.another(images_dir, base_image)
        self.api = docker.APIClient()
        self.image = ""
        self._keys = itertools.count()

    def another(
        self, images_dir: Path = IMAGES, base_image: str | None = None, docker_host: str | None = None
    ) -> DockerSandbox:
        """As a second process of the same owner would have it."""
        return DockerSandbox(
            self.store, images_dir=images_dir, base_image=base_image, owner=self.owner, docker_host=docker_host
        )

    def tree(self, files: Mapping[str, bytes], links: Mapping[str, str] | None = None) -> str:
        entries = [Entry(path=path, size=len(data), digest=self.store.put(data)) for path, data in files.items()]
        entries += [Entry(path=path, kind="link", target=target) for path, target in (links or {}).items()]
        return self.store.put(Manifest.of(entries).encode())

    def request(self, command: str, tree: str | None = None, **other: Any) -> RunRequest:
        fields = {
            "key": f"{self.round}/{next(self._keys)}",
            "round": self.round,
            "tree": self.tree({"file": b"content"}) if tree is None else tree,
            "image": self.image,
            "command": command,
            "timeout": 20.0,
            "resources": SMALL,
        }
        return RunRequest.model_validate({**fields, **other})

    async def run(self, command: str, tree: str | None = None, **other: Any) -> Observation:
        return await self.sandbox.run(self.request(command, tree, **other))

    async def serve(self, command: str, probe: str, **other: Any) -> Served:
        return await self.sandbox.serve(self.request(command, **other), ProbeRequest(image=self.image, command=probe))

    def containers(self, label: str = "") -> list[Any]:
        found: list[Any] = self.api.containers(all=True, filters={"label": label or f"countersign.owner={self.owner}"})
        return found

    def volumes(self) -> list[str]:
        found = self.api.volumes(filters={"label": f"countersign.owner={self.owner}"})["Volumes"] or []
        return [volume["Name"] for volume in found]

    async def running(self, command: str, **other: Any) -> tuple[asyncio.Task[Observation], str]:
        """The task of a run, and its container once that is up."""
        request = self.request(command, **other)
        task = asyncio.create_task(self.sandbox.run(request))
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            for container in self.containers(f"countersign.run={request.key}"):
                if container["State"] == "running":
                    return task, container["Id"]
            await asyncio.sleep(0.05)
        raise AssertionError("the container did not come up")

    def close(self) -> None:
        self.sandbox.close()
        self.api.close()


@pytest.fixture(scope="module")
async def python_image() -> str:
    bench = Bench()
    image = await bench.sandbox.prepare("python", print)
    bench.close()
    return image.id


@pytest.fixture
def bare() -> Iterator[Bench]:
    """A sandbox without an image, after which nothing may be left."""
    bench = Bench()
    yield bench
    left = (bench.containers(), bench.volumes())
    bench.close()
    assert left == ([], [])


@pytest.fixture
async def bench(bare: Bench, python_image: str) -> Any:
    bare.image = python_image
    yield bare
    await bare.sandbox.release(bare.round)


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    return tmp_path / "images"


def new_folder(folders: Path, *lines: str) -> str:
    """A new image folder on the base that is here in any case; its name."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    (folders / name).mkdir(parents=True)
    text = "\n".join((f"ARG BASE={images.LOCAL_BASE}", "FROM ${BASE}", *lines))
    (folders / name / "Dockerfile").write_text(text)
    return name


@pytest.fixture
def own(python_image: str, folders: Path) -> Iterator[Bench]:
    """A sandbox over folders of the test's own, whose images go afterwards."""
    bench = Bench(folders)
    yield bench
    made = {f"countersign/{folder.name}" for folder in folders.glob("*/")} | {"countersign/test-empty"}
    for image in bench.api.images():
        for tag in image["RepoTags"] or ():
            if tag.rpartition(":")[0] in made:
                bench.api.remove_image(tag, force=True)
    left = (bench.containers(), bench.volumes())
    bench.close()
    assert left == ([], [])


def engine_id(bench: Bench, reference: str) -> str:
    found = engine.inspect_image(bench.api, reference)
    assert found is not None
    return str(found["Id"])


class TestConfinement:
    async def test_privileges(self, bench: Bench) -> None:
        seen = await bench.run(
            "id -u; id -g; grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status; ulimit -c; ulimit -n"
        )
        assert seen.stdout.split() == [
            *("1000", "1000", "CapEff:", "0" * 16, "CapBnd:", "0" * 16, "NoNewPrivs:", "1", "Seccomp:", "2"),
            *("0", "4096"),
        ]

    async def test_there_is_no_network(self, bench: Bench) -> None:
        seen = await bench.run("tail -n +3 /proc/net/dev | cut -d: -f1; cat /proc/net/route | wc -l")
        assert seen.stdout.split() == ["lo", "1"]

    async def test_only_three_folders_are_writable_and_each_is_bounded(self, bench: Bench) -> None:
        seen = await bench.run(
            "find / -xdev -writable -type d 2>/dev/null; "
            "grep -vE '^(proc|sysfs|cgroup|devpts|mqueue|overlay|/dev/vd)' /proc/mounts | grep ' rw' | cut -d' ' -f2"
        )
        assert set(seen.stdout.split()) <= {"/work", "/tmp", "/dev", "/dev/shm"} | {
            line for line in seen.stdout.split() if line.startswith(("/proc", "/sys"))
        }
        seen = await bench.run("for place in /etc /src /src/tree /dev /var/tmp; do touch $place/x && echo $place; done")
        assert seen.stdout == ""

    async def test_a_memory_bomb_in_a_child_is_seen_even_when_the_command_succeeds(self, bench: Bench) -> None:
        seen = await bench.run("python3 -c 'x = bytearray(1 << 30)' || true")
        assert (seen.exit_code, seen.oom_killed) == (0, True)

    async def test_the_number_of_processes_is_bounded(self, bench: Bench) -> None:
        seen = await bench.run("i=0; while [ $i -lt 100 ]; do sleep 5 & i=$((i + 1)); done")
        assert seen.exit_code != 0
        assert "fork" in seen.stderr

    @pytest.mark.parametrize("folder", [".", "/tmp", "/dev/shm"])
    async def test_a_disk_filler_is_stopped(self, bench: Bench, folder: str) -> None:
        seen = await bench.run(f"head -c 1G /dev/zero > {folder}/fill; stat -c %s {folder}/fill")
        assert 8 * MIB < int(seen.stdout) < 20 * MIB

    async def test_many_empty_files_are_stopped(self, bench: Bench) -> None:
        code = "import itertools; [open(f'{i}', 'w').close() for i in itertools.count()]"
        seen = await bench.run(f'python3 -c "{code}"', resources=Resources(memory="512m"), timeout=60)
        assert "No space left on device" in seen.stderr

    async def test_the_order_s_variables_do_not_choose_our_tools(self, bench: Bench) -> None:
        tree = bench.tree({"cp": b"", "timeout": b"#!/bin/sh\nexit 0\n", "sh": b"#!/bin/sh\nexit 0\n"})
        seen = await bench.run("exit 7", tree, env={"LD_PRELOAD": "/work/tree/cp", "ENV": "/work/tree/sh"})
        assert seen.exit_code == 7

    async def test_a_command_that_no_program_can_be_started_with_is_refused(self, bench: Bench) -> None:
        with pytest.raises(Unavailable) as caught:
            await bench.run("true " + "x" * 200_000)
        assert caught.value.cause is Cause.ENGINE_LIMITS
        assert (await bench.run("true " + "x" * 131_000)).exit_code == 0

    async def test_resources_that_the_engine_refuses_are_named(self, bench: Bench) -> None:
        with pytest.raises(Unavailable) as caught:
            await bench.run("true", resources=Resources.model_construct(memory="1m"))
        assert caught.value.cause is Cause.ENGINE_LIMITS
        assert "memory" in caught.value.reason


@dataclass(frozen=True)
class Hostile:
    """What a check does to get out of its container, and how it has to end."""

    name: str
    command: str = "true"
    code: str = "exit_code"  # that of `classify`; any of several, with a bar between them, where chance decides
    exit_code: int | None = None
    build: tuple[str, ...] = ()
    timeout: float = 30.0


HOSTILE = (
    Hostile("memory bomb", "python3 -c 'x = bytearray(1 << 30)'", "out_of_memory", 137),
    Hostile("fork bomb", "bomb() { bomb | bomb & }; bomb; sleep 60", "exit_code|verification_timeout", timeout=3),
    Hostile("disk filler", "cat /dev/zero > fill", exit_code=1),
    Hostile("kill all", "kill -9 -1", exit_code=137),
    Hostile("kill all, then a daemon", "setsid sleep 300 & kill -9 -1", exit_code=137),
    Hostile("stop all", "kill -STOP -1; sleep 300", "verification_timeout", timeout=1),
    Hostile("5 GB of text", "yes | head -c 5G", "output_flood"),
    Hostile("5 GB of zeros", "head -c 5G /dev/zero", "output_flood"),
    Hostile("5 GB of errors", "head -c 5G /dev/zero >&2", "output_flood"),
    Hostile("TERM ignored", "trap '' TERM; while :; do sleep 0.1; done", "verification_timeout", timeout=1),
    Hostile("daemon", "setsid sh -c 'trap \"\" TERM HUP; sleep 300' & exit 0", "ok", 0),
    Hostile("daemon that holds the output", "(setsid sleep 300 &) & exit 9", exit_code=9),
    Hostile("build that kills all", build=("kill -9 -1",), code="build_failed"),
    Hostile("build that stops all", build=("kill -STOP -1; sleep 300",), code="verification_timeout", timeout=1),
    Hostile("build with 5 GB of text", build=("yes | head -c 5G; exit 1",), code="build_failed"),
    Hostile(
        "build that forges the mark",
        build=(r"printf '\006' > /proc/$PPID/fd/1; exit 3",),
        code="exit_code",
        exit_code=3,
    ),
    Hostile(
        "build that leaves a link for its output", build=("ln -sf /dev/full /work/build", "echo x"), code="output_flood"
    ),
)


class TestHostile:
    @pytest.mark.parametrize("hostile", HOSTILE, ids=lambda hostile: hostile.name)
    async def test_it_fails_alone_and_leaves_nothing(self, bench: Bench, hostile: Hostile) -> None:
        normal = "for i in 1 2 3 4 5; do sleep 0.2; cat file; done; python3 -c 'print(len(bytearray(1 << 24)))'"
        seen, other = await asyncio.gather(
            bench.run(hostile.command, build=hostile.build, timeout=hostile.timeout), bench.run(normal, timeout=60)
        )
        assert (other.exit_code, other.stdout) == (0, "content" * 5 + f"{1 << 24}\n"), other
        outcome, code, _ = classify(seen, hostile.timeout)
        assert code in hostile.code.split("|"), seen
        assert (outcome is Outcome.PASSED) == (hostile.code == "ok")
        assert hostile.exit_code in (None, seen.exit_code)
        assert len(bench.containers()) == len(bench.volumes()) == 1, "the round's seal and no more"

    async def test_a_hostile_server_does_not_touch_its_probe(self, bench: Bench) -> None:
        for command in ("kill -9 -1", "python3 -c 'x = bytearray(1 << 30)'", "kill -STOP -1; sleep 300"):
            seen = await bench.serve(f"sleep 4; {command}", "sleep 6; echo asked", timeout=30)
            assert (seen.probe.exit_code, seen.probe.stdout) == (0, "asked\n"), (command, seen)
            assert seen.server.exit_code == 137
            assert len(bench.containers()) == len(bench.volumes()) == 1


class TestServing:
    async def test_the_probe_is_confined_as_a_check_is(self, bench: Bench) -> None:
        seen = await bench.serve(
            "sleep 60",
            "id -u; grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status; ulimit -c;"
            "tail -n +3 /proc/net/dev | cut -d: -f1; ls /src /deps; touch /x /src /etc/x; touch here /tmp/x && pwd;"
            "for one in /proc/[0-9]*; do tr '\\0' ' ' < $one/cmdline; done | grep -c 'sleep 6[0]'",
        )
        assert seen.probe.stdout.split() == [
            *("1000", "CapEff:", "0" * 16, "CapBnd:", "0" * 16, "NoNewPrivs:", "1", "Seccomp:", "2", "0", "lo"),
            *("/work", "0"),
        ]

    async def test_the_probe_s_memory_and_processes_are_bounded(self, bench: Bench) -> None:
        seen = await bench.serve("sleep 60", "python3 -c 'x = bytearray(1 << 30)'")
        assert seen.probe.oom_killed
        seen = await bench.serve("sleep 60", "i=0; while [ $i -lt 100 ]; do sleep 5 & i=$((i + 1)); done")
        assert "fork" in seen.probe.stderr

    async def test_both_are_labelled_for_the_reaper(self, bench: Bench) -> None:
        task = asyncio.create_task(bench.serve("sleep 60", "sleep 60"))
        running: list[Any] = []
        while len(running) < 3 and not task.done():
            await asyncio.sleep(0.1)
            running = bench.containers(f"countersign.round={bench.round}")
        now = time.time()
        assert all(now < int(one["Labels"]["countersign.deadline"]) < now + 3700 for one in running)
        assert all(name.startswith("/countersign-") for one in running for name in one["Names"])
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(bench.containers()) == 1, "the seal's"

    async def test_a_server_s_emptied_seal_is_made_again(self, bench: Bench) -> None:
        await bench.run("true")
        TestSeal().tamper(bench, bench.volumes()[0], "rm -rf /src/tree /src/seal")
        seen = await bench.serve("cat file; sleep 60", "sleep 0.5")
        assert (seen.server.stdout, seen.probe.exit_code) == ("content", 0)

    async def test_a_server_killed_from_outside_is_no_verdict(self, bench: Bench) -> None:
        request = bench.request("sleep 60")
        task = asyncio.create_task(bench.sandbox.serve(request, ProbeRequest(image=bench.image, command="sleep 60")))
        name = engine.name_of("check", bench.owner, request.key)
        probe = engine.name_of("check", bench.owner, request.key, "probe")
        for _ in range(200):
            if probe in str([one["Names"] for one in bench.containers() if one["State"] == "running"]):
                break
            await asyncio.sleep(0.1)
        bench.api.kill(name)
        with pytest.raises(Unavailable) as caught:
            await task
        assert "from outside" in caught.value.reason


class TestDeps:
    """What an image has in /deps is copied over the tree."""

    @pytest.fixture
    async def installed(self, own: Bench, folders: Path) -> AsyncIterator[Bench]:
        lines = "RUN mkdir -p /deps/lib/one && echo of the image > /deps/lib/one/x && ln -s one/x /deps/lib/link"
        big = "RUN head -c 12M /dev/urandom > /deps/big && ln /deps/big /deps/again && chmod 755 /deps/lib/one/x"
        own.image = (await own.sandbox.prepare(new_folder(folders, lines, big), print)).id
        yield own
        await own.sandbox.release(own.round)

    async def test_it_arrives_whatever_its_size(self, installed: Bench) -> None:
        tree = installed.tree({"mine": b"mine", "lib/one/y": b"y", "lib/one/x": b"of the tree"})
        seen = await installed.run("cat mine lib/one/y lib/link; test -x lib/one/x; cat big again | wc -c", tree)
        assert (seen.exit_code, seen.stdout) == (0, f"mineyof the image\n{24 * MIB}\n"), seen

    async def test_it_is_there_for_build_and_server(self, installed: Bench) -> None:
        assert (await installed.run("cat got", build=("cp lib/one/x got",))).stdout == "of the image\n"
        assert (await installed.serve("cat lib/link; sleep 9", "sleep 0.5")).server.stdout == "of the image\n"

    @pytest.mark.parametrize(
        ("files", "links"),
        [
            ({"lib": b"a file"}, {}),
            ({"lib/one": b"a file"}, {}),
            ({"big/x": b"in a folder"}, {}),
            ({}, {"lib": "nowhere"}),
            ({}, {"lib/one/x": "dangling"}),
        ],
    )
    async def test_a_tree_in_its_way_failed(
        self, installed: Bench, files: dict[str, bytes], links: dict[str, str]
    ) -> None:
        seen = await installed.run("echo ran", installed.tree(files, links), build=("true",))
        assert (seen.exit_code, seen.copy_failed, seen.build_failed, seen.stdout) == (1, False, False, "")
        assert "/deps could not be copied over the tree" in seen.stderr
        assert classify(seen, 20)[0] is Outcome.FAILED

    async def test_a_tree_that_sends_it_to_our_output_failed(self, installed: Bench) -> None:
        for target in ("/dev/stdout", "/proc/self/fd/1", "/proc/1/fd/1", "/proc/7/fd/1", "/dev/full"):
            seen = await installed.run("exit 1", installed.tree({}, {"lib/one/x": target}))
            assert (seen.exit_code, seen.copy_failed, seen.timed_out) == (1, False, False), (target, seen)


class TestGate:
    """An engine whose limits do not bind runs nothing."""

    @pytest.fixture
    def behind(self, bench: Bench, tmp_path: Path) -> Iterator[Callable[..., tuple[LyingEngine, DockerSandbox]]]:
        with ExitStack() as stack:

            def behind(*dropped: str, info: dict[str, object] | None = None) -> tuple[LyingEngine, DockerSandbox]:
                path = tmp_path / f"{uuid.uuid4().hex[:8]}.sock"
                lying = stack.enter_context(LyingEngine(path, dropped, info))
                return lying, stack.enter_context(closing(bench.another(docker_host=lying.host)))

            yield behind

    @pytest.mark.parametrize(
        ("dropped", "named"),
        [
            (("Memory", "MemorySwap"), "memory limit does not bind"),
            (("PidsLimit",), "process limit does not bind"),
            (("NetworkMode",), "`none` network does not bind"),
        ],
    )
    async def test_an_engine_that_forgets_a_limit_is_refused(
        self, bench: Bench, behind: Any, dropped: tuple[str, ...], named: str
    ) -> None:
        _, sandbox = behind(*dropped)
        for _ in range(2):
            with pytest.raises(Unavailable) as caught:
                await sandbox.prepare("python", print)
            assert caught.value.cause is Cause.ENGINE_LIMITS
            assert f"the Docker engine's {named}" in caught.value.reason
            assert caught.value.next_step
        assert bench.store.memos == {}, "a refusal is not remembered"

    @pytest.mark.parametrize("flag", ["MemoryLimit", "PidsLimit", "CpuCfsQuota"])
    async def test_an_engine_that_says_so_itself_is_refused(self, bench: Bench, behind: Any, flag: str) -> None:
        lying, sandbox = behind(info={flag: False})
        with pytest.raises(Unavailable) as caught:
            await sandbox.prepare("python", print)
        assert caught.value.cause is Cause.ENGINE_LIMITS
        assert f"{flag}: false" in caught.value.reason
        assert "cgroup" in caught.value.next_step
        assert lying.created == 0, "it was enough to ask"

    async def test_an_honest_one_is_proven_once(self, bench: Bench, behind: Any) -> None:
        honest, sandbox = behind()
        image = await sandbox.prepare("python", print)
        first = honest.created
        assert len(bench.store.memos) == 1
        assert (await sandbox.run(bench.request("cat file"))).stdout == "content"
        with closing(bench.another(docker_host=honest.host)) as second:
            before = honest.created
            assert await second.prepare("python", print) == image
            assert honest.created - before == 1 < first, "a look at the image and no proofs"

    async def test_what_one_engine_proved_says_nothing_of_another(self, bench: Bench, behind: Any) -> None:
        await bench.sandbox.prepare("python", print)
        assert len(bench.store.memos) == 1
        _, other = behind("Memory", "MemorySwap")
        with pytest.raises(Unavailable, match="memory limit"):
            await other.prepare("python", print)
        _, changed = behind("PidsLimit", info={"KernelVersion": "another"})
        with pytest.raises(Unavailable, match="process limit"):
            await changed.prepare("python", print)

    async def test_a_damaged_memory_is_proven_anew(self, bench: Bench) -> None:
        await bench.sandbox.prepare("python", print)
        (key,) = bench.store.memos
        bench.store.memos[key] = b"something else"
        with closing(bench.another()) as second:
            await second.prepare("python", print)
        assert bench.store.memos[key] == b"held"

    async def test_doctor_names_each_with_its_fix(self, behind: Any) -> None:
        _, sandbox = behind("Memory", "MemorySwap", "PidsLimit", "NetworkMode")
        findings = await sandbox.probe()
        assert [(one.name, one.ok, bool(one.fix)) for one in findings] == [
            ("docker", True, False),
            ("memory limit", False, True),
            ("process limit", False, True),
            ("no network", False, True),
        ]


class TestSeal:
    async def test_one_round_seals_once(self, bench: Bench) -> None:
        seen = await asyncio.gather(*(bench.run("cat file") for _ in range(5)))
        assert {one.stdout for one in seen} == {"content"}
        assert len(bench.volumes()) == len(bench.containers()) == 1

    async def test_two_processes_that_seal_at_once_end_with_one_seal(self, bench: Bench) -> None:
        others = [bench.another() for _ in range(3)]
        seen = await asyncio.gather(*(other.run(bench.request("cat file")) for other in others))
        for other in others:
            other.close()
        assert {one.stdout for one in seen} == {"content"}
        assert len(bench.volumes()) == len(bench.containers()) == 1

    async def test_two_rounds_do_not_share(self, bench: Bench) -> None:
        other = f"{bench.round}/other"
        mine, theirs = await asyncio.gather(bench.run("cat file"), bench.run("cat file", round=other))
        assert mine.stdout == theirs.stdout == "content"
        assert len(bench.volumes()) == 2
        await bench.sandbox.release(other)
        assert len(bench.volumes()) == 1

    async def test_an_emptied_volume_is_sealed_again(self, bench: Bench) -> None:
        await bench.run("true")
        (volume,) = bench.volumes()
        self.tamper(bench, volume, "rm -rf /src/tree /src/seal")
        seen = await bench.run("cat file")
        assert seen.stdout == "content"
        assert bench.volumes() != [volume]

    async def test_a_volume_with_another_tree_is_sealed_again(self, bench: Bench) -> None:
        await bench.run("true")
        self.tamper(bench, bench.volumes()[0], "echo forged > /src/tree/file; echo 0000 > /src/seal")
        assert (await bench.run("cat file")).stdout == "content"

    async def test_a_lost_holder_is_replaced(self, bench: Bench) -> None:
        await bench.run("true")
        (holder,) = bench.containers()
        bench.api.kill(holder["Id"])
        assert (await bench.run("cat file")).stdout == "content"

    async def test_a_holder_and_volume_that_are_gone_are_replaced(self, bench: Bench) -> None:
        await bench.run("true")
        engine.remove_container(bench.api, bench.containers()[0]["Id"])
        assert engine.remove_volume(bench.api, bench.volumes()[0])
        assert (await bench.run("cat file")).stdout == "content"

    async def test_a_seal_that_stays_wrong_is_refused(self, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        right = archive.sealed_tree
        monkeypatch.setattr(seal, "sealed_tree", lambda manifest, _, read: right(manifest, "0" * 64, read))
        with pytest.raises(Unavailable) as caught:
            await bench.run("true")
        assert caught.value.cause is Cause.SEAL_MISMATCH
        assert bench.volumes() == []

    async def test_a_sealing_that_breaks_off_leaves_nothing(self, bench: Bench) -> None:
        tree = bench.tree({"present": b"x", "zz-lost": b"lost"})
        bench.store.blobs = {digest: blob for digest, blob in bench.store.blobs.items() if blob != b"lost"}
        with pytest.raises(Unavailable) as caught:
            await bench.run("true", tree)
        assert caught.value.cause is Cause.STORE_UNAVAILABLE
        assert (bench.containers(), bench.volumes()) == ([], [])

    async def test_a_tree_of_5000_files_arrives(self, bench: Bench) -> None:
        tree = bench.tree({f"d{i % 50}/f{i}": b"%d" % i for i in range(5000)})
        seen = await bench.run("find . -type f | wc -l; cat d49/f4999", tree)
        assert seen.stdout.split() == ["5000", "4999"]
        assert seen.duration_ms < 10_000, "the copy is not in it"

    async def test_a_manifest_that_climbs_is_no_tree(self, bench: Bench) -> None:
        with pytest.raises(ValueError, match="no path inside a tree"):
            await bench.run("true", bench.tree({"../outside": b"x"}))

    def tamper(self, bench: Bench, volume: str, command: str) -> None:
        made = bench.api.create_container(
            bench.image,
            ["sh", "-c", command],
            user="0",
            host_config=bench.api.create_host_config(
                binds={volume: {"bind": "/src", "mode": "rw"}}, network_mode="none"
            ),
        )
        try:
            bench.api.start(made)
            assert bench.api.wait(made)["StatusCode"] == 0
        finally:
            bench.api.remove_container(made, force=True)


class TestLeftovers:
    async def test_a_container_that_a_killed_worker_left_is_replaced(self, bench: Bench) -> None:
        key = f"{bench.round}/once"
        name = engine.name_of("check", bench.owner, key)
        bench.api.create_container(bench.image, ["sleep", "300"], name=name)
        bench.api.start(name)
        assert (await bench.run("cat file", key=key)).stdout == "content"

    async def test_a_check_that_somebody_else_kills_is_no_verdict(self, bench: Bench) -> None:
        task, container = await bench.running("sleep 300")
        bench.api.kill(container)
        with pytest.raises(Unavailable) as caught:
            await task
        assert caught.value.cause is Cause.ENGINE_UNAVAILABLE
        assert "from outside" in caught.value.reason

    async def test_a_check_that_somebody_else_removes_is_no_verdict(self, bench: Bench) -> None:
        task, container = await bench.running("sleep 300")
        engine.remove_container(bench.api, container)
        with pytest.raises(Unavailable) as caught:
            await task
        assert caught.value.cause is Cause.ENGINE_UNAVAILABLE

    async def test_cancelled_the_container_is_gone_when_the_task_ends(self, bench: Bench) -> None:
        task, container = await bench.running("trap '' TERM; while :; do :; done", timeout=300.0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert container not in [one["Id"] for one in bench.containers()]

    async def test_the_reaper_acts_on_expired_deadlines_of_its_owner_only(self, bench: Bench) -> None:
        await bench.run("true")
        stranger = f"{bench.owner}-stranger"
        labels = {"countersign.deadline": "1000", "countersign.owner": bench.owner}
        bench.api.create_volume(f"{bench.owner}-old", labels=labels)
        old = bench.api.create_container(bench.image, ["sleep", "300"], labels=labels)["Id"]
        bench.api.start(old)
        foreign = bench.api.create_container(bench.image, labels={**labels, "countersign.owner": stranger})["Id"]
        try:
            assert await bench.sandbox.reap() == 2
            assert await bench.sandbox.reap() == 0
            assert len(bench.containers()) == len(bench.volumes()) == 1, "the round's own seal is not due"
            assert [one["Id"] for one in bench.containers(f"countersign.owner={stranger}")] == [foreign]
        finally:
            bench.api.remove_container(foreign)


class TestEngine:
    @pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")  # docker-py drops one that cannot connect
    async def test_where_no_engine_is_nothing_is_told(self) -> None:
        sandbox = DockerSandbox(
            MemoryStore(), images_dir=IMAGES, base_image=None, owner="nobody", docker_host="unix:///nowhere.sock"
        )
        for call in (sandbox.prepare("python", print), sandbox.release("round"), sandbox.reap()):
            with pytest.raises(Unavailable) as caught:
                await call
            assert caught.value.cause is Cause.ENGINE_UNAVAILABLE
            assert "countersign doctor" in caught.value.next_step
        (finding,) = await sandbox.probe()
        assert not finding.ok
        assert finding.fix
        del caught
        gc.collect()

    def test_a_full_disk_is_told_as_one(self) -> None:
        error = engine.unavailable("write", OSError("write /x: no space left on device"))
        assert error.cause is Cause.DISK_FULL

    async def test_limits_are_proven(self, bench: Bench) -> None:
        findings = await bench.sandbox.probe()
        assert [(finding.name, finding.ok) for finding in findings] == [
            ("docker", True),
            ("memory limit", True),
            ("process limit", True),
            ("no network", True),
        ]


class TestImages:
    async def test_the_python_image_has_its_tools(self, bench: Bench) -> None:
        tools = "python git pytest ruff mypy"
        seen = await bench.run(f"for tool in {tools}; do $tool --version || exit 1; done; test ! -e /build", timeout=60)
        assert seen.exit_code == 0, seen.stderr
        wanted = (IMAGES / "python" / "requirements.txt").read_text().split()
        said = seen.stdout.lower().replace(" ", "==")
        assert all(pin in said for pin in wanted if pin.startswith(("pytest==", "ruff==", "mypy==")))

    async def test_the_python_image_is_built_from_its_folder(self, own: Bench, folders: Path) -> None:
        name = f"test-{uuid.uuid4().hex[:8]}"
        shutil.copytree(IMAGES / "python", folders / name)
        said: list[str] = []
        image = await own.sandbox.prepare(name, said.append)
        assert any(line.startswith(f"building {name}: Step 1/") for line in said)
        assert image.reference.startswith(f"countersign/{name}:")
        assert await own.sandbox.prepare(name, said.append) == image

    async def test_a_changed_folder_or_base_is_another_image(self, own: Bench, folders: Path) -> None:
        name = new_folder(folders, "RUN true")
        first = await own.sandbox.prepare(name, print)
        (folders / name / "more").write_text("x")
        second = await own.sandbox.prepare(name, print)
        own.api.tag(images.LOCAL_BASE, f"countersign/{name}", "base")
        based = own.another(folders, f"countersign/{name}:base")
        third = await based.prepare(name, print)
        based.close()
        assert len({first.reference, second.reference, third.reference}) == 3

    async def test_prepared_at_once_by_two_processes(self, own: Bench, folders: Path) -> None:
        name = new_folder(folders, "RUN sleep 1; date > /made")
        other = own.another(folders)
        first, second = await asyncio.gather(own.sandbox.prepare(name, print), other.prepare(name, print))
        other.close()
        for untagged in {first.id, second.id} - {engine_id(own, first.reference)}:
            own.api.remove_image(untagged)
        assert first.reference == second.reference

    async def test_a_build_that_fails_says_why(self, own: Bench, folders: Path) -> None:
        name = new_folder(folders, "RUN echo the reason; exit 3")
        with pytest.raises(Unavailable) as caught:
            await own.sandbox.prepare(name, print)
        assert caught.value.cause is Cause.IMAGE_MISSING
        assert "the reason" in caught.value.reason
        assert name in caught.value.reason

    async def test_without_registry_and_base_the_base_is_made(
        self, own: Bench, folders: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        name = new_folder(folders)
        (folders / name / "Dockerfile").write_text("ARG BASE=localhost:1/none\nFROM ${BASE}\n")
        (folders / "debian-base").write_text('echo "needs root for $1" >&2; exit 1')
        monkeypatch.setattr(images, "LOCAL_BASE", "countersign/test-base:none")
        with pytest.raises(Unavailable) as caught:
            await own.sandbox.prepare(name, print)
        assert caught.value.cause is Cause.IMAGE_MISSING
        assert "needs root for countersign/test-base:none" in caught.value.reason

    async def test_a_configured_base_that_is_not_there_is_named(self, own: Bench, folders: Path) -> None:
        name = new_folder(folders)
        based = own.another(folders, "localhost:1/my-base")
        with pytest.raises(Unavailable, match="localhost:1/my-base"):
            await based.prepare(name, print)
        based.close()

    @pytest.mark.parametrize(("tool", "named"), [("timeout", "timeout"), ("cp", "cp")])
    async def test_an_image_without_a_tool_is_unsuitable(
        self, own: Bench, folders: Path, tool: str, named: str
    ) -> None:
        name = new_folder(folders, f"RUN rm /bin/{tool}")
        with pytest.raises(Unavailable) as caught:
            await own.sandbox.prepare(name, print)
        assert caught.value.cause is Cause.IMAGE_UNSUITABLE
        assert f"has no {named}" in caught.value.reason

    async def test_an_image_without_a_shell_is_unsuitable(self, own: Bench) -> None:
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w") as tar:
            tar.addfile(tarfile.TarInfo("empty"))
        own.api.import_image_from_data(archive.getvalue(), repository="countersign/test-empty", tag="1")
        with pytest.raises(Unavailable) as caught:
            await own.sandbox.prepare("countersign/test-empty:1", print)
        assert caught.value.cause is Cause.IMAGE_UNSUITABLE
        assert "has no sh" in caught.value.reason

    async def test_what_an_image_declares_as_volume_is_bounded_and_empty(self, own: Bench, folders: Path) -> None:
        name = new_folder(folders, "RUN mkdir /data && touch /data/kept && chmod 777 /data", "VOLUME /data /tmp /src")
        own.image = (await own.sandbox.prepare(name, print)).id
        seen = await own.run(
            "grep ' /data ' /proc/mounts; head -c 1G /dev/zero > /data/x; stat -c %s /data/x; cat file"
        )
        await own.sandbox.release(own.round)
        assert seen.stdout.startswith("tmpfs /data tmpfs rw")
        assert seen.stdout.endswith(f"{16 * MIB}\ncontent")

    async def test_an_image_s_entrypoint_is_not_asked(self, own: Bench, folders: Path) -> None:
        name = new_folder(folders, 'ENTRYPOINT ["echo", "never"]', 'CMD ["never"]', "HEALTHCHECK CMD true")
        own.image = (await own.sandbox.prepare(name, print)).id
        seen = await own.run("cat file")
        await own.sandbox.release(own.round)
        assert seen.stdout == "content"
