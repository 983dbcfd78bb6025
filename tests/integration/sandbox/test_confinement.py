"""What only containers can show: that they confine, that limits which do not bind are noticed."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from adapters.sandbox.sandbox import DockerSandbox
from domain.errors import Cause, Unavailable
from domain.order import Resources
from tests.docker_bench import MEMORY_BOMB, MIB, Bench
from tests.fakes.lying_engine import LyingEngine


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
        seen = await bench.run(f"({MEMORY_BOMB}) || true")
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
        seen = await bench.run(f'python3 -c "{code}"', resources=Resources(memory="512m"), timeout=240)
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
            ("no network set up", True, False),
        ], findings
