"""Pruning: what nothing refers to goes, whatever somebody refers to stays, and the trail knew before it went."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from adapters.evidence.folder import FRESH, FolderStore
from adapters.evidence.sweep import FolderSweep, Left
from domain.actors import Established
from domain.base import sha256_hex
from domain.errors import Refused, Unavailable
from domain.event_kinds import problems
from domain.events import Actor, RowFilter, TrailEntry
from domain.references import of_record
from domain.retention import GRACE, Pruned
from domain.tree import Entry, Manifest
from entrypoints import pruning
from entrypoints.pruning import Kept, Pruner
from tests.fakes.rounds import World

CHECKED: dict[str, Any] = {"verification": {"checks": [{"name": "lint", "command": "lint it"}]}}
ANN = Actor(role="unattributed", identity="ann")
YEAR = 365 * 86400.0


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def prune(world: World, older_than: float = 0, *, dry_run: bool = False) -> Pruned:
    sweep = FolderSweep(world.evidence)
    return Pruner(world.trail, world.store, sweep, datetime.now(UTC)).run(older_than, ANN, dry_run=dry_run)


def age(world: World, seconds: float = YEAR) -> None:
    """Everything in the store was last used so long ago."""
    then = datetime.now(UTC).timestamp() - seconds
    for path in world.evidence.rglob("*"):
        if path.is_file():
            os.utime(path, (then, then))


def blobs(world: World) -> set[str]:
    return {path.name for path in (world.evidence / "blobs").glob("??/*")}


def actions(world: World) -> list[str]:
    return [row.action for row in world.trail.rows()]


async def test_what_nothing_refers_to_goes_and_the_trail_has_the_list(world: World) -> None:
    await world.verify(world.order(**CHECKED))
    needed = blobs(world)
    garbage = world.store.put(b"garbage")
    (world.evidence / "blobs/ab/notes").write_bytes(b"not a blob: somebody keeps it there")
    age(world)
    pruned = prune(world)
    assert (pruned.blobs, pruned.memos, pruned.folders, pruned.bytes, pruned.spared) == (1, 0, 0, 7, 0)
    assert blobs(world) == needed | {pruned.list, "notes"}
    (row,) = world.trail.rows(RowFilter(session=pruning.SESSION))
    assert (row.action, row.ordinal, row.actor, row.payload["list"]) == ("evidence_pruned", 1, ANN, pruned.list)
    assert problems(row) == ()
    listed = world.store.get(pruned.list).decode().splitlines()
    assert listed == [f"blobs/{garbage[:2]}/{garbage} 7"]


async def test_a_dry_run_changes_nothing(world: World) -> None:
    await world.verify(world.order(**CHECKED))
    world.store.put(b"garbage")
    age(world)
    before = {path: path.lstat().st_mtime_ns for path in world.evidence.rglob("*")}
    assert (prune(world, dry_run=True).blobs, prune(world, dry_run=True).list) == (1, "")
    assert {path: path.lstat().st_mtime_ns for path in world.evidence.rglob("*")} == before
    assert "evidence_pruned" not in actions(world)


async def test_nothing_to_remove_is_no_event(world: World) -> None:
    await world.verify(world.order(**CHECKED))
    age(world)
    assert prune(world).blobs == 0
    assert "evidence_pruned" not in actions(world)


async def test_a_verdict_keeps_all_that_it_refers_to(world: World) -> None:
    world.write("work", **{"b.txt": "added\n"})
    record = await world.verify(world.order(**CHECKED))
    age(world)
    prune(world)
    needed = set(of_record(record))
    assert record.scope
    for tree in (record.scope.tree, record.frozen.head, record.frozen.base):  # type: ignore[union-attr] # it was frozen
        needed |= {entry.digest for entry in Manifest.decode(world.store.get(tree)).entries}
    assert needed <= blobs(world)
    assert [world.store.get(digest) for digest in needed]


async def cancelled(world: World) -> str:
    """A round of `wo-1` that was cancelled; the digest of a file that only its head has."""
    world.write("work", **{"a.txt": "never judged\n"})
    request = world.begin(world.order(**CHECKED))
    world.freeze(request)
    world.cancel(request)
    world.write("work", **{"a.txt": "after\n"})
    return sha256_hex(b"never judged\n")


async def test_a_cancelled_round_keeps_its_trees_until_its_todo_is_over(world: World) -> None:
    only = await cancelled(world)
    age(world)
    prune(world)
    assert only in blobs(world), "the todo is live: it is claimed"
    await world.verify(world.order(**CHECKED), 2)
    age(world)
    pruned = prune(world)
    assert only not in blobs(world)
    assert pruned.blobs == 2, "its tree and its file"


async def test_a_round_that_has_begun_keeps_what_it_may_refer_to(world: World) -> None:
    await world.verify(world.order(**CHECKED))
    world.at = datetime.now(UTC) - timedelta(hours=2)
    world.begin(world.order("wo-2", **CHECKED))
    early, late = world.store.put(b"before it began"), world.store.put(b"not in any row yet")
    age(world, 3 * 3600)
    then = datetime.now(UTC).timestamp() - 3600
    os.utime(world.evidence / "blobs" / late[:2] / late, (then, then))
    prune(world)
    assert (world.store.has(early), world.store.has(late)) == (False, True)


async def test_what_was_used_lately_stays_though_nothing_refers_to_it(world: World) -> None:
    for name in (b"old", b"new"):
        world.store.put(name)
    age(world, GRACE.total_seconds() + 10)
    world.store.put(b"new")
    assert prune(world).blobs == 1
    assert world.store.has(sha256_hex(b"new"))
    assert GRACE.total_seconds() > 2 * FRESH


async def test_memos_go_by_age_and_keep_what_they_name(world: World) -> None:
    named, orphan = world.store.put(b"named"), world.store.put(b"orphan")
    world.store.remember("a" * 64, f'{{"evidence":"{named}"}}'.encode())
    world.store.remember("b" * 64, f'{{"evidence":"{orphan}"}}'.encode())
    age(world)
    assert world.store.recall("a" * 64)
    pruned = prune(world, 86400)
    assert (pruned.memos, pruned.blobs) == (1, 1)
    assert (world.store.has(named), world.store.has(orphan)) == (True, False)
    assert world.store.recall("b" * 64) is None


async def test_a_memo_recalled_while_it_is_pruned_saves_what_it_names(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = world.store.put(b"named")
    world.store.remember("a" * 64, f'{{"evidence":"{named}"}}'.encode())
    age(world)
    store_list = Pruner._store_list

    def recalled_first(self: Pruner, listed: object) -> str:
        assert world.store.recall("a" * 64)
        return store_list(self, listed)  # type: ignore[arg-type] # it is passed on as it came

    monkeypatch.setattr(Pruner, "_store_list", recalled_first)
    pruned = prune(world)
    assert (pruned.memos, pruned.blobs, pruned.spared) == (1, 1, 2)
    assert world.store.has(named)
    assert world.store.recall("a" * 64) is not None


@pytest.mark.parametrize("in_bulk", [False, True])
async def test_a_blob_put_again_while_it_is_pruned_stays(
    world: World, monkeypatch: pytest.MonkeyPatch, in_bulk: bool
) -> None:
    again = world.store.put(b"again")
    age(world)
    record = Pruner._record

    def put_first(self: Pruner, pruned: Pruned, actor: Actor, established: Established | None) -> None:
        record(self, pruned, actor, established)
        if in_bulk:
            with FolderStore(world.evidence).bulk() as bulk:
                bulk.add((b"again",))
        else:
            FolderStore(world.evidence).put(b"again")

    monkeypatch.setattr(Pruner, "_record", put_first)
    assert prune(world).spared == 1
    assert world.store.get(again) == b"again"


async def test_nothing_is_removed_that_the_trail_could_not_record(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    garbage = world.store.put(b"garbage")
    age(world)

    def fail(entry: TrailEntry) -> None:
        raise RuntimeError("the process dies here")

    with monkeypatch.context() as patch, pytest.raises(RuntimeError):
        patch.setattr(world.trail, "append", fail)
        prune(world)
    assert world.store.has(garbage)


async def test_a_process_that_dies_removes_nothing_more_than_it_recorded(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):
        world.store.put(b"%d" % number)
    age(world)
    removed: list[str] = []
    remove = FolderSweep.remove

    def die_after_seven(self: FolderSweep, left: Left, before: float) -> bool:
        if len(removed) == 7:
            raise KeyboardInterrupt
        removed.append(left.name)
        return remove(self, left, before)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(FolderSweep, "remove", die_after_seven)
        prune(world)
    (row,) = world.trail.rows(RowFilter(session=pruning.SESSION))
    listed = world.store.get(str(row.payload["list"])).decode()
    assert len(listed.splitlines()) == 20
    assert all(name in listed for name in removed)
    assert prune(world).blobs == 13


async def test_an_attempts_folder_goes_with_the_round_that_let_go(world: World) -> None:
    await cancelled(world)
    world.store.place("local", "wo-1", 1, "verdict.json", b"{}")
    await world.verify(world.order(**CHECKED), 2)
    age(world)
    assert prune(world).folders == 1
    assert [path.name for path in (world.evidence / "local/wo-1").iterdir()] == ["2"]


async def test_evidence_that_another_trail_knows_is_refused(world: World) -> None:
    garbage = world.store.put(b"garbage")
    world.store.place("local", "wo-stranger", 1, "verdict.json", b"{}")
    age(world)
    with pytest.raises(Refused, match="local/wo-stranger/1"):
        prune(world)
    assert world.store.has(garbage)


async def test_a_damaged_document_stops_it_since_what_it_names_is_unknown(world: World) -> None:
    record = await world.verify(world.order(**CHECKED))
    garbage = world.store.put(b"garbage")
    age(world)
    assert record.frozen
    (world.evidence / "blobs" / record.frozen.head[:2] / record.frozen.head).write_bytes(b"[]")
    with pytest.raises(Unavailable, match="corrupt"):
        prune(world)
    assert world.store.has(garbage)


def test_a_document_that_is_also_a_file_of_a_tree_is_followed_all_the_same(world: World) -> None:
    """The worker has a copy of an earlier round's record in the tree, whose manifest is met first."""
    named = world.store.put(b"named by the record")
    record = world.store.put(f'{{"evidence": "{named}"}}'.encode())
    tree = world.store.put(Manifest.of([Entry(path="copy.json", size=9, digest=record)]).encode())
    kept = Kept(world.store)
    kept.follow([tree])
    assert (record in kept, named in kept) == (True, False), "nothing is looked for in files"
    kept.follow([record])
    assert named in kept


def test_what_a_dead_process_moved_aside_is_put_back(tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "evidence")
    digest, other = store.put(b"data"), store.put(b"written anew")
    store.remember("c" * 64, b"memory")
    aside = tmp_path / "evidence/.removed"
    aside.mkdir()
    for path, kind in ((f"blobs/{digest[:2]}/{digest}", "blobs"), (f"memo/{'c' * 64}", "memo")):
        (tmp_path / "evidence" / path).rename(aside / f"{'0' * 32}-{kind}-{Path(path).name}")
    (aside / f"{'0' * 32}-blobs-{other}").write_bytes(b"written anew")
    (aside / f"{'0' * 32}-local-1").mkdir()
    FolderSweep(tmp_path / "evidence").restore()
    assert (store.get(digest), store.get(other), store.recall("c" * 64)) == (b"data", b"written anew", b"memory")
    assert list(aside.iterdir()) == []


def test_two_at_once_remove_it_once(tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "evidence")
    digest = store.put(b"data")
    sweep, before = FolderSweep(tmp_path / "evidence"), datetime.now(UTC).timestamp() + 60
    (left,) = sweep.old_blobs(before)
    assert left == Left(f"blobs/{digest[:2]}/{digest}", 4)
    assert [sweep.remove(left, before), sweep.remove(left, before)] == [True, False]
