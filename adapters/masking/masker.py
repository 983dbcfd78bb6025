"""Masks the secrets that a process knows, in text, bytes and JSON. It knows no environment: `known` does.

What is masked stays masked the same way: the result has no spelling left, and masking it again changes nothing.
A secret that was cut apart, encrypted or compressed before it got here is not found.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping
from functools import partial

from pydantic import JsonValue

from adapters.masking.spelled import Spelled, placeholder
from adapters.masking.spellings import document, parts, spellings

_TIGHT = (",", ":")


class Masker:
    """Values by name; `learn` adds to them, from any thread. An empty value hides nothing."""

    def __init__(self, values: Mapping[str, bytes] | None = None) -> None:
        self._lock = threading.Lock()
        self._values: dict[bytes, str] = {}
        self._use({})
        self.learn(values or {})

    def _use(self, values: dict[bytes, str]) -> None:
        """Let these be the values: everything that follows from them, in place of what was."""
        shown = {part: name for value, name in values.items() for part in parts(value)}
        shown |= {spelling: name for value, name in values.items() for spelling in spellings(value)}
        self._values = values
        self._spelled = Spelled(shown)
        self._raw = Spelled({text: name for value, name in values.items() for text in (value, value.strip())})
        self._documents = [(found, name) for value, name in values.items() if (found := document(value)) is not None]

    def __bool__(self) -> bool:
        return bool(self._values)

    def learn(self, values: Mapping[str, bytes]) -> None:
        """From now on mask these, too. A name may have several values: those of before stay masked."""
        with self._lock:
            new = {value: name for name, value in values.items() if value.strip() and value not in self._values}
            if new:
                self._use(self._values | new)

    def text(self, text: str) -> str:
        """`text` without a secret."""
        data = text.encode("utf-8", "surrogatepass")
        masked = self._spelled.mask(data)
        return text if masked is data else _decoded(masked)

    def data(self, data: bytes) -> bytes:
        """`data` without a secret. JSON stays JSON: its texts are masked, and its layout is kept as far as it matters.

        Any other bytes are masked as they are.
        """
        if not self._spelled.holds(data):
            return data
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            return self._spelled.mask(data)
        return self._spelled.mask(_written_like(data, self.value(value)))

    def value(self, value: JsonValue) -> JsonValue:
        """Plain data without a secret: its texts, the names in its objects, and numbers and parts that are one."""
        if not self._values:
            return value
        for found, name in self._documents:
            if value == found:
                return placeholder(name)
        match value:
            case str():
                return self.text(value)
            case list():
                return [self.value(item) for item in value]
            case dict():
                return self._object(value)
            case bool() | None:
                return value
            case number:
                whose = self._values.get(json.dumps(number).encode())
                return number if whose is None else placeholder(whose)

    def _object(self, value: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        masked: dict[str, JsonValue] = {}
        for key, item in value.items():
            name = self.text(key)
            while name in masked:  # two secrets of one name, say
                name += "'"
            masked[name] = self.value(item)
        return masked

    def named_in(self, text: str) -> str | None:
        """Whose secret is in `text`, in any spelling."""
        return self._spelled.first([text.encode("utf-8", "surrogatepass")])

    @property
    def longest(self) -> int:
        """Bytes of the longest secret: as far as one can reach across two pieces of a text."""
        return max(map(len, self._values), default=1)

    def raw_in(self, pieces: Iterable[bytes]) -> str | None:
        """Whose secret is, as it is, in the pieces of one text; it may lie across two of them."""
        return self._raw.first(pieces)


def _written_like(data: bytes, value: JsonValue) -> bytes:
    """`value` as JSON, in lines where `data` is, and compact where not."""
    write = (
        partial(json.dumps, value, indent=2) if b"\n" in data.strip() else partial(json.dumps, value, separators=_TIGHT)
    )
    end = b"\n" if data.endswith(b"\n") else b""
    try:
        return write(ensure_ascii=False).encode() + end
    except UnicodeEncodeError:  # half a character, which only an escape can spell
        return write().encode() + end


def _decoded(data: bytes) -> str:
    """As text; a secret that is no UTF-8 may have begun within a character."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")
