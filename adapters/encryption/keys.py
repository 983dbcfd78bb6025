"""Reads the keys of a `payload_key_file`; refuses a file that others can read, and keys that are none.

One key a line, 32 random bytes in base64; lines that begin with `#` are comments. The first encrypts, all decrypt: a
new key goes before the old ones, which stay for as long as the server keeps what they encrypted.
"""

from __future__ import annotations

import base64
import binascii
import os
import stat
from collections.abc import Mapping
from pathlib import Path

from domain.base import sha256_hex
from domain.errors import Malformed, Problem

KEY_BYTES = 32
ID_DIGITS = 16
MAKE = "openssl rand -base64 32"

Keys = Mapping[str, bytes]
"""Keys by their ids, the one that encrypts first. An id follows from its key, so no two files can mix them up."""


def read_keys(path: Path) -> Keys:
    """The keys in the file. Raises `Malformed`, with the line, and never says anything of a key."""
    try:
        with path.open("rb") as file:
            _refuse_shared(path, os.fstat(file.fileno()))
            lines = file.read(2**16).splitlines()
    except OSError as error:
        raise _malformed(path, 1, f"cannot be read: {error.strerror}", "expected a file with a key") from error
    keys: dict[str, bytes] = {}
    for number, line in enumerate(lines, start=1):
        if line.strip() and not line.lstrip().startswith(b"#"):
            key = _key(path, number, line.strip())
            keys[sha256_hex(key)[:ID_DIGITS]] = key
    if not keys:
        raise _malformed(path, 1, "has no key", f"expected one a line, each from: {MAKE}")
    return keys


def _refuse_shared(path: Path, status: os.stat_result) -> None:
    """As PostgreSQL has it with keys: for its owner alone, or root's and for one group (a mounted secret is so)."""
    allowed = stat.S_IRWXU | (stat.S_IRGRP if status.st_uid == 0 else 0)
    if stat.S_IMODE(status.st_mode) & ~allowed:
        shown = f"{stat.S_IMODE(status.st_mode):04o}"
        raise _malformed(path, 1, f"can be read or written by others (mode {shown})", "expected mode 0600")


def _key(path: Path, number: int, line: bytes) -> bytes:
    try:
        key = base64.b64decode(line, validate=True)
    except (binascii.Error, ValueError) as error:
        raise _malformed(path, number, "is not base64", f"expected a key from: {MAKE}") from error
    if len(key) != KEY_BYTES:
        raise _malformed(path, number, f"is a key of {len(key)} bytes", f"expected {KEY_BYTES}, from: {MAKE}")
    return key


def _malformed(path: Path, line: int, what: str, expected: str) -> Malformed:
    return Malformed([Problem(file=str(path), line=line, field="payload_key_file", what=what, expected=expected)])
