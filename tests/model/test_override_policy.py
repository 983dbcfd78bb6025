"""Every row of the override policy: what is asked, what is needed, what the order allows, who says so and why.

The oracle reads the rules off a list of plain conditions, the first of which that holds is the refusal; it shares no
code with the act. Who has to have signed is looked at before the act, by `domain.signing`: here no row depends on it.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from domain.acts import people
from domain.acts.step import Step
from domain.events import Actor
from domain.requests import Override
from domain.status import TodoStatus
from domain.todo import Gate, Todo
from tests.model.todos import NOON, done, order, todo

S = TodoStatus
FAILED = ("tests", "scope_violation")
KNOWN: dict[str, dict[str, Any]] = {
    "check": {"not_passed": FAILED},
    "check and auditor": {"not_passed": FAILED, "objected": True},
    "verifier": {"passed": True, "objected": True},
    "direct": {},
    "none": {"passed": True},
}
NAMED: dict[str, tuple[str, ...]] = {
    "all": FAILED,
    "some": FAILED[:1],
    "none": (),
    "a typo": (*FAILED, "test"),
    "only a typo": ("test",),
}
KINDS = ("check", "verifier", "direct")
ROLES = ("unattributed", "human", "worker")
FLAGS = ("check_override_allowed", "check_override_requires_reason", "verifier_override_allowed")
MORE_FLAGS = ("direct_approval_allowed",)
OVERRULED = (S.CLAIMED, S.NEEDS_HUMAN, S.FAILED)

Row = tuple[str, str, str, str, str]
"""Kind, what is known, who asks, the reason, what is acknowledged."""


def expected(row: Row, policy: dict[str, Any], status: TodoStatus, children: bool) -> str:
    """The code of the refusal, empty where it is done."""
    kind, known, role, reason, named = row
    needed = known.split(maxsplit=1)[0]
    names = set(NAMED[named])
    wanted = set(FAILED) if needed == "check" else set()
    auditor_too = known in ("check and auditor", "verifier")
    rules = [
        ("forbidden", role == "worker"),
        ("illegal_transition", status not in OVERRULED),
        ("open_children", children),
        ("override_not_allowed", kind == "check" and not policy["check_override_allowed"]),
        ("override_not_allowed", kind == "check" and auditor_too and not policy["verifier_override_allowed"]),
        ("override_not_allowed", kind == "verifier" and not policy["verifier_override_allowed"]),
        ("override_not_allowed", kind == "direct" and not policy["direct_approval_allowed"]),
        ("reason_required", not reason.strip() and kind != "check"),
        ("reason_required", not reason.strip() and policy["check_override_requires_reason"]),
        ("override_not_allowed", kind != needed),
        ("unknown_check", bool(names - wanted)),
        ("not_acknowledged", bool(wanted - names)),
    ]
    return next((code for code, holds in rules if holds), "")


def asked(row: Row) -> Override:
    kind, _, role, reason, named = row
    actor = Actor.model_validate({"role": role, "identity": "ann"})
    return Override.model_validate({"actor": actor, "kind": kind, "reason": reason, "acknowledged": NAMED[named]})


def at(known: str, policy: dict[str, Any], status: TodoStatus = S.NEEDS_HUMAN, children: bool = False) -> Todo:
    gate = Gate(number=1, open_children=("c",) if children else ())
    return todo(status, order=order(override_policy=policy), gate=gate, **KNOWN[known])


def wrong(stands: Todo, row: Row, policy: dict[str, Any], status: TodoStatus, children: bool) -> str:
    """What is not as the oracle has it, empty where all is."""
    outcome = people.override(stands, asked(row), NOON)
    found = "" if isinstance(outcome, Step) else outcome.code
    wanted = expected(row, policy, status, children)
    return "" if found == wanted else f"{row} {policy} {status} {children}: {found!r}, not {wanted!r}"


POLICIES = [
    dict(zip((*FLAGS, *MORE_FLAGS, "signatures"), row, strict=True))
    for row in product(*[(False, True)] * 4, ("off", "optional", "required"))
]


@pytest.mark.parametrize("known", KNOWN)
def test_every_row_of_the_policy(known: str) -> None:
    rows: list[Row] = [(kind, known, *rest) for kind, *rest in product(KINDS, ROLES, ("", " ", "Known"), NAMED)]  # type: ignore[misc]  # a product's lengths are lost
    told = [
        found
        for policy in POLICIES
        for stands in [at(known, policy)]
        for row in rows
        if (found := wrong(stands, row, policy, S.NEEDS_HUMAN, False))
    ]
    assert not told, told[:5]
    assert len(rows) * len(POLICIES) == 135 * 48


@pytest.mark.parametrize("status", TodoStatus)
@pytest.mark.parametrize("children", [False, True])
def test_every_status_with_and_without_open_subtasks(status: TodoStatus, children: bool) -> None:
    told = []
    for known, policy in product(KNOWN, [POLICIES[0], POLICIES[-1]]):
        stands = at(known, policy, status, children)
        rows: list[Row] = [(kind, known, role, "Known", "all") for kind, role in product(KINDS, ROLES)]
        told += [found for row in rows if (found := wrong(stands, row, policy, status, children))]
    assert not told, told[:5]


def test_some_are_taken_and_each_code_is_met() -> None:
    """Else the tests above would say nothing."""
    lax = {**dict.fromkeys((*FLAGS, *MORE_FLAGS), True), "signatures": "optional"}
    codes = {
        expected((kind, known, role, reason, named), policy, status, children)
        for kind, known, role, reason, named in product(KINDS, KNOWN, ROLES, ("", "Known"), NAMED)
        for policy in (lax, {**lax, "verifier_override_allowed": False})
        for status in (S.FAILED, S.PENDING)
        for children in (False, True)
    }
    assert codes >= {"", "forbidden", "illegal_transition", "open_children", "override_not_allowed"}
    assert codes >= {"reason_required", "unknown_check", "not_acknowledged"}


@pytest.mark.parametrize(
    ("spelled", "kind", "known"),
    [
        ("CHECK_OVERRIDE", "check", "check"),
        ("VERIFIER_OVERRIDE", "verifier", "verifier"),
        ("DIRECT_APPROVAL", "direct", "direct"),
    ],
)
def test_the_row_says_which_kind_however_it_was_spelled(spelled: str, kind: str, known: str) -> None:
    stands = at(known, {"direct_approval_allowed": True})
    names = FAILED if known == "check" else ()
    who = {"role": "unattributed", "identity": "ann"}
    said = Override.model_validate({"actor": who, "kind": spelled, "reason": "Known", "acknowledged": names})
    step = people.override(stands, said, NOON)
    done(stands, step)
    assert isinstance(step, Step)
    payload = step.events[0].payload
    assert (payload["kind"], payload["reason"], payload["acknowledged"]) == (kind, "Known", list(names))
