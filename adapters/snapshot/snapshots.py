"""Freezes a workspace with its base, then tells which changes count; runs, imports and changes nothing of theirs.

Of a workspace that is being written to this alone is promised: what is frozen are bytes that were read from it.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from pathlib import Path

from pydantic import TypeAdapter

from adapters.masking.masker import Masker
from adapters.snapshot.commits import read_commits
from adapters.snapshot.diff import unified_diff
from adapters.snapshot.directory import read_directory
from adapters.snapshot.found import SnapshotLimits, Tree
from adapters.snapshot.leaks import Leaks
from adapters.snapshot.patterns import BUILT_IN, IgnoreRules, Include, Selection
from adapters.snapshot.revision import read_revision
from adapters.snapshot.rules import rules_of
from domain.errors import Cause, Unavailable, WorkspaceRefused
from domain.messages import SHOWN, FreezeInput, Frozen, ScopeInput, ScopeResult
from domain.order import BaseRevision
from domain.ports import EvidenceStore, Progress
from domain.scope import assess
from domain.tree import Dropped, Manifest, changes

_DROPPED = TypeAdapter(tuple[Dropped, ...])


class FileSnapshots:
    """`domain.ports.Snapshots` over directories and git's objects."""

    def __init__(
        self, store: EvidenceStore, limits: SnapshotLimits | None = None, masker: Masker | None = None
    ) -> None:
        self._store = store
        self._limits = limits or SnapshotLimits()
        self._masker = masker or Masker()

    def freeze(self, request: FreezeInput, progress: Progress) -> Frozen:
        """Copy workspace and base into the store.

        Raises `WorkspaceRefused` for a workspace beyond the limits or with a secret in what was changed, `Unavailable`
        (base_unreadable, workspace_unreadable, store_unavailable, disk_full).
        """
        include = Include(request.include)
        leaks = Leaks(self._masker)
        base_tree = self._read_base(request.base, include, leaks, progress)
        base = Manifest.of(base_tree.entries)
        selection = Selection(include, IgnoreRules(base_tree.ignore_files), base, base_tree.submodules)
        head_tree = self._read_head(Path(request.workspace), selection, base, leaks, progress)
        head = Manifest.of(head_tree.entries)
        dropped = _all_dropped(base_tree, head_tree, head)
        commits = self._read_commits(request, progress) if request.commits else ""
        return Frozen(
            head=self._keep(head),
            base=self._keep(base),
            head_files=len(head.entries),
            head_bytes=head.size,
            base_files=len(base.entries),
            dropped=self._store.put(_DROPPED.dump_json(dropped)),
            dropped_count=len(dropped),
            commits=commits,
            secrets_in_base=leaks.in_base(base),
        )

    def assess(self, request: ScopeInput) -> ScopeResult:
        """The trusted tree and what became of each change. Raises `Unavailable` (store_unavailable, disk_full)."""
        base = Manifest.decode(self._store.get(request.frozen.base))
        head = Manifest.decode(self._store.get(request.frozen.head))
        dropped = _DROPPED.validate_json(self._store.get(request.frozen.dropped))
        tree, report = assess(base, head, dropped, rules_of(request.scope))
        diff = unified_diff(base, tree, [change.path for change in report.accepted], self._store.get)
        return ScopeResult(
            tree=self._keep(tree),
            tree_bytes=tree.size,
            report=self._store.put(report.model_dump_json().encode()),
            diff=self._store.put(diff.text.encode()),
            changed=report.accepted[:SHOWN],
            changed_total=len(report.accepted),
            restored=report.restored[:SHOWN],
            restored_total=len(report.restored),
            dropped=report.dropped[:SHOWN],
            dropped_total=len(report.dropped),
            violations=report.violations[:SHOWN],
            violations_total=len(report.violations),
            lines_added=diff.added,
            lines_removed=diff.removed,
            changed_inputs=changed_inputs(base, head, request.inputs),
        )

    def _keep(self, manifest: Manifest) -> str:
        """Store it as it is, like the files that it names: other paths would be another tree."""
        with self._store.bulk() as bulk:
            return bulk.add((manifest.encode(),))

    def _read_commits(self, request: FreezeInput, progress: Progress) -> str:
        log = read_commits(Path(request.workspace), request.base, progress)
        return self._store.put(log.model_dump_json().encode())

    def _read_base(self, base: str | BaseRevision, include: Include, leaks: Leaks, progress: Progress) -> Tree:
        with self._store.bulk() as stored:
            bulk = leaks.watching(stored)
            if isinstance(base, BaseRevision):
                return read_revision(base, include, self._limits, bulk, progress)
            try:
                return read_directory(Path(base), Selection(include, IgnoreRules({})), self._limits, bulk, progress)
            except WorkspaceRefused as error:
                raise Unavailable(Cause.BASE_UNREADABLE, f"The base {base}: {error.reason}", error.next_step) from error
            except OSError as error:
                raise _unreadable(Cause.BASE_UNREADABLE, "base", Path(base), error) from error

    def _read_head(
        self, workspace: Path, selection: Selection, base: Manifest, leaks: Leaks, progress: Progress
    ) -> Tree:
        with self._store.bulk() as bulk:
            try:
                tree = read_directory(workspace, selection, self._limits, leaks.watching(bulk), progress)
            except OSError as error:
                raise _unreadable(Cause.WORKSPACE_UNREADABLE, "workspace", workspace, error) from error
            leaks.refuse(tree.entries, base)  # here, so that nothing of the tree is stored
            return tree


def changed_inputs(base: Manifest, head: Manifest, inputs: Iterable[str]) -> tuple[str, ...]:
    """The first `SHOWN` paths that differ and that one of `inputs` names, itself or by a folder above it.

    The whole head counts, in scope or not: a set-up that the worker wants otherwise is a human's to run.
    """
    wanted = [posixpath.normpath(path) for path in inputs]
    found = [c.path for c in changes(base, head) if any(_holds(path, c.path) for path in wanted)]
    return tuple(found[:SHOWN])


def _holds(folder: str, path: str) -> bool:
    return folder in (".", path) or path.startswith(f"{folder}/")


def _all_dropped(base: Tree, head: Tree, taken: Manifest) -> tuple[Dropped, ...]:
    """The head's dropped paths, and those of the base that the head does not have either."""
    by_path = {
        dropped.path: Dropped(path=dropped.path, reason=f"{dropped.reason} (in the base)")
        for dropped in base.dropped
        if dropped.path not in taken.by_path and not dropped.reason.startswith(BUILT_IN)
    }
    by_path.update((dropped.path, dropped) for dropped in head.dropped)
    return tuple(by_path[path] for path in sorted(by_path))


def _unreadable(cause: Cause, what: str, path: Path, error: OSError) -> Unavailable:
    if path.is_symlink():
        return Unavailable(cause, f"The {what} {path} is a symbolic link", "Name the folder that it leads to.")
    return Unavailable(
        cause, f"The {what} {path} cannot be read: {error.strerror}", "See that it is a folder that this user may read."
    )
