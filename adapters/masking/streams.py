"""Masks what a process prints: output, logs, warnings and tracebacks all end in these two streams.

What a program writes to the descriptors past them, as an interpreter that crashes does, is not masked.
"""

from __future__ import annotations

import io
import sys
import threading
from typing import Any, TextIO, cast

from adapters.masking.known import KNOWN
from adapters.masking.masker import Masker


def mask_standard_streams(masker: Masker = KNOWN) -> None:
    """Let stdout and stderr mask from now on; to be called before anything keeps one of them. Twice is once."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and not isinstance(stream, MaskedStream):
            setattr(sys, name, cast("TextIO", MaskedStream(stream, masker)))


class MaskedStream(io.TextIOBase):
    """`stream`, masked. A line waits for its end, or a flush: what is printed piece by piece is masked as a whole."""

    def __init__(self, stream: TextIO, masker: Masker) -> None:
        self._stream = stream
        self._masker = masker
        self._lock = threading.RLock()
        self._waiting = ""

    def write(self, text: str) -> int:
        """Print `text` up to its last line's beginning; while no secret is known, all of it."""
        with self._lock:
            known = self._waiting + text
            lines, newline, rest = known.rpartition("\n") if self._masker else (known, "", "")
            self._waiting = rest
            if lines or newline:
                self._stream.write(self._masker.text(lines + newline))
        return len(text)

    def flush(self) -> None:
        """Print what waits, too."""
        with self._lock:
            if self._waiting:
                self._stream.write(self._masker.text(self._waiting))
                self._waiting = ""
            self._stream.flush()

    def isatty(self) -> bool:
        """Whether a person may be looking."""
        return self._stream.isatty()

    def fileno(self) -> int:
        """The descriptor below."""
        return self._stream.fileno()

    def writable(self) -> bool:
        """Always."""
        return True

    @property
    def encoding(self) -> str:  # type: ignore[override]  # as that of every stream that has one
        """The stream's."""
        return self._stream.encoding

    @property
    def errors(self) -> str | None:  # type: ignore[override]  # as that of every stream that has one
        """The stream's."""
        return self._stream.errors

    def __getattr__(self, name: str) -> Any:
        """What else somebody asks of a standard stream; its `buffer` is not there, since nothing would mask it."""
        if name in ("_stream", "buffer"):
            raise AttributeError(name)
        return getattr(self._stream, name)
