"""Turns an order's scope into `domain.scope.Rules`: patterns mean what they do to gitignore, asked for whole paths."""

from __future__ import annotations

import posixpath
import sys
from collections.abc import Iterable

from pathspec import GitIgnoreSpec

from domain.order import Scope
from domain.scope import NEW_TESTS, PROTECTED, START_UP, Matcher, Rules

_RUNNER = frozenset({"pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments", "coverage", "py"})
_IMPORTED_FIRST = sys.stdlib_module_names | _RUNNER


def rules_of(scope: Scope) -> Rules:
    """The rules of `scope`, with the built-in lists of `domain.scope` in them."""
    return Rules(
        allow=_matcher(scope.allow),
        deny=_matcher(scope.deny),
        protect=_matcher([*PROTECTED, *scope.protect]),
        unprotect=_matcher(scope.unprotect),
        new_test=_matcher(NEW_TESTS),
        start_up=_matcher(START_UP),
        shadows=shadows,
    )


def _matcher(patterns: Iterable[str]) -> Matcher:
    return GitIgnoreSpec.from_lines(list(patterns)).match_file


def shadows(path: str) -> bool:
    """Whether `path`, in the root or in `src`, is a module that hides one of the standard library's or the runner's.

    The names are those of the Python that runs Countersign, not the image's.
    """
    parts = path.removeprefix("src/").split("/")
    module = parts[0].partition(".")[0]
    if module not in _IMPORTED_FIRST:
        return False
    if len(parts) == 1:
        return posixpath.splitext(path)[1] in (".py", ".so", "")  # none: a link to a folder is a package, too
    return len(parts) == 2 and parts[1].startswith("__init__.")
