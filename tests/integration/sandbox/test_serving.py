"""A served command beside its probe, and what was installed beside the tree."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from adapters.sandbox import engine
from domain.checks import Outcome, classify
from domain.errors import Unavailable
from domain.ports import ProbeRequest
from tests.docker_bench import HEAR, KNOCK, LONG, MEMORY_BOMB, MIB, Bench, new_folder


class TestServing:
    async def test_the_probe_is_confined_as_a_check_is(self, bench: Bench) -> None:
        seen = await bench.serve(
            f"sleep {LONG}",
            "id -u; grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status; ulimit -c;"
            "tail -n +3 /proc/net/dev | cut -d: -f1; ls /src /deps; touch /x /src /etc/x; touch here /tmp/x && pwd;"
            "for one in /proc/[0-9]*; do tr '\\0' ' ' < $one/cmdline; done | grep -c 'sleep 3[0]'",
        )
        assert seen.probe.stdout.split() == [
            *("1000", "CapEff:", "0" * 16, "CapBnd:", "0" * 16, "NoNewPrivs:", "1", "Seccomp:", "2", "0", "lo"),
            *("/work", "0"),
        ]

    async def test_the_probe_s_memory_and_processes_are_bounded(self, bench: Bench) -> None:
        seen = await bench.serve(f"sleep {LONG}", MEMORY_BOMB)
        assert (seen.probe.exit_code, seen.probe.oom_killed) == (137, True)
        seen = await bench.serve(f"sleep {LONG}", "i=0; while [ $i -lt 100 ]; do sleep 5 & i=$((i + 1)); done")
        assert "fork" in seen.probe.stderr

    async def test_both_are_labelled_for_the_reaper(self, bench: Bench) -> None:
        task = asyncio.create_task(bench.serve(f"sleep {LONG}", f"sleep {LONG}", timeout=LONG))
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
        bench.tamper(bench.volumes()[0], "rm -rf /src/tree /src/seal")
        seen = await bench.serve(f"cat file; {HEAR}; sleep {LONG}", KNOCK)
        assert (seen.server.stdout, seen.probe.exit_code) == ("content", 0)

    async def test_a_server_killed_from_outside_is_no_verdict(self, bench: Bench) -> None:
        request = bench.request(f"sleep {LONG}", timeout=LONG)
        probe = ProbeRequest(image=bench.image, command=f"sleep {LONG}")
        task = asyncio.create_task(bench.sandbox.serve(request, probe))
        await bench.up(f"{request.key}/probe")
        bench.api.kill(engine.name_of("check", bench.owner, request.key))
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
        assert (await installed.serve(f"cat lib/link; {HEAR}; sleep {LONG}", KNOCK)).server.stdout == "of the image\n"

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
