"""Todos, requests and results for the tests of the acts, and what holds for every step, whoever took it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from domain.acts.step import Declined, Outcome, Step, shown
from domain.claims.claim import Claim, ClaimedEvidence
from domain.claims.minted import MintedEvidence
from domain.confidence import Confidence
from domain.decision import Decision, Reason, RoundOutcome
from domain.event_kinds import problems
from domain.events import Actor, TrailEntry
from domain.fix_messages import Ending, FixLoopResult
from domain.fixing import Tally
from domain.messages import Frozen, FrozenBase, RoundResult
from domain.order import Order
from domain.requests import MakeClaim, Refusal
from domain.safeguards import Clock
from domain.status import ReviewStatus, TodoStatus
from domain.todo import Admitted, Gate, Todo

NOON = datetime(2026, 1, 15, 12, tzinfo=UTC)
WORKER = Actor(role="worker", identity="w1")
ALICE = Actor(role="unattributed", identity="alice")
BASE = FrozenBase(manifest="b" * 64, rest="c" * 64, files=1).model_dump_json()
EXPLANATION = "Rewrote the parser by hand, see [tests]"


def order(**fields: Any) -> Order:
    check = {"name": "tests", "command": "true"}
    return Order.model_validate(
        {"id": "t1", "content": "Do it", "base": "/base", "verification": {"checks": [check]}, **fields}
    )


def todo(status: TodoStatus = TodoStatus.PENDING, now: datetime = NOON, **fields: Any) -> Todo:
    """A todo as it stands there when all went its way. Raises nothing: fields are taken as they are."""
    of = fields.pop("order", None) or order()
    new = Todo(
        session="s1",
        id="t1",
        order=of,
        order_digest=of.digest,
        host="h",
        created_by=ALICE,
        clock=Clock(limit=of.safeguards.todo_timeout),
        gate=Gate(number=1),
        status=status,
    )
    update: dict[str, Any] = {}
    if status is not TodoStatus.PENDING:
        update["base"] = BASE
    if status in (TodoStatus.IN_PROGRESS, TodoStatus.CLAIMED):
        update["clock"] = new.clock.run(now)
    if status is TodoStatus.CLAIMED:
        update |= {"review_status": ReviewStatus.AUDITING, "attempt": 1, "round": 1}
    if status in (TodoStatus.CLAIMED, TodoStatus.VERIFIED, TodoStatus.NEEDS_HUMAN, TodoStatus.FAILED):
        update |= {"admitted": admitted(), "trees_seen": ("tree",), "news_seen": ("news",)}
    return new.model_copy(update={**update, **fields})


def minted(news: str = "news", label: str = "tests") -> MintedEvidence:
    return MintedEvidence(id=f"ev-{news}", label=label, type="command_output", digest="d" * 64, news=news)


def admitted(tree: str = "tree", *news: str) -> Admitted:
    frozen = Frozen(
        head="e" * 64, base="b" * 64, head_files=1, head_bytes=1, base_files=1, dropped="f" * 64, dropped_count=0
    )
    evidence = tuple(minted(one) for one in news or ("news",))
    return Admitted(claim="a" * 64, frozen=frozen, news=tree, evidence=evidence)


def claiming(explanation: str = EXPLANATION, evidence: bool = True, actor: Actor = WORKER) -> MakeClaim:
    piece = ClaimedEvidence(label="tests", type="command_output", data="1 passed")
    return MakeClaim(actor=actor, claim=Claim(explanation=explanation, evidence=[piece] if evidence else []))


def ended(outcome: RoundOutcome, *codes: str, trigger: str = "", **fields: Any) -> RoundResult:
    """A round's result; by default what was required passed only where it is verified."""
    reasons = tuple(Reason(code=code, text=f"because {code}") for code in codes or ("tests_failed",))
    verified = outcome is RoundOutcome.VERIFIED
    fields = {"passed": verified, "not_passed": () if verified or codes else ("tests",), **fields}
    return RoundResult(decision=Decision(outcome=outcome, reasons=reasons, trigger=trigger), report="r" * 64, **fields)


def feedback(*codes: str, **fields: Any) -> RoundResult:
    """A round after which the fix loop begins, where the order has one."""
    return ended(RoundOutcome.CHANGES_REQUESTED, *codes, **{"confidence": Confidence.FEEDBACK, **fields})


def looped(ending: Ending, loops: int = 1, attempt: int = 2, **fields: Any) -> FixLoopResult:
    """What a fix loop came to; by default a success is one on the tree `repaired`, and the patch was applied."""
    found: dict[str, Any] = {"tally": Tally(loops=loops, micros=1000 * loops), "loops": loops, "of": 3}
    if ending.startswith("success"):
        found |= {
            "attempt": attempt,
            "frozen": repaired(),
            "result": ended(RoundOutcome.VERIFIED, "all_required_passed", confidence=Confidence.PERFECT),
            "placed": "applied",
            "patch": "9" * 64,
        }
    return FixLoopResult.model_validate({"ending": ending, **found, **fields})


def repaired() -> Frozen:
    """The trees of a repair."""
    return admitted().frozen.model_copy(update={"head": "8" * 64})


def after(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def told(outcome: Outcome | Declined) -> Refusal:
    """The refusal, which it has to be."""
    assert not isinstance(outcome, Step), [event.action for event in outcome.events]
    return outcome.refusal if isinstance(outcome, Declined) else outcome


def done(before: Todo, outcome: Outcome | Declined) -> Todo:
    """The todo after it, which it has to have one of; every rule that holds for every step is looked at."""
    assert isinstance(outcome, Step), outcome
    in_order(before, outcome)
    return outcome.todo


def in_order(before: Todo, step: Step) -> None:
    """Every row is one that the table of events knows; each change of a standing has exactly one row, in order."""
    status, review = str(before.status), str(before.review_status)
    for event in step.events:
        entry = TrailEntry(
            workflow_id="todo/s1/t1", ordinal=1, session="s1", todo_id="t1", timestamp=NOON, **event.model_dump()
        )
        assert problems(entry) == ()
        if event.action == "refused":
            continue
        assert (event.before["status"], event.before["review_status"]) == (status, review), event
        status, review = str(event.after["status"]), str(event.after["review_status"])
    assert (status, review) == (step.todo.status, step.todo.review_status), "a change without a row"
    if step.events and step.events[-1].action != "refused":
        last, now = step.events[-1].after, shown(step.todo)
        assert {name: now[name] for name in last if name in now} == {n: v for n, v in last.items() if n in now}
    going = step.todo.status in (TodoStatus.IN_PROGRESS, TodoStatus.CLAIMED) and step.todo.gate.status == "running"
    assert (step.todo.clock.since is not None) is going
    if step.todo.status is not TodoStatus.CLAIMED:
        assert not step.todo.round
        assert step.todo.repair is None
        assert step.todo.retry_at is None


def rows(outcome: Outcome | Declined) -> list[str]:
    step = outcome.step if isinstance(outcome, Declined) else outcome
    assert isinstance(step, Step), outcome
    return [event.action for event in step.events]
