"""Finds the workspace and the base that an order names; refuses a base that its worker could change."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from adapters.snapshot.repository import commit_exists, find_repository
from domain.errors import Unavailable
from domain.fields import quoted
from domain.order import BaseRevision

FULL_COMMIT_ID = re.compile(r"[0-9a-f]{40}")

Refuse = Callable[[str, str], None]
"""Called with what is wrong and what was expected."""


@dataclass(frozen=True)
class Written:
    """One path as somebody wrote it: relative to `folder`, and how to say no to it."""

    text: str
    folder: Path
    refuse: Refuse

    def directory(self) -> Path | None:
        """The directory it leads to, links followed; None when there is none."""
        try:
            path = (self.folder / self.text).resolve()
            str(path).encode()
            return path if path.is_dir() else None
        except (OSError, ValueError, RuntimeError):
            # Too long, forbidden, a NUL character, no UTF-8, links in a circle: no directory to anybody.
            return None


def find_workspace(written: Written) -> Path | None:
    """The worker's tree, absolute; None after having refused."""
    found = written.directory()
    if found is None:
        written.refuse(f"{quoted(written.text)} is no directory", "expected the tree that the worker changes")
    return found


def find_base_directory(written: Written, workspace: Path | None) -> str | None:
    """A trusted tree in a directory, absolute; None after having refused."""
    found = written.directory()
    if found is not None:
        return _apart(found, workspace, written.refuse)
    if FULL_COMMIT_ID.fullmatch(written.text):
        written.refuse("a commit id without its repository", "expected {repository: PATH, revision: FULL_COMMIT_ID}")
    else:
        written.refuse(f"{quoted(written.text)} is no directory", "expected a directory, or {repository, revision}")
    return None


def find_base_argument(written: Written, workspace: Path | None) -> str | BaseRevision | None:
    """What `--base` names: a directory, else a commit of the workspace's repository; None after having refused."""
    found = written.directory()
    if found is not None:
        return _apart(found, workspace, written.refuse)
    if not FULL_COMMIT_ID.fullmatch(written.text):
        written.refuse(
            f"{quoted(written.text)} is no directory, and as a revision it is a name that can move",
            "expected a directory, or a full commit id of 40 hexadecimal digits",
        )
        return None
    if workspace is None:
        return None
    repository = find_repository(workspace)
    if repository is None:
        written.refuse(f"a commit id, but the workspace {workspace} is in no repository", "expected a directory")
        return None
    try:
        return _commit(repository, written.text, written.refuse)
    except Unavailable as error:
        written.refuse(error.reason, "expected a directory, or a repository that can be read")
        return None


def find_base_revision(repository: Written, revision: str, refuse: Refuse) -> BaseRevision | None:
    """A commit of a repository, the path absolute; None after having refused."""
    folder = repository.directory()
    if folder is None:
        repository.refuse(f"{quoted(repository.text)} is no directory", "expected a repository")
        return None
    try:
        return _commit(folder, revision, refuse)
    except Unavailable as error:
        above = find_repository(folder.parent)
        hint = f", perhaps {above}" if above else ""
        repository.refuse(error.reason, f"expected the root of a repository{hint}")
        return None


def _commit(repository: Path, revision: str, refuse: Refuse) -> BaseRevision | None:
    if not commit_exists(repository, revision):
        refuse(f"{quoted(revision)} is no commit of {repository}", "expected one that is there, and intact")
        return None
    return BaseRevision(repository=str(repository), revision=revision)


def _apart(base: Path, workspace: Path | None, refuse: Refuse) -> str | None:
    """`base`, unless it shares files with `workspace`."""
    what = shared(base, workspace) if workspace is not None else None
    if what is None:
        return str(base)
    refuse(f"{what}, which the worker can write", "expected a directory apart from it, or a commit")
    return None


def shared(base: Path, workspace: Path) -> str | None:
    """How `base` shares files with `workspace`, None for not at all: whoever writes one would write the other."""
    if base == workspace:
        return "is the workspace itself"
    if base.is_relative_to(workspace):
        return "is inside the workspace"
    return "contains the workspace" if workspace.is_relative_to(base) else None
