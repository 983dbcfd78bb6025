"""Reads a small text file that a person wrote; refuses whatever is not one, before anything parses it."""

from __future__ import annotations

import stat
from pathlib import Path

from domain.errors import Malformed, Problem

MAX_BYTES = 1024 * 1024


def read_text_file(path: Path, shown: str, content: str) -> str:
    """The text of `path` without a byte order mark; `content` says what was expected in it.

    `shown` is the path as the user gave it. Raises `Malformed`.
    """

    def refuse(what: str, expected: str, line: int = 1) -> Malformed:
        return Malformed([Problem(file=shown, line=line, field="file", what=what, expected=f"expected {expected}")])

    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise refuse("is a directory", f"a file with {content}")
        if not stat.S_ISREG(status.st_mode):
            raise refuse("is no regular file", f"a file with {content}")
        with path.open("rb") as file:
            source = file.read(MAX_BYTES + 1)
    except FileNotFoundError as error:
        raise refuse("does not exist", f"a file with {content}") from error
    except OSError as error:
        raise refuse(f"cannot be read: {error.strerror}", f"a file with {content}") from error
    except ValueError as error:
        raise refuse("has a NUL character in its name", f"a file with {content}") from error
    if len(source) > MAX_BYTES:
        raise refuse(f"has more than {MAX_BYTES} bytes", f"at most {MAX_BYTES}")
    try:
        text = source.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = source.count(b"\n", 0, error.start) + 1
        raise refuse("is not UTF-8", f"{content} in UTF-8", line) from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise refuse("has a NUL character", f"{content}", line)
    return text
