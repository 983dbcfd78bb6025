"""What a person calls a commit, resolved in repositories that a worker has damaged or forged; no git process is run."""

from __future__ import annotations

import os
import shutil
import zlib
from hashlib import sha1
from pathlib import Path

import pytest

from adapters.snapshot import ancestry as ancestry_module
from adapters.snapshot import naming, references
from adapters.snapshot.ancestry import Ancestry
from adapters.snapshot.naming import resolve_commit, small_objects
from adapters.snapshot.references import References, Unresolved
from domain.errors import Cause, Unavailable
from tests.unit.test_snapshot_commits import commit
from tests.unit.test_snapshot_revision import git


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch", "main")
    commit(folder, "first")
    return folder


def refused(root: Path, name: str) -> str:
    with pytest.raises(Unresolved) as raised:
        resolve_commit(root, name)
    return str(raised.value)


def unreadable(root: Path, name: str) -> Unavailable:
    with pytest.raises(Unavailable) as raised:
        resolve_commit(root, name)
    assert raised.value.cause is Cause.BASE_UNREADABLE
    return raised.value


def loose(root: Path, kind: str, data: bytes) -> str:
    """Write an object as it is, whatever it says, and answer with its id."""
    whole = f"{kind} {len(data)}\0".encode() + data
    name = sha1(whole, usedforsecurity=False).hexdigest()
    path = root / ".git/objects" / name[:2] / name[2:]
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(zlib.compress(whole))
    return name


NAMES = (
    "main",
    "HEAD",
    "topic/x",
    "v1",
    "v2",
    "refs/tags/v2",
    "origin/main",
    "origin",
    "HEAD~1",
    "main^",
    "v2~2",
    "main^2~1",
)


@pytest.mark.parametrize("form", ["loose", "packed", "worktree", "submodule", "shared", "bare"])
def test_names_mean_what_they_mean_to_git(root: Path, tmp_path: Path, form: str) -> None:
    commit(root, "second")
    git(root, "checkout", "--quiet", "-b", "topic/x")
    commit(root, "on topic")
    git(root, "checkout", "--quiet", "main")
    commit(root, "third")
    git(root, "merge", "--quiet", "--no-edit", "topic/x")
    git(root, "tag", "v1", "HEAD~1")
    git(root, "tag", "--annotate", "--message", "two", "v2")
    git(root, "update-ref", "refs/remotes/origin/main", "HEAD~1")
    git(root, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
    place = root
    if form == "packed":
        git(root, "gc", "--quiet")
        assert not (root / ".git/refs/heads/main").exists()
    if form == "worktree":
        place = tmp_path / "linked"
        git(root, "worktree", "add", "--quiet", "--detach", str(place), "HEAD~1")
    if form == "submodule":
        outer = tmp_path / "outer"
        outer.mkdir()
        git(outer, "init", "--quiet")
        git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(root), "inner")
        place = outer / "inner"
        assert (place / ".git").is_file()
        for name in ("refs/heads/topic/x", "refs/remotes/origin/main"):
            git(place, "update-ref", name, "HEAD~1")
    if form == "shared":
        place = tmp_path / "borrower"
        git(tmp_path, "clone", "--quiet", "--shared", str(root), str(place))
        git(place, "branch", "topic/x", "HEAD~1")
    if form == "bare":
        place = tmp_path / "bare.git"
        git(tmp_path, "clone", "--quiet", "--mirror", str(root), str(place))
    for name in NAMES:
        assert resolve_commit(place, name) == git(place, "rev-parse", f"{name}^{{commit}}"), name
    head = git(place, "rev-parse", "HEAD")
    for digits in (4, 7, 39, 40):
        assert resolve_commit(place, head[:digits].upper()) == head
    tag = git(place, "rev-parse", "v2")
    assert (
        tag != resolve_commit(place, tag) == resolve_commit(place, tag[:10]) == git(place, "rev-parse", "v2^{commit}")
    )


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("gone", "names no commit; tried refs/tags/gone, refs/heads/gone, refs/remotes/gone, refs/remotes/gone/HEAD"),
        ("main~9", "which is the first commit"),
        ("main^2", "which has 0"),
        ("main^3~1", "which has 0"),
        ("abc", "at least 4 digits"),
        ("abcd", "names no commit"),
        ("a" * 64, "object format is sha256"),
        *((name, "cannot be") for name in ("../HEAD", "/etc/passwd", "refs/heads/../../x", "a..b", "main@{1}", "-x")),
        *((name, "cannot be") for name in ("", "~1", "^", "main:file", "ma in", "a\0b", "x.lock", "^main", "HEAD~x")),
    ],
)
def test_a_name_that_leads_nowhere_says_what_was_tried(root: Path, name: str, said: str) -> None:
    assert said in refused(root, name)


def test_a_full_id_is_the_object_alone_whatever_is_called_so(root: Path) -> None:
    first = git(root, "rev-parse", "HEAD")
    second = commit(root, "second")
    (root / ".git/refs/heads" / first).write_text(second + "\n")
    assert resolve_commit(root, first) == first
    assert "no object" in unreadable(root, "0" * 40).reason
    assert refused(root, git(root, "rev-parse", "HEAD^{tree}")) == "is no commit"


@pytest.mark.parametrize("made", ["tag", "heads/origin", "digits"])
def test_a_name_of_two_commits_is_ambiguous_and_both_are_said(root: Path, made: str) -> None:
    """A worker's tag `main`, a branch `origin/main`, a branch that reads as a short id."""
    first = git(root, "rev-parse", "HEAD")
    git(root, "update-ref", "refs/remotes/origin/main", first)
    second = commit(root, "second")
    name = {"tag": "main", "heads/origin": "origin/main", "digits": first[:7]}[made]
    git(root, "update-ref", f"refs/{'tags' if made == 'tag' else 'heads'}/{name}", first if made == "tag" else second)
    said = refused(root, name)
    assert said.startswith("is ambiguous: ")
    assert first in said
    assert second in said
    if made == "heads/origin":
        assert resolve_commit(root, "refs/remotes/origin/main") == first


def test_a_short_id_that_others_have_is_ambiguous(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree, number = git(root, "rev-parse", "HEAD^{tree}"), 0
    head = git(root, "rev-parse", "HEAD")
    while not (twin := loose(root, "commit", f"tree {tree}\n\n{number}".encode())).startswith(head[:2]):
        number += 1
    monkeypatch.setattr(naming, "LEAST_DIGITS", 2)
    said = refused(root, head[:2])
    assert said.startswith("is ambiguous: ")
    assert head in said
    assert twin in said
    git(root, "gc", "--quiet", "--prune=now")
    assert resolve_commit(root, head[:2]) == head
    for number in range(200):
        loose(root, "blob", str(number).encode())
    monkeypatch.setattr(naming, "_CANDIDATES", 1)
    assert "1 objects or more begin so" in refused(root, head[:2])


def test_a_short_id_of_a_file_or_a_folder_is_not_meant(root: Path) -> None:
    tree = git(root, "rev-parse", "HEAD^{tree}")
    assert "names no commit" in refused(root, tree[:8])
    (root / ".git/objects" / tree[:2] / "tmp_obj_x").write_bytes(b"")
    assert "names no commit" in refused(root, tree[:4])


def test_damaged_objects_and_indexes_are_no_answer(root: Path) -> None:
    head = git(root, "rev-parse", "HEAD")
    path = root / ".git/objects" / head[:2] / head[2:]
    path.chmod(0o600)
    path.write_bytes(b"damaged")
    assert "damaged" in unreadable(root, "main").reason
    assert "names no commit" in refused(root, head[:8])
    (root / ".git/objects/pack/pack-1.idx").write_bytes(b"\xfftOc" + b"x" * 2000)
    (root / ".git/objects/pack/pack-1.pack").write_bytes(b"PACK")
    assert "cannot be listed" in unreadable(root, head[:8]).reason


def test_a_tag_of_a_tree_and_tags_in_a_circle_are_no_commits(root: Path) -> None:
    tree = git(root, "rev-parse", "HEAD^{tree}")
    git(root, "tag", "tree", tree)
    assert "which is no commit" in refused(root, "tree")
    name = git(root, "rev-parse", "HEAD")
    for _ in range(12):
        kind = "commit" if name == git(root, "rev-parse", "HEAD") else "tag"
        name = loose(root, "tag", f"object {name}\ntype {kind}\ntag t\n\n".encode())
    (root / ".git/refs/tags/deep").write_text(name)
    assert "which is no commit" in refused(root, "deep")


def test_references_that_mean_ill(root: Path, tmp_path: Path) -> None:
    heads = root / ".git/refs/heads"
    (heads / "loop").write_text("ref: refs/heads/pool\n")
    (heads / "pool").write_text("ref: refs/heads/loop\n")
    assert "lead on more than 5 times" in refused(root, "loop")
    (tmp_path / "outside").write_text(git(root, "rev-parse", "HEAD"))
    (heads / "link").symlink_to(tmp_path / "outside")
    assert "cannot be read" in refused(root, "link")
    (heads / "folder").symlink_to(tmp_path)
    assert "cannot be read" in refused(root, "folder/outside")
    for number, target in enumerate(("../../outside", str(tmp_path / "outside"), "HEAD", "refs/heads/../../HEAD")):
        (heads / f"out{number}").write_text(f"ref: {target}\n")
        assert "neither an id nor a name" in refused(root, f"out{number}")
    os.mkfifo(heads / "pipe")
    assert "is no regular file" in refused(root, "pipe")
    (heads / "huge").write_text("0" * 9000)
    assert "more than 8192 bytes" in refused(root, "huge")
    (heads / "modern").write_text("f" * 64)
    assert "sha256" in refused(root, "modern")
    (root / ".git/HEAD").write_text("ref: refs/heads/.invalid\n")
    assert "reftable" in refused(root, "HEAD")
    (root / ".git/HEAD").write_text("ref: refs/heads/unborn\n")
    assert "names no commit" in refused(root, "HEAD")


def test_packed_references_are_read_to_a_bound(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    head = git(root, "rev-parse", "HEAD")
    packed = root / ".git/packed-refs"
    lines = [f"{head} refs/heads/b{number}" for number in range(1000)]
    lines += [f"{head} refs/../x", "^" + "0" * 40, "# x", f"{'0' * 40}  refs/heads/space", f"{head} refs/heads/last"]
    packed.write_text("\n".join(lines))
    assert resolve_commit(root, "last") == head
    # What reads as the end of a line elsewhere is part of a name here.
    packed.write_text(f"{head} refs/heads/a\u2028{'0' * 40} refs/heads/b\n")
    assert "names no commit" in refused(root, "b")
    monkeypatch.setattr(references, "_PACKED_BYTES", 50)
    assert "has more than 50 bytes" in refused(root, "last")


def test_a_loose_reference_comes_before_a_packed_one_and_a_folder_is_none(root: Path) -> None:
    first = git(root, "rev-parse", "HEAD")
    git(root, "pack-refs", "--all")
    second = commit(root, "second")
    assert resolve_commit(root, "main") == second
    (root / ".git/refs/heads/main").unlink()
    (root / ".git/refs/heads/main").mkdir()
    assert resolve_commit(root, "main") == first
    assert "names no commit" in refused(root, "main/below")


def forge_history(root: Path, older: str, newer: str) -> None:
    """Everything beside the objects by which git may be told that `older` is the parent of `newer`, or ends there."""
    git(root, "update-ref", f"refs/replace/{newer}", older)
    (root / ".git/info/grafts").write_text(f"{newer} {older}\n")
    (root / ".git/shallow").write_text(f"{newer}\n")


def test_replaced_grafted_and_cut_commits_are_what_their_objects_say(root: Path) -> None:
    first = git(root, "rev-parse", "HEAD")
    second = commit(root, "second")
    third = commit(root, "third")
    git(root, "checkout", "--quiet", "--orphan", "other")
    stranger = commit(root, "stranger")
    forge_history(root, stranger, third)
    assert [resolve_commit(root, name) for name in ("main", third, third[:8])] == [third] * 3
    assert resolve_commit(root, "main~1") == second
    assert resolve_commit(root, "main~2") == first
    objects = small_objects(root)
    found = Ancestry([objects])
    assert found.leads_to(first, third)
    assert not found.leads_to(stranger, third)
    assert found.merge_base(third, stranger) is None
    objects.close()


def test_a_forged_commit_graph_is_not_read(root: Path) -> None:
    first = git(root, "rev-parse", "HEAD")
    second = commit(root, "second")
    git(root, "commit-graph", "write", "--reachable")
    graph = root / ".git/objects/info/commit-graph"
    assert graph.exists()
    graph.chmod(0o600)
    data = graph.read_bytes()
    graph.write_bytes(data.replace(bytes.fromhex(first), bytes.fromhex(second)))
    assert resolve_commit(root, "main~1") == first


def test_alternates_bring_objects_and_no_names(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    git(tmp_path, "clone", "--quiet", "--no-hardlinks", str(root), str(other))
    git(other, "checkout", "--quiet", "-b", "theirs")
    theirs = commit(other, "theirs")
    head = git(root, "rev-parse", "HEAD")
    (root / ".git/objects/info/alternates").write_text(f"{other}/.git/objects\n")
    assert "names no commit" in refused(root, "theirs")
    assert resolve_commit(root, theirs) == resolve_commit(root, theirs[:9]) == theirs
    forged = other / ".git/objects" / head[:2] / head[2:]
    forged.chmod(0o600)
    forged.write_bytes((other / ".git/objects" / theirs[:2] / theirs[2:]).read_bytes())
    assert resolve_commit(root, "main") == head
    mine = root / ".git/objects" / head[:2] / head[2:]
    shutil.copyfile(forged, mine.with_name("copy"))
    mine.unlink()
    assert "altered" in unreadable(root, "main").reason


def test_a_shallow_clone_ends_with_the_way_out(root: Path, tmp_path: Path) -> None:
    first = git(root, "rev-parse", "HEAD")
    commit(root, "second")
    third = commit(root, "third")
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "--quiet", "--depth", "2", f"file://{root}", str(shallow))
    assert resolve_commit(shallow, "origin/main~1") == git(shallow, "rev-parse", "main~1")
    error = unreadable(shallow, "main~2")
    assert first in error.reason
    assert "git fetch --unshallow" in error.next_step
    (shallow / ".git/shallow").unlink()
    assert first in unreadable(shallow, "main~2").reason
    objects = small_objects(shallow)
    with pytest.raises(Unavailable, match="unshallow"):
        Ancestry([objects]).leads_to(first, third)
    objects.close()


def test_merge_bases_are_git_s(root: Path) -> None:
    """A history with merges both ways, and dates that lie."""
    names, dates = [git(root, "rev-parse", "HEAD")], [50, 10, 90, 20, 80, 5, 70, 60, 15, 95, 30, 85]
    tree = git(root, "rev-parse", "HEAD^{tree}")
    for number, date in enumerate(dates):
        parents = {names[-1], names[(number * 7) % len(names)], *names[:: max(1, number % 4 * 2 + 1)][:1]}
        lines = "".join(f"parent {parent}\n" for parent in sorted(parents)[: 1 + number % 3])
        data = f"tree {tree}\n{lines}author a <a> 1 +0000\ncommitter a <a> {date} +0000\n\n{number}".encode()
        names.append(loose(root, "commit", data))
    objects = small_objects(root)
    found = Ancestry([objects])
    for one in names:
        for two in names:
            expected = git(root, "merge-base", "--all", one, two).split()
            assert found.merge_base(one, two) in expected, (one, two)
            assert found.leads_to(one, two) == (expected == [one])
    objects.close()


def test_of_common_ancestors_the_best_is_one_that_no_other_descends_from(root: Path) -> None:
    """Although its date is the earlier one, and what lies between the two was never looked at."""
    tree = git(root, "rev-parse", "HEAD^{tree}")

    def made(date: int, *parents: str) -> str:
        lines = "".join(f"parent {parent}\n" for parent in parents)
        return loose(root, "commit", f"tree {tree}\n{lines}committer a <a> {date} +0000\n\n{parents}".encode())

    older = made(90)
    best = made(10, made(5, older))
    one, two = made(100, older, best), made(101, older, best)
    objects = small_objects(root)
    assert Ancestry([objects]).merge_base(one, two) == best
    objects.close()


def test_reading_history_has_a_bound(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(6):
        commit(root, str(number))
    monkeypatch.setattr(ancestry_module, "MAX_COMMITS", 4)
    assert "more than 4 commits" in unreadable(root, "HEAD~6").reason


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ('[remote "origin"]\n\turl = https://a.example/x.git\n', ("origin", "deep/main", "https://a.example/x.git")),
        ('[remote "origin/deep"]\n\turl = /x\n[remote "origin"]\n\turl = /y\n', ("origin/deep", "main", "/x")),
        ('[remote "other"]\n\turl = /x\n', ("", "origin/deep/main", "")),
        ('[remote "origin"]\n\tfetch = x\n', ("origin", "deep/main", "")),
        ("[include]\n\tpath = more\n", ("", "origin/deep/main", "")),
    ],
)
def test_the_remote_of_a_branch_is_in_the_repository_s_own_configuration(
    root: Path, config: str, expected: tuple[str, str, str]
) -> None:
    (root / ".git/more").write_text('[remote "origin"]\n\turl = /included\n')
    (root / ".git/config").write_text(config)
    assert References(root).remote_of("refs/remotes/origin/deep/main") == expected


def test_a_configuration_that_cannot_be_read_is_said(root: Path) -> None:
    (root / ".git/config").write_text("nonsense\n")
    with pytest.raises(Unresolved, match="configuration cannot be read"):
        References(root).remote_of("refs/remotes/origin/main")


def test_a_repository_inside_another_s_files_is_the_worker_s(root: Path, tmp_path: Path) -> None:
    (root / "pkg" / "sub").mkdir(parents=True)
    (root / "pkg" / "sub" / "a.py").write_text("")
    git(root, "add", "--all")
    commit(root, "files")
    assert naming.owner_of(root) is None
    git(root / "pkg" / "sub", "init", "--quiet")
    assert naming.owner_of(root / "pkg" / "sub") == root
    honest = root / "unpacked"
    honest.mkdir()
    git(honest, "init", "--quiet")
    assert naming.owner_of(honest) is None
    linked = root / "linked"
    git(root, "worktree", "add", "--quiet", "--detach", str(linked))
    assert naming.owner_of(linked) is None
    git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(root), "inner")
    commit(root, "submodule")
    assert naming.owner_of(root / "inner") is None
    (root / ".git" / "HEAD").write_text("nonsense")
    assert naming.owner_of(root / "pkg" / "sub") is None
