"""The unified diff of two trees: well-formed, applicable, and bounded whatever it is made of."""

from __future__ import annotations

import os
import random
import subprocess
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from unidiff.patch import PatchSet

from adapters.snapshot import diff
from adapters.snapshot.diff import unified_diff
from adapters.snapshot.snapshots import FileSnapshots
from domain.tree import Entry, Manifest, changes
from tests.fakes.evidence import MemoryStore

STORE = MemoryStore()
GIT = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_SYSTEM": "/dev/null",
    "HOME": "/nonexistent",
}


def tree(files: dict[str, bytes], executable: str = "") -> Manifest:
    return Manifest.of(
        Entry(path=path, size=len(data), digest=STORE.put(data), executable=path == executable)
        for path, data in files.items()
    )


def diff_of(before: Manifest, after: Manifest) -> str:
    """The diff's text, once it is seen that another reader of it counts the same lines."""
    found = unified_diff(before, after, [change.path for change in changes(before, after)], STORE.get)
    patch = PatchSet.from_string(found.text)
    assert (found.added, found.removed) == (patch.added, patch.removed)
    return found.text


def test_says_what_was_added_changed_and_removed() -> None:
    text = diff_of(tree({"a.py": b"1\n2\n3\n", "gone": b"x"}), tree({"a.py": b"1\n2\n4\n", "new": b"y\n"}))
    assert text == (
        "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,3 +1,3 @@\n 1\n 2\n-3\n+4\n"
        "diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-x\n"
        "\\ No newline at end of file\n"
        "diff --git a/new b/new\nnew file mode 100644\n--- /dev/null\n+++ b/new\n@@ -0,0 +1,1 @@\n+y\n"
    )
    patch = PatchSet.from_string(text)
    assert (patch.added, patch.removed) == (2, 2)


def test_names_binary_and_large_files_only() -> None:
    large = b"line\n" * 300_000
    before = tree({"bin": b"\0\1", "latin": b"caf\xe9", "large": large})
    text = diff_of(before, tree({"bin": b"\0\2", "latin": b"cafe", "large": large + b"x", "new": b"\0"}))
    assert text.count("Binary files") == 4
    assert "Binary files /dev/null and b/new differ" in text
    assert len(text) < 1000
    assert PatchSet.from_string(text).added == 0


def test_says_that_a_mode_or_a_kind_changed() -> None:
    link = Manifest.of([Entry(path="a", kind="link", target="b")])
    assert "old mode 100644\nnew mode 100755\n" in diff_of(tree({"a": b"x"}), tree({"a": b"x"}, executable="a"))
    text = diff_of(tree({"a": b"x\n"}), link)
    assert "new mode 120000" in text
    assert "+b\n\\ No newline" in text


@pytest.mark.parametrize(
    "name",
    [
        "with space",
        'quo"te',
        "back\\slash",
        "отчёт",
        "a b/c d",
        "--- a",
        "日本",
        "x and y",
        "x b/x",
        "x differ",
        " ",
        'a b/c" d',
    ],
)
def test_writes_odd_names_so_that_they_are_read_back(name: str) -> None:
    patch = PatchSet.from_string(diff_of(tree({name: b"1\n", "z": b""}), tree({name: b"2\n", "z": b"\n"})))
    assert len(patch) == 2
    assert (patch.added, patch.removed) == (2, 1)
    assert "differ" in diff_of(tree({name: b"\0"}), tree({name: b"\0\0"}))
    if not any(part in name for part in ('"', "\\", " b/")):
        assert {file.path for file in patch} == {name, "z"}


LINES = st.lists(
    st.sampled_from(["", "a", "b", "--- a/x", "+++ b/x", "@@ -1 +1 @@", "\\ No", "a\rb", "\x0c", "\u2028"]), max_size=8
)
TEXTS = st.builds(lambda lines, end: ("\n".join(lines) + end).encode(), LINES, st.sampled_from(["", "\n"]))


@settings(max_examples=60, deadline=None)
@given(before=st.none() | TEXTS, after=st.none() | TEXTS)
def test_git_applies_it_to_the_byte(
    tmp_path_factory: pytest.TempPathFactory, before: bytes | None, after: bytes | None
) -> None:
    root = tmp_path_factory.mktemp("apply")
    if before is not None:
        (root / "f x").write_bytes(before)
    old, new = (tree({} if data is None else {"f x": data}) for data in (before, after))
    text = diff_of(old, new)
    patch = PatchSet.from_string(text)
    assert len(patch) == (before != after)
    if text:
        command = ["git", "-C", str(root), "apply", "--whitespace=nowarn", "-"]
        done = subprocess.run(command, env=GIT, input=text.encode(), capture_output=True, check=False)
        assert done.returncode == 0, (done.stderr, text)
    assert ((root / "f x").read_bytes() if (root / "f x").exists() else None) == after


def test_the_total_is_bounded_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diff, "MAX_DIFF_BYTES", 1000)
    text = diff_of(tree({}), tree({f"f{n:03}": b"text\n" * 10 for n in range(50)}))
    assert len(text) < 1200
    assert "more changed files are not shown" in text.splitlines()[-1]
    assert len(PatchSet.from_string(text)) == 1000 // len(diff_of(tree({}), tree({"f000": b"text\n" * 10})))


@pytest.mark.parametrize("count", [20_000, pytest.param(100_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["random", "periodic", "reversed"])
def test_takes_bounded_time_for_files_made_to_be_slow(kind: str, count: int) -> None:
    lines = [b"%d\n" % (n % 50) for n in range(count)]
    if kind == "random":
        random.Random(0).shuffle(lines)
    other = lines[::-1] if kind == "reversed" else lines[count // 4 :] + lines[: count // 4 - 1000]
    before = {f"{n}": b"".join(lines[:500]) for n in range(20)} | {"large": b"".join(lines)}
    after = {f"{n}": b"".join(other[:500]) for n in range(20)} | {"large": b"".join(other)}
    started = time.process_time()
    text = diff_of(tree(before), tree(after))
    assert time.process_time() - started < count / 1000, "a comparison of all lines with all takes hours"
    assert len(PatchSet.from_string(text)) == len(changes(tree(before), tree(after)))


def test_a_small_change_to_a_long_file_is_a_small_diff() -> None:
    lines = [b"%d\n" % n for n in range(50_000)]
    changed = [*lines[:25_000], b"new\n", *lines[25_000:]]
    text = diff_of(tree({"a": b"".join(lines)}), tree({"a": b"".join(changed)}))
    assert len(text.splitlines()) == 3 + 1 + 7


def test_the_patch_between_two_stored_trees_is_their_difference_as_a_blob() -> None:
    before = tree({"a.py": b"1\n", "run": b"x\n", "same": b"s"}, executable="run")
    after = tree({"a.py": b"2\n", "run": b"y\n", "same": b"s"}, executable="run")
    store = MemoryStore()
    store.blobs.update(STORE.blobs)
    digests = [store.put(manifest.encode()) for manifest in (before, after)]
    patch = FileSnapshots(store).patch(*digests)
    assert store.get(patch).decode() == diff_of(before, after)
    assert FileSnapshots(store).patch(*digests) == patch, "again the same"
    assert store.get(FileSnapshots(store).patch(digests[0], digests[0])) == b""
