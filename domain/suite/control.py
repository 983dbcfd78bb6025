"""Chooses what a control run changes in the tests, and judges what came of it: pure, seeded.

A control runs the same command with a canary, a test that must fail, and with the values changed that tests expect.
Source: DESIGN 8 "Negative control", "Expectation control".
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence, Set

from domain.base import Message
from domain.mutation.edits import Edit
from domain.scrutiny import NAMED, Expectation
from domain.suite.runs import RED, Run, file_of, function_of

LEAST_MS = 2000
SHARE = 0.6
"""Of what all tests of the base take together: how much the sample may."""

_GREEN = ("passed", "xpassed")


class Change(Message):
    """A literal of the function `function` (an id) that is changed: for its item number `item`, or for every item.

    `items`: how many the function has where `item` is one of them; no more is known of a function with others.
    `decisive`: no value equals both what it was and what it becomes, so the test must fail. `stop`: no literal is
    changed, a statement that fails is put in; that the test fails then says nothing of what it expects.
    """

    function: str
    item: int | None
    items: int | None = None
    edit: Edit
    decisive: bool
    shown: str = ""
    stop: bool = False


class Measured(Message):
    """Tests by what they did when what they expect was changed. `blind`: a change that they cannot pass with left them
    green.

    `turned`: nothing of theirs was changed, and they went red all the same, as those of code do that is honest only
    where it sees that it is examined.
    """

    measured: tuple[str, ...] = ()
    constrained: tuple[str, ...] = ()
    blind: tuple[str, ...] = ()
    turned: tuple[str, ...] = ()


def sample(changes: Iterable[Change], base: Run | None, seed: int) -> tuple[Change, ...]:
    """The changes of so many functions that they take no more than the budget on the base.

    What did not pass there comes in any case: it is what the work is about. The order of `changes` does not matter.
    """
    by_function: dict[str, list[Change]] = {}
    for change in sorted(changes, key=lambda change: (change.function, change.edit.start)):
        by_function.setdefault(change.function, []).append(change)
    cost = _costs(base) if base else {}
    chosen = [name for name in by_function if name not in cost]
    others = [name for name in by_function if name in cost]
    random.Random(seed).shuffle(others)  # noqa: S311 - a sample that can be drawn again, not a secret
    others.sort(key=lambda name: by_function[name][0].stop)
    left = max(LEAST_MS, SHARE * base.ms) if base else 0.0
    for name in others:
        left -= cost[name]
        if left < 0:
            break
        chosen.append(name)
    return tuple(change for name in chosen for change in by_function[name])


def spared(chosen: Iterable[Change], base: Run | None, seed: int) -> tuple[Change, ...]:
    """`chosen` without those of one function in each file where every test that can be changed would be.

    What is left as it was must do what it did, however the tests around it were changed. Of a file with one function
    only, one change is left out, and none where it is the only one.
    """
    red = {function_of(name) for name, ran in base.tests.items() if ran.state not in _GREEN} if base else set()
    green = {function_of(name) for name in base.tests} - red if base else set()
    by_file: dict[str, list[Change]] = {}
    for change in chosen:
        by_file.setdefault(file_of(change.function), []).append(change)
    others = {function_of(name) for name in base.tests} if base else set()
    others -= {change.function for changes in by_file.values() for change in changes}
    untouched = {file_of(name) for name in others}
    draw = random.Random(seed)  # noqa: S311 - drawn again from the same seed
    left: list[Change] = []
    for file in sorted(by_file):
        changes = by_file[file]
        out = () if file in untouched else _left_out(changes, green, draw)
        left += [change for change in changes if change not in out]
    return tuple(left)


def _left_out(changes: Sequence[Change], green: Set[str], draw: random.Random) -> Sequence[Change]:
    """Of what did not pass on the base, where there are several: wrong work fails that as soon as it sees the control.

    One alone stays in, for the work is about it. What says little goes first.
    """
    functions = dict.fromkeys(change.function for change in changes)
    if len(functions) == 1:
        weak = [change for change in changes if not _says_much(change)]
        return [draw.choice(weak or changes)] if len(changes) > 1 else ()
    others = [name for name in functions if name not in green]
    pool = others if len(others) > 1 else [name for name in functions if name in green]
    much = {change.function for change in changes if _says_much(change)}
    one = draw.choice([name for name in pool if name not in much] or pool)
    return [change for change in changes if change.function == one]


def _says_much(change: Change) -> bool:
    return change.decisive and not change.stop


def companions(chosen: Iterable[Change], base: Run | None, seed: int) -> tuple[str, ...]:
    """Functions that the control runs unchanged, in what the sample leaves of the budget.

    Code that meddles with pytest only once it is called has then been called before the canary has to fail.
    """
    if base is None:
        return ()
    changed = {change.function for change in chosen}
    cost = {function_of(name): 0 for name in base.tests} | dict(_costs(base))
    left = max(LEAST_MS, SHARE * base.ms) - sum(cost.get(name, 0) for name in changed)
    others = sorted(name for name in cost if name not in changed)
    random.Random(seed).shuffle(others)  # noqa: S311 - as above
    taken = []
    for name in others:
        left -= cost[name]
        if left < 0:
            break
        taken.append(name)
    return tuple(taken)


def edits_of(changes: Iterable[Change]) -> dict[str, tuple[Edit, ...]]:
    """The edits by file."""
    by_file: dict[str, list[Edit]] = {}
    for change in changes:
        by_file.setdefault(file_of(change.function), []).append(change.edit)
    return {name: tuple(edits) for name, edits in by_file.items()}


def measure(changes: Iterable[Change], head: Run, control: Run) -> Measured:
    """What tests that passed in `head` did in `control`, matched by their place in their function.

    Ids with parameters may change with their values, so they do not tell.
    """
    before, after = head.functions(), control.functions()
    measured, constrained, blind = {}, {}, {}
    changes = tuple(changes)
    for change in changes:
        names, changed = before.get(change.function, ()), after.get(change.function, ())
        if len(names) != len(changed) or (change.item is not None and change.items not in (None, len(names))):
            continue
        for place, (name, other) in enumerate(zip(names, changed, strict=True)):
            if change.item not in (None, place) or head.tests[name].state not in _GREEN:
                continue
            state = control.tests[other].state
            if state == "not_run" or (change.stop and state in RED):
                continue
            if change.stop:
                blind[name] = True
                continue
            measured[name] = True
            if state in RED:
                constrained[name] = True
            elif change.decisive:
                blind[name] = True
    return Measured(
        measured=tuple(measured),
        constrained=tuple(constrained),
        blind=tuple(blind),
        turned=_turned(changes, head, control),
    )


def _turned(changes: Iterable[Change], head: Run, control: Run) -> tuple[str, ...]:
    """Tests that no change touches, that passed, and that did not in the control."""
    before, after = head.functions(), control.functions()
    touched: dict[str, set[int | None]] = {}
    for change in changes:
        touched.setdefault(change.function, set()).add(change.item)
    return tuple(
        name
        for function, names in before.items()
        if len(names) == len(after.get(function, ())) and None not in touched.get(function, ())
        for place, (name, other) in enumerate(zip(names, after[function], strict=True))
        if place not in touched.get(function, ())
        and head.tests[name].state in _GREEN
        and control.tests[other].state in RED
    )


def canary_failed(control: Run, name: str, token: str) -> bool:
    """Whether the test that must fail did, and said why."""
    return any(
        ran.state == "failed" and token in control.reasons.get(test, "")
        for test, ran in control.tests.items()
        if name in test
    )


def expectation(measured: Measured, expected: Iterable[str], seed: int) -> Expectation:
    """What the report says, of the `expected` tests that passed."""
    names = set(expected)
    seen = [name for name in measured.measured if name in names]
    red = set(measured.constrained)
    green = [name for name in seen if name not in red]
    return Expectation(
        tests=len(names),
        measured=len(seen),
        constrained=len(seen) - len(green),
        unconstrained=tuple(green[:NAMED]),
        seed=seed,
    )


def kept(functions: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Functions' names by file."""
    by_file: dict[str, list[str]] = {}
    for function in dict.fromkeys(functions):
        file, _, name = function.partition("::")
        by_file.setdefault(file, []).append(name)
    return {file: tuple(names) for file, names in by_file.items()}


def _costs(base: Run) -> Mapping[str, int]:
    """Milliseconds of each function of which no test was red on the base."""
    costs: dict[str, int] = {}
    red = {function_of(name) for name, ran in base.tests.items() if ran.state in RED}
    for name, ran in base.tests.items():
        if (function := function_of(name)) not in red:
            costs[function] = costs.get(function, 0) + ran.ms
    return costs
