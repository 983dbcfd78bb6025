"""What a python_call criterion asks of its function, call by call, and what the answers come to. Pure: it runs nothing.

A trial is one case. The properties idempotent and inverse call twice: the second call is made from the first one's
answer, in another container, so that nothing but plain data goes from one to the other.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from adapters.checkers import plain_data
from adapters.checkers.calls import Answer, Call, Nothing, Raised, Returned
from domain.generation import Case, cases
from domain.python_criteria import Property, PythonCallParams

NUMBERS = (int, float)

Failure = tuple[str, str]
"""A code, and what to say after the call."""


@dataclass(frozen=True)
class Returns:
    """A value is expected, by exact type."""

    value: Any

    def __str__(self) -> str:
        return plain_data.shown(self.value)


@dataclass(frozen=True)
class Raises:
    """An exception is expected, by the plain or the qualified name of its class or of a base class."""

    name: str

    def __str__(self) -> str:
        return f"{self.name} to be raised"


@dataclass(frozen=True)
class Data:
    """Any plain data is expected: another call is given it."""

    def __str__(self) -> str:
        return "plain data"


@dataclass(frozen=True)
class Comparable:
    """A number, a text or a boolean is expected: it is held against the answers beside it."""

    def __str__(self) -> str:
        return "a number, a text or a boolean"


Expected = Returns | Raises | Data | Comparable


@dataclass(frozen=True)
class Trial:
    """One call and what is expected of it. `name` is the call for people, `why` where the case is from."""

    call: Call
    expected: Expected
    why: str = ""
    name: str = ""
    group: int = -1
    property: Property | None = None

    def __str__(self) -> str:
        return (self.name or str(self.call)) + (f" ({self.why})" if self.why else "")


def seeds(params: PythonCallParams, derived: int) -> tuple[int, ...]:
    """The seed of each set of random cases: the order's own, or the one that follows from the tree."""
    generated = [params.generate] if params.generate else []
    return tuple(derived if i.seed is None else i.seed for i in (*generated, *params.properties))


def reference_calls(params: PythonCallParams, derived: int) -> tuple[Call, ...]:
    """What a trusted function is asked, none where there is none."""
    generate = params.generate
    if generate is None:
        return ()
    module = generate.reference.rpartition("/")[2].removesuffix(".py")
    function = generate.function or params.function
    seed = derived if generate.seed is None else generate.seed
    return tuple(Call(module, function, case.args, case.kwargs) for case in cases(generate, seed))


def trials(params: PythonCallParams, derived: int, expected: Sequence[Returns | Raises] = ()) -> tuple[Trial, ...]:
    """All first calls: the order's cases, the generated ones, the properties'. `expected` is what the reference says.

    `derived` is the seed where the order names none.
    """
    found = [
        Trial(
            _call(params, Case(case.args, case.kwargs)), Raises(case.raises) if case.raises else Returns(case.returns)
        )
        for case in params.cases
    ]
    asked = reference_calls(params, derived)
    why = f"generated, seed {seeds(params, derived)[0]}" if asked else ""
    for call, answer in zip(asked, expected, strict=True):
        found.append(Trial(_call(params, Case(call.args, call.kwargs)), answer, why))
    for group, item in enumerate(params.properties):
        seed = derived if item.seed is None else item.seed
        for case in _in_order(item, cases(item, seed)):
            why = f"{item.property}, seed {seed}"
            found.append(Trial(_call(params, case), _first(item), why, group=group, property=item))
    return tuple(found)


def _call(params: PythonCallParams, case: Case) -> Call:
    return Call(params.module, params.function, case.args, case.kwargs)


def _first(item: Property) -> Expected:
    match item:
        case Property(property="raises", exception=str(name)):
            return Raises(name)
        case Property(property="monotone"):
            return Comparable()
    return Data()


def _in_order(item: Property, made: Sequence[Case]) -> Sequence[Case]:
    """For monotone by the argument that varies: then neighbours are compared, and so are all."""
    if item.property != "monotone":
        return made
    return sorted(made, key=lambda case: list(_varying(item, case)))


def _varying(item: Property, case: Case | Call) -> Iterator[Any]:
    given = zip((*item.args, *item.kwargs.values()), (*case.args, *case.kwargs.values()), strict=True)
    return (value for strategy, value in given if strategy.kind in ("integer", "number"))


def second(trial: Trial, answer: Answer) -> Trial | None:
    """The trial that the answer to the first call leads to, None where there is none."""
    item = trial.property
    if item is None or not isinstance(answer, Returned) or not plain_data.plain(answer.value):
        return None
    call = trial.call
    match item:
        case Property(property="idempotent"):
            again = Call(call.module, call.function, [answer.value], call.kwargs)
            return Trial(again, Returns(answer.value), trial.why, f"{call.function}({call})")
        case Property(property="inverse", with_=str(name)):
            module, _, function = name.rpartition(".")
            back = Call(module or call.module, function, [answer.value])
            return Trial(back, Returns(call.args[0]), trial.why, f"{name}({call})")
    return None


def failure(trial: Trial, answer: Answer) -> Failure | None:
    """Why a case failed, None when it did not."""
    expected = trial.expected
    match answer:
        case Nothing(code="import_failed" | "no_function"):
            return answer.code, answer.text
        case Nothing():
            return answer.code, f"{answer.text}, expected {expected}"
        case Raised():
            met = isinstance(expected, Raises) and expected.name in answer.names
            return None if met else ("wrong_result", f"raised {answer.text}, expected {expected}")
        case Returned():
            return _returned(expected, answer.value)


def _returned(expected: Expected, value: Any) -> Failure | None:
    told = f"returned {plain_data.shown(value)}, expected {expected}"
    match expected:
        case Raises():
            return "wrong_result", told
        case Data():
            return None if plain_data.plain(value) else ("wrong_result", told)
        case Comparable():
            return None if type(value) in (*NUMBERS, str, bool) else ("wrong_result", told)
    place = plain_data.difference(value, expected.value)
    if place is None:
        return None
    if isinstance(value, plain_data.Other):
        told += " (only None, bool, int, float, str, list and dict can be equal, by exact type)"
    return "wrong_result", told + (f", first difference at {place}" if place else "")


def out_of_order(asked: Sequence[Trial], answers: Sequence[Answer]) -> dict[int, Failure]:
    """The trials of monotone properties, by number, whose answer is on the wrong side of the one before."""
    found = {}
    numbered = [(n, t, a) for n, (t, a) in enumerate(zip(asked, answers, strict=True)) if t.property]
    for (_, before, earlier), (number, trial, later) in itertools.pairwise(numbered):
        if before.group != trial.group or not isinstance(earlier, Returned) or not isinstance(later, Returned):
            continue
        if told := _wrong_side(before, trial, earlier.value, later.value):
            found[number] = ("wrong_result", told)
    return found


def _wrong_side(before: Trial, trial: Trial, earlier: Any, later: Any) -> str | None:
    item = trial.property
    if item is None or item.property != "monotone" or failure(before, Returned(earlier)):
        return None
    up = item.direction == "increasing"
    side = ("more than" if up else "less than") if item.strict else ("at least" if up else "at most")
    told = (
        f"returned {plain_data.shown(later)}, expected {side} {plain_data.shown(earlier)}, which {before.call} returned"
    )
    if type(earlier) is not type(later) and not {type(earlier), type(later)} <= set(NUMBERS):
        return told
    low, high = (earlier, later) if up else (later, earlier)
    return None if low < high or (not item.strict and low == high) else told
