"""Makes the trusted tree from what was frozen: by the order's scope, with the order's own tests. It stores nothing."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable
from typing import NamedTuple

from pydantic import TypeAdapter

from adapters.snapshot.matching import exactly
from adapters.snapshot.rules import rules_of
from domain.errors import Cause, Unavailable
from domain.messages import Frozen
from domain.order import Scope
from domain.scope import NONE, Overlap, ScopeReport, assess, lay_over, trusted_tests
from domain.tree import Dropped, Manifest

DROPPED = TypeAdapter(tuple[Dropped, ...])


class Trusted(NamedTuple):
    """The frozen trees, `standing`: the base with the order's own tests, and what became of the worker's changes.

    `tests` are the paths of `tree` that are tests and that the worker did not write.
    """

    base: Manifest
    head: Manifest
    standing: Manifest
    tree: Manifest
    report: ScopeReport
    tests: tuple[str, ...]


def trusted(
    read: Callable[[str], bytes], frozen: Frozen, scope: Scope, tests: Iterable[str], scripts: Iterable[str] = ()
) -> Trusted:
    """What of `frozen` counts; `tests` are the paths of the order's own tests, `read` gives a blob by its digest.

    `scripts` are paths that its commands run as tests: those that the base has are protected.

    Raises what `read` raises, and `Unavailable` (order_files_unusable) where such a test does not fit on the base.
    """
    base, head = (Manifest.decode(read(digest)) for digest in (frozen.base, frozen.head))
    own = _own_tests(Manifest.decode(read(frozen.order_files)), tests) if frozen.order_files else NONE
    gates = [exactly(path) for path in scripts if path in base.by_path]
    rules = rules_of(scope.model_copy(update={"protect": [*scope.protect, *gates]}), read)
    try:
        standing = lay_over(base, own)
        tree, report = assess(base, head, DROPPED.validate_json(read(frozen.dropped)), rules, own)
    except Overlap as error:
        raise Unavailable(
            Cause.ORDER_FILES_UNUSABLE, f"The order's own test {error}", "Give it another place beside the order."
        ) from error
    return Trusted(base, head, standing, tree, report, trusted_tests(tree, standing, rules, own))


def _own_tests(beside: Manifest, tests: Iterable[str]) -> Manifest:
    wanted = [posixpath.normpath(path) for path in tests]
    return Manifest.of(
        entry
        for entry in beside.entries
        if any(entry.path == path or entry.path.startswith(f"{path}/") for path in wanted)
    )
