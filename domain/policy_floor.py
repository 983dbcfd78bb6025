"""What no order of a project may go below: `[policy_floor]` of its settings. It changes no order and reads no file.

Source: CONTRACT "An order" (precedence), DESIGN 1.4. What asks for less is refused where it is written down; what is
not written at all, `adapters/config` raises to the floor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, Field, JsonValue

from domain.base import Part
from domain.fields import ScopePattern, Seconds, wrong
from domain.order import Check, Order

RANKS = {"probe": ("off", "revert", "mutate"), "adversarial": ("never", "auto", "always")}
"""Words of a field, from the weakest on."""

OVERRIDES: dict[str, tuple[JsonValue, ...]] = {
    "direct_approval_allowed": (True, False),
    "check_override_allowed": (True, False),
    "verifier_override_allowed": (True, False),
    "check_override_requires_reason": (False, True),
    "signatures": ("off", "optional", "required"),
}
"""Values of the fields of `OverridePolicy`, from the weakest on."""


def _no_negation(pattern: str) -> str:
    if pattern.startswith("!"):
        raise wrong("takes a pattern back", "a pattern (a leading ! is written \\!)")
    return pattern


def _required(checks: list[Check]) -> list[Check]:
    for place, check in enumerate(checks):
        if not check.required:
            raise wrong("a check that is not required", "true: nothing else is a floor", at=(place, "required"))
    names = [check.name for check in checks]
    for place, name in enumerate(names):
        if name in names[:place]:
            raise wrong("names two checks", "names that are all different", at=(place, "name"))
    return checks


class PolicyFloor(Part):
    """What is asked for of every order; None, or empty, where nothing is. Durations are seconds.

    Caps, timeouts, `max_fail_rate` and `retries_on_failure` are maxima, `min_criteria`, `probe` and `adversarial`
    minima, `adversarial` of an order that asks the auditor. `draft` is as written: neither is the stricter, since a
    drafted check may let pass what else a person had to look at, and may hold back what else had only a warning.
    `protect` and `checks` are added to every order's own.
    """

    audit_attempts: Annotated[int, Field(ge=1)] | None = None
    revisions: Annotated[int, Field(ge=0)] | None = None
    tool_retries: Annotated[int, Field(ge=0, le=20)] | None = None
    follow_ups: Annotated[int, Field(ge=0)] | None = None
    todo_timeout: Seconds | None = None
    session_timeout: Seconds | None = None
    on_exhausted: Literal["escalate", "fail"] | None = None
    direct_approval_allowed: Literal[False] | None = None
    check_override_allowed: Literal[False] | None = None
    verifier_override_allowed: Literal[False] | None = None
    check_override_requires_reason: Literal[True] | None = None
    signatures: Literal["required"] | None = None
    without_checks: Literal["needs_human"] | None = None
    require_all_pass: Literal[True] | None = None
    max_fail_rate: Annotated[float, Field(ge=0, le=1)] | None = None
    min_criteria: Annotated[int, Field(ge=0)] | None = None
    retries_on_failure: Annotated[int, Field(ge=0, le=5)] | None = None
    on_flaky: Literal["fail"] | None = None
    probe: Literal["revert", "mutate"] | None = None
    auditor_enabled: Literal[True] | None = None
    adversarial: Literal["auto", "always"] | None = None
    draft: Literal["auto", "never"] | None = None
    protect: list[Annotated[ScopePattern, AfterValidator(_no_negation)]] = []
    checks: Annotated[list[Check], AfterValidator(_required)] = []


NO_FLOOR = PolicyFloor()


class _Rule(NamedTuple):
    """Where an order has what a field of the floor is about, and how the two compare."""

    name: str
    place: tuple[str, ...]
    kind: Literal["most", "least", "same"]


_SAFEGUARDS = ("audit_attempts", "revisions", "tool_retries", "follow_ups", "todo_timeout")
_RULES = (
    *(_Rule(name, ("safeguards", name), "most") for name in _SAFEGUARDS),
    _Rule("on_exhausted", ("safeguards", "on_exhausted"), "same"),
    *(_Rule(name, ("override_policy", name), "same") for name in OVERRIDES),
    *(
        _Rule(name, ("verification", name), "same")
        for name in ("without_checks", "require_all_pass", "on_flaky", "draft")
    ),
    *(_Rule(name, ("verification", name), "most") for name in ("max_fail_rate", "retries_on_failure")),
    *(_Rule(name, ("verification", name), "least") for name in ("min_criteria", "probe", "adversarial")),
    _Rule("auditor_enabled", ("verification", "auditor", "enabled"), "same"),
)

_EITHER = ("on_exhausted", "draft")
"""Fields of which neither value is the stricter."""


def _of_kind(rule: _Rule) -> Callable[[str, list[Any]], Any]:
    if rule.kind == "most":
        return lambda _, values: min(values)
    if rule.kind == "least":
        return lambda name, values: max(values, key=RANKS[name].index if name in RANKS else None)
    return lambda _, values: values[0]


_STRICTEST = {rule.name: _of_kind(rule) for rule in _RULES} | {"session_timeout": lambda _, values: min(values)}
"""How two values of a field become one; a field that has one strict value alone keeps it."""


class Shortfall(NamedTuple):
    """Where an order asks for less than the floor, with what, and what the floor asks for, in words."""

    place: tuple[str | int, ...]
    value: JsonValue
    asked: str

    def __str__(self) -> str:
        where = ".".join(str(part) for part in self.place)
        return f"{where} is {_shown(self.value)}, and the project's policy floor asks for {self.asked}"


def conflicts(one: PolicyFloor, other: PolicyFloor) -> tuple[str, ...]:
    """The fields of which no order can have what both ask for; a check as `checks.NAME`."""
    found = [name for name in _EITHER if None not in (a := (getattr(one, name), getattr(other, name))) and a[0] != a[1]]
    named = {check.name: check for check in one.checks}
    return (*found, *(f"checks.{check.name}" for check in other.checks if named.get(check.name, check) != check))


def joined(one: PolicyFloor, other: PolicyFloor) -> PolicyFloor:
    """What both ask for, at least as strict as each, of two floors without `conflicts`.

    Patterns and checks that only `other` has come last.
    """
    asked: dict[str, object] = {}
    for name, strictest in _STRICTEST.items():
        values = [value for floor in (one, other) if (value := getattr(floor, name)) is not None]
        asked[name] = strictest(name, values) if values else None
    checks = {check.name: check for check in (*one.checks, *other.checks)}
    asked["checks"] = list(checks.values())
    asked["protect"] = list(dict.fromkeys((*one.protect, *other.protect)))
    return one.model_copy(update=asked)


def stricter(one: Mapping[str, JsonValue], other: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Of what two files say of overrides, field by field, the stricter; of what one alone says, that."""
    both = {**one, **other}
    return {
        name: max(one[name], value, key=OVERRIDES[name].index) if name in one else value for name, value in both.items()
    }


def below(floor: PolicyFloor, order: Order) -> tuple[str, ...]:
    """What of `order` is below `floor`, a sentence each; nothing where it holds. For orders that people edit."""
    return tuple(str(shortfall) for shortfall in shortfalls(floor, order))


def shortfalls(floor: PolicyFloor, order: Order) -> tuple[Shortfall, ...]:
    """What of `order` is below `floor`. `session_timeout` is no order's, see `longest_session`."""
    return (*_of_rules(floor, order), *_of_protected(floor, order), *_of_checks(floor, order))


def longest_session(floor: PolicyFloor, timeout: float) -> Shortfall | None:
    """What is wrong with a session's `timeout`, in seconds, if it is above the floor's."""
    most = floor.session_timeout
    if most is None or timeout <= most:
        return None
    return Shortfall(("session_timeout",), timeout, f"at most {most:g}")


def raised(floor: PolicyFloor) -> dict[tuple[str, ...], JsonValue]:
    """What stands, by place, where an order does not say anything: the stricter of the built-in default and `floor`."""
    found: dict[tuple[str, ...], JsonValue] = {}
    plain = Order(content="the built-in defaults")
    for rule in _RULES:
        asked = getattr(floor, rule.name)
        if asked is not None and not _holds(rule, asked, _at(plain, rule.place)):
            found[rule.place] = asked
    return found


def negations(floor: PolicyFloor) -> tuple[str, ...]:
    """What ends a list of unprotected patterns, so that it opens nothing that `floor` protects."""
    return tuple(f"!{spelled}" for pattern in floor.protect for spelled in _with_what_is_below(pattern))


def _with_what_is_below(pattern: str) -> tuple[str, ...]:
    """`src` as `src` and `**/src/**`: a pattern takes back a match of its own, not one of what is in such a folder."""
    folder = pattern.removesuffix("/")
    below = f"{folder}/**" if "/" in folder else f"**/{folder}/**"
    return (below,) if folder != pattern else (pattern, below)


def _of_rules(floor: PolicyFloor, order: Order) -> Iterator[Shortfall]:
    for rule in _RULES:
        asked, value = getattr(floor, rule.name), _at(order, rule.place)
        if asked is not None and not _holds(rule, asked, value):
            yield Shortfall(rule.place, value, _in_words(rule, asked))
    yield from _of_auditor(floor, order)


def _of_auditor(floor: PolicyFloor, order: Order) -> Iterator[Shortfall]:
    """Who is not asked cannot be disputed with, either."""
    if not (floor.auditor_enabled or floor.adversarial):
        return
    why = "the auditor is always asked" if floor.auditor_enabled else "without the auditor nothing is argued"
    if order.verification.objective_only:
        yield Shortfall(("verification", "objective_only"), True, f"false: {why}")
    if not (floor.auditor_enabled or order.verification.auditor.enabled):
        yield Shortfall(("verification", "auditor", "enabled"), False, f"true: {why}")


def _of_protected(floor: PolicyFloor, order: Order) -> Iterator[Shortfall]:
    scope = order.scope
    if missing := [pattern for pattern in floor.protect if pattern not in scope.protect]:
        yield Shortfall(("scope", "protect"), ", ".join(scope.protect) or "empty", f"{', '.join(missing)} in it")
    last = negations(floor)
    if scope.unprotect and tuple(scope.unprotect[len(scope.unprotect) - len(last) :]) != last:
        yield Shortfall(("scope", "unprotect"), ", ".join(scope.unprotect), f"{', '.join(last)} at its end")


def _of_checks(floor: PolicyFloor, order: Order) -> Iterator[Shortfall]:
    named = {check.name: (place, check) for place, check in enumerate(order.verification.checks)}
    for asked in floor.checks:
        place, check = named.get(asked.name, (None, None))
        if place is None:
            yield Shortfall(("verification", "checks"), ", ".join(named) or "empty", f"the check {asked.name} in it")
        elif check != asked:
            yield Shortfall(("verification", "checks", place), f"another {asked.name}", "its own check of that name")


def _at(order: Order, place: tuple[str, ...]) -> JsonValue:
    found: object = order
    for name in place:
        found = getattr(found, name)
    assert isinstance(found, bool | int | float | str)
    return found


def _holds(rule: _Rule, asked: JsonValue, value: JsonValue) -> bool:
    if rule.kind == "same":
        return asked == value
    if isinstance(asked, str) and isinstance(value, str):
        return RANKS[rule.name].index(value) >= RANKS[rule.name].index(asked)
    assert isinstance(asked, int | float)
    assert isinstance(value, int | float)
    return value <= asked if rule.kind == "most" else value >= asked


def _in_words(rule: _Rule, asked: JsonValue) -> str:
    shown = _shown(asked)
    return {"most": f"at most {shown}", "least": f"at least {shown}", "same": shown}[rule.kind]


def _shown(value: JsonValue) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)
