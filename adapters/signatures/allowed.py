"""Reads an OpenSSH allowed signers file: who may sign with which key. It looks at no signature.

Source: ssh-keygen(1), "ALLOWED SIGNERS". What ssh-keygen would skip without a word is a problem here.
"""

from __future__ import annotations

import base64
import binascii
import re
import struct
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import NamedTuple

from domain.fields import quoted

KEY_TYPES = frozenset(
    {
        "ssh-ed25519",
        "ecdsa-sha2-nistp256",
        "ecdsa-sha2-nistp384",
        "ecdsa-sha2-nistp521",
        "ssh-rsa",
        "sk-ssh-ed25519@openssh.com",
        "sk-ecdsa-sha2-nistp256@openssh.com",
    }
)

_OPTION = re.compile(r'(?P<name>[a-zA-Z-]+)(?:="(?P<value>[^"]*)")?')
_OPTIONS = frozenset({"cert-authority", "namespaces", "valid-after", "valid-before"})
_DATE = re.compile(r"\d{8}(\d{4}(\d{2})?)?Z?")
_FIELD = re.compile(r'(?:[^\s"]|"[^"]*")+')
"""What stands between white space; quotes hold white space together."""


class Line(NamedTuple):
    """One line: the principals, the key as bytes, and whether that signs certificates and not statements."""

    text: str
    principals: tuple[str, ...]
    key: bytes
    authority: bool

    def names(self, principal: str) -> bool:
        """Whether the line is about that principal; only those of authorities are patterns."""
        return any(fnmatchcase(principal, one) if self.authority else principal == one for one in self.principals)


class Wrong(NamedTuple):
    """What is wrong with a line, which counts from 1, and what was expected."""

    line: int
    what: str
    expected: str


def lines_of(text: str) -> tuple[list[Line], list[Wrong]]:
    """The lines that name somebody, and what is wrong with the others."""
    found: list[Line] = []
    wrong: list[Wrong] = []
    for number, raw in enumerate(text.split("\n"), start=1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        read = _line(line)
        if isinstance(read, Line):
            found.append(read)
        else:
            wrong.append(Wrong(number, *read))
    return found, wrong


def text_of(lines: Iterable[Line]) -> str:
    """As a file that ssh-keygen reads."""
    return "".join(f"{line.text}\n" for line in lines)


def _line(line: str) -> Line | tuple[str, str]:
    fields = _FIELD.findall(line)
    principals, rest = fields[0], fields[1:]
    options = rest.pop(0) if rest and rest[0] not in KEY_TYPES else ""
    if len(rest) < 2 or rest[0] not in KEY_TYPES:
        return "is no line of an allowed signers file", 'PRINCIPAL[,PRINCIPAL] [OPTION="VALUE",...] KEY-TYPE KEY'
    key = _key(rest[0], rest[1])
    if key is None:
        return f"has no {rest[0]} key", "the key as it stands in the .pub file"
    named = _options(options)
    if isinstance(named, tuple):
        return named
    authority = "cert-authority" in named
    names = tuple(principals.strip('"').split(","))
    if bad := next((name for name in names if not _is_name(name, patterns=authority)), None):
        return (
            f"{quoted(bad)} names nobody",
            "principals in full, such as ann@example.org (patterns: of cert-authority)",
        )
    if not all(names):
        return "has an empty principal", "principals in full, with one comma between two"
    return Line(" ".join(fields), names, key, authority)


def _is_name(name: str, *, patterns: bool) -> bool:
    """A pattern would let whoever asks choose who they are. A leading `!` takes somebody out, which roles could not."""
    return name.isprintable() and not name.startswith("!") and (patterns or not set(name) & set('*?"'))


def _options(text: str) -> dict[str, str] | tuple[str, str]:
    found: dict[str, str] = {}
    place = 0
    while place < len(text):
        match = _OPTION.match(text, place)
        end = match.end() if match else place
        if match is None or (end < len(text) and text[end] != ","):
            return f"has options that cannot be read: {quoted(text)}", 'NAME or NAME="VALUE", with commas between them'
        name, value = match["name"].lower(), match["value"]
        if name not in _OPTIONS or name in found or (value is None) != (name == "cert-authority"):
            return f"has the option {quoted(match[0])}", f"each once, of {', '.join(sorted(_OPTIONS))}"
        if name.startswith("valid-") and not _DATE.fullmatch(value):
            return f"has the time {quoted(value)}", "YYYYMMDD or YYYYMMDDHHMM[SS], in UTC"
        found[name] = value or ""
        place = end + 1
    return found


def _key(kind: str, text: str) -> bytes | None:
    """The key, if it says itself that it is of that type."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return data if first_string(data) == kind.encode() and len(data) > len(kind) + 8 else None


def first_string(data: bytes) -> bytes | None:
    """The string that SSH data begin with, None where there is none."""
    if len(data) < 4:
        return None
    (size,) = struct.unpack(">I", data[:4])
    return data[4 : 4 + size] if len(data) >= 4 + size else None
