"""An override by `temporal workflow signal` alone: with a signature and without, twice, and where it makes no sense."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.integration.conftest import Project, wait_for
from tests.people import becomes, claims, has, refusals, rows, session, signal, status
from tests.signing_people import ANN, EVE, People, people

FAILING: dict[str, Any] = {
    "verification": {"objective_only": True, "checks": [{"name": "ruff", "command": "grep -q never a.txt"}]},
    "safeguards": {"audit_attempts": 1},
}
OVERRIDE = {"kind": "CHECK_OVERRIDE", "reason": "the rule is wrong here", "acknowledged": ["ruff"]}
SAME = ("--kind", "check", "--reason", "the rule is wrong here", "--acknowledge", "ruff")


@pytest.fixture(scope="module")
def keys(shared: Project) -> People:
    """Ann may sign; what asks for it says so itself."""
    return people(shared, signatures="optional")


def failed(project: Project, name: str, **policy: str) -> str:
    """A todo whose check failed, which waits for a person."""
    session(project, name, "a", **FAILING, override_policy=policy)
    claims(project, f"{name}/a", f"for {name}")
    becomes(project, f"{name}/a", "needs_human")
    return f"{name}/a"


def send(project: Project, todo: str, *inputs: Any) -> None:
    """The signal."""
    signal(project.status()["temporal_address"], f"todo/{todo}", "override", *inputs)


def test_unsigned_where_that_is_enough(shared: Project, keys: People) -> None:
    todo = failed(shared, "unsigned")
    send(shared, todo, {"by": ANN, **OVERRIDE})
    becomes(shared, todo, "verified")
    assert status(shared, todo) == ("verified", "overridden")
    (row,) = rows(shared, todo, "human_override")
    assert row["actor"] == {"role": "unattributed", "identity": ANN}
    assert (row["payload"]["kind"], row["payload"]["acknowledged"]) == ("check", ["ruff"])
    send(shared, todo, {"by": ANN, **OVERRIDE})
    wait_for(has(shared, todo, "refused"))
    assert refusals(shared, todo) == [("override", "illegal_transition")]
    assert len(rows(shared, todo, "human_override")) == 1


def test_what_makes_no_sense_is_recorded_and_what_policy_refuses_too(shared: Project, keys: People) -> None:
    todo = failed(shared, "senseless")
    senseless: list[tuple[tuple[Any, ...], str]] = [
        (("check",), "the input is text, expected an object"),
        (({"by": "ann", "kind": "all"},), "kind: Input should be 'check', 'verifier' or 'direct'"),
        (({"by": "bob"}, {"by": "bob"}), "2 inputs, expected one"),
        (({"by": "eve", **OVERRIDE, "signature": "x"},), "signature: Invalid JSON"),
    ]
    for inputs, _ in senseless[:2]:
        send(shared, todo, *inputs)
    wait_for(has(shared, todo, "refused", 2))
    send(shared, todo, *senseless[3][0])
    wait_for(has(shared, todo, "refused", 3))
    told = [row["payload"]["reason"] for row in rows(shared, todo, "refused")]
    for reason, (_, wanted) in zip(told, [*senseless[:2], senseless[3]], strict=True):
        assert reason.startswith(wanted)
    send(shared, todo, {"by": "dan", "kind": "check", "acknowledged": ["ruff"]})
    wait_for(has(shared, todo, "refused", 4))
    assert refusals(shared, todo) == [("override", "malformed")] * 3 + [("override", "reason_required")]
    assert status(shared, todo)[0] == "needs_human"
    send(shared, todo, *senseless[2][0])
    send(shared, todo, {"by": ANN, **OVERRIDE})
    becomes(shared, todo, "verified")


def test_where_signatures_are_required(shared: Project, keys: People) -> None:
    todo = failed(shared, "required", signatures="required")
    send(shared, todo, {"by": ANN, **OVERRIDE})
    wait_for(has(shared, todo, "refused"))
    envelopes = {}
    for who in (EVE, ANN):
        printed = shared.run("override", todo, *SAME, "--key", keys.key(who), "--print-signature")
        assert printed.returncode == 0, printed.stderr
        envelopes[who] = json.loads(printed.stdout)
    assert status(shared, todo)[0] == "needs_human", "nothing was sent"
    send(shared, todo, {**OVERRIDE, "signature": envelopes[EVE]})
    wait_for(has(shared, todo, "refused", 2))
    assert refusals(shared, todo) == [("override", "signature_required"), ("override", "unknown_signer")]
    assert status(shared, todo)[0] == "needs_human"
    send(shared, todo, {**OVERRIDE, "signature": json.dumps(envelopes[ANN])})
    becomes(shared, todo, "verified")
    (row,) = rows(shared, todo, "human_override")
    assert row["actor"] == {"role": "human", "identity": ANN}
    assert row["payload"]["signature"]["signer"] == ANN
    assert shared.run("log", "verify").returncode == 0
