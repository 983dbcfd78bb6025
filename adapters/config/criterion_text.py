"""Writes criteria down as an order has them: as YAML in blocks, or on one line as JSON. It decides nothing about them.

What is written reads back as the same criterion: texts are quoted wherever YAML 1.1 or 1.2 has another reading of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import yaml
from pydantic import BaseModel, JsonValue

from adapters.config.yaml_document import SCALARS
from domain.criteria import Criterion
from domain.strategies import Strategy

_EXPECTED = ("returns", "raises")
"""Of a case's two expectations one is given, and a null that is expected is no default."""

_BREAKS = re.compile(r"[\x85\u2028\u2029]")
"""Line breaks to YAML, which a text between quotes would come back without."""

_LINES = re.compile(r"[^\s]([^\n]*[^\s])?(\n+[^\n]*[^\s])*\n?")
"""Text of several lines that reads well as a block: its lines end with no white space, and it begins with none."""

_UNSAFE = re.compile(r"[\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff]")
"""What JSON allows in a text as it is, and YAML does not, or reads as a line's end."""


class _Dumper(yaml.SafeDumper):
    """Lists set in from their key."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002 - its callers' way
        super().increase_indent(flow, False)


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None
    if "\n" in text or _BREAKS.search(text):
        style = "|" if _LINES.fullmatch(text) and not _BREAKS.search(text) else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)
for _tag, _pattern in SCALARS.items():
    _Dumper.add_implicit_resolver(_tag, re.compile(rf"(?:{_pattern.pattern})$"), None)


def as_yaml(criterion: Criterion) -> list[str]:
    """The lines of `criterion` as an item of a list in blocks, the first beginning with `- `."""
    text = yaml.dump(
        [_plain(criterion)],
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=None,
        width=float("inf"),
    )
    return text.removesuffix("\n").split("\n")


def as_json(criterion: Criterion) -> str:
    """`criterion` on one line, which JSON and YAML read alike."""
    text = json.dumps(_plain(criterion), ensure_ascii=False)
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _plain(criterion: Criterion) -> dict[str, JsonValue]:
    """What a person would write: what is not as it is by default, the id and the type first."""
    said = dict(_of_fields(criterion, criterion.model_dump(mode="json")))
    first = [name for name in ("id", "description", "type") if name in said]
    return {name: said[name] for name in (*first, *said)}


def _of_fields(part: BaseModel, whole: dict[str, Any]) -> Iterator[tuple[str, JsonValue]]:
    """The fields of `part`, as `whole` has them, that are not as they are by default."""
    for name, field in type(part).model_fields.items():
        key, value = field.alias or name, getattr(part, name)
        if key in whole and (name in _EXPECTED or value != field.get_default(call_default_factory=True)):
            yield key, _within(value, whole[key])


def _within(value: Any, whole: Any) -> JsonValue:
    if isinstance(value, BaseModel) and not isinstance(value, Strategy):  # which has no defaults
        return dict(_of_fields(value, whole))
    if isinstance(value, list):
        return [_within(one, written) for one, written in zip(value, whole, strict=True)]
    return whole  # type: ignore[no-any-return]  # what a model dumps as JSON
