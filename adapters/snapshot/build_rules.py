"""Tells what a build may change, and what it may not add, from an order's scope and the trees; it runs no build.

Source: `domain.builds`. What happens after a build is the sandbox's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from adapters.snapshot.rules import RESERVED
from domain.builds import UNWANTED, BuildRules
from domain.scope import Rules
from domain.tree import Manifest

_DECLARING = ("pyproject.toml", "setup.cfg", "setup.py")
_PLUGINS = "pytest11"


def build_rules(
    rules: Rules, base: Manifest, trees: Iterable[Manifest], kept: Iterable[str], read: Callable[[str], bytes]
) -> BuildRules:
    """The rules for each of `trees`, and for others that differ from them in protected files only.

    `kept` are further paths that no build may change. A project that is a plugin of pytest, which the base says of
    itself, may be built as one. `read` gives a blob by its digest; raises what it raises.
    """
    protected = frozenset(kept)
    paths = {entry.path for tree in trees for entry in tree.entries if entry.kind == "file"}
    open_to_all = {p for p in paths if rules.unprotect(p) or not (rules.protect(p) or rules.start_up(p))}
    return BuildRules(
        changeable=tuple(sorted(open_to_all - protected)),
        unwanted=tuple(
            unwanted
            for unwanted in UNWANTED
            if not rules.unprotect(unwanted.name) and not (unwanted.holding == _PLUGINS and _a_plugin(base, read))
        ),
        hiding=tuple(sorted(RESERVED)),
    )


def _a_plugin(base: Manifest, read: Callable[[str], bytes]) -> bool:
    declaring = [base.by_path[path] for path in _DECLARING if path in base.by_path]
    return any(entry.kind == "file" and _PLUGINS.encode() in read(entry.digest) for entry in declaring)
