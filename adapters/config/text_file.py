"""Reads a small text file that a person wrote; refuses whatever is not one, before anything parses it."""

from __future__ import annotations

import stat
from pathlib import Path

from domain.errors import Malformed, Problem

MAX_BYTES = 1024 * 1024


def read_text_file(path: Path, shown: str, content: str, most: int = MAX_BYTES) -> str:
    """The text of `path` without a byte order mark; `content` says what was expected in it.

    `shown` is the path as the user gave it, `most` what the file may have, in bytes. Raises `Malformed`.
    """
    return text_in(bytes_of(path, shown, content, most), shown, content, most)


def bytes_of(path: Path, shown: str, content: str, most: int = MAX_BYTES) -> bytes:
    """The first `most` + 1 bytes of `path`. Otherwise as `read_text_file`."""
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise refusal(shown, "is a directory", f"a file with {content}")
        if not stat.S_ISREG(status.st_mode):
            raise refusal(shown, "is no regular file", f"a file with {content}")
        with path.open("rb") as file:
            return file.read(most + 1)
    except FileNotFoundError as error:
        raise refusal(shown, "does not exist", f"a file with {content}") from error
    except OSError as error:
        raise refusal(shown, f"cannot be read: {error.strerror}", f"a file with {content}") from error
    except ValueError as error:
        raise refusal(shown, "has a NUL character in its name", f"a file with {content}") from error


def text_in(source: bytes, shown: str, content: str, most: int = MAX_BYTES) -> str:
    """The text that `source` is, the first `most` + 1 bytes of a file. Otherwise as `read_text_file`."""
    if len(source) > most:
        raise refusal(shown, f"has more than {most} bytes", f"at most {most}")
    try:
        text = source.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = source.count(b"\n", 0, error.start) + 1
        raise refusal(shown, "is not UTF-8", f"{content} in UTF-8", line) from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise refusal(shown, "has a NUL character", f"{content}", line)
    return text


def refusal(shown: str, what: str, expected: str, line: int = 1) -> Malformed:
    """The file as a whole is wrong; `expected` completes "expected ..."."""
    return Malformed([Problem(file=shown, line=line, field="file", what=what, expected=f"expected {expected}")])
