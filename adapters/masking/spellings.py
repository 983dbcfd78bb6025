"""How a secret is spelled in what programs print and store; it finds none (`adapters.masking.spelled` does)."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

from pydantic import JsonValue

TELLING = 8
"""Bytes from which a part of a secret cannot be met by chance."""

_NESTED = 3
"""How often JSON is escaped again: printed by a command, in a finding, in a payload."""


def spellings(value: bytes) -> set[bytes]:
    """As it is, with its ends trimmed, in base64 wherever it may begin there, quoted for URLs, JSON and Python."""
    found: set[bytes] = set()
    for text in (value, value.strip()):
        found |= {text, quote(text).encode(), quote(text, safe="").encode(), quote_plus(text).encode()}
        found |= {re.sub(rb"%[0-9A-F]{2}", lambda escape: escape[0].lower(), spelling) for spelling in found}
        found |= _escaped(text.decode("utf-8", "surrogateescape"))
        found |= set(_base64(text))
    return found - {b""}


def parts(value: bytes) -> set[bytes]:
    """The telling lines of a value that has several, and the telling texts of one that is JSON: shown by themselves."""
    found: set[bytes] = set()
    lines = value.splitlines()
    if len(lines) > 1:
        found |= {line.strip() for line in lines if len(line.strip()) >= TELLING}
    for text in _texts(document(value)):
        if len(text.encode("utf-8", "surrogatepass")) >= 2 * TELLING:
            found |= _escaped(text) | parts(text.encode("utf-8", "surrogatepass"))
    return found


def document(value: bytes) -> JsonValue:
    """The object or list that the value is in JSON, None for any other value."""
    try:
        data: JsonValue = json.loads(value)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict | list) and data else None


def _escaped(text: str) -> set[bytes]:
    """As JSON writes it in a text, with or without other than ASCII, once or in another JSON; as `repr` does."""
    found = {text, repr(text)[1:-1], repr(text.encode("utf-8", "surrogateescape"))[2:-1]}
    for ascii_only in (True, False):
        nested = text
        for _ in range(_NESTED):
            nested = json.dumps(nested, ensure_ascii=ascii_only)[1:-1]
            found |= {nested, nested.replace("/", "\\/")}
            found.add(re.sub("[<>&]", lambda match: f"\\u{ord(match[0]):04x}", nested))  # as Go writes it
    found |= {re.sub(r"\\u[0-9a-f]{4}", lambda match: "\\u" + match[0][2:].upper(), spelling) for spelling in found}
    return {spelling.encode("utf-8", handler) for spelling in found for handler in ("surrogatepass", _raw(spelling))}


def _raw(text: str) -> str:
    """How the bytes of `text` are had back that were no UTF-8, where that is possible."""
    lone = any("\ud800" <= c <= "\udfff" and not "\udc80" <= c <= "\udcff" for c in text)
    return "surrogatepass" if lone else "surrogateescape"


def _base64(text: bytes) -> Iterator[bytes]:
    """Whole, and the characters that `text` alone decides at each of the three places where it may begin in a group."""
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        yield encode(text)
        for before, skipped in ((0, 0), (1, 2), (2, 3)):
            certain = encode(bytes(before) + text)[skipped : (before + len(text)) * 8 // 6]
            if len(certain) >= TELLING:
                yield certain


def _texts(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
