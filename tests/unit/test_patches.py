"""Unified diffs, applied to the letter: what git and diff write, and what is refused."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.patches import FilePatch, PatchError, parse

OLD = b"one\ntwo\nthree\nfour\nfive\nsix\nseven\n"
SIMPLE = b"""--- a/f.txt
+++ b/f.txt
@@ -2,3 +2,3 @@
 two
-three
+THREE
 four
"""


def only(patch: bytes) -> FilePatch:
    (file,) = parse(patch)
    return file


def git(folder: Path, *arguments: str) -> bytes:
    """The output of git in a folder of ours."""
    return subprocess.run(["git", *arguments], cwd=folder, capture_output=True, check=False).stdout


def test_a_hunk_replaces_its_lines() -> None:
    file = only(SIMPLE)
    assert (file.old, file.new, file.executable) == ("f.txt", "f.txt", None)
    assert file.apply(OLD) == OLD.replace(b"three", b"THREE")


def test_lines_that_moved_are_found_where_they_are() -> None:
    assert only(SIMPLE).apply(b"zero\n\n" + OLD) == b"zero\n\n" + OLD.replace(b"three", b"THREE")


@pytest.mark.parametrize(
    ("before", "why"),
    [
        (OLD.replace(b"four", b"4"), "stand nowhere"),
        (b"\n" + OLD + OLD, "stand at 2 places, none of them line 2"),
        (b"", "stand nowhere"),
        (None, "is not there"),
    ],
)
def test_what_does_not_fit_is_refused(before: bytes | None, why: str) -> None:
    with pytest.raises(PatchError, match=why):
        only(SIMPLE).apply(before)


@pytest.mark.parametrize(
    ("patch", "why"),
    [
        (b"", "no file is changed"),
        (b"hello\n", "no file is changed"),
        (b"--- a/f\n+++ b/f\n", "a hunk was expected"),
        (b"--- a/f\n+++ b/f\n@@ -1,2 +1,1 @@\n x\n", "not as many lines"),
        (b"--- a/f\n+++ b/f\n@@ -1 +1 @@\n+x\n+y\n", "not as many lines"),
        (b"--- a/../f\n+++ b/../f\n@@ -1 +1 @@\n-x\n+y\n", "no plain path inside the tree"),
        (b"--- /etc/passwd\n+++ /etc/passwd\n@@ -1 +1 @@\n-x\n+y\n", "no plain path inside the tree"),
        (b"--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-x\n+y\n", "comes from nowhere"),
        (b"diff --git a/f b/f\nGIT binary patch\n", "a binary patch"),
        (b"diff --git a/f b/g\ncopy from f\ncopy to g\n", "a copy"),
        (b"diff --git a/f b/f\nnew file mode 120000\n", "only regular files"),
        (SIMPLE + SIMPLE, "names a file twice"),
        (b'--- "a/\\xff"\n+++ "b/\\xff"\n@@ -1 +1 @@\n-x\n+y\n', "no path that is taken"),
    ],
)
def test_what_is_no_patch_is_refused(patch: bytes, why: str) -> None:
    with pytest.raises(PatchError, match=why):
        parse(patch)


def test_what_git_writes_is_read(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    for name in ("changed", "gone", "moved", "mode", "ü with a space", "empty"):
        (tmp_path / name).write_bytes(b"" if name == "empty" else OLD + name.encode())
    git(tmp_path, "add", "-A")
    git(tmp_path, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first")
    (tmp_path / "changed").write_bytes(b"first\n" + OLD.replace(b"six\n", b""))
    (tmp_path / "gone").unlink()
    (tmp_path / "ü with a space").write_bytes(b"shorter\n")
    (tmp_path / "moved").rename(tmp_path / "there")
    (tmp_path / "mode").chmod(0o755)
    (tmp_path / "empty").unlink()
    (tmp_path / "new").write_bytes(b"no end of line")
    git(tmp_path, "add", "-A")
    files = {file.path: file for file in parse(git(tmp_path, "diff", "--cached", "-M"))}
    assert set(files) == {"changed", "gone", "there", "mode", "ü with a space", "empty", "new"}
    assert files["changed"].apply(OLD + b"changed") == (tmp_path / "changed").read_bytes()
    assert files["ü with a space"].apply(OLD + "ü with a space".encode()) == b"shorter\n"
    assert (files["gone"].new, files["gone"].apply(OLD + b"gone")) == (None, b"")
    assert (files["there"].old, files["there"].apply(OLD + b"moved")) == ("moved", OLD + b"moved")
    assert (files["mode"].executable, files["mode"].apply(OLD)) == (True, OLD)
    assert (files["empty"].new, files["empty"].apply(b"")) == (None, b"")
    assert (files["new"].old, files["new"].apply(None)) == (None, b"no end of line")
    empty = only(b"diff --git a/new empty b/new empty\nnew file mode 100755\nindex 0000000..e69de29\n")
    assert (empty.path, empty.old, empty.executable, empty.apply(None)) == ("new empty", None, True, b"")
    with pytest.raises(PatchError, match="is to go, and has more in it"):
        files["gone"].apply(b"more\n" + OLD + b"gone")
    with pytest.raises(PatchError, match="is there already"):
        files["new"].apply(b"")


TEXTS = st.lists(st.sampled_from(["a", "b", "", "\r", "-", "+x", "\\ no", "@@ -1 +1 @@"]), max_size=12).flatmap(
    lambda lines: st.sampled_from(["\n".join(lines), "\n".join([*lines, ""])])
)


@pytest.mark.parametrize("lines", ["-U3", "-U0"])
@settings(max_examples=25, deadline=None)
@given(before=TEXTS, after=TEXTS)
def test_what_git_says_differs_is_what_is_changed(
    tmp_path_factory: pytest.TempPathFactory, lines: str, before: str, after: str
) -> None:
    folder = tmp_path_factory.mktemp("diff")
    for name, text in (("before", before), ("after", after)):
        (folder / name).write_bytes(text.encode())
    patch = git(folder, "diff", "--no-index", lines, "before", "after")
    if before == after:
        assert patch == b""
        return
    (file,) = parse(patch)
    assert file.apply(before.encode()) == after.encode()
