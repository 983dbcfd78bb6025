"""Freezes a workspace with its base, then tells which changes count; runs, imports and changes nothing of theirs.

Of a workspace that is being written to this alone is promised: what is frozen are bytes that were read from it. Only
`apply` writes into one, and only a verified repair (`adapters.snapshot.applying`).
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from adapters.masking.masker import Masker
from adapters.snapshot.applying import Repair, apply_repair
from adapters.snapshot.beside import Beside, NotUsable
from adapters.snapshot.build_rules import build_rules
from adapters.snapshot.commits import read_commits
from adapters.snapshot.diff import unified_diff
from adapters.snapshot.directory import read_directory, read_opened
from adapters.snapshot.doctests import lost_examples
from adapters.snapshot.found import SnapshotLimits, Tree
from adapters.snapshot.frozen_base import Rest, below
from adapters.snapshot.leaks import Leaks
from adapters.snapshot.matching import matcher
from adapters.snapshot.patterns import IgnoreRules, Include, Selection
from adapters.snapshot.probe import probe_trees
from adapters.snapshot.revision import read_revision
from adapters.snapshot.rules import rules_of
from adapters.snapshot.trusted import DROPPED, trusted
from adapters.snapshot.unstored import Blobs, Digests, Unstored
from domain.errors import Cause, Unavailable, WorkspaceRefused
from domain.fix_messages import Applied, ApplyInput
from domain.messages import (
    SHOWN,
    FreezeInput,
    Frozen,
    FrozenBase,
    Leak,
    ProbeInput,
    ScopeInput,
    ScopeResult,
)
from domain.order import BaseRevision
from domain.pins import differing, digests_of
from domain.probes import ProbeTrees
from domain.tree import BUILT_IN, Dropped, Manifest, changes

if TYPE_CHECKING:
    from domain.ports import Bulk, Progress


class FileSnapshots:
    """`domain.ports.Snapshots` over directories and git's objects."""

    def __init__(self, store: Blobs, limits: SnapshotLimits | None = None, masker: Masker | None = None) -> None:
        self._store = store
        self._limits = limits or SnapshotLimits()
        self._masker = masker or Masker()

    def freeze_base(self, request: FreezeInput, progress: Progress) -> FrozenBase:
        """Copy the base and the files beside the order into the store; the workspace is not looked at.

        Raises `Unavailable` (base_unreadable, order_files_unusable, store_unavailable, disk_full).
        """
        leaks = Leaks(self._masker)
        tree = self._read_base(request.base, Include(request.include), leaks, progress)
        base = Manifest.of(tree.entries)
        beside = self._read_beside(request.order_folder, request.order_files, leaks, request.beside)
        rest = Rest(
            manifest=self._keep(base),
            include=request.include,
            ignore_files=tree.ignore_files,
            submodules=tuple(sorted(tree.submodules)),
            dropped=tuple(tree.dropped),
            asked=request.order_files,
            order_files=self._keep(beside) if beside.entries else "",
            secrets=_in_base(leaks, base, beside),
        )
        kept = self._keep_bytes(rest.model_dump_json().encode())
        return FrozenBase(manifest=rest.manifest, rest=kept, files=len(base.entries))

    def freeze(self, request: FreezeInput, progress: Progress) -> Frozen:
        """Copy workspace, base and the files beside the order into the store; a frozen base is used as it is.

        Raises `WorkspaceRefused` for a workspace beyond the limits or with a secret in what was changed, `Unavailable`
        (base_unreadable, workspace_unreadable, order_files_unusable, store_unavailable, disk_full).
        """
        include = Include(request.include)
        leaks = Leaks(self._masker)
        rest = self._rest(request) if request.frozen_base else None
        base, base_tree = self._base(request, rest, include, leaks, progress)
        selection = Selection(include, IgnoreRules(base_tree.ignore_files), base, base_tree.submodules)
        head_tree = self._read_head(Path(request.workspace), selection, base, leaks, progress)
        head = Manifest.of(head_tree.entries)
        dropped = _all_dropped(base_tree, head_tree, head)
        beside, secrets = self._beside(request, rest, base, leaks)
        commits = self._read_commits(request, progress) if request.commits else ""
        return Frozen(
            head=self._keep(head),
            base=rest.manifest if rest else self._keep(base),
            head_files=len(head.entries),
            head_bytes=head.size,
            base_files=len(base.entries),
            dropped=self._store.put(DROPPED.dump_json(dropped)),
            dropped_count=len(dropped),
            commits=commits,
            secrets_in_base=secrets,
            order_files=self._keep(beside) if beside.entries else "",
        )

    def look(self, request: FreezeInput, progress: Progress) -> Frozen:
        """What `freeze` would answer now, by the same digests; nothing is stored. Raises as `freeze` does."""
        return FileSnapshots(Unstored(self._store), self._limits, self._masker).freeze(request, progress)

    def assess(self, request: ScopeInput) -> ScopeResult:
        """The trusted tree and what became of each change.

        Raises `Unavailable` (store_unavailable, disk_full, order_files_unusable).
        """
        base, head, standing, tree, report, tests = trusted(
            self._store.get, request.frozen, request.scope, request.tests, request.scripts
        )
        lost = lost_examples(base, tree, report.accepted, matcher(request.scope.unprotect), self._store.get)
        dropped = sorted(report.dropped, key=lambda d: d.usual)  # of a list that is cut, what is worth telling
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
            dropped=tuple(dropped[:SHOWN]),
            dropped_total=len(report.dropped),
            violations=report.violations[:SHOWN],
            violations_total=len(report.violations),
            lines_added=diff.added,
            lines_removed=diff.removed,
            changed_inputs=changed_inputs(base, head, request.inputs),
            base=self._keep(standing) if standing is not base else request.frozen.base,
            trusted=self._keep_bytes(json.dumps(tests).encode()),
            build_rules=self._build_rules(request, base, (standing, tree), tests) if request.builds else "",
            doctests=self._keep_bytes(json.dumps(lost).encode()) if lost else "",
        )

    def _build_rules(self, request: ScopeInput, base: Manifest, trees: Iterable[Manifest], tests: Iterable[str]) -> str:
        rules = rules_of(request.scope, self._store.get)
        found = build_rules(rules, base, trees, (*tests, *request.tests), self._store.get)
        return self._keep_bytes(found.model_dump_json().encode())

    def probe(self, request: ProbeInput) -> ProbeTrees:
        """The trees on which a required check has to fail. Raises `Unavailable` (store_unavailable, disk_full)."""
        return probe_trees(request, self._store)

    def patch(self, from_head: str, to_head: str) -> str:
        """The unified diff between two heads. Raises `Unavailable` (store_unavailable, disk_full)."""
        before, after = (Manifest.decode(self._store.get(digest)) for digest in (from_head, to_head))
        diff = unified_diff(before, after, [change.path for change in changes(before, after)], self._store.get)
        return self._store.put(diff.text.encode())

    def apply(self, request: ApplyInput, progress: Progress) -> Applied:
        """Write the repair, unless the workspace is not as it was frozen any more. Nothing of it is stored.

        Raises `Unavailable` (base_unreadable, workspace_unreadable, store_unavailable, disk_full).
        """
        repair = Repair(*(Manifest.decode(self._store.get(digest)) for digest in (request.head, request.fixed)))

        def look(root: int) -> Tree:
            selection = self._selection(request.freeze, progress)
            return read_opened(root, selection, self._limits, Digests(), progress)

        return apply_repair(Path(request.freeze.workspace), repair, look, self._store.get, progress)

    def _selection(self, request: FreezeInput, progress: Progress) -> Selection:
        """What freezing takes of the workspace, the base being read for it but not stored."""
        include = Include(request.include)
        if request.frozen_base:
            rest = self._rest(request)
            base = Manifest.decode(self._store.get(rest.manifest))
            tree = rest.tree(base)
        else:
            tree = self._base_into(Digests(), request.base, include, progress)
            base = Manifest.of(tree.entries)
        return Selection(include, IgnoreRules(tree.ignore_files), base, tree.submodules)

    def _keep(self, manifest: Manifest) -> str:
        return self._keep_bytes(manifest.encode())

    def _keep_bytes(self, data: bytes) -> str:
        """Store it as it is, like the files that it names: other paths would be another tree."""
        with self._store.bulk() as bulk:
            return bulk.add((data,))

    def _read_commits(self, request: FreezeInput, progress: Progress) -> str:
        log = read_commits(Path(request.workspace), request.base, progress)
        return self._store.put(log.model_dump_json().encode())

    def _rest(self, request: FreezeInput) -> Rest:
        rest = Rest.model_validate_json(self._store.get(request.frozen_base))
        rest.demand(request.include)
        return rest

    def _base(
        self, request: FreezeInput, rest: Rest | None, include: Include, leaks: Leaks, progress: Progress
    ) -> tuple[Manifest, Tree]:
        if rest:
            frozen = Manifest.decode(self._store.get(rest.manifest))
            return frozen, rest.tree(frozen)
        tree = self._read_base(request.base, include, leaks, progress)
        return Manifest.of(tree.entries), tree

    def _beside(
        self, request: FreezeInput, rest: Rest | None, base: Manifest, leaks: Leaks
    ) -> tuple[Manifest, tuple[Leak, ...]]:
        """The files beside the order that are asked for, and the secrets in them and in the base."""
        if rest is None:
            read = self._read_beside(request.order_folder, request.order_files, leaks, request.beside)
            return read, _in_base(leaks, base, read)
        frozen = Manifest.decode(self._store.get(rest.order_files)) if rest.order_files else Manifest()
        asked = below(frozen, request.order_files)
        # What a human's edit has named since the base was frozen was not there to be pinned.
        read = self._read_beside(request.order_folder, rest.unfrozen(request.order_files, frozen), leaks, {})
        new = Manifest.of(entry for entry in read.entries if entry.path not in asked.by_path)
        secrets = (*rest.secrets, *leaks.in_base(_named_beside(new)))[:SHOWN]
        return Manifest.of((*asked.entries, *new.entries)), secrets

    def _read_base(self, base: str | BaseRevision, include: Include, leaks: Leaks, progress: Progress) -> Tree:
        with self._store.bulk() as stored:
            return self._base_into(leaks.watching(stored), base, include, progress)

    def _base_into(self, bulk: Bulk, base: str | BaseRevision, include: Include, progress: Progress) -> Tree:
        if isinstance(base, BaseRevision):
            return read_revision(base, include, self._limits, bulk, progress)
        try:
            return read_directory(Path(base), Selection(include, IgnoreRules({})), self._limits, bulk, progress)
        except WorkspaceRefused as error:
            raise Unavailable(Cause.BASE_UNREADABLE, f"The base {base}: {error.reason}", error.next_step) from error
        except OSError as error:
            raise _unreadable(Cause.BASE_UNREADABLE, "base", Path(base), error) from error

    def _read_beside(self, folder: str, files: Sequence[str], leaks: Leaks, pinned: Mapping[str, str]) -> Manifest:
        """The files beside the order; `pinned` as in `FreezeInput.beside`."""
        if not files:
            return Manifest()
        if not folder:
            raise Unavailable(
                Cause.ORDER_FILES_UNUSABLE,
                f"The order names files beside it ({files[0]}), and nobody knows where its file was",
                "Verify the order's file instead of its id.",
            )
        with self._store.bulk() as bulk:
            beside = Beside(Path(folder), leaks.watching(bulk))
            for path in files:
                try:
                    beside.read(path, may_be_folder=True)
                except NotUsable as error:
                    raise Unavailable(
                        Cause.ORDER_FILES_UNUSABLE,
                        f"{path} beside the order, in {folder}: {error.what}",
                        f"{error.expected[:1].upper()}{error.expected[1:]}.",
                    ) from error
        read = Manifest.of(beside.entries)
        if pinned and (path := next(iter(differing(pinned, digests_of(read.entries))), "")):
            raise Unavailable(
                Cause.ORDER_FILES_UNUSABLE,
                f"{path} beside the order, in {folder}, is not what was pinned when the round was asked for",
                "Put it back, or have a person trust it: countersign trust ORDER; then verify again.",
            )
        return read

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


def _in_base(leaks: Leaks, base: Manifest, beside: Manifest) -> tuple[Leak, ...]:
    return (*leaks.in_base(base), *leaks.in_base(_named_beside(beside)))[:SHOWN]


def _named_beside(beside: Manifest) -> Manifest:
    """As people are told of them."""
    named = (entry.model_copy(update={"path": f"{entry.path} (beside the order)"}) for entry in beside.entries)
    return Manifest.of(named)


def _unreadable(cause: Cause, what: str, path: Path, error: OSError) -> Unavailable:
    if path.is_symlink():
        return Unavailable(cause, f"The {what} {path} is a symbolic link", "Name the folder that it leads to.")
    return Unavailable(
        cause, f"The {what} {path} cannot be read: {error.strerror}", "See that it is a folder that this user may read."
    )
