"""Turns what pydantic found in a file into problems that a person can act on; no word of pydantic's gets through.

What was expected is read off the models, so a new field or bound needs nothing here.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import annotated_types
from pydantic import Discriminator, JsonValue, Tag, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from adapters.config.problems import MAX_PROBLEMS, Place, Source, and_more, given, listed
from domain.base import Part
from domain.errors import Problem
from domain.fields import quoted


@dataclass(frozen=True)
class Slot:
    """What a model allows at one place: a bare type, and what narrows it down."""

    kind: Any
    metadata: tuple[Any, ...] = ()
    description: str = ""

    @property
    def model(self) -> type[Part] | None:
        """The model that belongs here, if one does."""
        return self.kind if isinstance(self.kind, type) and issubclass(self.kind, Part) else None

    @property
    def members(self) -> dict[str, Slot]:
        """What a discriminated union has to choose from, by tag; nothing when this is none."""
        if not any(isinstance(item, Discriminator) for item in self.metadata):
            return {}
        slots = [_slot(member) for member in get_args(self.kind)]
        return {tag: slot for slot in slots for tag in _tags(slot)}


def _tags(slot: Slot) -> tuple[str, ...]:
    named = tuple(item.tag for item in slot.metadata if isinstance(item, Tag))
    return named or (get_args(slot.model.model_fields["type"].annotation) if slot.model else ())


def _slot(annotation: Any, metadata: tuple[Any, ...] = (), description: str = "") -> Slot:
    """The slot of a type, with `Annotated`, `Field` and `| None` taken off."""
    while True:
        if get_origin(annotation) is Annotated:
            annotation, *found = get_args(annotation)
            for item in found:
                description = description or (item.description or "" if isinstance(item, FieldInfo) else "")
                metadata += tuple(item.metadata) if isinstance(item, FieldInfo) else (item,)
            continue
        rest = [arm for arm in get_args(annotation) if arm is not NoneType]
        if get_origin(annotation) in (Union, UnionType) and len(rest) == 1:
            annotation = rest[0]
            continue
        return Slot(annotation, metadata, description)


def field_slot(info: FieldInfo) -> Slot:
    """What a field's declaration allows."""
    return _slot(info.annotation, tuple(info.metadata), info.description or "")


def _fields(model: type[Part]) -> dict[str, FieldInfo]:
    """The fields of a model by their name in a file."""
    return {info.alias or name: info for name, info in model.model_fields.items()}


def _inner(slot: Slot, part: str | int) -> Slot:
    """The slot of a field or of an entry; anything goes where the model says nothing of it."""
    if slot.model and part in (fields := _fields(slot.model)):
        return field_slot(fields[str(part)])
    if isinstance(part, int):
        slot = next((member for member in slot.members.values() if get_origin(member.kind) is list), slot)
    arguments = get_args(slot.kind) if get_origin(slot.kind) in (list, dict) else ()
    return _slot(arguments[-1]) if arguments else Slot(Any)


@dataclass(frozen=True)
class Spot:
    """Where in a file an error is: the way there, what stands there, what belongs there, what is around it."""

    place: Place
    present: bool
    value: JsonValue
    slot: Slot
    around: Slot


def find(model: type[Part], data: JsonValue, location: Place) -> Spot:
    """Follow pydantic's location through model and file: without the tags of unions, in the file's own spelling."""
    slot = around = Slot(model)
    place: Place = ()
    value, present = data, True
    for part in location:
        if part in slot.members:
            # The union itself is what belongs there until a field of one member is meant.
            around = slot = slot.members[str(part)] if slot.members[str(part)].model else slot
            continue
        spelling = _spelling(slot, part, value)
        around, slot = slot, _inner(slot, part)
        place = (*place, spelling)
        present, value = _step(value, spelling) if present else (False, None)
    return Spot(place, present, value, slot, around)


def _step(value: JsonValue, part: str | int) -> tuple[bool, JsonValue]:
    if isinstance(value, dict) and isinstance(part, str) and part in value:
        return True, value[part]
    if isinstance(value, list) and isinstance(part, int) and part < len(value):
        return True, value[part]
    return False, None


def _spelling(slot: Slot, part: str | int, value: JsonValue) -> str | int:
    """The name that the file has for a field: its own, or another that the model accepts."""
    if isinstance(value, dict) and part not in value and slot.model:
        return next((other for other, name in slot.model.other_names.items() if name == part and other in value), part)
    return part


def expects(slot: Slot) -> str:
    """In words, what belongs in `slot`; completes "expected ..."."""
    if slot.description:
        return slot.description
    if slot.model:
        return f"an object with the fields {listed(list(_fields(slot.model)))}"
    if slot.members:
        return " or ".join(dict.fromkeys(expects(member) for member in slot.members.values()))
    origin = get_origin(slot.kind) or slot.kind
    if origin is Literal:
        return _one_of([_written(choice) for choice in get_args(slot.kind)])
    least = next((m.min_length for m in slot.metadata if isinstance(m, annotated_types.MinLen)), 0)
    words: dict[Any, Callable[[], str]] = {
        bool: lambda: "true or false",
        str: lambda: "text that is not empty" if least else "text",
        int: lambda: f"a whole number{_bounds(slot)}",
        float: lambda: f"a number{_bounds(slot)}",
        list: lambda: f"a list with at least {least} entry" if least else "a list",
        dict: lambda: "an object",
    }
    return words[origin]()


def _written(choice: object) -> str:
    return str(choice).lower() if isinstance(choice, bool) else str(choice)


def _bounds(slot: Slot) -> str:
    limits = []
    for item in slot.metadata:
        match item:
            case annotated_types.Gt(gt=limit):
                limits.append(f"above {limit}")
            case annotated_types.Ge(ge=limit):
                limits.append(f"at least {limit}")
            case annotated_types.Le(le=limit):
                limits.append(f"at most {limit}")
    return f", {' and '.join(limits)}" if limits else ""


def _one_of(choices: list[str]) -> str:
    return f"one of {listed(choices)}" if len(choices) > 1 else choices[0]


def _nearest(word: str, choices: list[str]) -> str | None:
    return next(iter(difflib.get_close_matches(word[:64], choices, n=1, cutoff=0.6)), None)


def explain(error: ValidationError, model: type[Part], document: Source) -> list[Problem]:
    """Every error of `model` on `document` as a problem, but for values that it has a problem with already."""
    found = error.errors(include_url=False, include_input=False)
    problems = [
        problem for details in found[:MAX_PROBLEMS] if (problem := _problem(details, model, document)) is not None
    ]
    if len(found) > MAX_PROBLEMS:
        last = problems[-1] if problems else document.problem((), "", "")
        problems.append(and_more(len(found) - MAX_PROBLEMS, last.file, last.line))
    return problems


def _problem(details: ErrorDetails, model: type[Part], document: Source) -> Problem | None:
    context = details.get("ctx", {})
    spot = find(model, document.data, (*details["loc"], *context.get("at", ())))
    if document.is_spoiled(spot.place):
        return None
    at_key = False
    match details["type"]:
        case "order":
            what, expected = context["what"], f"expected {context['expected']}"
        case "missing":
            at_key = True
            what, expected = "is missing", f"expected {expects(spot.slot)}"
        case "extra_forbidden":
            at_key = True
            what, expected = _unknown_field(spot)
        case "union_tag_invalid" | "union_tag_not_found" if isinstance(spot.value, dict):
            return document.problem((*spot.place, "type"), *_unknown_type(spot))
        case _:
            what, expected = given(spot.value), f"expected {_narrowed(spot)}"
    return document.problem(spot.place, what, expected, at_key=at_key)


def _narrowed(spot: Spot) -> str:
    expected = expects(spot.slot)
    if get_origin(spot.slot.kind) is Literal and isinstance(spot.value, str):
        nearest = _nearest(spot.value, [str(choice) for choice in get_args(spot.slot.kind)])
        return f"{expected} (did you mean {nearest!r}?)" if nearest else expected
    if spot.slot.kind is str and isinstance(spot.value, int | float):
        return f"{expected} (in quotes, if this is the text)"
    return expected


def _unknown_field(spot: Spot) -> tuple[str, str]:
    name = str(spot.place[-1])
    known = [*_fields(spot.around.model), *spot.around.model.other_names] if spot.around.model else []
    nearest = _nearest(name, known)
    expected = f"did you mean {nearest!r}?" if nearest else f"expected {_one_of(known) if known else 'no fields'}"
    return f"unknown field {quoted(name)}", expected


def _unknown_type(spot: Spot) -> tuple[str, str]:
    types = list(spot.slot.members)
    assert isinstance(spot.value, dict)
    if "type" not in spot.value:
        return "is missing", f"expected {_one_of(types)}"
    value = spot.value["type"]
    nearest = _nearest(value, types) if isinstance(value, str) else None
    guess = f" (did you mean {nearest!r}?)" if nearest else ""
    return f"unknown type: {given(value)}", f"expected {_one_of(types)}{guess}"
