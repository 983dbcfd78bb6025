"""The commands that would resolve what waits for a person, exact but for words: TEXT is all that is left to say.

Nothing is decided here: the todo has the last word. What its policy, its caps or its status would refuse is not
proposed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from shlex import quote

from domain.base import Message
from domain.lifecycle import Command, transition
from domain.order import Order
from domain.read_model import SessionView, TodoView
from domain.requests import MOST_USD
from entrypoints.cli.overruling import Overruled, signing_options
from entrypoints.names import LOCAL_SESSION

SMALLEST_BUDGET = 1.0
"""US dollars that are suggested where the order has none and nothing was spent."""


class Proposal(Message):
    """A command, and in a few words what it does."""

    command: str
    does: str


@dataclass(frozen=True)
class Case:
    """A todo that waits, and what commands about it depend on. `order` is None where it cannot be read.

    `budget`: US dollars to suggest for its fix loop, 0 where money would not help it on. `held`: a subtask is open.
    """

    view: TodoView
    kind: str
    order: Order | None
    budget: float = 0.0
    held: bool = False

    @property
    def name(self) -> str:
        """`SESSION/TODO` as a shell takes it."""
        return quote(f"{self.view.session}/{self.view.todo}")

    @property
    def alone(self) -> bool:
        """Whether it is a standalone round, which takes no edit and has no worker to go back to."""
        return self.view.session == LOCAL_SESSION

    @property
    def tail(self) -> str:
        """What every act is given: that it is meant for the todo as it is now, and a key where it has to be signed."""
        return " ".join(filter(None, (signing_options(self.order), f"--expected-version {self.view.version}")))

    def act(self, command: str, options: str, does: str) -> Proposal:
        """`countersign COMMAND SESSION/TODO OPTIONS`."""
        line = " ".join(filter(None, ("countersign", command, self.name, options)))
        return Proposal(command=f"{line} {self.tail}", does=does)


def suggested(order: Order, spent: float) -> float:
    """US dollars for a fix loop to go on with: what the order gives it, or what was spent last where that is more."""
    amount = max(order.fix_loop.max_cost_usd, round(spent + 0.004, 2)) or SMALLEST_BUDGET
    return min(amount, MOST_USD)


def proposals(case: Case, overruled: Overruled | None) -> tuple[Proposal, ...]:
    """What a person can do. `overruled` is None where there is nothing to be made verified yet."""
    review = Proposal(command=f"countersign review {case.name}", does="look at it, and decide there")
    match case.kind:
        case "question":
            acts = _answers(case)
        case "flagged":
            acts = _looked_at(case)
        case _:
            acts = _decisions(case, overruled)
    return (review, *acts)


def of_session(view: SessionView) -> tuple[Proposal, ...]:
    """What a person can do about a session that one has paused."""
    return (Proposal(command=f"countersign session resume {quote(view.session)}", does="let it go on"),)


def _answers(case: Case) -> Iterator[Proposal]:
    yield case.act("unblock", "--clarification TEXT", "answer, and let it go on")


def _looked_at(case: Case) -> Iterator[Proposal]:
    if transition(case.view.status, Command.REJECT, "human"):
        yield _rejection(case)
    yield Proposal(command=f"countersign todo note {case.name} --text TEXT", does="write down what you saw")
    yield _deletion(case)


def _decisions(case: Case, overruled: Overruled | None) -> Iterator[Proposal]:
    failed = transition(case.view.status, Command.APPROVE, "human") is None
    if case.budget and not case.alone:
        more = f"--budget {case.budget:.2f} --reason TEXT"
        yield case.act("return", more, "more fix loops, and US dollars for them")
    if overruled is not None and not case.held:
        if overruled.kind is None and not failed:
            yield case.act("approve", "", "countersign it: everything required passed")
        elif overruled.kind is not None and overruled.allowed:
            yield case.act("override", f"{overruled.options} --reason TEXT", "countersign it in spite of that")
    if case.alone:
        if not failed:
            yield _rejection(case)
        return
    yield from _edits(case)
    yield case.act("return", "--attempts 1 --reason TEXT", "back to a worker, with one more attempt")
    if failed:
        yield _deletion(case)
    else:
        yield _rejection(case)


def _rejection(case: Case) -> Proposal:
    """With as many attempts as it takes: past the caps a rejection only brings it back here."""
    view = case.view
    missing = max(view.revisions + 1 - view.revision_cap, view.audits + 1 - view.audit_cap, 0)
    more = f" --extra-attempts {missing}" if missing and view.audit_cap else ""
    return case.act("reject", f"--feedback TEXT{more}", "send it back, with what is to be changed")


def _deletion(case: Case) -> Proposal:
    return case.act("todo delete", "--reason TEXT", "cancel it; its record stays")


def _edits(case: Case) -> Iterator[Proposal]:
    """What in the order keeps a machine, or a judge, from telling; it is told at the next claim."""
    if case.order is None:
        return
    verification, before = case.order.verification, "; it counts from the next claim on"
    if case.kind == "nothing_to_check" and not verification.enabled:
        yield case.act("todo edit", "--set verification.enabled=true", f"have it verified{before}")
    elif case.kind == "nothing_to_check" and not verification.checks and "nothing_to_check" in case.view.reasons:
        named = {criterion.id for criterion in case.order.acceptance_criteria}
        name = next(name for name in ("check", *(f"check-{n}" for n in range(2, len(named) + 3))) if name not in named)
        check = quote(f'verification.checks=[{{name: {name}, command: "TEXT"}}]')
        yield case.act("todo edit", f"--set {check}", f"give it a command that has to succeed{before}")
    elif case.kind == "criteria" and not verification.asks_auditor:
        sets = "--set verification.objective_only=false --set verification.auditor.enabled=true"
        yield case.act("todo edit", sets, f"let the auditor judge{before}")
