"""Reads YAML 1.2's core schema, and so JSON, into plain data that remembers its lines.

Refuses what has two readings or no bounds: duplicate keys, keys that are not text, tags, NaN, recursion, alias bombs.
"""

from __future__ import annotations

import math
import re
from contextlib import suppress
from dataclasses import dataclass, field

import yaml
from pydantic import JsonValue
from yaml.composer import Composer

from adapters.config.problems import MAX_PROBLEMS, Place, and_more, dotted
from domain.errors import Malformed, Problem
from domain.fields import SHOWN, quoted

MAX_NODES = 100_000
MAX_CHARACTERS = 4 * 1024 * 1024
MAX_DEPTH = 64
LARGE = 128 * 1024
"""Characters from which on a text is read by the fast scanner."""

MAX_DIGITS = 1000

_CORE = "tag:yaml.org,2002:"
SCALARS = {
    f"{_CORE}null": re.compile(r"~|null|Null|NULL|"),
    f"{_CORE}bool": re.compile(r"true|True|TRUE|false|False|FALSE"),
    # A leading zero is octal to some readers and not to others: such a scalar stays text.
    f"{_CORE}int": re.compile(r"[-+]?(?:0|[1-9][0-9]*)|0o[0-7]+|0x[0-9a-fA-F]+"),
    f"{_CORE}float": re.compile(
        r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
    ),
}
_STR, _SEQ, _MAP = f"{_CORE}str", f"{_CORE}seq", f"{_CORE}map"


class _TooMuchError(Exception):
    """The document is out of bounds; nothing of it is used."""

    def __init__(self, line: int, what: str, expected: str) -> None:
        super().__init__(what)
        self.line, self.what, self.expected = line, what, expected


class _Bounded(Composer):
    """PyYAML's composer with bounds."""

    _most = MAX_NODES
    _depth = 0
    _nodes = 0

    def compose(self, most: int) -> yaml.Node | None:
        """The only document, with at most so many values; None for an empty one."""
        self._most = most
        return self.get_single_node()

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """The next node; raises when it is one too many or too deep."""
        line = self.peek_event().start_mark.line + 1  # type: ignore[attr-defined]  # the scanner has it, which the two loaders add
        self._nodes += 1
        if self._nodes > self._most:
            raise _TooMuchError(line, f"more than {self._most} values", f"at most {self._most}")
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise _TooMuchError(line, f"nested deeper than {MAX_DEPTH}", f"at most {MAX_DEPTH} levels")
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node


class _Loader(_Bounded, yaml.SafeLoader):
    """With the core schema instead of YAML 1.1's."""

    yaml_implicit_resolvers = {}


class _FastLoader(_Bounded, yaml.CSafeLoader):
    """The same on libyaml's scanner: four times as fast, its errors say less, and it knows no halved characters."""

    yaml_implicit_resolvers = {}

    def __init__(self, text: str) -> None:
        yaml.CSafeLoader.__init__(self, text)
        Composer.__init__(self)


for _tag, _pattern in SCALARS.items():
    _FastLoader.add_implicit_resolver(_tag, re.compile(rf"(?:{_pattern.pattern})$"), None)
    _Loader.add_implicit_resolver(_tag, re.compile(rf"(?:{_pattern.pattern})$"), None)


@dataclass(frozen=True)
class Document:
    """Plain data, and for each place the lines (from 1) of its value and of its key.

    `problems` are those of single values, which are null or left out in `data`; `spoiled` are their places. `shown` is
    the file's name in problems.
    """

    data: JsonValue
    values: dict[Place, int]
    keys: dict[Place, int]
    shown: str
    problems: list[Problem] = field(default_factory=list)
    spoiled: set[Place] = field(default_factory=set)

    def line(self, place: Place) -> int:
        """The line of the value at `place`, or of the nearest thing around it that is there."""
        while place and place not in self.values:
            place = place[:-1]
        return self.values.get(place, 1)

    def key_line(self, place: Place) -> int:
        """The line of the key that `place` ends with, or of the one around it where it is missing."""
        return self.keys.get(place) or self.keys.get(place[:-1]) or self.line(place)

    def problem(self, place: Place, what: str, expected: str, *, at_key: bool = False) -> Problem:
        """What is wrong at `place`, or with the key that it ends with, and what was expected."""
        line = self.key_line(place) if at_key else self.line(place)
        return Problem(file=self.shown, line=line, field=dotted(place), what=what, expected=expected)

    def is_spoiled(self, place: Place) -> bool:
        """Whether a problem with the value at `place`, or around it, is told already."""
        return any(place[:length] in self.spoiled for length in range(len(place) + 1))


def parse(text: str, shown: str, content: str, factor: int = 1) -> Document:
    """The one document in `text`. `shown` is the file's name in problems. Raises `Malformed` when there is none.

    `factor`: how many times the values and characters of an order's file it may have.
    What is wrong with single values does not raise: it is in the document's `problems`.
    """

    def refuse(line: int, what: str, expected: str) -> Malformed:
        return Malformed([Problem(file=shown, line=line, field="file", what=what, expected=f"expected {expected}")])

    try:
        node = _composed(text, factor * MAX_NODES)
        if node is None:
            raise refuse(1, "is empty", content)
        builder = _Builder(shown, factor)
        data = builder.build(node, ())
    except _TooMuchError as error:
        raise refuse(error.line, error.what, error.expected) from error
    except yaml.MarkedYAMLError as error:
        raise refuse(*_syntax(error)) from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise refuse(line, "has a control character", "text that can be printed") from error
    except (ValueError, OverflowError) as error:
        # PyYAML takes the number of "\UFFFFFFFF", or of a %YAML line, without a look at it, and does not say where.
        raise refuse(1, "has an escape or a version that is out of bounds", "escapes up to \\U0010FFFF") from error
    return Document(data, builder.values, builder.keys, shown, builder.problems, builder.spoiled)


def _composed(text: str, most: int) -> yaml.Node | None:
    """A large text by the fast scanner; whatever that has something against is for the other to read, or to refuse."""
    if len(text) >= LARGE:
        with suppress(yaml.YAMLError, ValueError, OverflowError):
            return _FastLoader(text).compose(most)
    return _Loader(text).compose(most)


def _syntax(error: yaml.MarkedYAMLError) -> tuple[int, str, str]:
    mark = error.problem_mark or error.context_mark
    line = mark.line + 1 if mark else 1
    problem = " ".join((error.problem or error.context or "").split())
    if problem == "but found another document":
        return line, "has a second document", "one document"
    if (error.context or "").startswith("found duplicate anchor"):
        return line, "has the same anchor twice", "anchors that are all different"
    return line, f"is not YAML: {problem}", "YAML or JSON"


class _Builder:
    """Turns nodes into plain data, aliases written out, and keeps what is wrong with single values."""

    def __init__(self, shown: str, factor: int) -> None:
        self._most_nodes, self._most_characters = factor * MAX_NODES, factor * MAX_CHARACTERS
        self.values: dict[Place, int] = {}
        self.keys: dict[Place, int] = {}
        self.problems: list[Problem] = []
        self.spoiled: set[Place] = set()
        self._shown = shown
        self._open: set[int] = set()
        self._nodes = 0
        self._characters = 0
        self._untold = 0

    def build(self, node: yaml.Node, place: Place) -> JsonValue:
        """The value of `node`, which stands at `place`."""
        line = node.start_mark.line + 1
        self._count(node, line)
        if len(place) > MAX_DEPTH:
            raise _TooMuchError(line, f"nested deeper than {MAX_DEPTH}", f"at most {MAX_DEPTH} levels")
        self.values[place] = line
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, place)
        if id(node) in self._open:
            raise _TooMuchError(line, "contains itself", "an end to it")
        if node.tag not in (_SEQ, _MAP):
            self._spoil(place, f"the tag {quoted(node.tag)}", "no tag", line)
            return None
        self._open.add(id(node))
        value = self._mapping(node, place) if isinstance(node, yaml.MappingNode) else self._sequence(node, place)
        self._open.remove(id(node))
        return value

    def _sequence(self, node: yaml.Node, place: Place) -> JsonValue:
        return [self.build(item, (*place, i)) for i, item in enumerate(node.value)]

    def _mapping(self, node: yaml.MappingNode, place: Place) -> JsonValue:
        found: dict[str, JsonValue] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            self._count(key_node, line)
            if not isinstance(key_node, yaml.ScalarNode) or key_node.tag != _STR:
                name = key_node.value if isinstance(key_node, yaml.ScalarNode) else "?"
                self._spoil((*place, name), "is a key that is no text", "a name, in quotes if need be", line)
                continue
            key = self._text(key_node, place, line)
            if key in found:
                what = f"is given twice, first on line {self.keys[(*place, key)]}"
                self._spoil((*place, key), what, "it once", line)
                continue
            self.keys[(*place, key)] = line
            found[key] = self.build(value_node, (*place, key))
        return found

    def _scalar(self, node: yaml.ScalarNode, place: Place) -> JsonValue:
        line, text = node.start_mark.line + 1, node.value
        if node.tag == _STR:
            return self._text(node, place, line)
        pattern = SCALARS.get(node.tag)
        if pattern is None or not pattern.fullmatch(text):
            self._spoil(place, f"the tag {quoted(node.tag)}", "no tag", line)
            return None
        kind = node.tag.removeprefix(_CORE)
        if kind == "null":
            return None
        if kind == "bool":
            return bool(text.lower() == "true")
        if len(text) > MAX_DIGITS:
            self._spoil(place, f"a number of {len(text)} digits", f"at most {MAX_DIGITS}, or text in quotes", line)
            return None
        if kind == "int":
            return int(text, 0 if text[:2] in ("0o", "0x") else 10)
        number = math.nan if text[-1] in "fFnN" else float(text)
        if not math.isfinite(number):
            self._spoil(place, f"{text[:SHOWN]} is not finite", "a number, or text in quotes", line)
            return None
        return number

    def _text(self, node: yaml.ScalarNode, place: Place, line: int) -> str:
        text: str = node.value
        try:
            # JSON escapes a character beyond 16 bits as two halves, which PyYAML leaves apart.
            return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
        except UnicodeDecodeError:
            self._spoil(place, "text with half a character (a lone surrogate)", "whole characters", line)
            return ""

    def _count(self, node: yaml.Node, line: int) -> None:
        self._nodes += 1
        self._characters += len(node.value) if isinstance(node, yaml.ScalarNode) else 0
        if self._nodes > self._most_nodes:
            what, most = f"more than {self._most_nodes} values, aliases written out", f"at most {self._most_nodes}"
            raise _TooMuchError(line, what, most)
        if self._characters > self._most_characters:
            what = f"more than {self._most_characters} characters, aliases written out"
            raise _TooMuchError(line, what, f"at most {self._most_characters}")

    def _spoil(self, place: Place, what: str, expected: str, line: int) -> None:
        self.spoiled.add(place)
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(
                Problem(file=self._shown, line=line, field=dotted(place), what=what, expected=f"expected {expected}")
            )
        else:
            self._untold += 1
            self.problems[MAX_PROBLEMS:] = [and_more(self._untold, self._shown, line)]
