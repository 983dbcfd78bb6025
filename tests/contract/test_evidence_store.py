"""What every evidence store does, run on a folder, a bucket and the one in memory; then what only a folder has to."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.evidence import bulk as bulks
from adapters.evidence import folder
from adapters.evidence.folder import FolderStore
from domain.base import sha256_hex
from domain.errors import Cause, Unavailable
from domain.ports import EvidenceStore
from tests.fakes.evidence import MemoryStore

KEY = "a" * 64


@pytest.fixture(params=["folder", "memory", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> EvidenceStore:
    if request.param == "s3":
        made: EvidenceStore = request.getfixturevalue("s3_store")
        return made
    return FolderStore(tmp_path / "evidence") if request.param == "folder" else MemoryStore()


@pytest.fixture
def folder_store(tmp_path: Path) -> FolderStore:
    return FolderStore(tmp_path / "evidence")


def blob_file(tmp_path: Path, digest: str) -> Path:
    return tmp_path / "evidence" / "blobs" / digest[:2] / digest


class TestEveryStore:
    @pytest.mark.parametrize("data", [b"", b"text", bytes(range(256)) * 5000])
    def test_answers_with_what_was_put(self, store: EvidenceStore, data: bytes) -> None:
        digest = store.put(data)
        assert digest == sha256_hex(data)
        assert store.has(digest)
        assert store.get(digest) == data

    def test_takes_the_same_blob_twice(self, store: EvidenceStore) -> None:
        assert store.put(b"same") == store.put(b"same")

    @pytest.mark.parametrize("digest", ["0" * 64, "", "../../etc/passwd", "0" * 63 + "/"])
    def test_has_no_blob_that_nobody_put(self, store: EvidenceStore, digest: str) -> None:
        assert not store.has(digest)
        with pytest.raises(Unavailable) as caught:
            store.get(digest)
        assert caught.value.cause is Cause.STORE_UNAVAILABLE

    def test_bulk_stores_every_blob_by_its_digest(self, store: EvidenceStore) -> None:
        large = [bytes([i]) * 100_000 for i in range(5)]
        with store.bulk() as bulk:
            digests = [bulk.add(()), bulk.add((b"one",)), bulk.add((b"one",)), bulk.add(large), bulk.add(iter(large))]
        assert digests == [sha256_hex(d) for d in (b"", b"one", b"one", b"".join(large), b"".join(large))]
        assert [store.get(digest) for digest in digests] == [b"", b"one", b"one", b"".join(large), b"".join(large)]

    def test_bulk_that_ends_in_an_error_stores_nothing(self, store: EvidenceStore) -> None:
        with pytest.raises(RuntimeError), store.bulk() as bulk:
            small, large = bulk.add((b"lost",)), bulk.add((b"lost", b"too"))
            raise RuntimeError
        assert not store.has(small)
        assert not store.has(large)

    def test_bulk_goes_on_after_a_source_that_fails(self, store: EvidenceStore) -> None:
        def source() -> Iterator[bytes]:
            yield b"a"
            yield b"b"
            raise RuntimeError

        with store.bulk() as bulk:
            with pytest.raises(RuntimeError):
                bulk.add(source())
            kept = bulk.add((b"kept",))
        assert store.get(kept) == b"kept"
        assert not store.has(sha256_hex(b"ab"))

    @pytest.mark.parametrize("data", [b"", b"text", bytes(range(256)) * 5000])
    def test_recalls_what_was_remembered(self, store: EvidenceStore, data: bytes) -> None:
        store.remember(KEY, data)
        assert store.recall(KEY) == data
        assert store.recall("b" * 64) is None

    def test_recalls_nothing_that_nobody_remembered(self, store: EvidenceStore) -> None:
        digest = store.put(b"a blob is no memo")
        assert store.recall(digest) is None

    def test_recalls_the_last_of_two(self, store: EvidenceStore) -> None:
        store.remember(KEY, b"a long first one")
        store.remember(KEY, b"second")
        assert store.recall(KEY) == b"second"
        assert not store.has(KEY)

    @pytest.mark.parametrize("key", ["", "../" * 21 + "a", "a" * 63, "a" * 65, "A" * 64, "a" * 64 + "\n"])
    def test_remembers_under_digests_only(self, store: EvidenceStore, key: str) -> None:
        with pytest.raises(ValueError, match="key"):
            store.remember(key, b"")
        with pytest.raises(ValueError, match="key"):
            store.recall(key)

    @pytest.mark.parametrize(
        ("session", "todo", "name"),
        [
            ("..", "todo", "a"),
            ("s", "../x", "a"),
            ("s", "t", "../../a"),
            ("s", "t", "/a"),
            ("s", "t", ""),
            ("", "t", "a"),
        ],
    )
    def test_places_nothing_outside(self, store: EvidenceStore, session: str, todo: str, name: str) -> None:
        with pytest.raises(ValueError, match="evidence folder"):
            store.place(session, todo, 1, name, b"")

    def test_people_find_what_was_placed_last(self, store: EvidenceStore) -> None:
        store.place("local", "wo-1", 2, "audits/first.json", b"{}")
        store.place("local", "wo-1", 2, "audits/first.json", b"{1}")
        assert store.placed("local", "wo-1", 2, "audits/first.json") == b"{1}"
        assert store.placed("local", "wo-1", 2, "verdict.json") is None
        assert store.placed("local", "wo-1", 1, "audits/first.json") is None
        assert "local/wo-1/2" in store.place_of("local", "wo-1", 2)


class TestFolder:
    def test_places_a_file_where_people_look_and_replaces_it_whole(
        self, folder_store: FolderStore, tmp_path: Path
    ) -> None:
        folder_store.place("local", "wo-1", 2, "audits/first.json", b"{}")
        folder_store.place("local", "wo-1", 2, "audits/first.json", b"{1}")
        placed = tmp_path / "evidence/local/wo-1/2/audits"
        assert [(p.name, p.read_bytes()) for p in placed.iterdir()] == [("first.json", b"{1}")]

    def test_refuses_a_blob_that_was_altered_by_name(self, folder_store: FolderStore, tmp_path: Path) -> None:
        digest = folder_store.put(b"evidence")
        blob_file(tmp_path, digest).write_bytes(b"evidencE")
        with pytest.raises(Unavailable, match=digest) as caught:
            folder_store.get(digest)
        assert caught.value.cause is Cause.STORE_UNAVAILABLE

    @pytest.mark.parametrize("damage", ["altered", "cut", "empty", "longer", "under another key"])
    def test_recalls_nothing_that_is_damaged(self, folder_store: FolderStore, tmp_path: Path, damage: str) -> None:
        folder_store.remember(KEY, b"memory")
        path = tmp_path / "evidence" / "memo" / KEY
        stored = path.read_bytes()
        altered = {"altered": stored[:-1] + b"Y", "cut": stored[:-1], "empty": b"", "longer": stored + b"y"}
        other = "b" * 64
        path.with_name(other).write_bytes(altered.get(damage, stored))
        path.write_bytes(altered.get(damage, b""))
        assert folder_store.recall(KEY) is None
        assert folder_store.recall(other) is None
        folder_store.remember(KEY, b"again")
        assert folder_store.recall(KEY) == b"again"

    def test_another_process_recalls_it(self, folder_store: FolderStore, tmp_path: Path) -> None:
        folder_store.remember(KEY, b"memory")
        script = "import sys; from pathlib import Path; from adapters.evidence.folder import FolderStore\n"
        script += "sys.stdout.buffer.write(FolderStore(Path(sys.argv[1])).recall(sys.argv[2]) or b'nothing')"
        command = [sys.executable, "-c", script, str(tmp_path / "evidence"), KEY]
        root = Path(folder.__file__).parents[2]
        assert subprocess.run(command, cwd=root, capture_output=True, check=True).stdout == b"memory"

    def test_what_is_remembered_is_on_the_disk_before_it_has_its_name(
        self, folder_store: FolderStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(path: Path) -> None:
            raise OSError(errno.EIO, "no such luck", str(path))

        folder_store.remember(KEY, b"old")
        with monkeypatch.context() as patch, pytest.raises(Unavailable):
            patch.setattr(folder, "_sync", fail)
            folder_store.remember(KEY, b"new")
        assert folder_store.recall(KEY) == b"old"
        assert [p.name for p in (tmp_path / "evidence" / "memo").iterdir()] == [KEY]

    def test_a_memo_that_cannot_be_read_is_unavailable(self, folder_store: FolderStore, tmp_path: Path) -> None:
        (tmp_path / "evidence" / "memo" / KEY).mkdir()
        with pytest.raises(Unavailable) as caught:
            folder_store.recall(KEY)
        assert caught.value.cause is Cause.STORE_UNAVAILABLE

    @pytest.mark.parametrize("in_bulk", [False, True])
    def test_writes_a_blob_again_that_was_cut_short(
        self, folder_store: FolderStore, tmp_path: Path, in_bulk: bool
    ) -> None:
        digest = folder_store.put(b"evidence")
        blob_file(tmp_path, digest).write_bytes(b"")
        if in_bulk:
            with folder_store.bulk() as bulk:
                bulk.add((b"evidence",))
        else:
            folder_store.put(b"evidence")
        assert folder_store.get(digest) == b"evidence"

    def test_writes_a_blob_once(self, folder_store: FolderStore, tmp_path: Path) -> None:
        digest = folder_store.put(b"evidence")
        before = blob_file(tmp_path, digest).stat()
        folder_store.put(b"evidence")
        with folder_store.bulk() as bulk:
            bulk.add((b"evidence",))
            bulk.add((b"evi", b"dence"))
        after = blob_file(tmp_path, digest).stat()
        assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)

    @pytest.mark.parametrize("way", ["put", "bulk", "stream", "recall"])
    @pytest.mark.parametrize(("seconds", "renewed"), [(folder.FRESH / 2, False), (folder.FRESH + 60, True)])
    def test_what_is_used_again_after_a_while_counts_as_new(
        self, folder_store: FolderStore, tmp_path: Path, way: str, seconds: float, renewed: bool
    ) -> None:
        path = blob_file(tmp_path, folder_store.put(b"evidence"))
        folder_store.remember(KEY, b"memory")
        path = tmp_path / "evidence" / "memo" / KEY if way == "recall" else path
        then = time.time() - seconds
        os.utime(path, (then, then))
        if way == "put":
            folder_store.put(b"evidence")
        elif way == "recall":
            folder_store.recall(KEY)
        else:
            with folder_store.bulk() as bulk:
                bulk.add((b"evidence",) if way == "bulk" else [b"evi", b"dence"])
        assert (path.stat().st_mtime > then + 1) is renewed

    @pytest.mark.parametrize("at_once", [3, 300])
    def test_no_blob_of_a_bulk_has_its_name_before_all_are_synced(
        self, folder_store: FolderStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
    ) -> None:
        """At first only whole blobs are synced, none of which is visible; then only the folders that they went to."""
        synced: list[Path] = []
        seen: list[bool] = []
        data = [str(number).encode() for number in range(at_once)]
        digests = {sha256_hex(piece) for piece in data}

        def note(path: Path | str) -> None:
            synced.append(Path(path))
            seen.append(any(folder_store.has(digest) for digest in digests))

        monkeypatch.setattr(folder, "_sync", note)
        with folder_store.bulk() as bulk:
            for piece in data:
                bulk.add((piece,))
        assert seen == [False] * at_once + [True] * (len(synced) - at_once)
        assert {path.name for path in synced[:at_once]} == digests
        assert {path.name for path in synced[at_once:]} == {digest[:2] for digest in digests}

    def test_a_bulk_that_cannot_be_synced_stores_nothing(
        self, folder_store: FolderStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        last = sha256_hex(b"299")

        def fail(path: Path | str) -> None:
            if Path(path).name == last:
                raise OSError(errno.EIO, "no such luck", str(path))

        monkeypatch.setattr(folder, "_sync", fail)
        with pytest.raises(Unavailable), folder_store.bulk() as bulk:
            for number in range(300):
                bulk.add((str(number).encode(),))
        assert not [p for p in (tmp_path / "evidence").rglob("*") if p.is_file()]

    def test_many_pieces_that_are_here_already_are_not_written(
        self, folder_store: FolderStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pieces = [b"evi", b"den", b"ce"]
        digest = folder_store.put(b"evidence")
        monkeypatch.setattr(bulks, "_write_all", lambda *_: pytest.fail("it was written again"))
        with folder_store.bulk() as bulk:
            assert bulk.add(pieces) == digest

    def test_many_pieces_that_change_are_what_was_written(self, folder_store: FolderStore) -> None:
        class Changing:
            readings = iter(([b"a", b"b", b"c"], [b"new"]))

            def __iter__(self) -> Iterator[bytes]:
                return iter(next(self.readings))

        with folder_store.bulk() as bulk:
            digest = bulk.add(Changing())
        assert digest == sha256_hex(b"new")
        assert folder_store.get(digest) == b"new"
        assert not folder_store.has(sha256_hex(b"abc"))

    def test_leaves_nothing_unnamed_behind(self, folder_store: FolderStore, tmp_path: Path) -> None:
        with folder_store.bulk() as bulk:
            bulk.add((b"a", b"b"))
            bulk.add((b"c",))
        names = [p.name for p in (tmp_path / "evidence").rglob("*") if p.is_file()]
        assert sorted(names) == sorted([sha256_hex(b"ab"), sha256_hex(b"c")])
        assert not list((tmp_path / "evidence/blobs/.staging").iterdir())

    def test_sweeps_what_a_dead_process_left_but_not_what_one_at_work_has(
        self, folder_store: FolderStore, tmp_path: Path
    ) -> None:
        staging = tmp_path / "evidence/blobs/.staging"
        (staging / "dead").mkdir()
        (staging / "dead/part").write_bytes(b"half")
        with folder_store.bulk() as bulk:
            digest = bulk.add((b"a", b"b"))
            FolderStore(tmp_path / "evidence")
            (alive,) = staging.iterdir()
            assert alive.name != "dead"
        assert folder_store.get(digest) == b"ab"
        assert not list(staging.iterdir())

    @pytest.mark.parametrize(
        ("number", "cause"),
        [
            (errno.ENOSPC, Cause.DISK_FULL),
            (errno.EDQUOT, Cause.DISK_FULL),
            (errno.EIO, Cause.STORE_UNAVAILABLE),
            (errno.EROFS, Cause.STORE_UNAVAILABLE),
        ],
    )
    @pytest.mark.parametrize("way", ["put", "bulk", "stream", "place", "remember"])
    def test_says_what_is_wrong_with_the_disk(
        self, folder_store: FolderStore, monkeypatch: pytest.MonkeyPatch, number: int, cause: Cause, way: str
    ) -> None:
        def fail(descriptor: int, data: bytes) -> None:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(bulks, "_write_all", fail)
        with pytest.raises(Unavailable) as caught:
            if way == "put":
                folder_store.put(b"data")
            elif way == "remember":
                folder_store.remember(KEY, b"data")
            elif way == "place":
                folder_store.place("s", "t", 1, "n", b"data")
            else:
                with folder_store.bulk() as bulk:
                    bulk.add((b"data",) if way == "bulk" else (b"da", b"ta"))
        assert caught.value.cause is cause
        assert ("MiB free" in caught.value.reason) == (cause is Cause.DISK_FULL)

    def test_a_root_that_cannot_be_made_is_unavailable(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(b"")
        with pytest.raises(Unavailable) as caught:
            FolderStore(tmp_path / "file" / "evidence")
        assert caught.value.cause is Cause.STORE_UNAVAILABLE
