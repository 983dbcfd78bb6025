"""What it means for a check that examples of the base are gone, which it runs as tests. Pure.

Which they are, the round's scope has found (`ScopeResult.doctests`); here is which of them a check would have run.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

from domain.checks import Outcome
from domain.suite.commands import doctests_in

Lost = Mapping[str, tuple[str, ...]]
"""The first lines of examples, by the path of the file that had them."""

NEXT_STEP = (
    "leave the base's examples as they are and put new ones behind them; where the work is to change them, the order's "
    "scope.unprotect names the file"
)
SHOWN = 3  # examples in a text


def lost_to(command: str, cwd: str, lost: Lost) -> dict[str, tuple[str, ...]]:
    """Of `lost`, what stood in files that the shell command gives to doctest."""
    patterns = [posixpath.normpath(posixpath.join(cwd, folder, name)) for folder, name in doctests_in(command)]
    return {path: told for path, told in lost.items() if any(fnmatchcase(path, pattern) for pattern in patterns)}


def verdict(lost: Lost) -> tuple[Outcome, str, str] | None:
    """Outcome, code and text where anything is lost."""
    if not lost:
        return None
    told = [f"{line} ({path})" for path, lines in sorted(lost.items()) for line in lines]
    more = f" and {len(told) - SHOWN} more" if len(told) > SHOWN else ""
    what = "an example of the base was" if len(told) == 1 else "examples of the base were"
    return Outcome.FAILED, "tests_missing", f"{what} taken out or rewritten: {', '.join(told[:SHOWN])}{more}"


def is_doctest(name: str) -> bool:
    """Whether a test of that id, as pytest has it, is one of doctest's: named by a module, or as its file is."""
    file, _, rest = name.partition("::")
    base = posixpath.basename(file)
    return "::" not in rest and ("." in rest.partition("[")[0] or rest in (base, base.partition(".")[0]))


def of_files(lost: Lost, paths: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Of `lost`, what stood in one of these files, or below one of these folders."""
    wanted = tuple(paths)
    return {
        path: told
        for path, told in lost.items()
        if any(name in ("", ".", path) or path.startswith(f"{name}/") for name in wanted)
    }
