"""Field types that an order's parts share, each refusing what does not fit with what was expected instead."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

_IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_ORDER_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,99}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SIZE = re.compile(r"([1-9][0-9]*)([kmgKMG]?)[bB]?")
_UNITS = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:@-]*")


def wrong(what: str, expected: str) -> PydanticCustomError:
    """An error with the two halves that a person needs: what is wrong and what was expected."""
    return PydanticCustomError("order", "{what}, expected {expected}", {"what": what, "expected": expected})


def _identifier(text: str) -> str:
    if text and not _IDENTIFIER.fullmatch(text):
        raise wrong(f"{text!r} is no id", "letters, digits, '.', '_' and '-', at most 100, first a letter or digit")
    return text


def _order_id(text: str) -> str:
    if text and not _ORDER_ID.fullmatch(text):
        raise wrong(f"{text!r} is no id", "a-z, 0-9 and '-', at most 100, first a letter or digit")
    return text


def _command(text: str) -> str:
    if not text.strip():
        raise wrong("an empty command", "a shell command")
    if "\0" in text:
        raise wrong("a command with a NUL character", "a shell command")
    return text


def _inside(text: str) -> str:
    """A path that stays inside the tree by its spelling alone."""
    if not text:
        raise wrong("an empty path", "a path relative to the tree's root")
    if text.startswith("/") or re.match(r"[A-Za-z]:[\\/]", text):
        raise wrong(f"{text!r} is absolute", "a path relative to the tree's root")
    if ".." in text.split("/"):
        raise wrong(f"{text!r} climbs out of the tree", "a path inside the tree")
    if "\0" in text:
        raise wrong("a path with a NUL character", "a path inside the tree")
    return text


def _scope_pattern(text: str) -> str:
    _inside(text.removeprefix("!"))
    return text


def _variables(variables: dict[str, str]) -> dict[str, str]:
    for name, value in variables.items():
        if not _VARIABLE.fullmatch(name):
            raise wrong(f"{name!r} is no variable name", "letters, digits and '_', first no digit")
        if "\0" in value:
            raise wrong(f"the value of {name} has a NUL character", "text")
    return variables


def _size(text: str) -> str:
    if not _SIZE.fullmatch(text):
        raise wrong(f"{text!r} is no size", "a whole number with k, m or g, such as 512m")
    return text


def size_in_bytes(text: str) -> int:
    """`512m` as bytes; units are powers of 1024."""
    match = _SIZE.fullmatch(text)
    assert match is not None
    return int(match[1]) * _UNITS[match[2].lower()]


def _image(text: str) -> str:
    if not _IMAGE.fullmatch(text):
        raise wrong(f"{text!r} is no image", "a folder of sandbox_images/ or an image reference")
    return text


Identifier = Annotated[str, AfterValidator(_identifier)]
OrderId = Annotated[str, AfterValidator(_order_id)]
Command = Annotated[str, AfterValidator(_command)]
RelativePath = Annotated[str, AfterValidator(_inside)]
ScopePattern = Annotated[str, AfterValidator(_scope_pattern)]
EnvironmentVariables = Annotated[dict[str, str], AfterValidator(_variables)]
Size = Annotated[str, AfterValidator(_size)]
Image = Annotated[str, AfterValidator(_image)]
Seconds = Annotated[float, Field(gt=0, le=604_800)]
