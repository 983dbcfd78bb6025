"""Asks hundreds of gitignore patterns in one go: pathspec's own expressions, joined. It takes back no match.

Where a list has a pattern that does (`!`), their order counts, and pathspec is asked as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from pathspec import GitIgnoreSpec

from domain.scope import Matcher

_ANYWHERE = "^(?:.+/)?"
_FOLDER = "(?P<ps_d>/)"


def matcher(patterns: Iterable[str]) -> Matcher:
    """Whether a path, relative and without empty parts, is matched as git would by the whole list."""
    spec = GitIgnoreSpec.from_lines(list(patterns))
    if any(pattern.include is False for pattern in spec.patterns):
        return spec.match_file
    expressions = [p.regex.pattern.replace(_FOLDER, "/") for p in spec.patterns if p.include and p.regex is not None]
    anywhere = _joined("(?:^|/)", [e.removeprefix(_ANYWHERE) for e in expressions if e.startswith(_ANYWHERE)])
    somewhere = _joined("", [e for e in expressions if not e.startswith(_ANYWHERE)])
    return lambda path: bool(anywhere.search(path) or somewhere.match(path))


def without(taken: Matcher, left_out: Matcher) -> Matcher:
    """What the one matches and the other does not."""
    return lambda path: taken(path) and not left_out(path)


def _joined(before: str, expressions: list[str]) -> re.Pattern[str]:
    """One expression for all of them, which matches nothing where there are none."""
    return re.compile(f"{before}(?:{'|'.join(expressions)})" if expressions else r"(?!)")


def exactly(path: str) -> str:
    """The pattern that `path`, from the tree's root, matches, and nothing beside it and below it does."""
    return "/" + re.sub(r"([\\*?\[\] !#])", r"\\\1", path)
