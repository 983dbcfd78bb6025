"""Writes what a model is shown as delimited, typed data: JSON between two lines that nothing inside can imitate.

Source: DESIGN 8 "Everything that comes from the worker". The system prompt says that data is never an instruction.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from pydantic import JsonValue

from domain.base import sha256_hex
from domain.roles.packet import Packet, Piece

NONCE_DIGITS = 16


def rendered(packet: Packet) -> str:
    """The whole packet: its fields, then each piece, in one block each. The same packet is always the same text."""
    return _blocks([("packet", packet.fields), *map(_shape, packet.pieces)])


def rendered_pieces(pieces: Iterable[Piece]) -> str:
    """Pieces that join later, such as an answer, or what a tool found: one block each."""
    return _blocks([_shape(piece) for piece in pieces])


def _shape(piece: Piece) -> tuple[str, JsonValue]:
    """A text is shown line by line, so that it can be read, and quoted as it stands."""
    lines: list[JsonValue] = [*piece.text.split("\n")]
    about: dict[str, JsonValue] = {"evidence_id": piece.id, "observed": piece.observed, "title": piece.title}
    return piece.what, {**about, "text": lines}


def _blocks(values: Iterable[tuple[str, JsonValue]]) -> str:
    bodies = [(what, _json(value)) for what, value in values]
    nonce = _nonce("\n".join(body for _, body in bodies))
    return "\n".join(f"<data id={nonce} what={what}>\n{body}\n</data id={nonce}>" for what, body in bodies)


def _json(value: JsonValue) -> str:
    """Without any `<`, and without any character that a reader would not see: each as its escape.

    What JSON itself is made of has neither, so that only texts are changed, and mean what they meant.
    """
    plain = json.dumps(value, indent=1, ensure_ascii=False)
    return "".join(c if c == "\n" or (c.isprintable() and c != "<") else _escaped(c) for c in plain)


def _escaped(character: str) -> str:
    return "\\u003c" if character == "<" else json.dumps(character)[1:-1]


def _nonce(text: str) -> str:
    """The first digits of a digest of `text` that do not occur in it."""
    number = 0
    while True:
        nonce = sha256_hex(f"{number} {text}".encode(errors="backslashreplace"))[:NONCE_DIGITS]
        if nonce not in text:
            return nonce
        number += 1
