"""However many runs are asked for, no more than the slots run at once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise

import pytest

from adapters.sandbox import DockerSandbox
from domain.ports import ProbeRequest
from tests.docker_bench import IMAGES, Bench

SEEN = "read -r up _ < /proc/uptime; echo $up; sleep 1; read -r up _ < /proc/uptime; echo $up"


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
        seen = await asyncio.gather(*(single.run(bench.request(SEEN, timeout=2.5)) for _ in range(4)))
        assert [one.timed_out for one in seen] == [False] * 4
        assert not overlap([one.stdout for one in seen])
        assert max(one.duration_ms for one in seen) < 2500

    async def test_with_more_slots_they_do_overlap(self, bench: Bench) -> None:
        one, _ = await bench.running("sleep 60", timeout=60.0)
        other, _ = await bench.running("sleep 60", timeout=60.0)
        assert not one.done(), "the other one came up beside it"
        for task in (one, other):
            task.cancel()
        await asyncio.wait([one, other])

    async def test_what_serves_and_its_probe_are_one(self, bench: Bench, single: DockerSandbox) -> None:
        probe = ProbeRequest(image=bench.image, command=SEEN)
        pair, alone = await asyncio.gather(
            single.serve(bench.request("sleep 60"), probe), single.run(bench.request(SEEN))
        )
        assert pair.probe.exit_code == alone.exit_code == 0
        assert not overlap([pair.probe.stdout, alone.stdout])

    async def test_a_waiting_run_that_is_cancelled_ends_at_once_and_leaves_nothing(
        self, bench: Bench, single: DockerSandbox
    ) -> None:
        running = asyncio.create_task(single.run(bench.request("sleep 3; echo done")))
        await asyncio.sleep(0.5)
        request = bench.request("echo never")
        waiting = asyncio.create_task(single.run(request))
        await asyncio.sleep(0.5)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert not running.done(), "it waited for no slot any more"
        assert bench.containers(f"countersign.run={request.key}") == []
        assert (await running).stdout == "done\n"
        assert (await single.run(bench.request("echo next"))).stdout == "next\n", "the slot is free again"

    async def test_a_run_that_is_cancelled_gives_its_slot_back(self, bench: Bench, single: DockerSandbox) -> None:
        running = asyncio.create_task(single.run(bench.request("sleep 60", timeout=60.0)))
        await asyncio.sleep(1.5)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert (await single.run(bench.request("echo next"))).stdout == "next\n"
