"""The tools that read the frozen tree: Read, grep, glob, git_diff, git_log. None has a file system, or can write.

What they read is `reading`'s, how patterns are searched `searching`'s. Source: seed `auditor` 3.2, DESIGN 1.4 and 8.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Annotated

from pathspec import GitIgnoreSpec
from pydantic import Field

from adapters.roles.reading import Trees, found, inside, missing
from adapters.roles.searching import Asked, Texts, search
from adapters.roles.tool import Arguments, Tool, ToolRefused
from adapters.snapshot.commits import CommitLog
from adapters.snapshot.diff import unified_diff
from domain.messages import Frozen, ScopeResult
from domain.ports import EvidenceStore
from domain.roles.numbering import numbered
from domain.tree import Commit, Entry, changes

LINE_CHARACTERS = 2_000
"""Of a line that Read shows."""

HIT_CHARACTERS = 400
MOST_HITS = 500
MOST_PATHS = 2_000
MESSAGE_CHARACTERS = 4_000
EVERYTHING = "**"


@dataclass(frozen=True)
class Limits:
    """`seconds` for one search; bytes of a file that is shown or searched, and of all that one search reads."""

    seconds: float = 20.0
    file_bytes: int = 8 * 2**20
    search_bytes: int = 128 * 2**20


def snapshot_tools(
    store: EvidenceStore, frozen: Frozen, scope: ScopeResult, limits: Limits | None = None
) -> list[Tool]:
    """A round's tools. Their calls raise `ToolRefused`, and `Unavailable` (store_unavailable)."""
    trees, most = Trees(store, frozen, scope), limits or Limits()
    return [Read(trees, most), Grep(trees, most), Glob(trees, most), GitDiff(trees), GitLog(trees)]


class ReadArguments(Arguments):
    """Arguments of `Read`."""

    path: Annotated[str, Field(description="A file, relative to the root of the tree.")]
    start: Annotated[int, Field(ge=1, description="The first line to show, from 1.")] = 1
    lines: Annotated[int, Field(ge=1, le=5_000, description="How many lines to show.")] = 400


class Read:
    """A file's lines, numbered."""

    name = "Read"
    description = (
        "Shows a file of the tree that was checked, with line numbers. A quote may leave the numbers out, but no line."
    )
    arguments: type[Arguments] = ReadArguments
    lasting = True

    def __init__(self, trees: Trees, limits: Limits) -> None:
        self._trees, self._limits = trees, limits

    async def call(self, arguments: Arguments) -> str:
        """The lines asked for. Raises `ToolRefused` (outside_tree, not_found, is_directory), and `Unavailable`."""
        assert isinstance(arguments, ReadArguments)
        return await asyncio.to_thread(self._read, arguments)

    def _read(self, asked: ReadArguments) -> str:
        entry = found(self._trees.tree, asked.path)
        name = inside(asked.path)
        title = name if entry.path == name else f"{name} -> {entry.path}"
        if entry.size > self._limits.file_bytes:
            return f"{title}: {entry.size} bytes, too large to be shown\n"
        data = self._trees.blob(entry.digest)
        if b"\0" in data:
            return f"{title}: binary, {entry.size} bytes, SHA-256 {entry.digest}\n"
        lines = _lines(data)
        shown = lines[asked.start - 1 : asked.start - 1 + asked.lines]
        if not shown:
            return f"{title}: {len(lines)} lines, none from {asked.start} on\n"
        last = asked.start + len(shown) - 1
        told = numbered(map(_cut, shown), asked.start)
        return f"{title}: lines {asked.start} to {last} of {len(lines)}\n{told}"


class GrepArguments(Arguments):
    """Arguments of `grep`."""

    pattern: Annotated[str, Field(max_length=2_000, description="A regular expression of Python's re, for one line.")]
    glob: Annotated[str, Field(max_length=1_000, description="Which files: a gitignore pattern, such as *.py.")] = (
        EVERYTHING
    )
    ignore_case: Annotated[bool, Field(description="Whether case is ignored.")] = False


@dataclass
class _Skipped:
    """Why files were not searched, each with how many."""

    reasons: dict[str, int] = field(default_factory=dict)

    def add(self, reason: str) -> None:
        self.reasons[reason] = self.reasons.get(reason, 0) + 1


class Grep:
    """The lines that match, as path:line:text."""

    name = "grep"
    description = "Searches the files of the tree that was checked, line by line. Answers with path:line:text."
    arguments: type[Arguments] = GrepArguments
    lasting = True

    def __init__(self, trees: Trees, limits: Limits) -> None:
        self._trees, self._limits = trees, limits

    async def call(self, arguments: Arguments) -> str:
        """The first `MOST_HITS` lines, and what was not searched.

        Raises `ToolRefused` (outside_tree, bad_pattern, too_slow, search_failed), and `Unavailable`.
        """
        assert isinstance(arguments, GrepArguments)
        tree = await asyncio.to_thread(lambda: self._trees.tree)
        paths, _ = await _matching(tree.by_path, arguments.glob, len(tree.entries), self._limits)
        files = [tree.by_path[path] for path in paths if tree.by_path[path].kind == "file"]
        skipped = _Skipped()
        asked = Asked(arguments.pattern, arguments.ignore_case, MOST_HITS, HIT_CHARACTERS, seconds=self._limits.seconds)
        hits, more = await search(asked, self._texts(files, skipped))
        told = [f"{hit.name}:{hit.number}:{hit.line}" for hit in hits] or [f"no match in {len(files)} files"]
        if more:
            told.append(f"[cut: more than {MOST_HITS} lines match]")
        told.extend(f"[not searched: {number} {reason}]" for reason, number in sorted(skipped.reasons.items()))
        return "".join(f"{line}\n" for line in told)

    async def _texts(self, files: Iterable[Entry], skipped: _Skipped) -> Texts:
        left = self._limits.search_bytes
        for entry in files:
            if entry.size > self._limits.file_bytes:
                skipped.add(f"files of more than {self._limits.file_bytes} bytes")
                continue
            if entry.size > left:
                skipped.add(f"files beyond {self._limits.search_bytes} bytes in all: a narrower glob may do")
                continue
            data = await asyncio.to_thread(self._trees.blob, entry.digest)
            if b"\0" in data:
                skipped.add("binary files")
                continue
            left -= entry.size
            yield entry.path, data


class GlobArguments(Arguments):
    """Arguments of `glob`."""

    pattern: Annotated[str, Field(max_length=1_000, description="A gitignore pattern, such as src/**/*.py.")]


class Glob:
    """The paths that a pattern matches."""

    name = "glob"
    description = "Lists the files and links of the tree that was checked whose paths match a gitignore pattern."
    arguments: type[Arguments] = GlobArguments
    lasting = True

    def __init__(self, trees: Trees, limits: Limits) -> None:
        self._trees, self._limits = trees, limits

    async def call(self, arguments: Arguments) -> str:
        """The first `MOST_PATHS` paths. Raises `ToolRefused` (outside_tree, bad_pattern, too_slow), `Unavailable`."""
        assert isinstance(arguments, GlobArguments)
        tree = await asyncio.to_thread(lambda: self._trees.tree)
        paths, more = await _matching(tree.by_path, arguments.pattern, MOST_PATHS, self._limits)
        told = [_listed(tree.by_path[path]) for path in paths] or [f"no path of {len(tree.entries)} matches"]
        if more:
            told.append(f"[cut: more than {MOST_PATHS} paths match]")
        return "".join(f"{line}\n" for line in told)


class DiffArguments(Arguments):
    """Arguments of `git_diff`."""

    path: Annotated[str, Field(description="A file or folder whose part to show; empty for all.")] = ""


class GitDiff:
    """What was changed, as a unified diff."""

    name = "git_diff"
    description = "Shows the changes from the base to the tree that was checked, as a unified diff."
    arguments: type[Arguments] = DiffArguments
    lasting = True

    def __init__(self, trees: Trees) -> None:
        self._trees = trees

    async def call(self, arguments: Arguments) -> str:
        """The diff, or a path's part of it. Raises `ToolRefused` (outside_tree, not_found), and `Unavailable`."""
        assert isinstance(arguments, DiffArguments)
        return await asyncio.to_thread(self._diff, arguments.path)

    def _diff(self, path: str) -> str:
        name = inside(path)
        if not name:
            return self._trees.diff or "nothing was changed\n"
        base, tree = self._trees.base, self._trees.tree
        if not any(name in side.by_path or name in side.directories for side in (base, tree)):
            raise missing(path)
        changed = [c.path for c in changes(base, tree) if c.path == name or c.path.startswith(f"{name}/")]
        return unified_diff(base, tree, changed, self._trees.blob).text or f"{name} was not changed\n"


class LogArguments(Arguments):
    """Arguments of `git_log`."""

    limit: Annotated[int, Field(ge=1, le=1_000, description="How many commits to show.")] = 50


class GitLog:
    """The commits since the base, as they were frozen."""

    name = "git_log"
    description = "Shows the commits of the workspace's repository since the base, the newest first."
    arguments: type[Arguments] = LogArguments
    lasting = True

    def __init__(self, trees: Trees) -> None:
        self._trees = trees

    async def call(self, arguments: Arguments) -> str:
        """Ids and messages. Raises `Unavailable`."""
        assert isinstance(arguments, LogArguments)
        frozen = await asyncio.to_thread(lambda: self._trees.commits)
        if frozen is None:
            return "the workspace's repository was not looked at\n"
        log = CommitLog.model_validate_json(frozen)
        told = [_message(commit) for commit in log.commits[: arguments.limit]] or ["no commits since the base\n"]
        if len(log.commits) > arguments.limit:
            told.append(f"[cut: {len(log.commits)} commits in all]\n")
        if log.note:
            told.append(f"[{log.note}]\n")
        return "".join(told)


async def _matching(paths: Iterable[str], pattern: str, most: int, limits: Limits) -> tuple[list[str], bool]:
    """The first paths that a gitignore pattern matches, and whether there are more.

    Raises `ToolRefused` (outside_tree, bad_pattern, too_slow).
    """
    inside(pattern)
    if pattern == EVERYTHING:
        everything = list(paths)
        return everything[:most], len(everything) > most
    try:
        (found_pattern,) = GitIgnoreSpec.from_lines([pattern]).patterns
    except (ValueError, re.error):  # a range that is none, such as [z-a], is noticed by the expression alone
        found_pattern = None
    if found_pattern is None or not found_pattern.include or found_pattern.regex is None:
        raise ToolRefused("bad_pattern", f"{pattern!r:.300} is no gitignore pattern that matches anything")
    asked = Asked(found_pattern.regex.pattern, False, most, width=2**20, seconds=limits.seconds)
    hits, more = await search(asked, _once("\n".join(paths).encode()))
    return [hit.line for hit in hits], more


async def _once(data: bytes) -> Texts:
    if data:
        yield "", data


def _lines(data: bytes) -> list[str]:
    """Lines as git has them: only a line feed ends one."""
    return data.decode(errors="replace").removesuffix("\n").split("\n") if data else []


def _cut(line: str) -> str:
    if len(line) <= LINE_CHARACTERS:
        return line
    return f"{line[:LINE_CHARACTERS]}[cut: {len(line)} characters]"


def _listed(entry: Entry) -> str:
    return f"{entry.path} -> {entry.target}" if entry.kind == "link" else entry.path


def _message(commit: Commit) -> str:
    text = commit.message.strip()
    shown = text if len(text) <= MESSAGE_CHARACTERS else f"{text[:MESSAGE_CHARACTERS]}[cut: {len(text)} characters]"
    return f"commit {commit.id}\n" + "".join(f"    {line}\n" for line in shown.split("\n"))
