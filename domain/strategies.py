"""How an order says which values are generated: strategies, and bounds on what they can come to. It makes no value.

A strategy is an object with one key, its kind: `{integer: {min: 0, max: 9}}`. Source: DESIGN 8 "Out of process".
"""

from __future__ import annotations

import json
import string
from typing import Annotated, Any, ClassVar

from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    JsonValue,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from domain.base import Part
from domain.fields import wrong

MAX_BITS = 1024
ALPHABET = string.ascii_letters + string.digits + string.punctuation + " \t\n" + "é\u00df\u4e2d\U0001f600"
A_CASE = 48
"""Bytes that a case has around its arguments, as JSON."""

ONE_OF_THEM = "one of integer, number, boolean, text, one_of, list, object, value"

Seed = Annotated[int, Field(ge=0, lt=2**53)]


def _whole(number: int) -> int:
    if number.bit_length() > MAX_BITS:
        raise wrong(f"a number of {number.bit_length()} bits", f"at most {MAX_BITS}")
    return number


Whole = Annotated[int, AfterValidator(_whole)]


class _Bounds(Part):
    """Checks that there is something between two bounds, both included."""

    bounds: ClassVar[tuple[str, str]] = ("min", "max")

    @model_validator(mode="after")
    def _least_before_most(self) -> Any:
        low, high = (getattr(self, name) for name in self.bounds)
        if low > high:
            raise wrong(f"{self.bounds[0]} is {low} and {self.bounds[1]} {high}", "the smaller one first")
        return self


class Integers(_Bounds):
    """Whole numbers."""

    min: Whole
    max: Whole


class Numbers(_Bounds):
    """Finite numbers with a decimal point: floats."""

    min: float
    max: float


class Booleans(Part):
    """True and false."""


class Texts(_Bounds):
    """Texts of some of the alphabet's characters, letters and signs of several scripts by default."""

    alphabet: str = Field(default=ALPHABET, min_length=1)
    min_length: int = Field(default=0, ge=0, le=10_000)
    max_length: int = Field(default=20, ge=0, le=10_000)

    bounds = ("min_length", "max_length")


class Lists(_Bounds):
    """Lists whose elements all follow one strategy."""

    of: Strategy
    min_length: int = Field(default=0, ge=0, le=10_000)
    max_length: int = Field(default=10, ge=0, le=10_000)

    bounds = ("min_length", "max_length")


class Strategy(Part):
    """Which values there are. Exactly one of the fields is given; `value` is always that value."""

    model_config = ConfigDict(serialize_by_alias=True)

    integer: Integers | None = None
    number: Numbers | None = None
    boolean: Booleans | None = None
    text: Texts | None = None
    one_of: Annotated[list[JsonValue], Field(min_length=1)] | None = None
    list_: Lists | None = Field(default=None, alias="list")
    object_: dict[str, Strategy] | None = Field(default=None, alias="object")
    value: JsonValue = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Strategy:
        given = sorted(self.model_fields_set)
        if len(given) != 1:
            names = ", ".join(name.rstrip("_") for name in given)
            raise wrong(f"a strategy of {len(given)} kinds ({names})" if given else "an empty strategy", ONE_OF_THEM)
        if given != ["value"] and getattr(self, given[0]) is None:
            raise wrong("null", "what the strategy is, or {} for its defaults", at=(given[0].rstrip("_"),))
        return self

    @model_serializer(mode="wrap")
    def _as_it_was_given(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        data: dict[str, Any] = handler(self)
        return {name: value for name, value in data.items() if name in {n.rstrip("_") for n in self.model_fields_set}}

    @property
    def kind(self) -> str:
        """The one key that it has in an order."""
        (name,) = self.model_fields_set
        return name.rstrip("_")


Lists.model_rebuild()
Strategy.model_rebuild()

Arguments = Annotated[list[Strategy], Field(description="a list of strategies, such as [{integer: {min: 0, max: 9}}]")]
Keywords = Annotated[dict[str, Strategy], Field(description="an object of names and strategies")]


class Inputs(Part):
    """What cases are made of: a strategy an argument. Without a `seed` it follows from the tree (`domain.generation`).

    Fewer than `count` cases are made where there are not so many different ones.
    """

    args: Arguments = []
    kwargs: Keywords = {}
    count: int = Field(default=100, ge=1, le=1000)
    seed: Seed | None = None

    @property
    def largest(self) -> int:
        """Bytes that all cases together may come to, as JSON."""
        together = sum(map(largest, (*self.args, *self.kwargs.values()))) + len(json.dumps(list(self.kwargs)))
        return self.count * (A_CASE + together + 4 * (len(self.args) + len(self.kwargs)))


def largest(strategy: Strategy) -> int:
    """Bytes that one value may come to, as JSON in ASCII."""
    match strategy:
        case Strategy(integer=Integers(min=low, max=high)):
            return max(len(str(low)), len(str(high)))
        case Strategy(number=Numbers()) | Strategy(boolean=Booleans()):
            return 25
        case Strategy(text=Texts(alphabet=alphabet, max_length=most)):
            return 2 + most * max(len(json.dumps(character)) - 2 for character in alphabet)
        case Strategy(one_of=[*values]):
            return max(len(json.dumps(value)) for value in values)
        case Strategy(list_=Lists(of=element, max_length=most)):
            return 2 + most * (2 + largest(element))
        case Strategy(object_=dict(members)):
            return 2 + sum(len(json.dumps(key)) + 4 + largest(member) for key, member in members.items())
    return len(json.dumps(strategy.value))


def constant(strategy: Strategy) -> bool:
    """Whether it has one value alone."""
    return strategy.kind == "value"


def words(strategy: Strategy) -> bool:
    """Whether its values can be given to a program: texts without NUL characters, or numbers, written as text."""
    if strategy.text:
        return "\0" not in strategy.text.alphabet
    if strategy.kind in ("one_of", "value"):
        values = strategy.one_of or [strategy.value]
        return all(type(v) in (int, float) or (isinstance(v, str) and "\0" not in v) for v in values)
    return strategy.kind in ("integer", "number")


def word(value: Any) -> str:
    """A value as a program is given it: a number as Python writes it."""
    return value if isinstance(value, str) else repr(value)
