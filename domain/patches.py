"""Applies a unified diff to the files that it names, to the letter; it touches no tree and guesses nothing.

A hunk fits where it says, or else at the one other place where all its old lines stand: lines that merely moved do not
keep a patch from applying. Git's diffs and those of `diff -u` are read. Refused: binary patches, copies, links, paths
that lead out of the tree.
"""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass

_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_MODE = re.compile(rb"(?:new|new file|deleted file|old) mode (\d+)\s*$")
_REGULAR = (b"100644", b"100755")
_NOWHERE = "/dev/null"


class PatchError(ValueError):
    """The text is no patch that is taken, or does not fit the file; says where."""


@dataclass(frozen=True)
class Hunk:
    """Old lines, from line `start` (counted from 1), and what stands in their place; with their line ends."""

    start: int
    old: tuple[bytes, ...]
    new: tuple[bytes, ...]


@dataclass(frozen=True)
class FilePatch:
    """What becomes of one file: `old` is None for a new one, `new` for one that goes, `executable` if it stays."""

    old: str | None
    new: str | None
    hunks: tuple[Hunk, ...] = ()
    executable: bool | None = None

    @property
    def path(self) -> str:
        """The path that the patch is about, for people."""
        return self.new or self.old or ""

    def apply(self, before: bytes | None) -> bytes:
        """The file's new content. `before` is None where there is no file. Raises `PatchError`."""
        if self.old is None and before is not None:
            raise PatchError(f"{self.path}: is there already")
        if self.old is not None and before is None:
            raise PatchError(f"{self.old}: is not there")
        lines = _lines(before or b"")
        done: list[bytes] = []
        at = 0
        for number, hunk in enumerate(self.hunks, 1):
            place = _place(lines, hunk, at, f"{self.path}: hunk {number}")
            done += [*lines[at:place], *hunk.new]
            at = place + len(hunk.old)
        done += lines[at:]
        if self.new is None and done:
            raise PatchError(f"{self.path}: is to go, and has more in it than the patch says")
        return b"".join(done)


def parse(data: bytes) -> tuple[FilePatch, ...]:
    """The files of a patch, each once. Raises `PatchError`."""
    found = list(_files(_lines(data)))
    if not found:
        raise PatchError("no file is changed in it")
    paths = [path for file in found for path in {file.old, file.new} if path]
    if len(paths) != len(set(paths)):
        raise PatchError("it names a file twice")
    return tuple(found)


def _place(lines: list[bytes], hunk: Hunk, at: int, name: str) -> int:
    """The index of the line that the hunk begins at, `at` or later."""
    if not hunk.old:
        if not at <= hunk.start <= len(lines):
            raise PatchError(f"{name} is for after line {hunk.start}, which the file does not have")
        return hunk.start
    old = list(hunk.old)
    said = hunk.start - 1
    if said >= at and lines[said : said + len(old)] == old:
        return said
    others = [n for n in range(at, len(lines) - len(old) + 1) if lines[n : n + len(old)] == old]
    if len(others) != 1:
        why = (
            "stand nowhere in the file"
            if not others
            else f"stand at {len(others)} places, none of them line {said + 1}"
        )
        raise PatchError(f"{name}: its old lines {why}")
    return others[0]


def _files(lines: list[bytes]) -> Iterator[FilePatch]:
    """Each file, whether the lines have git's headers or only `---` and `+++`."""
    header: dict[str, bytes] = {}
    at = 0
    while at < len(lines):
        line = lines[at].rstrip(b"\r\n")
        if line.startswith(b"diff --git "):
            yield from _without_hunks(header)
            header = {"git": line}
        elif line.startswith((b"GIT binary patch", b"Binary files ")):
            raise PatchError(f"line {at + 1}: a binary patch is not taken")
        elif line.startswith((b"copy from ", b"copy to ")):
            raise PatchError(f"line {at + 1}: a copy is not taken")
        elif header and line.startswith((b"rename from ", b"rename to ")):
            _, which, path = line.split(b" ", 2)
            header[which.decode()] = path
        elif header and (mode := _MODE.match(line)):
            if mode[1] not in _REGULAR:
                raise PatchError(f"line {at + 1}: only regular files are taken")
            header["gone" if line.startswith(b"deleted") else "mode" if line.startswith(b"new") else "old"] = mode[1]
            if line.startswith(b"new file"):
                header["added"] = mode[1]
        elif line.startswith(b"--- ") and at + 1 < len(lines) and lines[at + 1].startswith(b"+++ "):
            old, new = _path(line[4:]), _path(lines[at + 1].rstrip(b"\r\n")[4:])
            hunks, at = _hunks(lines, at + 2)
            yield FilePatch(*_stripped(old, new), hunks, _executable(header))
            header = {}
            continue
        at += 1
    yield from _without_hunks(header)


def _without_hunks(header: dict[str, bytes]) -> Iterator[FilePatch]:
    """A file of git's that is only renamed, only another mode, or empty."""
    if not header:
        return
    executable = _executable(header)
    if "from" in header and "to" in header:
        yield FilePatch(_inside(_path(header["from"])), _inside(_path(header["to"])), (), executable)
        return
    same = re.fullmatch(rb'diff --git ("?)a/(.+)\1 \1b/\2\1', header["git"])
    if not same:
        raise PatchError(f"{header['git'].decode(errors='replace')!r}: names no one file")
    path = _inside(_path(same[1] + same[2] + same[1]))
    yield FilePatch(None if "added" in header else path, None if "gone" in header else path, (), executable)


def _hunks(lines: list[bytes], at: int) -> tuple[tuple[Hunk, ...], int]:
    """The hunks that begin at `at`, and where they end."""
    hunks: list[Hunk] = []
    while at < len(lines) and (match := _HUNK.match(lines[at])):
        begins = at + 1
        left = [int(match[2] or 1), int(match[3] or 1)]
        sides: tuple[list[bytes], list[bytes]] = ([], [])
        at += 1
        while any(left) or (at < len(lines) and lines[at].startswith(b"\\")):
            line = lines[at] if at < len(lines) else b""
            which = {b" ": (0, 1), b"-": (0,), b"+": (1,), b"\n": (0, 1), b"\r": (0, 1)}.get(line[:1])
            if line.startswith(b"\\"):
                before = {b"-": (0,), b"+": (1,)}.get(lines[at - 1][:1], (0, 1))
                for side in before:
                    sides[side][-1:] = [last.rstrip(b"\n") for last in sides[side][-1:]]
            elif which is None or any(not left[side] for side in which):
                raise PatchError(f"line {at + 1}: the hunk of line {begins} has not as many lines as it says")
            else:
                for side in which:
                    sides[side].append(line if line[:1] in b"\r\n" else line[1:])
                    left[side] -= 1
            at += 1
        hunks.append(Hunk(int(match[1]), tuple(sides[0]), tuple(sides[1])))
    if not hunks:
        raise PatchError(f"line {at + 1}: a hunk was expected")
    return tuple(hunks), at


def _executable(header: dict[str, bytes]) -> bool | None:
    return header["mode"] == b"100755" if "mode" in header else None


def _path(text: bytes) -> str:
    """A path as git or diff write it: perhaps quoted, perhaps with a time behind a tab."""
    quoted = re.match(rb'"(?:[^"\\]|\\.)*"', text)
    try:
        return ast.literal_eval(f"b{quoted[0].decode('ascii')}").decode() if quoted else text.split(b"\t")[0].decode()
    except (ValueError, SyntaxError) as error:
        raise PatchError(f"{text.decode(errors='replace')!r} is no path that is taken") from error


def _stripped(old: str, new: str) -> tuple[str | None, str | None]:
    """Both paths relative to the tree's root: without git's `a/` and `b/`, None for none."""
    git = all(path == _NOWHERE or path.startswith(f"{side}/") for path, side in ((old, "a"), (new, "b")))
    pair = [None if path == _NOWHERE else _inside(path[2:] if git else path) for path in (old, new)]
    if pair == [None, None]:
        raise PatchError("a file comes from nowhere and goes nowhere")
    return pair[0], pair[1]


def _inside(path: str) -> str:
    if posixpath.normpath(path) != path or path.startswith(("/", "../")) or path in (".", "..") or "\0" in path:
        raise PatchError(f"{path!r} is no plain path inside the tree")
    return path


def _lines(data: bytes) -> list[bytes]:
    """By line feeds alone, each with its own."""
    return re.findall(rb"[^\n]*\n|[^\n]+", data)
