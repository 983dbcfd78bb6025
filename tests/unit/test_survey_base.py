"""Which commit `init` trusts: where the branch left the default one, read from repositories made with dulwich."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from dulwich import porcelain
from dulwich.repo import Repo

from adapters.survey.base import find_base, opened
from domain.errors import Cause, Unavailable

ME = b"A Person <a@example.com>"


def commit(root: Path, name: str, text: str) -> str:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    porcelain.add(str(root), paths=[str(path)])
    return porcelain.commit(str(root), message=text.encode(), author=ME, committer=ME).decode()


def repository(root: Path, branch: bytes = b"main") -> Path:
    root.mkdir(parents=True)
    porcelain.init(str(root)).close()
    with Repo(str(root)) as repo:
        repo.refs.set_symbolic_ref(b"HEAD", b"refs/heads/" + branch)  # type: ignore[arg-type] # a name is bytes
    return root


def set_ref(root: Path, name: bytes, revision: str) -> None:
    with Repo(str(root)) as repo:
        repo.refs[name] = revision.encode()  # type: ignore[index,assignment] # names and ids are bytes


def leave(root: Path) -> None:
    """Begin a branch of the worker's where HEAD is."""
    with Repo(str(root)) as repo:
        head = repo.head()
        repo.refs[b"refs/heads/work"] = head  # type: ignore[index] # a name is bytes
        repo.refs.set_symbolic_ref(b"HEAD", b"refs/heads/work")  # type: ignore[arg-type] # a name is bytes


@pytest.mark.parametrize("branch", [b"main", b"master", b"trunk", b"develop"])
def test_the_base_is_where_the_branch_left(tmp_path: Path, branch: bytes) -> None:
    root = repository(tmp_path / "a project", branch)
    left = commit(root, "a.txt", "one")
    leave(root)
    commit(root, "a.txt", "two")
    found = find_base(root)
    assert (found.root, found.revision) == (root, left)
    assert branch.decode() in found.because
    with opened(found) as files:
        assert files.text("a.txt") == "one"


def test_what_the_remote_calls_default_comes_first(tmp_path: Path) -> None:
    root = repository(tmp_path / "p")
    pushed = commit(root, "a.txt", "one")
    commit(root, "a.txt", "two")
    set_ref(root, b"refs/remotes/origin/release", pushed)
    with Repo(str(root)) as repo:
        name, target = b"refs/remotes/origin/HEAD", b"refs/remotes/origin/release"
        repo.refs.set_symbolic_ref(name, target)  # type: ignore[arg-type] # names are bytes
    assert find_base(root).revision == pushed


def test_without_a_default_branch_it_is_head(tmp_path: Path) -> None:
    root = repository(tmp_path / "p", b"odd")
    head = commit(root, "a.txt", "one")
    found = find_base(root)
    assert (found.revision, found.because) == (head, "HEAD")


def test_without_a_common_commit_it_is_head(tmp_path: Path) -> None:
    other = repository(tmp_path / "q")
    stranger = commit(other, "b.txt", "other")
    root = repository(tmp_path / "p", b"odd")
    head = commit(root, "a.txt", "one")
    with Repo(str(root)) as repo, Repo(str(other)) as source:
        source.fetch(repo)
    set_ref(root, b"refs/heads/main", stranger)
    assert find_base(root).revision == head


def test_a_folder_in_it_means_the_whole_repository(tmp_path: Path) -> None:
    root = repository(tmp_path / "p")
    head = commit(root, "sub/a.txt", "one")
    found = find_base(root / "sub")
    assert (found.root, found.revision) == (root, head)


def test_a_folder_that_it_does_not_have_is_no_part_of_it(tmp_path: Path) -> None:
    root = repository(tmp_path / "home")
    commit(root, "a.txt", "one")
    (root / "unpacked").mkdir()
    found = find_base(root / "unpacked")
    assert (found.root, found.revision) == (root / "unpacked", "")


def test_no_commit_and_no_repository_have_no_revision(tmp_path: Path) -> None:
    root = repository(tmp_path / "p")
    assert (find_base(root).revision, find_base(root).because) == ("", "the repository has no commit yet")
    (tmp_path / "plain").mkdir()
    assert (find_base(tmp_path / "plain").revision, find_base(tmp_path / "plain").root) == ("", tmp_path / "plain")


def test_the_newest_tag_is_the_version(tmp_path: Path) -> None:
    root = repository(tmp_path / "p")
    head = commit(root, "a.txt", "one")
    assert find_base(root).version == ""
    for tag in (b"v1.9.0", b"v1.10.0", b"nightly", b"release-1.2"):
        set_ref(root, b"refs/tags/" + tag, head)
    assert find_base(root).version == "1.10.0"


@pytest.mark.parametrize("damage", ["head", "objects", "empty"])
def test_a_damaged_repository_is_no_verdict(tmp_path: Path, damage: str) -> None:
    root = repository(tmp_path / "p")
    head = commit(root, "a.txt", "one")
    commit(root, "a.txt", "two")
    if damage == "head":
        (root / ".git" / "HEAD").write_text("no reference\n")
    elif damage == "empty":
        shutil.rmtree(root / ".git")
        (root / ".git").mkdir()
    else:
        set_ref(root, b"refs/heads/main", "0" * 39 + "1")
    with pytest.raises(Unavailable) as raised:
        find_base(root)
    assert raised.value.cause is Cause.BASE_UNREADABLE
    assert head


def test_what_a_worker_says_of_history_moves_no_base(tmp_path: Path) -> None:
    """By grafts, replaced commits and a history that is cut, none of which are objects."""
    root = repository(tmp_path / "p")
    first = commit(root, "a.txt", "one")
    second = commit(root, "a.txt", "two")
    leave(root)
    third = commit(root, "a.txt", "three")
    set_ref(root, b"refs/heads/main", second)
    (root / ".git/info").mkdir(exist_ok=True)
    (root / ".git/info/grafts").write_text(f"{third} {first}\n")
    (root / ".git/shallow").write_text(f"{third}\n")
    set_ref(root, f"refs/replace/{second}".encode(), first)
    assert find_base(root).revision == second


def test_the_remote_s_default_branch_is_known_by_name(tmp_path: Path) -> None:
    root = repository(tmp_path / "p")
    pushed = commit(root, "a.txt", "one")
    assert find_base(root).branch == ""
    set_ref(root, b"refs/remotes/origin/main", pushed)
    assert find_base(root).branch == "origin/main"
    set_ref(root, b"refs/remotes/origin/release/1", pushed)
    with Repo(str(root)) as repo:
        name, target = b"refs/remotes/origin/HEAD", b"refs/remotes/origin/release/1"
        repo.refs.set_symbolic_ref(name, target)  # type: ignore[arg-type] # names are bytes
    assert find_base(root).branch == "origin/release/1"
