"""`countersign inbox`: of which kind each thing is that waits, what is proposed for it, what is asked for and shown."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from domain.base import canonical_json
from domain.decision import Decision, Reason, RoundOutcome
from domain.events import Action, Actor
from domain.messages import RoundInput, RoundRecord
from domain.order import Order
from domain.read_model import RoundView, SessionView, State, TodoView
from domain.report import build
from domain.scope import ScopeReport
from domain.status import SessionStatus
from entrypoints.cli.inbox import KINDS
from entrypoints.cli.proposals import suggested
from entrypoints.stores import build_evidence
from tests.unit.test_cli_asking import NOW, Desk, desk, view
from tests.unit.test_cli_overruling import FROZEN, TREE, F, P, result
from tests.unit.test_events import row

__all__ = ["desk"]  # a fixture

LOOPED = {"fix_loop": {"enabled": True, "max_cost_usd": 0.5}}
VERSION = " --expected-version 4"


def stored(desk: Desk, **fields: Any) -> str:
    """The digest of an order with these fields, which the store has."""
    order = Order.model_validate({"id": "a", "content": "Write it", **fields})
    return build_evidence(desk.settings).put(canonical_json(order.model_dump(mode="json")))


def put(desk: Desk, *todos: TodoView, rounds: tuple[RoundView, ...] = ()) -> None:
    """Let the lists have these."""
    sessions = tuple(SessionView(session=name, created_at=NOW) for name in sorted({one.session for one in todos}))
    desk.memory.state = State(sessions=sessions, todos=todos, rounds=rounds)


def waits(desk: Desk, todo: str = "a", order: dict[str, Any] | None = None, **fields: Any) -> TodoView:
    """A todo that needs a human, at version 4, by an order that is stored."""
    given = {"version": 4, "status": "needs_human", "audits": 1, "audit_cap": 3, "revision_cap": 2, "domain": "docs"}
    return view("one", todo, **{**given, "order_digest": stored(desk, **(order or {})), "attempt": 1, **fields})


def decided(
    desk: Desk, order: dict[str, Any], *results: Any, codes: tuple[str, ...] = (), attempt: int = 1
) -> RoundView:
    """A round of that order that saw `results`, with its report."""
    digest = stored(desk, **order)
    told = Order.model_validate({"id": "a", "content": "Write it", **order})
    asked: dict[str, Any] = {"session": "one", "todo": "a", "attempt": attempt, "order_digest": digest, "host": "h"}
    record = RoundRecord(
        input=RoundInput(order=told, actor=Actor(role="worker", identity="eve"), **asked),
        started_at=NOW,
        ended_at=NOW,
        frozen=FROZEN,
        scope=TREE,
        results=results,
        decision=Decision(
            outcome=RoundOutcome.NEEDS_HUMAN, reasons=tuple(Reason(code=code, text=f"{code}!") for code in codes)
        ),
    )
    report = build_evidence(desk.settings).put(
        canonical_json(build(record, {}, ScopeReport(), None).model_dump(mode="json"))
    )
    said = {"status": "decided", "outcome": "needs_human", "verdict": "FAIL", "order": digest, "report": report}
    name = {"session": "one", "todo": "a", "attempt": attempt, "workflow_id": f"round/one/a/{attempt}"}
    return RoundView.model_validate({**name, **said, "started_at": NOW})


def entry(desk: Desk, *arguments: str) -> dict[str, Any]:
    """The one thing that waits."""
    (found,) = desk.run("inbox", "--json", *arguments).json
    return dict(found)


def acts(desk: Desk) -> list[str]:
    """The commands for it, `review` and the version left aside."""
    review, *commands = entry(desk)["next"]
    assert review == "countersign review one/a"
    return [command.removeprefix("countersign ").removesuffix(VERSION) for command in commands]


@pytest.mark.parametrize(
    ("kind", "fields", "order"),
    [
        ("escalation", {"trigger": "audit_cap_exceeded"}, LOOPED),
        ("escalation", {"trigger": "revision_cap_exceeded"}, {}),
        ("question", {"status": "blocked", "question": "which?", "trigger": "not_judged"}, {}),
        ("criteria", {"trigger": "not_judged"}, {}),
        ("nothing_to_check", {"trigger": "nothing_to_check"}, {}),
        ("budget", {"trigger": "cost_cap_exceeded"}, {}),
        ("budget", {"trigger": "revision_cap_exceeded"}, LOOPED),
        ("failed", {"status": "failed", "trigger": "cost_cap_exceeded"}, {}),
        ("flagged", {"status": "verified", "flag": "edited after it was verified"}, {}),
    ],
)
def test_each_thing_has_its_kind(desk: Desk, kind: str, fields: dict[str, Any], order: dict[str, Any]) -> None:
    put(desk, waits(desk, order=order, **fields))
    assert entry(desk)["kind"] == kind
    for other in KINDS:
        assert len(desk.run("inbox", "--kind", other, "--json").json) == (other == kind)


def test_a_question_is_answered(desk: Desk) -> None:
    put(desk, waits(desk, status="blocked", question="which?"))
    assert acts(desk) == ["unblock one/a --clarification TEXT"]


def test_a_version_and_what_a_command_does_are_with_it(desk: Desk) -> None:
    put(desk, waits(desk, status="blocked", question="which?"))
    found = entry(desk)
    assert found["version"] == 4
    assert found["proposals"][1] == {
        "command": f"countersign unblock one/a --clarification TEXT{VERSION}",
        "does": "answer, and let it go on",
    }
    assert found["next"] == [each["command"] for each in found["proposals"]]


@pytest.mark.parametrize("loop", [True, False])
def test_money_is_suggested_where_a_fix_loop_can_spend_it(desk: Desk, loop: bool) -> None:
    put(desk, waits(desk, order=LOOPED if loop else {}, trigger="cost_cap_exceeded"))
    given = [command for command in acts(desk) if command.startswith("return")]
    budget = ["return one/a --budget 0.50 --reason TEXT"] if loop else []
    assert given == [*budget, "return one/a --attempts 1 --reason TEXT"]


def completed(loop: int, cost: float) -> dict[str, Any]:
    said = {"loop": loop, "of": 2, "answer": "APPLIED:1", "edits": 1, "refused": 0, "paths": ["a.txt"], "attempt": 7}
    return {**said, "feedback": "", "patch": "", "outcome": "failed", "confidence": None, "cost_usd": cost, "why": ""}


def rows(desk: Desk, *told: tuple[Action, dict[str, Any]], at: datetime = NOW) -> None:
    for number, (action, payload) in enumerate(told, 1):
        desk.memory.rows["of/one/a", number] = row(
            session="one", todo_id="a", sequence=number, action=action, payload=payload, timestamp=at
        )


def test_what_was_spent_last_is_suggested_where_that_is_more(desk: Desk) -> None:
    put(desk, waits(desk, order=LOOPED, trigger="revision_cap_exceeded"))
    rows(
        desk,
        ("fix_loop_started", {"attempt": 1}),
        ("fix_iteration_completed", completed(1, 9.0)),
        ("fix_loop_started", {"attempt": 3}),
        ("fix_iteration_completed", completed(1, 0.5)),
        ("fix_iteration_completed", completed(2, 0.251)),
    )
    assert acts(desk)[0] == "return one/a --budget 0.76 --reason TEXT"
    assert [each["cost_usd"] for each in entry(desk)["repairs"]] == [0.5, 0.251]


@pytest.mark.parametrize(
    ("most", "spent", "amount"), [(0.0, 0.0, 1.0), (5.0, 0.0, 5.0), (0.0, 0.001, 0.01), (1e6, 2e6, 1e6)]
)
def test_an_amount_is_one_that_can_be_granted(most: float, spent: float, amount: float) -> None:
    order = Order.model_validate({"content": "It", "fix_loop": {"enabled": True, "max_cost_usd": most}})
    assert suggested(order, spent) == amount


@pytest.mark.parametrize("child", ["in_progress", "verified", "cancelled"])
def test_nothing_is_verified_while_a_subtask_is_open(desk: Desk, child: str) -> None:
    whole = waits(desk, trigger="not_judged")
    put(desk, whole, view("one", "b", parent="a", status=child), rounds=(decided(desk, {}, result("tests", P)),))
    assert any(command.startswith("approve") for command in acts(desk)) is (child != "in_progress")


@pytest.mark.parametrize(
    ("fields", "more"),
    [
        ({}, ""),
        ({"audits": 3}, " --extra-attempts 1"),
        ({"revisions": 2}, " --extra-attempts 1"),
        ({"audits": 5, "revisions": 2}, " --extra-attempts 3"),
    ],
)
def test_a_rejection_grants_what_it_takes_to_be_tried_again(desk: Desk, fields: dict[str, Any], more: str) -> None:
    put(desk, waits(desk, trigger="timeout", **fields))
    assert f"reject one/a --feedback TEXT{more}" in acts(desk)


def test_where_acts_have_to_be_signed_the_key_is_named(desk: Desk) -> None:
    put(desk, waits(desk, order={"override_policy": {"signatures": "required"}}, trigger="timeout"))
    desk.monkeypatch.delenv("COUNTERSIGN_SIGNING_KEY", raising=False)
    assert all(command.endswith(f" --key FILE{VERSION}") for command in entry(desk)["next"][1:])
    desk.monkeypatch.setenv("COUNTERSIGN_SIGNING_KEY", "id_ed25519")
    assert not any("--key" in command for command in entry(desk)["next"])


@pytest.mark.parametrize(
    ("order", "more", "sets"),
    [
        ({"verification": {"enabled": False}}, {}, ["verification.enabled=true"]),
        ({}, {"reasons": ("nothing_to_check",)}, ['verification.checks=[{name: check, command: "TEXT"}]']),
        (
            {"acceptance_criteria": [{"id": "check", "type": "subjective", "description": "It"}]},
            {"reasons": ("nothing_to_check",)},
            ['verification.checks=[{name: check-2, command: "TEXT"}]'],
        ),
        ({}, {"reasons": ("too_few_criteria",)}, []),
        (
            {"verification": {"checks": [{"name": "c", "command": "true", "required": False}]}},
            {"reasons": ("nothing_to_check",)},
            [],
        ),
    ],
)
def test_what_keeps_a_machine_from_telling_can_be_edited(
    desk: Desk, order: dict[str, Any], more: dict[str, Any], sets: list[str]
) -> None:
    put(desk, waits(desk, order=order, trigger="nothing_to_check", **more))
    edits = [shlex.split(command) for command in acts(desk) if command.startswith("todo edit")]
    assert [words[words.index("--set") + 1] for words in edits] == sets


def test_criteria_that_nobody_judged_are_named(desk: Desk) -> None:
    clear = {"id": "AC-1", "type": "subjective", "description": "It is clear"}
    advisory = {"id": "AC-2", "type": "subjective", "description": "It is short", "required": False}
    order = {"acceptance_criteria": [clear, advisory], "verification": {"objective_only": True}}
    put(desk, waits(desk, order=order, trigger="not_judged"), rounds=(decided(desk, order, result("tests", P)),))
    found = entry(desk)
    assert found["criteria"] == [{"id": "AC-1", "text": "It is clear", "why": "nobody judged it"}]
    assert acts(desk) == [
        "approve one/a",
        "todo edit one/a --set verification.objective_only=false --set verification.auditor.enabled=true",
        "return one/a --attempts 1 --reason TEXT",
        "reject one/a --feedback TEXT",
    ]
    assert "    not judged: AC-1: It is clear (nobody judged it)\n" in desk.run("inbox").out


def test_what_failed_is_given_back_overruled_or_given_up(desk: Desk) -> None:
    put(desk, waits(desk, status="failed", trigger="hard_fail"), rounds=(decided(desk, {}, result("tests", F)),))
    assert acts(desk) == [
        "override one/a --kind check --acknowledge tests --reason TEXT",
        "return one/a --attempts 1 --reason TEXT",
        "todo delete one/a --reason TEXT",
    ]


@pytest.mark.parametrize("status", ["verified", "in_progress"])
def test_what_is_flagged_is_rejected_only_where_that_is_possible(desk: Desk, status: str) -> None:
    put(desk, waits(desk, status=status, flag="look"))
    assert any(command.startswith("reject") for command in acts(desk)) is (status == "verified")


def test_an_order_that_is_lost_is_said_and_hides_nothing(desk: Desk) -> None:
    put(desk, waits(desk, order_digest="0" * 64, trigger="revision_cap_exceeded"))
    spoken = desk.run("inbox", "--json")
    assert (spoken.code, spoken.json[0]["kind"]) == (0, "escalation")
    assert "the order of one/a cannot be read" in spoken.err


@pytest.fixture
def several(desk: Desk) -> Desk:
    """Four that wait: a day, two hours, an hour and no time at all."""
    now = datetime.now(UTC)
    old, two, one = (now - timedelta(hours=hours) for hours in (24, 2, 1))
    put(
        desk,
        waits(desk, "a", trigger="timeout", waiting_since=two, domain="docs"),
        waits(desk, "b", trigger="not_judged", waiting_since=old, domain="finance"),
        waits(desk, "c", status="blocked", question="?", waiting_since=one),
        waits(desk, "d", trigger="not_judged", waiting_since=now).model_copy(update={"session": "two"}),
    )
    return desk


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ("", "b a c d"),
        ("--kind criteria", "b d"),
        ("--kind criteria --kind question", "b c d"),
        ("--kind criteria,question", "b c d"),
        ("--trigger timeout --trigger not_judged", "b a d"),
        ("--domain docs", "a c d"),
        ("--todo one/b", "b"),
        ("--todo d", "d"),
        ("--session one --todo b", "b"),
        ("--session one --kind criteria", "b"),
        ("--older-than 90m", "b a"),
        ("--older-than 1d", "b"),
        ("--older-than 2d", ""),
        ("--limit 2", "b a"),
        ("--kind failed", ""),
    ],
)
def test_only_what_is_asked_for(several: Desk, options: str, found: str) -> None:
    spoken = several.run("inbox", "--json", *options.split())
    assert (spoken.code, " ".join(one["todo"] for one in spoken.json)) == (0, found)


def test_a_session_that_is_paused_has_no_trigger_domain_or_todo(desk: Desk) -> None:
    paused = SessionView(session="one", created_at=NOW, status=SessionStatus.PAUSED, paused_for="human")
    desk.memory.state = State(sessions=(paused,), todos=(view("one", "a", order_digest="1"),))
    assert entry(desk, "--kind", "paused")["proposals"] == [
        {"command": "countersign session resume one", "does": "let it go on"}
    ]
    for options in (("--trigger", "timeout"), ("--domain", "docs"), ("--todo", "a")):
        assert desk.run("inbox", "--json", *options).json == []


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ("--kind escalations", "expected one of escalation, question, criteria"),
        ("--kind criteria,nothing", "'nothing' is none"),
        ("--trigger tired", "audit_cap_exceeded, revision_cap_exceeded"),
        ("--domain poetry", "'docs', 'system'"),
        ("--older-than soon", "is no duration"),
        ("--limit 0", "greater than or equal to 1"),
        ("--session two --todo one/a", "is not of the session"),
    ],
)
def test_what_is_nonsense_is_a_usage_error(several: Desk, options: str, named: str) -> None:
    spoken = several.run("inbox", *options.split())
    assert (spoken.code, spoken.out) == (2, "")
    assert named in " ".join(spoken.err.replace("│", " ").split())


def test_a_todo_that_is_not_there_is_not_found(several: Desk) -> None:
    assert several.run("inbox", "--todo", "nobody").code == 5


def test_how_many_are_left_out_is_said(several: Desk) -> None:
    assert several.run("inbox", "--limit", "3").err == "1 more, not as old: --limit 4 shows all\n"
    assert several.run("inbox", "--limit", "4").err == ""


def test_that_nothing_waits_is_said(several: Desk) -> None:
    assert several.run("inbox", "--kind", "failed").out == "nothing of that kind waits for a human\n"
    put(several)
    assert several.run("inbox").out == "nothing waits for a human\n"
    assert several.run("inbox", "--kind", "failed", "--json").json == []


def test_how_long_it_waits_and_when_people_were_reminded(desk: Desk) -> None:
    since = datetime.now(UTC) - timedelta(hours=2)
    put(desk, waits(desk, trigger="timeout", waiting_since=since))
    rows(desk, ("reminded", {"number": 1, "since": ""}), at=since - timedelta(days=1))
    assert entry(desk)["reminded_at"] is None, "that was of another wait"
    rows(desk, ("reminded", {"number": 1, "since": ""}), at=since + timedelta(hours=1))
    found = entry(desk)
    assert found["waited"] >= 7200
    assert datetime.fromisoformat(found["reminded_at"]) == since + timedelta(hours=1)
    assert f"    reminded {since + timedelta(hours=1):%Y-%m-%d %H:%M}Z\n" in desk.run("inbox").out


def test_what_was_tried_is_shown_in_a_few_lines(desk: Desk) -> None:
    hostile = result("tests", F).model_copy(update={"text": "no\x1b[2J"})
    rounds = (
        decided(desk, {}, result("tests", P), codes=("not_judged",)),
        decided(desk, {}, hostile, result("lint", F, required=False), codes=("exit_code",), attempt=2),
    )
    put(desk, waits(desk, title="Write\x1b it", trigger="timeout", attempt=2, waiting_since=NOW), rounds=rounds)
    out = desk.run("inbox").out
    assert "\x1b" not in out
    first, *lines = out.splitlines()
    assert first.startswith("2026-01-15 10:00Z, ")
    assert first.endswith("  one/a  needs human (escalation): timeout")
    assert lines[:5] == [
        "    Write\\x1b it",
        "    attempt 1: needs human; not_judged!",
        "    attempt 2: needs human; did not pass: tests, lint (advisory); exit_code!",
        "    countersign review one/a  # look at it, and decide there",
        "    countersign override one/a --kind check --acknowledge tests --reason TEXT --expected-version 4"
        "  # countersign it in spite of that",
    ]
    assert [each["failed"] for each in entry(desk)["tried"]] == [
        [],
        [
            {"name": "lint", "outcome": "failed", "required": False, "text": ""},
            {"name": "tests", "outcome": "failed", "required": True, "text": "no\x1b[2J"},
        ][::-1],
    ]
