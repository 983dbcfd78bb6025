"""Which of a worker's changes enter the trusted tree: allowed, denied, restored, or dropped. It matches no pattern.

The gitignore matching itself is `adapters/snapshot`'s, which patterns there are is in `domain.protected`; here are the
rules that follow. Source: DESIGN 8 "Trusted tree", seed `authority` 6 "Scope verification".
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable
from typing import Literal

from domain.base import Message
from domain.linked import Names
from domain.shadows import Reserved, hidden
from domain.tree import Change, Dropped, Entry, Manifest, changes

Matcher = Callable[[str], bool]

Look = Callable[[str, Entry], str]
"""Why the content of a new test, at this path, decides what the tests beside it mean; or nothing."""

OWN_TEST = "a test of the order's own stands there"
RESTORED = "restored"
"""What `kept_out` answers where the base's or the order's content stands again; every other answer is a reason."""


class Rules(Message):
    """An order's scope, ready to be asked: each field tells of a path whether it matches. Not serialisable.

    `reserved` is asked for the names of modules, `look` for what is in a file.
    """

    allow: Matcher
    deny: Matcher
    protect: Matcher
    unprotect: Matcher
    test: Matcher
    new_test: Matcher
    start_up: Matcher
    reserved: Reserved
    look: Look


class Violation(Message):
    """A change that the order does not let the worker make."""

    path: str
    kind: Literal["denied", "out_of_scope"]


class ScopeReport(Message):
    """What became of every change. `restored` paths are the base's or the order's, `dropped` ones never entered."""

    accepted: tuple[Change, ...] = ()
    restored: tuple[str, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    violations: tuple[Violation, ...] = ()

    @property
    def touched(self) -> frozenset[str]:
        """Every path that the worker's tree has otherwise than the base and that somebody could want to travel."""
        changed = {change.path for change in self.accepted} | {violation.path for violation in self.violations}
        return frozenset(changed | set(self.restored) | {dropped.path for dropped in self.dropped if not dropped.usual})


class Overlap(ValueError):
    """A test of the order's own and the base want a file and a folder, or a link, at the same place."""


NONE = Manifest()


def lay_over(base: Manifest, own: Manifest) -> Manifest:
    """`base` with the order's own tests at their paths. Raises `Overlap` where one has a folder, the other a file."""
    if not own.entries:
        return base
    for entry in own.entries:
        above = next((parent for parent in _parents(entry.path) if parent in base.by_path), None)
        if above is not None:
            raise Overlap(
                f"{entry.path} cannot be laid over the base, which has a {base.by_path[above].kind} at {above}"
            )
        if entry.path in base.directories:
            raise Overlap(f"{entry.path} cannot be laid over the base, which has a folder there")
    return Manifest.of({**base.by_path, **own.by_path}.values())


def assess(
    base: Manifest, head: Manifest, dropped: Iterable[Dropped], rules: Rules, own: Manifest = NONE
) -> tuple[Manifest, ScopeReport]:
    """The trusted tree, base plus in-scope changes, and what became of each change.

    `dropped` are the paths that the snapshot found and did not take; the base's content stands at them and below. A
    violation keeps its change out of the tree, so that the checks still say something useful. `own` are the order's
    tests, which stand whatever base and head have. Raises `Overlap`, as `lay_over` does.
    """
    standing = lay_over(base, own)
    left_out = list(dropped)
    not_taken = {d.path for d in left_out}
    judged = _Judged(rules, head, standing, own, Names(base, head, rules.protect))
    accepted: list[Change] = []
    restored: list[str] = []
    violations: list[Violation] = []
    for change in changes(base, head):
        path = change.path
        if path in not_taken or any(parent in not_taken for parent in _parents(path)) or judged.is_the_order_s(path):
            continue
        why = judged.kept_out(change)
        if why == RESTORED:
            restored.append(path)
        elif why:
            left_out.append(Dropped(path=path, reason=why))
        elif kind := judged.violation(path):
            violations.append(Violation(path=path, kind=kind))
        else:
            accepted.append(change)
    tree, taken, unfit = _fitted(standing, head, accepted, rules)
    return tree, ScopeReport(
        accepted=taken,
        restored=tuple(restored),
        dropped=tuple(sorted([*left_out, *unfit], key=lambda d: d.path)),
        violations=tuple(violations),
    )


def trusted_tests(tree: Manifest, standing: Manifest, rules: Rules, own: Manifest = NONE) -> tuple[str, ...]:
    """The paths of `tree` that are tests and that the worker did not write; `standing` is the base with `own`.

    A link counts when what it leads to was not written by the worker either.
    """
    found = []
    for path, entry in tree.by_path.items():
        if _identity(standing.by_path.get(path)) != entry.identity or not (rules.test(path) or path in own.by_path):
            continue
        if entry.kind == "file" or _identity(tree.resolve(path)) == _identity(standing.resolve(path)):
            found.append(path)
    return tuple(found)


def _identity(entry: Entry | Literal["directory"] | None) -> object:
    return entry.identity if isinstance(entry, Entry) else entry


class _Judged:
    """Each change by itself: whether it stays out of the tree, and why."""

    def __init__(self, rules: Rules, head: Manifest, standing: Manifest, own: Manifest, names: Names) -> None:
        self._rules = rules
        self._head = head
        self._standing = standing
        self._own = own
        self._names = names

    def is_the_order_s(self, path: str) -> bool:
        """Whether the worker has exactly the order's own test there: nothing to tell anybody."""
        mine, theirs = self._own.by_path.get(path), self._head.by_path.get(path)
        return mine is not None and theirs is not None and mine.identity == theirs.identity

    def kept_out(self, change: Change) -> str:
        """`RESTORED`, or why the path is dropped, or nothing."""
        path, rules = change.path, self._rules
        if self._own.entries and self._is_of_own(path):
            return OWN_TEST if change.kind == "added" else RESTORED
        names = self._names.of(path)
        protected = [name for name in names if rules.protect(name)]
        if protected and not any(rules.unprotect(name) for name in names):
            if change.kind != "added":
                return RESTORED
            if not all(rules.new_test(name) for name in protected):
                return "a protected path that the base does not have"
        if change.kind != "deleted" and rules.start_up(path):
            return "an interpreter or a test runner runs this by itself"
        return self._decides(path) if change.kind == "added" and protected else ""

    def violation(self, path: str) -> Literal["denied", "out_of_scope"] | None:
        """How the change goes beyond the order's scope, if it does."""
        if any(self._rules.deny(name) for name in self._names.of(path)):
            return "denied"
        return None if self._rules.allow(path) else "out_of_scope"

    def _is_of_own(self, path: str) -> bool:
        own = self._own
        return path in own.by_path or path in own.directories or any(parent in own.by_path for parent in _parents(path))

    def _decides(self, path: str) -> str:
        """Why a new test's content is not let in among tests that are there."""
        entry = self._head.resolve(path)
        if posixpath.dirname(path) not in self._standing.directories or not isinstance(entry, Entry):
            return ""
        return self._rules.look(path, entry)


def _fitted(
    standing: Manifest, head: Manifest, accepted: list[Change], rules: Rules
) -> tuple[Manifest, tuple[Change, ...], list[Dropped]]:
    """The tree, what entered it, and what could not because of its place or because it would hide something there."""
    unfit: list[Dropped] = []
    while True:
        tree, without = _apply(standing, head, accepted)
        out = {d.path: d for d in without}
        added = [change.path for change in accepted if change.kind == "added" and change.path not in out]
        hiding = hidden(tree, [path for path in added if not rules.unprotect(path)], rules.reserved)
        out |= {path: Dropped(path=path, reason=why) for path, why in hiding.items()}
        unfit += out.values()
        accepted = [change for change in accepted if change.path not in out]
        if not hiding:
            return tree, tuple(accepted), unfit


def _apply(base: Manifest, head: Manifest, accepted: list[Change]) -> tuple[Manifest, list[Dropped]]:
    """`base` with the accepted changes; an addition below or above a path that stayed the base's cannot be made."""
    kept = dict(base.by_path.items())
    for change in accepted:
        if change.kind == "deleted":
            del kept[change.path]
    directories = Manifest.of(kept.values()).directories
    unfit: list[Dropped] = []
    taken: dict[str, Entry] = {}
    for change in accepted:
        if change.kind == "deleted":
            continue
        if change.path in directories or any(parent in kept for parent in _parents(change.path)):
            unfit.append(
                Dropped(path=change.path, reason="its place is taken by a file or folder that stays the base's")
            )
        else:
            taken[change.path] = head.by_path[change.path]
    return Manifest.of({**kept, **taken}.values()), unfit


def _parents(path: str) -> Iterable[str]:
    parent = posixpath.dirname(path)
    while parent:
        yield parent
        parent = posixpath.dirname(parent)
