"""What is called what in an evidence store, the same in a folder and in a bucket; refuses names that lead elsewhere.

`blobs/ab/SHA256`, `memo/KEY`, and for people `SESSION/TODO/ATTEMPT/NAME`: one can be copied to the other as it is.
"""

from __future__ import annotations

import hashlib
import re

BLOBS, MEMOS = "blobs", "memo"
"""First parts of paths that are no session's."""

DIGEST = re.compile(r"[0-9a-f]{64}")
ATTEMPT = re.compile(r"[1-9][0-9]{0,8}")
_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_MEMO_HEADER = 64  # bytes: the digest in front of what is remembered


def blob_path(digest: str) -> str:
    """Where the blob `digest` is."""
    return f"{BLOBS}/{digest[:2]}/{digest}"


def memo_path(key: str) -> str:
    """Where what is remembered under `key` is. Raises `ValueError` for a key that is no digest."""
    if not DIGEST.fullmatch(key):
        raise ValueError(f"{key!r} is no key of the evidence store: it takes 64 hexadecimal digits")
    return f"{MEMOS}/{key}"


def placed_path(session: str, todo: str, attempt: int, name: str) -> str:
    """Where a file of the attempt's folder is. Raises `ValueError` for a name that is no path below it."""
    parts = [session, todo, str(attempt), *name.split("/")]
    unfit = [part for part in parts if not _PART.fullmatch(part)]
    if unfit:
        raise ValueError(f"{unfit[0]!r} cannot be a part of a path in the evidence folder")
    return "/".join(parts)


def memo_file(key: str, data: bytes) -> bytes:
    """What is written for `data` that is remembered under `key`."""
    return _memo_digest(key, data) + data


def memo_data(key: str, stored: bytes) -> bytes | None:
    """What is remembered in a file that holds `stored` under `key`, None when it is not what was written."""
    digest, data = stored[:_MEMO_HEADER], stored[_MEMO_HEADER:]
    return data if digest == _memo_digest(key, data) else None


def _memo_digest(key: str, data: bytes) -> bytes:
    """What a memo's file begins with. The key is in it, so that a file under another's name is noticed, too."""
    return hashlib.sha256(key.encode() + data).hexdigest().encode()
