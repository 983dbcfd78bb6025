"""A seal cannot be talked away, and nothing of it stays behind."""

from __future__ import annotations

import asyncio

import pytest

from adapters.sandbox import archive, engine, seal
from domain.errors import Cause, Unavailable
from tests.docker_bench import Bench


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
        bench.tamper(volume, "rm -rf /src/tree /src/seal")
        seen = await bench.run("cat file")
        assert seen.stdout == "content"
        assert bench.volumes() != [volume]

    async def test_a_volume_with_another_tree_is_sealed_again(self, bench: Bench) -> None:
        await bench.run("true")
        bench.tamper(bench.volumes()[0], "echo forged > /src/tree/file; echo 0000 > /src/seal")
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
        monkeypatch.setattr(
            seal, "sealed_tree", lambda manifest, _, read, rules: right(manifest, "0" * 64, read, rules)
        )
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

    async def test_a_manifest_that_climbs_is_no_tree(self, bench: Bench) -> None:
        with pytest.raises(ValueError, match="no path inside a tree"):
            await bench.run("true", bench.tree({"../outside": b"x"}))


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
