"""Lays what several files say of an order over one another, and knows of each part which of them said it.

Objects are joined field by field, the checks of `verification` by name; all else is replaced. It refuses nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import TypeVar

from pydantic import JsonValue

from adapters.config.problems import Place
from adapters.config.yaml_document import Document
from domain.errors import Problem

Fields = dict[str, JsonValue]
_CHECKS: Place = ("verification", "checks")
_MISSING = object()
_Item = TypeVar("_Item", bound=tuple[object, ...])


@dataclass(frozen=True)
class Layer:
    """What one file says of an order: `data` in the order's own shape, its fields spelled one way.

    What stands at `target` of the order stands at `root` of `document`; `verifier`: the file says that for auditor.
    """

    document: Document
    data: JsonValue
    root: Place = ()
    target: Place = ()
    verifier: bool = False

    def origin(self, place: Place) -> Place:
        """Where the file has what the order has at `place`."""
        if self.verifier and place[:2] == ("verification", "auditor"):
            place = ("verification", "verifier", *place[2:])
        return (*self.root, *place[len(self.target) :])


def layer_of(document: Document, data: JsonValue, root: Place = (), target: Place = ()) -> Layer:
    """What `document` says with `data`, which stands at its `root` and belongs at `target` of the order."""
    verifier = False
    for name in reversed(target):
        data = {str(name): data}
    if isinstance(data, dict) and isinstance(found := data.get("verification"), dict):
        verifier = "verifier" in found and "auditor" not in found
        if verifier:
            renamed = {"auditor" if name == "verifier" else name: value for name, value in found.items()}
            data = {**data, "verification": renamed}
    return Layer(document, data, root, target, verifier)


def laid(below: JsonValue, above: JsonValue, place: Place = ()) -> JsonValue:
    """`above` over `below`: neither is changed."""
    if isinstance(below, dict) and isinstance(above, dict):
        return {
            **below,
            **{
                name: laid(below[name], value, (*place, name)) if name in below else value
                for name, value in above.items()
            },
        }
    if place == _CHECKS and isinstance(below, list) and isinstance(above, list):
        return [value for (value,) in _joined([(item,) for item in below], [(item,) for item in above])]
    return above


def _joined(below: Sequence[_Item], above: Sequence[_Item]) -> list[_Item]:
    """Two lists of checks, each the first part of a tuple: one of the same name takes the place of the one before."""
    later: dict[object, _Item] = {}
    for item in above:
        if (name := _name(item[0])) is not None:
            later.setdefault(name, item)
    taken = {name for item in below if (name := _name(item[0])) in later}
    kept = [later.get(_name(item[0]), item) for item in below]
    # One that is there twice stays twice, for the order to refuse.
    return kept + [item for item in above if _name(item[0]) not in taken or later[_name(item[0])] is not item]


def _name(check: object) -> str | None:
    name = check.get("name") if isinstance(check, dict) else None
    return name if isinstance(name, str) else None


class Layered:
    """An order as its layers say it, the weakest first; `data` is given where it has been laid already.

    The last layer is the order's own: what none has said is told of there.
    """

    def __init__(self, layers: Sequence[Layer], data: JsonValue = None) -> None:
        self.layers = tuple(layers)
        self._data = data

    @cached_property
    def data(self) -> JsonValue:
        """What they come to."""
        if self._data is not None:
            return self._data
        return reduce(laid, (layer.data for layer in self.layers))

    def problem(self, place: Place, what: str, expected: str, *, at_key: bool = False) -> Problem:
        """What is wrong at `place`, told of where it was written."""
        layer, origin = self._written(place)
        return layer.document.problem(origin, what, expected, at_key=at_key)

    def is_spoiled(self, place: Place) -> bool:
        """Whether the file that says what is at `place` has had a problem with it."""
        layer, origin = self._written(place)
        return layer.document.is_spoiled(origin)

    def _written(self, place: Place) -> tuple[Layer, Place]:
        """The layer that has the value at `place`, or at the nearest place around it, and where it has it."""
        if place[:2] == _CHECKS and len(place) > 2 and isinstance(place[2], int) and place[2] < len(self._checks):
            _, layer, index = self._checks[place[2]]
            return layer, layer.origin((*_CHECKS, index, *place[3:]))
        having: list[tuple[Layer, object]] = [(layer, layer.data) for layer in self.layers]
        for part in place:
            further = [(layer, value) for layer, data in having if (value := _step(data, part)) is not _MISSING]
            if not further:
                break
            _, strongest = further[-1]
            having = further if isinstance(strongest, dict) else further[-1:]
        return having[-1][0], having[-1][0].origin(place)

    @cached_property
    def _checks(self) -> list[tuple[object, Layer, int]]:
        """The joined checks, and of each the layer and its place there."""
        found: list[tuple[object, Layer, int]] = []
        for layer in self.layers:
            said = _step(_step(layer.data, "verification"), "checks")
            if isinstance(said, list):
                found = _joined(found, [(item, layer, index) for index, item in enumerate(said)])
            elif said is not _MISSING:
                found = []
        return found


def _step(value: object, part: str | int) -> object:
    if isinstance(value, dict) and part in value:
        return value[part]
    if isinstance(value, list) and isinstance(part, int) and part < len(value):
        return value[part]
    return _MISSING
