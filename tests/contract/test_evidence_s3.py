"""What only a bucket has to do: errors that say what to do, renewal, pruning beside writers, and an end to waiting."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import obstore
import pytest

from adapters.evidence import bucket, s3, s3_sweep
from adapters.evidence.bucket import Bucket, Found
from adapters.evidence.s3 import S3Store
from adapters.evidence.s3_sweep import S3Sweep
from adapters.evidence.sweep import Left
from domain.base import sha256_hex
from domain.errors import Cause, Unavailable
from tests.s3 import S3Server

KEY = "b" * 64
DAY = 86_400.0
LATER = time.time() + s3.FRESH + DAY
"""By then what is stored now is old."""


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever removes may stand still for a while: that its word is then too old has a test of its own."""
    monkeypatch.setattr(s3_sweep, "_RENEWED", s3.LEASE)


def blob(digest: str) -> str:
    return f"blobs/{digest[:2]}/{digest}"


def age(store: S3Store, path: str, seconds: float) -> None:
    """Let the object be that old where it is listed: this server takes a time with what it is sent."""
    found = store.bucket.get(path)
    assert found is not None
    written = {"mtime": str(time.time() - seconds)}
    obstore.put(store.bucket._store, path, found[0], attributes=written)


def staged(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "staging").iterdir())


class TestStored:
    def test_a_blob_that_was_altered_is_refused_by_name(self, s3_store: S3Store) -> None:
        digest = s3_store.put(b"evidence")
        s3_store.bucket.put(blob(digest), b"evidencE")
        with pytest.raises(Unavailable, match=digest) as caught:
            s3_store.get(digest)
        assert caught.value.cause is Cause.STORE_UNAVAILABLE

    @pytest.mark.parametrize("in_bulk", [False, True])
    def test_a_blob_that_was_cut_short_is_written_again(self, s3_store: S3Store, in_bulk: bool) -> None:
        digest = s3_store.put(b"evidence")
        s3_store.bucket.put(blob(digest), b"evi")
        if in_bulk:
            with s3_store.bulk() as bulk:
                bulk.add((b"evidence",))
        else:
            s3_store.put(b"evidence")
        assert s3_store.get(digest) == b"evidence"

    def test_a_damaged_memo_is_none(self, s3_store: S3Store) -> None:
        s3_store.remember(KEY, b"memory")
        s3_store.bucket.put(f"memo/{KEY}", b"memory")
        assert s3_store.recall(KEY) is None

    def test_large_files_go_in_parts_and_leave_nothing_here(self, s3_store: S3Store, tmp_path: Path) -> None:
        pieces = [bytes([number]) * 2**20 for number in range(7)]  # more than a part's 5 MiB
        with s3_store.bulk() as bulk:
            digests = [bulk.add(pieces), *(bulk.add((str(number).encode(),)) for number in range(40))]
            assert staged(tmp_path)
            assert not s3_store.has(digests[1])
        assert s3_store.get(digests[0]) == b"".join(pieces)
        assert all(s3_store.has(digest) for digest in digests)
        assert not staged(tmp_path)

    def test_a_large_file_that_is_there_is_not_staged(self, s3_store: S3Store) -> None:
        pieces = [b"x" * 2**20] * 5
        with s3_store.bulk() as bulk:
            bulk.add(pieces)
        with s3_store.bulk() as bulk:
            assert bulk.add(pieces) == sha256_hex(b"".join(pieces))
            assert not bulk.staged


class Recording(Bucket):
    """Remembers what was written, and does something before it removes."""

    def __init__(self, store: S3Store, server: S3Server, before_removing: Callable[[], None] = lambda: None) -> None:
        super().__init__(store.bucket.url, server.url)
        self.written: list[str] = []
        self._before_removing = before_removing

    def put(self, path: str, data: bytes | Path) -> None:
        super().put(path, data)
        self.written.append(path)

    def put_over(self, found: Found, data: bytes) -> None:
        super().put_over(found, data)
        self.written.append(found.path)

    def delete(self, path: str) -> None:
        if path.startswith("blobs/"):
            self._before_removing()
        super().delete(path)


class TestRenewal:
    @pytest.mark.parametrize("way", ["put", "bulk", "recall"])
    @pytest.mark.parametrize(("fresh", "renewed"), [(3600.0, False), (-3600.0, True)])
    def test_what_is_used_again_after_a_day_is_written_again(  # a day: `fresh` seconds
        self,
        s3_server: S3Server,
        s3_store: S3Store,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        way: str,
        fresh: float,
        renewed: bool,
    ) -> None:
        s3_store.remember(KEY, b"memory")
        path = f"memo/{KEY}" if way == "recall" else blob(s3_store.put(b"evidence"))
        monkeypatch.setattr(s3, "FRESH", fresh)
        bucket = Recording(s3_store, s3_server)
        store = S3Store(bucket, tmp_path / "other")
        if way == "put":
            store.put(b"evidence")
        elif way == "recall":
            assert store.recall(KEY) == b"memory"
        else:
            with store.bulk() as bulk:
                bulk.add((b"evidence",))
        assert bucket.written == ([path] if renewed else [])
        assert store.recall(KEY) == b"memory"

    def test_what_is_renewed_while_it_is_removed_is_there_afterwards(
        self, s3_server: S3Server, s3_store: S3Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        digest = s3_store.put(b"evidence")
        monkeypatch.setattr(s3, "FRESH", -3600.0)
        bucket = Recording(s3_store, s3_server)
        writer = threading.Thread(target=S3Store(bucket, tmp_path / "other").put, args=(b"evidence",), daemon=True)

        def renew() -> None:
            writer.start()
            ends = time.monotonic() + s3.LEASE - 30
            while not bucket.written and time.monotonic() < ends:
                time.sleep(0.01)

        sweep = S3Sweep(Recording(s3_store, s3_server, renew))
        assert sweep.remove(Left(blob(digest), 8), LATER)
        assert bucket.written
        assert writer.is_alive(), "it waits until nobody removes anything there"
        sweep.done()
        writer.join(120)
        assert s3_store.get(digest) == b"evidence"

    def test_the_word_of_somebody_who_died_holds_nobody_up(
        self, s3_store: S3Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        digest = s3_store.put(b"evidence")
        left = f"{s3.REMOVING}/blobs/{digest[:2]}/somebody"
        s3_store.bucket.put(left, b"")
        age(s3_store, left, s3.LEASE + 60)
        monkeypatch.setattr(s3, "FRESH", -3600.0)
        monkeypatch.setattr(time, "sleep", lambda _: pytest.fail("it waits"))
        assert s3_store.put(b"evidence") == digest
        age(s3_store, left, 2 * DAY)
        S3Sweep(s3_store.bucket).restore()
        assert s3_store.bucket.head(left) is None


class TestPruning:
    def test_what_nobody_used_since_goes_a_day_later(self, s3_store: S3Store) -> None:
        digest = s3_store.put(b"evidence")
        s3_store.remember(KEY, b"memory")
        s3_store.bucket.put("blobs/ab/notes", b"somebody's")
        sweep, sooner = S3Sweep(s3_store.bucket), LATER - 2 * DAY
        assert not [*sweep.old_blobs(sooner), *sweep.old_memos(sooner)]
        assert list(sweep.memos(sooner)) == [b"memory"]
        assert list(sweep.memos(LATER)) == []
        (old,), (memo,) = sweep.old_blobs(LATER), sweep.old_memos(LATER)
        assert old == Left(blob(digest), 8)
        assert not sweep.remove(old, sooner), "it was used after it was listed"
        assert [sweep.remove(one, LATER) for one in (old, old, memo)] == [True, False, True]
        sweep.done()
        assert not s3_store.has(digest)
        assert s3_store.recall(KEY) is None
        assert not list(s3_store.bucket.below(s3.REMOVING))

    def test_nothing_is_removed_on_a_word_that_is_too_old(
        self, s3_store: S3Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        digest = s3_store.put(b"evidence")
        monkeypatch.setattr(s3_sweep, "_RENEWED", -1.0)
        assert not S3Sweep(s3_store.bucket).remove(Left(blob(digest), 8), LATER)
        assert s3_store.has(digest)

    def test_folders_of_attempts(self, s3_store: S3Store) -> None:
        for attempt in (1, 2):
            for name in ("spec.json", "audits/first.json"):
                s3_store.place("local", "wo-1", attempt, name, b"{}")
                age(s3_store, f"local/wo-1/{attempt}/{name}", attempt * 10 * DAY)
        s3_store.put(b"blob")
        s3_store.remember(KEY, b"memory")
        sweep, before = S3Sweep(s3_store.bucket), time.time() - 15 * DAY
        both = {("local", "wo-1", 1), ("local", "wo-1", 2)}
        assert set(sweep.attempts()) == both
        (old,) = sweep.old_folders(before, both)
        assert old == Left("local/wo-1/2", 4)
        assert sweep.remove(old, before)
        assert set(sweep.attempts()) == {("local", "wo-1", 1)}
        assert s3_store.placed("local", "wo-1", 2, "spec.json") is None


class TestErrors:
    def said(self, store: S3Store) -> Iterator[str]:
        for ask in (
            lambda: store.put(b"data"),
            lambda: store.get("0" * 64),
            lambda: store.place("s", "t", 1, "n", b""),
            lambda: list(store.bucket.below("blobs")),
        ):
            with pytest.raises(Unavailable) as caught:
                ask()
            assert caught.value.cause is Cause.STORE_UNAVAILABLE
            assert caught.value.retryable
            yield str(caught.value)

    def test_a_bucket_that_is_not_there(self, s3_server: S3Server, s3_store: S3Store, tmp_path: Path) -> None:
        for text in self.said(S3Store(Bucket("s3://other-bucket", s3_server.url), tmp_path)):
            assert "there is no such bucket" in text or "no blob" in text

    def test_credentials_that_are_wrong(
        self, s3_server: S3Server, s3_store: S3Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "some-other-secret-1")
        store = S3Store(Bucket(s3_store.bucket.url, s3_server.url), tmp_path)
        for text in self.said(store):
            assert "AWS_SECRET_ACCESS_KEY" in text
            assert "some-other-secret-1" not in text

    def test_a_store_that_is_away_fails_soon_and_works_when_it_is_back(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(bucket._CLIENT, "read_timeout", timedelta(seconds=120))  # for when it is there, and slow
        server = S3Server(tmp_path / "s3")
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        store = S3Store(Bucket("s3://evidence", server.url), tmp_path / "staging")
        began = time.monotonic()
        with pytest.raises(Unavailable, match="can be reached"):
            store.put(b"data")
        with pytest.raises(Unavailable), store.bulk() as bulk:
            bulk.add((b"data",))
        assert time.monotonic() - began < 90, "seconds, not minutes"
        server.start()
        try:
            assert store.get(store.put(b"data")) == b"data"
        finally:
            server.stop()

    def test_a_file_of_certificates_that_is_not_there(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("AWS_CA_BUNDLE", "/not/there.pem")
        with pytest.raises(Unavailable, match=r"/not/there\.pem"):
            Bucket("s3://evidence")
