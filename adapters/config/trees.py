"""Finds the workspace and the base that an order names; refuses a base that its worker could change.

A name on the command line is resolved here, once, into a full commit id; in a file only a full id stands for a commit.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from adapters.config.base_rule import RuleResolver, resolve_rule
from adapters.config.ways import entered
from adapters.snapshot.naming import owner_of, resolve_commit
from adapters.snapshot.references import Unresolved
from adapters.snapshot.repository import commit_exists, find_repository
from domain.errors import Unavailable
from domain.fields import quoted, ref_of_rule
from domain.order import BaseRevision, BaseRule

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

    def way_through(self, workspace: Path) -> Path | None:
        """The first step of the way to it that is the workspace or in it; None where none is."""
        return entered(Path(self.text), self.folder.resolve(), workspace)


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
        return _apart(written, found, workspace)
    if FULL_COMMIT_ID.fullmatch(written.text):
        written.refuse("a commit id without its repository", "expected {repository: PATH, revision: FULL_COMMIT_ID}")
    else:
        written.refuse(f"{quoted(written.text)} is no directory", "expected a directory, or {repository, revision}")
    return None


_NAMES = "a directory, or a commit by id, branch, tag, REMOTE/BRANCH, or HEAD~N"


def find_base_argument(written: Written, workspace: Path | None) -> str | BaseRevision | None:
    """What `--base` names: a directory, else a commit of the workspace's repository; None after having refused.

    A name, a short id or a rule is resolved now: the commit that it leads to is what the order has from here on.
    """
    found = written.directory()
    if found is not None:
        return _apart(written, found, workspace)
    if workspace is None:
        return None
    repository = find_repository(workspace)
    if repository is None:
        what = f"{quoted(written.text)} is no directory, and the workspace {workspace} is in no repository"
        written.refuse(what, "expected a directory")
        return None
    try:
        if not FULL_COMMIT_ID.fullmatch(written.text) and (above := owner_of(repository)) is not None:
            raise Unresolved(f"could be a name of {above}, too, which has this folder among its own files")
        if ref_of_rule(written.text) is not None:
            revision = resolve_rule(workspace, repository, written.text).revision
        else:
            revision = resolve_commit(repository, written.text)
    except Unresolved as error:
        what = f"{quoted(written.text)} is no directory, and in the repository {repository} it {error}"
        written.refuse(what, f"expected {_NAMES}")
        return None
    except Unavailable as error:
        written.refuse(f"{quoted(written.text)} cannot be resolved: {error.reason}", error.next_step)
        return None
    return BaseRevision(repository=str(repository), revision=revision)


def find_base_revision(repository: Written, revision: str, refuse: Refuse) -> BaseRevision | None:
    """A commit of a repository, the path absolute; None after having refused."""
    folder = _repository(repository)
    if folder is None:
        return None
    try:
        if not commit_exists(folder, revision):
            refuse(f"{quoted(revision)} is no commit of {folder}", "expected one that is there, and intact")
            return None
    except Unavailable as error:
        _refuse_root(repository, folder, error)
        return None
    return BaseRevision(repository=str(folder), revision=revision)


def find_base_by_rule(
    repository: Written, base: BaseRule, workspace: Path | None, refuse: Refuse, resolver: RuleResolver
) -> BaseRevision | None:
    """The commit that a rule leads to as far as `resolver` lets it count; None after having refused."""
    folder = _repository(repository)
    if folder is None or workspace is None:
        return None
    try:
        revision = resolver(workspace, folder, base.rule).revision
    except Unresolved as error:
        refuse(str(error), "expected `countersign trust ORDER` by a person, or a full commit id in its place")
        return None
    except Unavailable as error:
        refuse(error.reason, error.next_step)
        return None
    return BaseRevision(repository=str(folder), revision=revision)


def _repository(written: Written) -> Path | None:
    folder = written.directory()
    if folder is None:
        written.refuse(f"{quoted(written.text)} is no directory", "expected a repository")
    return folder


def _refuse_root(written: Written, folder: Path, error: Unavailable) -> None:
    above = find_repository(folder.parent)
    hint = f", perhaps {above}" if above else ""
    written.refuse(error.reason, f"expected the root of a repository{hint}")


def _apart(written: Written, base: Path, workspace: Path | None) -> str | None:
    """`base`, unless it shares files with `workspace`, or the way to it leads through there."""
    if workspace is None:
        return str(base)
    what = shared(base, workspace)
    if what is None and (through := written.way_through(workspace)) is not None:
        what = f"leads through {through} in the workspace"
    if what is None:
        return str(base)
    written.refuse(f"{what}, which the worker can write", "expected a directory apart from it, or a commit")
    return None


def shared(base: Path, workspace: Path) -> str | None:
    """How `base` shares files with `workspace`, None for not at all: whoever writes one would write the other."""
    if base == workspace:
        return "is the workspace itself"
    if base.is_relative_to(workspace):
        return "is inside the workspace"
    return "contains the workspace" if workspace.is_relative_to(base) else None
