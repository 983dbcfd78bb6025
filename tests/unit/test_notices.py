"""What a report says beside its reasons: who did not judge, and what the order asks a single round for in vain."""

from __future__ import annotations

import pytest

from domain.notices import notices_of, notices_on_disputes, notices_on_programs
from domain.order import Order
from domain.roles.disputes import Dispute
from domain.roles.results import DisputeRecord
from domain.verdict import Tiebreak, TiebreakOutcome

QUIET = {"auditor": {"enabled": False}}


def order(**fields: object) -> Order:
    return Order.model_validate({"content": "x", "verification": QUIET, **fields})


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"safeguards": {"todo_timeout": 1.0, "tool_retries": 0}}, "safeguards.todo_timeout"),
        ({"override_policy": {"signatures": "required"}}, "override_policy.signatures"),
        ({"verification": {**QUIET, "retry": {"max_attempts": 1}}}, "verification.retry.max_attempts"),
        ({"verification": {**QUIET, "on_auditor_crash": "escalate"}}, "verification.on_auditor_crash"),
    ],
)
def test_what_a_single_round_does_not_apply_is_named(fields: dict[str, object], named: str) -> None:
    assert notices_of(order(**fields)) == (f"a single round does not apply {named}: they are for a todo's whole life",)


def test_what_it_heeds_is_no_news() -> None:
    heeded = {"include_check_output": False, "include_verifier_feedback": False}
    assert notices_of(order(safeguards={"tool_retries": 0}, verification={**QUIET, "retry": heeded})) == ()


def test_an_auditor_that_a_script_played_is_named() -> None:
    (notice,) = notices_of(order(verification={}), scripted=["auditor"])
    assert notice == "the auditor's answers are scripted: no model judged"
    (notice,) = notices_of(order(verification={}), scripted=["auditor", "advocate", "critic"])
    assert notice == "the answers of the auditor, the advocate and the critic are scripted: no model judged"


DISPUTE = Dispute(criterion="AC-1", why=("unsure",), required=True)
LEFT_OUT = DisputeRecord(disputes=(DISPUTE,), why="no model is configured for the judge")


def test_what_is_disputed_and_not_argued_is_named_with_the_role_that_is_missing() -> None:
    (notice,) = notices_on_disputes(order(verification={}), LEFT_OUT)
    assert "no model is configured for the judge" in notice
    assert "AC-1" in notice
    argued = LEFT_OUT.model_copy(update={"tiebreak": Tiebreak(outcome=TiebreakOutcome.JUDGED)})
    assert notices_on_disputes(order(verification={}), argued) == ()
    assert notices_on_disputes(order(verification={}), None) == ()


def test_an_order_that_always_wants_arguments_has_a_reason_or_is_told_that_it_wants_them_in_vain() -> None:
    assert notices_on_disputes(order(verification={"adversarial": "always"}), LEFT_OUT) == (), "it is a reason"
    (notice,) = notices_on_disputes(order(verification={**QUIET, "adversarial": "always"}), None)
    assert "nothing is argued" in notice


def test_an_honest_round_without_a_model_has_no_notice() -> None:
    assert notices_of(order(verification={})) == ()


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("sh run.sh", ["`a` runs sub/run.sh, which the work changed"]),
        ("PYTHONPATH=. python3 -u ./app.py --all", ["`a` runs sub/app.py, which the work changed"]),
        ("cd .. && timeout 5 sub/run.sh; sub/run.sh", ["`a` runs sub/run.sh, which the work changed"]),
        ("sh same.sh", []),
        ("sh -n run.sh", []),
        ("cat run.sh && ruff check app.py", []),
        ("python -m pytest app.py", []),
    ],
)
def test_a_changed_file_that_a_check_runs_is_named(command: str, told: list[str]) -> None:
    checks = [{"name": "a", "command": command, "cwd": "sub"}]
    made = order(verification={**QUIET, "checks": checks})
    assert list(notices_on_programs(made, ["sub/run.sh", "sub/app.py", "other.py"])) == told
