"""Evidence that a worker names on the command line; refuses what is none, and what has a secret in it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from adapters.config.problems import shown_as
from adapters.config.text_file import read_text_file
from adapters.masking.known import KNOWN
from domain.claims.claim import ClaimedEvidence
from entrypoints.cli import common
from entrypoints.cli.asking import malformed

_PIECES = TypeAdapter(tuple[ClaimedEvidence, ...])


def evidence_of(kind: str, label: str, data: str) -> ClaimedEvidence:
    """One piece; `data` is `-` for stdin, a file's path, or the text itself. Raises `Malformed`."""
    if data == "-":
        text = sys.stdin.read()
    elif _is_file(data):
        text = read_text_file(Path(data), shown_as(Path(data)), "text")
    else:
        text = data
    _refuse_secrets(text, "--data")
    return ClaimedEvidence(label=label, type=kind, data=text)


def pieces_in(file: Path) -> tuple[ClaimedEvidence, ...]:
    """The pieces in a file: a JSON list of `{label, type, data}`. Raises `Malformed`."""
    shown = shown_as(file)
    text = read_text_file(file, shown, "evidence in JSON")
    _refuse_secrets(text, "--evidence")
    expected = "expected a JSON list of {label, type, data}"
    try:
        return _PIECES.validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise malformed("--evidence", common.visible(f"{shown}: {place} {first['msg']}"), expected) from error


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # too long for a name, or a NUL in it: it is text
        return False


def _refuse_secrets(text: str, option: str) -> None:
    common.settings()  # whose secrets are known from now on
    name = KNOWN.named_in(json.dumps(text, ensure_ascii=False)) or KNOWN.named_in(text)
    if name is not None:
        raise malformed(option, f"holds the value of the secret {name}", "expected none: evidence is stored and shown")
