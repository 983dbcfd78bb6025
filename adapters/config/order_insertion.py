"""Puts further criteria into the text of an order, every other character left as it is. It reads and writes no file.

In blocks each item and whatever was rejected has its comment; where the text is JSON there is none. Whether the text
reads afterwards as it should is not checked here: `order_writing` does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import yaml

from adapters.config.criterion_text import as_json, as_yaml
from domain.criteria import Criterion

CRITERIA = "acceptance_criteria"
_Events = Sequence[yaml.Event]


class NoPlaceError(ValueError):
    """The text has no place for them: why, in words."""


@dataclass(frozen=True)
class _Mark:
    index: int
    column: int


@dataclass(frozen=True)
class Addition:
    """What is put in: criteria, what is said above each, and lines that are said below the last."""

    criteria: Sequence[Criterion]
    above: str
    below: Sequence[str] = ()


def with_criteria(text: str, addition: Addition, *, is_json: bool) -> str:
    """`text`, an order in YAML or JSON, with them after its own criteria. Raises `NoPlaceError`."""
    events = list(yaml.parse(text.replace("\t", " ") if is_json else text, Loader=yaml.SafeLoader))
    root = next(place for place, event in enumerate(events) if isinstance(event, yaml.NodeEvent))
    own = next((value for key, value in _entries(events, root) if _is(key, CRITERIA)), None)
    if own is None:
        place, added = _in_root(text, events, root, addition, is_json)
    elif isinstance(events[own], yaml.SequenceStartEvent):
        place, added = _in_list(text, events, own, addition, is_json)
    else:
        raise NoPlaceError(f"{CRITERIA} is an alias of a list elsewhere")
    newline = "\r\n" if "\r\n" in text else "\n"
    if added.startswith("\n") and text[:place].endswith("\n"):
        added = added.removeprefix("\n")
    return f"{text[:place]}{added.replace(chr(10), newline)}{text[place:]}"


def _in_list(text: str, events: _Events, own: int, addition: Addition, is_json: bool) -> tuple[int, str]:
    """Where the criteria that are there end, and what comes there."""
    last, start = _end(events, own), _begins(events[own])
    if not _flows(events[own]):
        place = _after_line(text, _ends(_last_of(events, own, last)).index)
        return place, "\n" + _block(addition, " " * start.column)
    indent = _indent(text, start.index)
    if last == own + 1:
        return _ends(events[last]).index - 1, _flow(addition, indent, is_json)
    items = _flow(addition, indent, is_json)
    ends_in_comment = bool(addition.below) and not is_json
    if not ends_in_comment:
        items = items.removesuffix(f"\n{indent}")
    return _ends(events[last - 1]).index, f",{items}"


def _in_root(text: str, events: _Events, root: int, addition: Addition, is_json: bool) -> tuple[int, str]:
    """Where an order that has no criteria ends, and what comes there."""
    first = _begins(events[root + 1])
    if _flows(events[root]):
        line = text.rfind("\n", 0, first.index) + 1
        indent = text[line : first.index]
        gap = f"\n{indent}" if not indent.strip() and line else " "
        indent = indent if gap != " " else ""
        place = _ends(events[_end(events, root) - 1]).index
        return place, f',{gap}"{CRITERIA}": [{_flow(addition, indent, is_json)}]'
    ending = next(event for event in events if isinstance(event, yaml.DocumentEndEvent))
    place = _begins(ending).index if ending.explicit else len(text)
    indent = " " * first.column
    # A blank line below a text in a block may be a part of it.
    gap = "" if getattr(_last_of(events, root, _end(events, root)), "style", None) in ("|", ">") else "\n"
    return place, f"\n{gap}{indent}{CRITERIA}:\n{_block(addition, indent + '  ')}"


def _block(addition: Addition, indent: str) -> str:
    lines = [line for criterion in addition.criteria for line in (f"# {addition.above}", *as_yaml(criterion))]
    lines += [f"# {line}" for line in addition.below]
    return "".join(f"{indent}{line}\n" if line else "\n" for line in lines)


def _flow(addition: Addition, indent: str, is_json: bool) -> str:
    """Items between brackets, each on a line of its own, the last line empty but for `indent`."""
    inner = indent + ("\t" if indent.startswith("\t") else "  ")
    above = "" if is_json else f"\n{inner}# {addition.above}"
    items = ",".join(f"{above}\n{inner}{as_json(criterion)}" for criterion in addition.criteria)
    below = "" if is_json else "".join(f"\n{inner}# {line}" for line in addition.below)
    return f"{items}{below}\n{indent}"


def _entries(events: _Events, start: int) -> Iterator[tuple[yaml.Event, int]]:
    """The keys of the mapping that begins at `start`, each with the place of its value."""
    key = start + 1
    while not isinstance(events[key], yaml.CollectionEndEvent):
        value = _end(events, key) + 1
        yield events[key], value
        key = _end(events, value) + 1


def _end(events: _Events, start: int) -> int:
    """The place of the last event of the node that begins at `start`."""
    depth = 0
    for place in range(start, len(events)):
        depth += isinstance(events[place], yaml.CollectionStartEvent)
        depth -= isinstance(events[place], yaml.CollectionEndEvent)
        if depth == 0:
            return place
    raise AssertionError("a node that begins ends")


def _last_of(events: _Events, start: int, end: int) -> yaml.Event:
    """The last event from `start` to `end` that stands in the text: a collection in blocks ends with what it has."""
    opened: list[bool] = []
    last = events[start]
    for event in events[start : end + 1]:
        if isinstance(event, yaml.CollectionStartEvent):
            opened.append(_flows(event))
        elif not isinstance(event, yaml.CollectionEndEvent) or opened.pop():
            last = event
    return last


def _begins(event: yaml.Event) -> _Mark:
    assert event.start_mark is not None
    return _Mark(event.start_mark.index, event.start_mark.column)


def _ends(event: yaml.Event) -> _Mark:
    assert event.end_mark is not None
    return _Mark(event.end_mark.index, event.end_mark.column)


def _flows(event: yaml.Event) -> bool:
    return isinstance(event, yaml.CollectionStartEvent) and bool(event.flow_style)


def _is(event: yaml.Event, name: str) -> bool:
    return isinstance(event, yaml.ScalarEvent) and event.value == name


def _after_line(text: str, place: int) -> int:
    """Where the line after that of `place` begins; a text in blocks ends there by itself."""
    if text[:place].endswith("\n"):
        return place
    return text.find("\n", place) + 1 or len(text)


def _indent(text: str, place: int) -> str:
    """The white space that the line of `place` begins with."""
    line = text[text.rfind("\n", 0, place) + 1 :]
    return line[: len(line) - len(line.lstrip(" \t"))]
