"""What every evidence store does, run on the folder and on the one in memory; then what only a folder has to."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.evidence import folder
from adapters.evidence.folder import FolderStore
from domain.base import sha256_hex
from domain.errors import Cause, Unavailable
from domain.ports import EvidenceStore
from tests.fakes.evidence import MemoryStore


@pytest.fixture(params=["folder", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> EvidenceStore:
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
        for name in ("dead", "alive"):
            (staging / name).mkdir()
        two_days_ago = time.time() - 2 * 86400
        os.utime(staging / "dead", (two_days_ago, two_days_ago))
        FolderStore(tmp_path / "evidence")
        assert [p.name for p in staging.iterdir()] == ["alive"]

    @pytest.mark.parametrize(
        ("number", "cause"),
        [
            (errno.ENOSPC, Cause.DISK_FULL),
            (errno.EDQUOT, Cause.DISK_FULL),
            (errno.EIO, Cause.STORE_UNAVAILABLE),
            (errno.EROFS, Cause.STORE_UNAVAILABLE),
        ],
    )
    @pytest.mark.parametrize("way", ["put", "bulk", "stream", "place"])
    def test_says_what_is_wrong_with_the_disk(
        self, folder_store: FolderStore, monkeypatch: pytest.MonkeyPatch, number: int, cause: Cause, way: str
    ) -> None:
        def fail(descriptor: int, data: bytes) -> None:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(folder, "_write_all", fail)
        with pytest.raises(Unavailable) as caught:
            if way == "put":
                folder_store.put(b"data")
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
