"""Secrets in trees: refused in what a worker changed, noted in the base, found wherever in a file they are."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.evidence.folder import FolderStore
from adapters.masking.masker import Masker
from adapters.masking.stores import MaskedEvidence
from adapters.snapshot.leaks import Leaks
from adapters.snapshot.opening import PIECE
from adapters.snapshot.snapshots import FileSnapshots
from domain.base import sha256_hex
from domain.errors import WorkspaceRefused
from domain.messages import FreezeInput, Frozen, Leak, ScopeInput
from domain.notices import notices_of
from domain.order import Order, Scope
from domain.tree import Manifest

VALUE = "hunter2-hunter3"
MASKER = Masker({"TOKEN": VALUE.encode(), "OTHER": b"other-value"})


@pytest.fixture
def freeze(tmp_path: Path) -> Callable[[], Frozen]:
    for tree in ("base", "work"):
        (tmp_path / tree).mkdir()
        (tmp_path / tree / "same.txt").write_text("same\n")

    def run() -> Frozen:
        store = MaskedEvidence(FolderStore(tmp_path / "evidence"), MASKER)
        request = FreezeInput(round="r", workspace=str(tmp_path / "work"), base=str(tmp_path / "base"))
        return FileSnapshots(store, masker=MASKER).freeze(request, lambda _: None)

    return run


def stored(root: Path) -> list[str]:
    """The blobs that have a secret in them."""
    return [path.name for path in (root / "evidence").rglob("*") if path.is_file() and VALUE in path.read_text()]


@pytest.mark.parametrize("at", [0, PIECE - 7, PIECE + 2**16 - 3, 3 * PIECE])
def test_a_changed_file_with_a_secret_is_refused_and_nothing_is_stored(
    freeze: Callable[[], Frozen], tmp_path: Path, at: int
) -> None:
    (tmp_path / "work" / "same.txt").write_text("." * at + VALUE + "." * (PIECE // 2))
    (tmp_path / "work" / "beside.txt").write_text("beside")
    with pytest.raises(WorkspaceRefused) as caught:
        freeze()
    assert caught.value.reason == "The change has the value of the secret TOKEN in same.txt"
    assert VALUE not in str(caught.value)
    assert stored(tmp_path) == []
    assert not (tmp_path / "evidence/blobs" / sha256_hex(b"beside")[:2] / sha256_hex(b"beside")).exists()


@pytest.mark.parametrize("kind", ["file", "link", "folder"])
def test_a_name_with_a_secret_is_refused(freeze: Callable[[], Frozen], tmp_path: Path, kind: str) -> None:
    work = tmp_path / "work"
    if kind == "file":
        (work / f"{VALUE}.txt").write_text("x")
    elif kind == "link":
        (work / "link").symlink_to(VALUE)
    else:
        (work / VALUE).mkdir()
        (work / VALUE / "file").write_text("x")
    with pytest.raises(WorkspaceRefused, match="TOKEN") as caught:
        freeze()
    assert VALUE not in str(caught.value)


def test_the_base_s_own_is_taken_as_it_is_and_told_of(freeze: Callable[[], Frozen], tmp_path: Path) -> None:
    for tree in ("base", "work"):
        (tmp_path / tree / "config").write_text(VALUE)
        (tmp_path / tree / f"{VALUE}.txt").write_text("named")
    (tmp_path / "work" / "same.txt").write_text("changed\n")
    frozen = freeze()
    assert frozen.secrets_in_base == (Leak(path="config", secret="TOKEN"), Leak(path=f"{VALUE}.txt", secret="TOKEN"))
    snapshots = FileSnapshots(MaskedEvidence(FolderStore(tmp_path / "evidence"), MASKER), masker=MASKER)
    result = snapshots.assess(ScopeInput(frozen=frozen, scope=Scope()))
    trusted = Manifest.decode(FolderStore(tmp_path / "evidence").get(result.tree))
    assert {"config", f"{VALUE}.txt"} <= trusted.by_path.keys()
    assert sha256_hex(VALUE.encode()) == trusted.by_path["config"].digest
    notices = notices_of(Order(content="x", workspace="/w"), frozen)
    assert [notice for notice in notices if "TOKEN" in notice and "config" in notice]


def test_a_file_of_the_base_at_another_path_is_a_change(freeze: Callable[[], Frozen], tmp_path: Path) -> None:
    (tmp_path / "base" / "config").write_text(VALUE)
    (tmp_path / "work" / "copy").write_text(VALUE)
    with pytest.raises(WorkspaceRefused, match="in copy"):
        freeze()


def test_what_the_worker_deleted_is_no_leak(freeze: Callable[[], Frozen], tmp_path: Path) -> None:
    (tmp_path / "base" / "config").write_text(VALUE)
    assert freeze().head_files == 1


def test_where_no_secret_is_known_nothing_is_looked_at(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    with store.bulk() as bulk:
        assert Leaks(Masker()).watching(bulk) is bulk


@given(st.lists(st.sampled_from([VALUE[:4], VALUE[4:9], VALUE[9:], VALUE, "x", ""]), max_size=6), st.booleans())
def test_however_a_file_is_cut_into_pieces(pieces: list[str], once: bool) -> None:
    class Takes:
        def add(self, chunks: Iterable[bytes]) -> str:
            return sha256_hex(b"".join(chunks))

    found: dict[str, str | None] = {}
    leaks = Leaks(MASKER)
    leaks._by_digest = found
    data = [piece.encode() for piece in pieces]
    digest = leaks.watching(Takes()).add(iter(data) if once else data)
    assert digest == sha256_hex(b"".join(data))
    assert (found[digest] == "TOKEN") is (VALUE in "".join(pieces))


def test_names_that_are_no_utf_8(freeze: Callable[[], Frozen], tmp_path: Path) -> None:
    with open(os.fsencode(tmp_path / "work") + b"/\xff" + VALUE.encode(), "wb") as file:  # noqa: PTH123 - bytes
        file.write(b"x")
    assert freeze().dropped_count == 1, "a name that is no text does not travel"
    assert stored(tmp_path) == []
