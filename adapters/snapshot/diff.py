"""Writes the difference of two trees as a unified diff with git's headers; refuses to spend long on making it small."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

from domain.tree import Entry, Manifest

MAX_DIFF_BYTES = 5 * 2**20
MAX_FILE_BYTES = 2**20
MAX_CELLS = 250_000  # lines removed x lines added that are compared with care: difflib is quadratic and worse
_CONTEXT = 3  # lines
_NO_NEWLINE = "\\ No newline at end of file\n"

Opcode = tuple[str, int, int, int, int]


@dataclass
class Diff:
    """A diff as text, and how many lines of it are added and removed."""

    text: str = ""
    added: int = 0
    removed: int = 0


def unified_diff(base: Manifest, tree: Manifest, paths: Iterable[str], read: Callable[[str], bytes]) -> Diff:
    """The diff of `paths` from `base` to `tree`, at most about `MAX_DIFF_BYTES`; `read` gives a blob by its digest.

    Binary files and those above `MAX_FILE_BYTES` are named only. What was left out is said at the end.
    """
    result = Diff()
    parts: list[str] = []
    size = 0
    ordered = list(paths)
    for place, path in enumerate(ordered):
        header, lines = _file_diff(path, base.by_path.get(path), tree.by_path.get(path), read)
        part = "".join([*header, *lines])
        size += len(part.encode())
        if size > MAX_DIFF_BYTES:
            left = len(ordered) - place
            parts.append(
                f"# The diff is cut here, at {MAX_DIFF_BYTES} bytes: {left} more changed files are not shown.\n"
            )
            break
        parts.append(part)
        result.added += sum(line.startswith("+") for line in lines)
        result.removed += sum(line.startswith("-") for line in lines)
    result.text = "".join(parts)
    return result


def changed_lines(old: str, new: str) -> frozenset[int]:
    """The lines of `new`, from 1, that `old` does not have at their place."""
    opcodes = _opcodes(_lines(old), _lines(new))
    return frozenset(line + 1 for tag, _, _, c, d in opcodes if tag != "equal" for line in range(c, d))


def _file_diff(
    path: str, before: Entry | None, after: Entry | None, read: Callable[[str], bytes]
) -> tuple[list[str], list[str]]:
    """The header's lines and the hunks'."""
    old_name, new_name = _quoted(f"a/{path}"), _quoted(f"b/{path}")
    header = [f"diff --git {old_name} {new_name}\n", *_modes(before, after)]
    old_name = old_name if before else "/dev/null"
    new_name = new_name if after else "/dev/null"
    old, new = _text(before, read), _text(after, read)
    if old is None or new is None:
        if before is None or after is None or before.digest != after.digest:
            header.append(f"Binary files {old_name} and {new_name} differ\n")
        return header, []
    if old == new:
        return header, []
    header.append(f"--- {_ended(old_name)}\n+++ {_ended(new_name)}\n")
    return header, list(_hunks(_lines(old), _lines(new)))


def _modes(before: Entry | None, after: Entry | None) -> Iterator[str]:
    if before is None and after is not None:
        yield f"new file mode {_mode(after)}\n"
    elif after is None and before is not None:
        yield f"deleted file mode {_mode(before)}\n"
    elif before is not None and after is not None and _mode(before) != _mode(after):
        yield f"old mode {_mode(before)}\nnew mode {_mode(after)}\n"


def _mode(entry: Entry) -> str:
    if entry.kind == "link":
        return "120000"
    return "100755" if entry.executable else "100644"


def _text(entry: Entry | None, read: Callable[[str], bytes]) -> str | None:
    """The content as text, a link's target as git has it; None for what is binary or too large to show."""
    if entry is None:
        return ""
    if entry.kind == "link":
        return entry.target
    if entry.size > MAX_FILE_BYTES:
        return None
    data = read(entry.digest)
    if b"\0" in data:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _lines(text: str) -> list[str]:
    """Lines as git has them: only a line feed ends one."""
    lines = text.split("\n")
    ended = [line + "\n" for line in lines[:-1]]
    return [*ended, lines[-1]] if lines[-1] else ended


def _hunks(old: list[str], new: list[str]) -> Iterator[str]:
    for group in _Bounded(old, new).get_grouped_opcodes(_CONTEXT):
        first, last = group[0], group[-1]
        yield f"@@ -{_range(first[1], last[2])} +{_range(first[3], last[4])} @@\n"
        for tag, a, b, c, d in group:
            if tag == "equal":
                yield from (_line(" ", line) for line in old[a:b])
                continue
            yield from (_line("-", line) for line in old[a:b])
            yield from (_line("+", line) for line in new[c:d])


def _line(sign: str, line: str) -> str:
    return f"{sign}{line}" if line.endswith("\n") else f"{sign}{line}\n{_NO_NEWLINE}"


def _range(start: int, stop: int) -> str:
    length = stop - start
    return f"{start + 1 if length else start},{length}"


class _Bounded(SequenceMatcher[str]):
    """`SequenceMatcher`, whose grouping is used, with opcodes that take bounded time to find."""

    def __init__(self, old: list[str], new: list[str]) -> None:
        super().__init__(None, [], [])
        self._opcodes = _opcodes(old, new)

    def get_opcodes(self) -> list[Opcode]:  # type: ignore[override]  # typeshed narrows the tag to a Literal
        return self._opcodes


def _opcodes(old: list[str], new: list[str]) -> list[Opcode]:
    """What turns `old` into `new`: beyond what both begin and end with, one replacement if a better one costs much."""
    shortest = min(len(old), len(new))
    start = next((i for i in range(shortest) if old[i] != new[i]), shortest)
    room = shortest - start
    end = next((i for i in range(room) if old[-1 - i] != new[-1 - i]), room)
    a, b, c, d = start, len(old) - end, start, len(new) - end
    middle: list[Opcode] = []
    if (b - a) * (d - c) > MAX_CELLS:
        middle = [("replace", a, b, c, d)]
    elif b > a or d > c:
        found = SequenceMatcher(None, old[a:b], new[c:d], autojunk=False).get_opcodes()
        middle = [(tag, i + a, j + a, k + c, m + c) for tag, i, j, k, m in found]
    head: list[Opcode] = [("equal", 0, start, 0, start)] if start else []
    tail: list[Opcode] = [("equal", b, len(old), d, len(new))] if end else []
    return [*head, *middle, *tail]


def _quoted(name: str) -> str:
    """`name` as git quotes it; so are spaces in one that could be taken for two names."""
    if not any(part in name for part in ('"', "\\", " b/")):
        return name
    escaped = name.replace("\\", "\\\\").replace('"', '\\"').replace(" ", "\\040")
    return f'"{escaped}"'


def _ended(name: str) -> str:
    """git ends a name with a space in it by a tab, so that a patch program knows where it stops."""
    return f"{name}\t" if " " in name and not name.startswith('"') else name
