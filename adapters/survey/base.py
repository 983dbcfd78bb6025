"""Finds the tree to trust: the commit where a branch left the default one, or a copy of a tree without a repository.

References and commits are read from their files alone; no git process is run, no hook and no filter, and what a worker
may write beside the objects (grafts, replaced commits, commit graphs) changes nothing.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from adapters.snapshot.ancestry import Ancestry
from adapters.snapshot.directory import read_directory
from adapters.snapshot.found import SnapshotLimits
from adapters.snapshot.naming import holds_folder, small_objects
from adapters.snapshot.patterns import IgnoreRules, Include, Selection
from adapters.snapshot.references import References, Unresolved
from adapters.snapshot.repository import ObjectReader, find_repository
from adapters.snapshot.revision import read_revision
from adapters.survey.files import Files, LocalBulk
from domain.errors import Cause, Unavailable
from domain.order import BaseRevision

_NAMES = ("main", "master", "trunk", "develop")
_REMOTE_HEAD = "refs/remotes/origin/HEAD"
_REMOTE_NAMES = tuple(f"refs/remotes/origin/{name}" for name in _NAMES)
_VERSION = re.compile(r"(?:[A-Za-z_-]*[/-])?[vV]?(\d+(?:\.\d+){1,3})")


@dataclass(frozen=True)
class Trusted:
    """The tree to trust. `revision` is empty without a repository; `because` says how it was chosen.

    `branch` is the remote's default one, such as `origin/main`, where the repository knows it.
    """

    root: Path
    revision: str = ""
    version: str = ""
    because: str = ""
    branch: str = ""


def find_base(directory: Path) -> Trusted:
    """What to trust for the tree around `directory`. Raises `Unavailable` (base_unreadable)."""
    root = find_repository(directory)
    if root is None:
        return Trusted(directory, because="there is no git repository")
    try:
        references = References(root)
        head = references.get("HEAD")
        if head is None:
            return Trusted(root, because="the repository has no commit yet")
        objects = small_objects(root)
        try:
            return _in_repository(references, objects, head, root, directory)
        finally:
            objects.close()
    except (Unresolved, OSError, ValueError) as error:
        raise Unavailable(
            Cause.BASE_UNREADABLE,
            f"the repository {root} cannot be read: {error}",
            "check it with `git fsck`; or unpack what you trust elsewhere and name that as base",
        ) from error


def _in_repository(references: References, objects: ObjectReader, head: str, root: Path, directory: Path) -> Trusted:
    name, tip = _default_branch(references)
    found = Ancestry([objects]).merge_base(head, tip) if tip else None
    revision = found or head
    if not holds_folder(objects, revision, directory.relative_to(root).as_posix()):
        return Trusted(directory, because=f"the repository {root} does not have this folder")
    because = f"where HEAD left {name}" if found and revision != head else "HEAD"
    return Trusted(root, revision, _newest_version(references), because, _default_of_remote(references))


def _default_branch(references: References) -> tuple[str, str | None]:
    """The branch that work is merged into, by name, and its tip."""
    candidates = [_REMOTE_HEAD, *(f"refs/heads/{name}" for name in _NAMES), *_REMOTE_NAMES]
    for whole in candidates:
        tip = references.get(whole)
        if tip is not None:
            return _short(whole), tip
    return "", None


def _default_of_remote(references: References) -> str:
    """That branch as the remote has it, such as `origin/main`; nothing where none is known."""
    known = (references.target(whole) for whole in (_REMOTE_HEAD, *_REMOTE_NAMES) if references.get(whole) is not None)
    return next((_short(whole) for whole in known if whole.startswith("refs/remotes/")), "")


def _short(whole: str) -> str:
    return whole.removeprefix("refs/").removeprefix("heads/").removeprefix("remotes/")


def _newest_version(references: References) -> str:
    """The highest version among the tags, or nothing: a build without .git has to be told one."""
    found = []
    for name in references.below("refs/tags"):
        match = _VERSION.fullmatch(name.removeprefix("refs/tags/"))
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
