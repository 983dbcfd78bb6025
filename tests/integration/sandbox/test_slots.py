"""However many runs are asked for, no more than the slots run at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise

import pytest

from adapters.sandbox.sandbox import DockerSandbox
from domain.ports import ProbeRequest
from tests.docker_bench import HELD, IMAGES, LIMIT, LONG, Bench

SEEN = "read -r up _ < /proc/uptime; echo $up; sleep 1; read -r up _ < /proc/uptime; echo $up"
ALLOWED = "tr '\\0' '\\n' < /proc/$PPID/cmdline | sed -n 4p"
"""Tells the limit that was given to `timeout -k 2`, under which a check runs."""


@pytest.fixture
def single(bench: Bench) -> Iterator[DockerSandbox]:
    made = DockerSandbox(bench.store, images_dir=IMAGES, base_image=None, owner=bench.owner, slots=1)
    with closing(made) as sandbox:
        yield sandbox


def overlap(stdouts: list[str]) -> bool:
    times = sorted(tuple(map(float, stdout.split())) for stdout in stdouts)
    return any(later[0] < earlier[1] for earlier, later in pairwise(times))


class TestSlots:
    async def test_runs_wait_for_one_another_and_waiting_counts_to_no_limit(
        self, bench: Bench, single: DockerSandbox
    ) -> None:
        began = time.monotonic()
        seen = await asyncio.gather(*(single.run(bench.request(f"{SEEN}; {ALLOWED}")) for _ in range(4)))
        took = time.monotonic() - began
        assert [one.timed_out for one in seen] == [False] * 4
        times, allowed = zip(*(one.stdout.rsplit(maxsplit=1) for one in seen), strict=True)
        assert not overlap([*times])
        assert {*map(float, allowed)} == {LIMIT}
        assert sum(one.duration_ms for one in seen) <= took * 1000 + len(seen), "each counts what it ran, not its wait"

    async def test_with_more_slots_they_do_overlap(self, bench: Bench) -> None:
        one, _ = await bench.running(f"sleep {LONG}", timeout=LONG)
        other, _ = await bench.running(f"sleep {LONG}", timeout=LONG)
        assert not one.done(), "the other one came up beside it"
        for task in (one, other):
            task.cancel()
        await asyncio.wait([one, other])

    async def test_what_serves_and_its_probe_are_one(self, bench: Bench, single: DockerSandbox) -> None:
        probe = ProbeRequest(image=bench.image, command=SEEN)
        pair, alone = await asyncio.gather(
            single.serve(bench.request(f"sleep {LONG}"), probe), single.run(bench.request(SEEN))
        )
        assert pair.probe.exit_code == alone.exit_code == 0
        assert not overlap([pair.probe.stdout, alone.stdout])

    async def test_a_waiting_run_that_is_cancelled_ends_at_once_and_leaves_nothing(
        self, bench: Bench, single: DockerSandbox
    ) -> None:
        running, container = await bench.running(f"{HELD}; echo done", single)
        request = bench.request("echo never")
        waiting = asyncio.create_task(single.run(request))
        await asyncio.sleep(0.5)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert not running.done(), "it waited for no slot any more"
        assert bench.containers(f"countersign.run={request.key}") == []
        bench.let_go(container)
        assert (await running).stdout == "done\n"
        assert (await single.run(bench.request("echo next"))).stdout == "next\n", "the slot is free again"

    async def test_a_run_that_is_cancelled_gives_its_slot_back(self, bench: Bench, single: DockerSandbox) -> None:
        running, _ = await bench.running(f"sleep {LONG}", single, timeout=LONG)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert (await single.run(bench.request("echo next"))).stdout == "next\n"
