"""The trees that a check has to fail on: the order's patch on the work or on the base, and what no patch fits."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from adapters.checkers.control_trees import Patched, patched, with_changed_values
from domain.base import canonical_json
from domain.tree import Entry, Manifest
from tests.fakes.evidence import MemoryStore

Contents = Mapping[str, bytes | str]

BASE: Contents = {"src/a.sh": b"one\ntwo\nthree\n", "run.sh": b"exit 1\n", "link": "src/a.sh"}
PATCH = b"""--- a/src/a.sh
+++ b/src/a.sh
@@ -1,3 +1,3 @@
 one
-two
+TWO
 three
"""


def stored(store: MemoryStore, contents: Contents) -> str:
    """The digest of a stored manifest: text is a link's target, and two scripts can be executed."""
    entries = [
        Entry(path=path, kind="link", target=what)
        if isinstance(what, str)
        else Entry(path=path, size=len(what), digest=store.put(what), executable=path in ("run.sh", "tests/a.sh"))
        for path, what in contents.items()
    ]
    return store.put(Manifest.of(entries).encode())


def files(store: MemoryStore, tree: str) -> dict[str, bytes | str]:
    entries = Manifest.decode(store.get(tree)).entries
    return {entry.path: entry.target or store.get(entry.digest) for entry in entries}


def made(
    store: MemoryStore, work: Contents, patch: bytes = PATCH, base: Contents = BASE, name: str = "break.patch"
) -> Patched:
    beside = stored(store, {"break.patch": patch})
    return patched(store, stored(store, work), stored(store, base), beside, name)


def test_a_patch_is_applied_to_the_work_and_to_the_base() -> None:
    store = MemoryStore()
    work = {**BASE, "src/a.sh": b"zero\none\ntwo\nthree\n", "new": b"new"}
    found = made(store, work)
    assert found.tree
    assert (found.moved, found.unusable, found.tree.paths) == ("", "", ("src/a.sh",))
    assert files(store, found.tree.tree) == {**work, "src/a.sh": b"zero\none\nTWO\nthree\n"}
    assert files(store, found.tree.base) == {**BASE, "src/a.sh": b"one\nTWO\nthree\n"}
    executable = [entry.path for entry in Manifest.decode(store.get(found.tree.tree)).entries if entry.executable]
    assert executable == ["run.sh"]


def test_a_file_that_was_rewritten_is_the_bases_with_the_patch() -> None:
    store = MemoryStore()
    found = made(store, {**BASE, "src/a.sh": b"1\n2\n3\n", "new": b"new"})
    assert found.tree
    assert "stand nowhere" in found.moved
    assert files(store, found.tree.tree) == {**BASE, "src/a.sh": b"one\nTWO\nthree\n", "new": b"new"}


def test_a_file_that_the_work_does_not_have_keeps_the_patch_off() -> None:
    store = MemoryStore()
    works: tuple[Contents, ...] = ({"run.sh": b""}, {**BASE, "src/a.sh": "run.sh"})
    for work in works:
        found = made(store, work)
        assert found == Patched(None, moved="break.patch breaks src/a.sh, which the work does not have")


ADDS = b"--- /dev/null\n+++ b/%s\n@@ -0,0 +1 @@\n+x\n"
RENAMES = b"diff --git a/src/a.sh b/%s\nrename from src/a.sh\nrename to %s\n"


@pytest.mark.parametrize(
    ("patch", "why"),
    [
        (PATCH.replace(b"-two", b"-2"), "fits neither the work (src/a.sh: hunk 1: its old lines stand nowhere"),
        (PATCH.replace(b"src/a.sh", b"link"), "fits neither the work (link: is not there) nor the base"),
        (ADDS % b"src/a.sh", "is there already"),
        (ADDS % b"src", "there is something else in its place"),
        (ADDS % b"run.sh/x", "there is something else in its place"),
        (RENAMES % (b"run.sh", b"run.sh"), "run.sh: is there already"),
        (b"no patch\n", "break.patch: no file is changed in it"),
    ],
)
def test_a_patch_that_fits_nothing_is_unusable(patch: bytes, why: str) -> None:
    found = made(MemoryStore(), BASE, patch)
    assert (found.tree, found.moved) == (None, "")
    assert why in found.unusable


def test_a_patch_that_is_not_there_is_unusable() -> None:
    store = MemoryStore()
    assert made(store, BASE, name="other").unusable == "other: there is no such file beside the order"
    tree = stored(store, BASE)
    assert patched(store, tree, tree, "", "break.patch").unusable


def test_files_come_go_and_move() -> None:
    store = MemoryStore()
    gone = (
        b"diff --git a/run.sh b/run.sh\ndeleted file mode 100755\n--- a/run.sh\n+++ /dev/null\n@@ -1 +0,0 @@\n-exit 1\n"
    )
    found = made(store, BASE, ADDS % b"new/x" + gone + RENAMES % (b"b.sh", b"b.sh"))
    assert found.tree
    assert files(store, found.tree.tree) == {"new/x": b"x\n", "b.sh": BASE["src/a.sh"], "link": "src/a.sh"}


SHELL = b'[ "$(sh src/a.sh)" = "Hello" ] || exit 1\n'


def test_values_of_trusted_tests_are_changed_alike_on_both_trees() -> None:
    store = MemoryStore()
    base = {**BASE, "tests/a.sh": SHELL, "tests/b.sh": b"true\n", "tests/c.sh": SHELL}
    work = {**base, "src/a.sh": b"echo Hello\n", "tests/c.sh": SHELL.replace(b"Hello", b"Bye"), "tests/bad.sh": b"\xff"}
    head, below = stored(store, work), stored(store, base)
    trusted = store.put(canonical_json(["tests/a.sh", "tests/b.sh", "tests/bad.sh", "tests/gone.sh"]))
    (changed,) = with_changed_values(store, head, below, trusted, seed=1)
    assert changed.paths == ("tests/a.sh",)
    after = [files(store, tree) for tree in (changed.tree, changed.base)]
    assert after[0]["tests/a.sh"] == after[1]["tests/a.sh"] != SHELL
    assert {**after[0], "tests/a.sh": SHELL} == work
    assert {**after[1], "tests/a.sh": SHELL} == base
    assert all(mark.encode() in bytes(str(after[0]["tests/a.sh"]), "ascii") for mark in changed.marks)
    assert changed.marks
    assert [Manifest.decode(store.get(tree)).by_path["tests/a.sh"].executable for tree in changed[1:3]] == [True, True]
    assert with_changed_values(store, head, below, trusted, seed=1) == (changed,)
    assert with_changed_values(store, head, below, trusted, seed=2) != (changed,)
