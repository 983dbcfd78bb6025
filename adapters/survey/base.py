"""Finds the tree to trust: the commit where a branch left the default one, or a copy of a tree without a repository.

References, tags and objects are read with dulwich; no git process is run, no hook and no filter.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from dulwich.errors import NotGitRepository
from dulwich.graph import find_merge_base
from dulwich.object_store import tree_lookup_path
from dulwich.objects import Commit, ObjectID, Tree
from dulwich.refs import Ref
from dulwich.repo import Repo, UnsupportedExtension, UnsupportedVersion

from adapters.snapshot.directory import read_directory
from adapters.snapshot.found import SnapshotLimits
from adapters.snapshot.patterns import IgnoreRules, Include, Selection
from adapters.snapshot.repository import find_repository
from adapters.snapshot.revision import read_revision
from adapters.survey.files import Files, LocalBulk
from domain.errors import Cause, Unavailable
from domain.order import BaseRevision

_NAMES = ("main", "master", "trunk", "develop")
_VERSION = re.compile(r"(?:[A-Za-z_-]*[/-])?[vV]?(\d+(?:\.\d+){1,3})")
_DAMAGE = (KeyError, ValueError, OSError, NotGitRepository, UnsupportedVersion, UnsupportedExtension, AssertionError)


@dataclass(frozen=True)
class Trusted:
    """The tree to trust. `revision` is empty without a repository; `because` says how it was chosen."""

    root: Path
    revision: str = ""
    version: str = ""
    because: str = ""


def find_base(directory: Path) -> Trusted:
    """What to trust for the tree around `directory`. Raises `Unavailable` (base_unreadable)."""
    root = find_repository(directory)
    if root is None:
        return Trusted(directory, because="there is no git repository")
    try:
        with Repo(str(root)) as repository:
            return _in_repository(repository, root, directory)
    except _DAMAGE as error:
        raise Unavailable(
            Cause.BASE_UNREADABLE,
            f"the repository {root} cannot be read: {error!r}",
            "check it with `git fsck`; or unpack what you trust elsewhere and name that as base",
        ) from error


def _in_repository(repository: Repo, root: Path, directory: Path) -> Trusted:
    try:
        head = repository.head()
    except KeyError:
        return Trusted(root, because="the repository has no commit yet")
    name, tip = _default_branch(repository)
    found = find_merge_base(repository, [head, tip]) if tip else []
    revision = found[0] if found else head
    if not _holds(repository, revision, directory.relative_to(root).as_posix()):
        return Trusted(directory, because=f"the repository {root} does not have this folder")
    because = f"where HEAD left {name}" if found and revision != head else "HEAD"
    return Trusted(root, revision.decode(), _newest_version(repository), because)


def _default_branch(repository: Repo) -> tuple[str, ObjectID | None]:
    """The branch that work is merged into, by name, and its tip."""
    candidates = [Ref(b"refs/remotes/origin/HEAD")]
    for folder in ("refs/heads", "refs/remotes/origin"):
        candidates += [Ref(f"{folder}/{name}".encode()) for name in _NAMES]
    for reference in candidates:
        with suppress(KeyError):
            tip = repository.refs[reference]
            return reference.decode().removeprefix("refs/").removeprefix("heads/").removeprefix("remotes/"), tip
    return "", None


def _holds(repository: Repo, revision: ObjectID, folder: str) -> bool:
    """Whether the commit has that folder: an unpacked archive in somebody's home repository is no part of it."""
    commit = repository[revision]
    if not isinstance(commit, Commit) or folder == ".":
        return isinstance(commit, Commit)
    try:
        _, name = tree_lookup_path(repository.__getitem__, commit.tree, folder.encode())
    except (KeyError, NotADirectoryError):
        return False
    return isinstance(repository[name], Tree)


def _newest_version(repository: Repo) -> str:
    """The highest version among the tags, or nothing: a build without .git has to be told one."""
    found = []
    for name in repository.refs.as_dict(Ref(b"refs/tags")):
        match = _VERSION.fullmatch(name.decode(errors="replace"))
        if match:
            found.append(match[1])
    return max(found, key=lambda text: [int(part) for part in text.split(".")], default="")


@contextmanager
def opened(trusted: Trusted) -> Iterator[Files]:
    """The files of a trusted tree, while the context lasts.

    Raises `Unavailable` (base_unreadable), `WorkspaceRefused` beyond the limits, `OSError`.
    """
    include, limits = Include(["**"]), SnapshotLimits()
    with TemporaryDirectory(prefix="countersign-init-") as folder:
        bulk = LocalBulk(Path(folder))
        if trusted.revision:
            base = BaseRevision(repository=str(trusted.root), revision=trusted.revision)
            tree = read_revision(base, include, limits, bulk, _say_nothing)
            yield Files(tree.entries, bulk.folder)
        else:
            selection = Selection(include, IgnoreRules({}))
            tree = read_directory(trusted.root, selection, limits, bulk, _say_nothing)
            yield Files(tree.entries, bulk.folder)


def copy_base(files: Files, bases: Path, name: str) -> Path:
    """The tree of `files` as a folder in `bases`, named by its digest: the same tree is the same folder.

    Raises `OSError`.
    """
    target = bases / f"{re.sub(r'[^A-Za-z0-9._-]', '-', name)[:60]}-{files.manifest.digest[:16]}"
    if target.is_dir():
        return target
    bases.mkdir(mode=0o700, parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="partial-", dir=bases) as partial:
        root = Path(partial) / "tree"
        root.mkdir()
        for entry in files.manifest.entries:
            path = root / entry.path
            path.parent.mkdir(parents=True, exist_ok=True)
            if entry.kind == "link":
                path.symlink_to(entry.target)
            else:
                shutil.copyfile(files.blob(entry), path)
                path.chmod(0o755 if entry.executable else 0o644)
        with suppress(FileExistsError):  # another init of the same tree was faster, with the same content
            root.rename(target)
    return target


def _say_nothing(_: str) -> None:
    """Progress of a survey is not shown: it takes a moment."""
