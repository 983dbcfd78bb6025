"""Todos of every kind of life, with who does what to them and when: all of it follows from a seed and a number."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from domain.read_model import TodoView
from domain.status import TodoStatus

AGENTS, PEOPLE = 4, 2
"""Processes at most that work, and that act as people."""

SHARE = 0.85
"""Of the commands that there are at the least: by then every fault and every act has begun, though some get lost."""

Key = tuple[str, str]
"""A todo, by its session and its id."""

Answers = Counter[tuple[str, str, str]]
"""How many there were, by session, todo and command."""

Command = Literal["start", "claim", "block", "unblock", "approve", "override", "reject", "return", "delete"]
Party = Literal["agent", "person"]
Aside = Literal["pause", "note", "edit", "reorder"]


@dataclass(frozen=True)
class Kind:
    """A sort of life: how many claims are wrong at first, where it ends, how many commands that takes at the least."""

    name: str
    commands: int
    wrong: int = 0
    rest: TodoStatus = TodoStatus.VERIFIED


KINDS = {
    kind.name: kind
    for kind in (
        Kind("right", 2),
        Kind("revised", 3, wrong=1),
        Kind("contained", 2),
        Kind("asks", 3),
        Kind("rejected", 4),
        Kind("blocked", 4),
        Kind("hopeless", 5, wrong=3),
        Kind("doomed", 4),
        Kind("deleted", 2, rest=TodoStatus.CANCELLED),
        Kind("left-working", 1, rest=TodoStatus.IN_PROGRESS),
        Kind("left-blocked", 2, rest=TodoStatus.BLOCKED),
        Kind("left-asking", 2, rest=TodoStatus.NEEDS_HUMAN),
        Kind("left-waiting", 0, rest=TodoStatus.PENDING),
    )
}
MOST = ("right", "revised", "contained", "asks", "rejected", "blocked", "hopeless", "right", "doomed", "deleted")
LEFT = ("left-working", "left-blocked", "left-asking", "left-waiting")
"""What is not finished at the end, so that there is somebody or some timer to be looked for."""

LEFT_SESSION = "left"
PARENTS = ("right", "revised")


@dataclass(frozen=True)
class Part:
    """One todo. `agent` and `person` are the numbers of those who see to it; `lenient`: the person overrides."""

    session: str
    id: str
    kind: Kind
    agent: int
    person: int
    parent: str = ""
    needs: tuple[str, ...] = ()
    lenient: bool = False

    @property
    def key(self) -> Key:
        """Which one it is."""
        return self.session, self.id


@dataclass(frozen=True)
class Act:
    """What a person does beside: once `after` commands were answered. A pause lasts `seconds`."""

    number: int
    after: int
    person: int
    command: Aside
    target: Key
    seconds: float


@dataclass(frozen=True)
class Plan:
    """All of it."""

    seed: int
    parts: tuple[Part, ...]
    acts: tuple[Act, ...]

    @property
    def sessions(self) -> tuple[str, ...]:
        """Their ids."""
        return tuple(dict.fromkeys(part.session for part in self.parts))

    @property
    def commands(self) -> int:
        """How many answers there are at the least, the acts beside not counted."""
        return sum(part.kind.commands for part in self.parts)


def plan_of(seed: int, count: int) -> Plan:
    """`count` todos in a handful of sessions, and those that are left unfinished in one of their own."""
    chance = random.Random(f"{seed} todos {count}")
    kinds = [KINDS[MOST[number % len(MOST)]] for number in range(count)]
    chance.shuffle(kinds)
    parts: list[Part] = []
    for number, kind in enumerate(kinds):
        parts.append(_part(chance, parts, f"s{number % max(1, min(6, count // 12))}", number, kind, count))
    parts += [
        Part(LEFT_SESSION, name, KINDS[name], 0, 0, needs=("left-working",) if name == "left-waiting" else ())
        for name in LEFT
    ]
    commands = sum(part.kind.commands for part in parts)
    asides: tuple[Aside, ...] = ("pause", "note", "edit", "reorder")
    acts = [
        Act(
            number=number,
            after=chance.randint(1, max(1, int(commands * SHARE))),
            person=number % people(count),
            command=asides[number % len(asides)],
            target=chance.choice(parts[:-2]).key,
            seconds=round(chance.uniform(0.2, 2.0), 2),
        )
        for number in range(max(4, count // 4))
    ]
    return Plan(seed, tuple(parts), tuple(sorted(acts, key=lambda act: act.after)))


def agents(count: int) -> int:
    """How many processes work on so many todos."""
    return min(AGENTS, max(1, count // 8))


def people(count: int) -> int:
    """How many processes act as people."""
    return min(PEOPLE, max(1, count // 8))


def _part(chance: random.Random, before: Iterable[Part], session: str, number: int, kind: Kind, count: int) -> Part:
    """One more: some wait for others, some are subtasks, and nobody waits for what is deleted."""
    others = [part for part in before if part.session == session and part.kind.rest is TodoStatus.VERIFIED]
    above = [part for part in others if part.kind.name in PARENTS and not part.parent]
    parent, needs = "", tuple[str, ...]()
    lot = chance.random()
    if above and lot < 0.2:
        parent = chance.choice(above).id
    elif others and lot < 0.5:
        needs = (chance.choice(others).id,)
    return Part(
        session=session,
        id=f"t{number}-{kind.name}",
        kind=kind,
        agent=number % agents(count),
        person=number % people(count),
        parent=parent,
        needs=needs,
        lenient=chance.random() < 0.5,
    )


def file_of(plan: Plan, session: str) -> dict[str, Any]:
    """The session's file."""
    parts = [part for part in plan.parts if part.session == session]
    return {
        "id": session,
        "defaults": {"workspace": "work", "base": "base", "verification": {"objective_only": True}},
        "todos": [_todo(part, parts) for part in parts if not part.parent],
    }


def _todo(part: Part, parts: Iterable[Part]) -> dict[str, Any]:
    todo: dict[str, Any] = {
        "id": part.id,
        "content": f"{part.kind.name} of {part.session}",
        "workspace": workspace_of(part),
        "depends_on": list(part.needs),
        "acceptance_criteria": [
            {"id": "AC-1", "type": "file_contains", "params": {"path": "a.txt", "pattern": "right"}}
        ],
        "safeguards": {"pause_on_escalation": part.kind.name == "hopeless"},
        "subtasks": [_todo(below, parts) for below in parts if below.parent == part.id],
    }
    if part.kind.name == "contained":
        todo["acceptance_criteria"] = [
            {"id": "AC-1", "type": "command_exit_zero", "params": {"command": "grep -q right a.txt"}}
        ]
    if part.kind.name in ("asks", "left-asking"):
        todo["acceptance_criteria"].append({"id": "AC-2", "type": "subjective", "description": "reads well"})
    if part.kind.name == "doomed":
        todo["safeguards"]["revisions"] = 0
    return todo


def workspace_of(part: Part) -> str:
    """Its tree, which no other todo has, relative to the project."""
    return f"work/{part.session}/{part.id}"


def wanted(
    part: Part, views: Mapping[Key, TodoView], accepted: Answers, refused: Answers
) -> tuple[Party, Command] | None:
    """Who has to do what next to a todo that stands there; None where nobody has.

    `accepted` and `refused` count the answers that there were.
    """
    view = views.get(part.key)
    if view is None:
        return None
    match view.status:
        case TodoStatus.PENDING:
            ready = all(views[part.session, needed].status is TodoStatus.VERIFIED for needed in part.needs)
            return ("agent", "start") if ready else None
        case TodoStatus.IN_PROGRESS:
            return _at_work(part, views, accepted)
        case TodoStatus.BLOCKED:
            return None if part.kind.rest is TodoStatus.BLOCKED else ("person", "unblock")
        case TodoStatus.NEEDS_HUMAN | TodoStatus.FAILED:
            return (
                None
                if part.kind.rest is TodoStatus.NEEDS_HUMAN
                else ("person", _decided(part, view, accepted, refused))
            )
        case TodoStatus.VERIFIED if part.kind.name in ("rejected", "doomed") and not accepted[*part.key, "reject"]:
            return "person", "reject"
    return None


def _at_work(part: Part, views: Mapping[Key, TodoView], accepted: Answers) -> tuple[Party, Command] | None:
    if part.kind.name == "deleted":
        return "person", "delete"
    if part.kind.rest is TodoStatus.IN_PROGRESS:
        return None
    if part.kind.name in ("blocked", "left-blocked") and not accepted[*part.key, "block"]:
        return "agent", "block"
    below = [view for view in views.values() if (view.session, view.parent) == part.key]
    ended = (TodoStatus.VERIFIED, TodoStatus.CANCELLED)
    return ("agent", "claim") if all(view.status in ended for view in below) else None


def _decided(part: Part, view: TodoView, accepted: Answers, refused: Answers) -> Command:
    """Where the first thing that comes to mind was refused, it goes back to its agent."""
    first: Command = "return"
    if view.trigger in ("revision_cap_exceeded", "not_judged"):
        first = "approve"
    elif view.trigger == "audit_cap_exceeded" and part.lenient:
        first = "override"
    return "return" if refused[*part.key, first] > accepted[*part.key, "return"] else first


def is_wrong(part: Part, view: TodoView) -> bool:
    """Whether the next claim is one that has to be found wrong."""
    return view.audits < part.kind.wrong


def not_at_rest(plan: Plan, views: Mapping[Key, TodoView], accepted: Answers) -> list[str]:
    """The todos that are not where they end, or of which somebody still wants something; with where they stand."""
    found = []
    for part in plan.parts:
        status = views[part.key].status if part.key in views else None
        if status is not part.kind.rest or wanted(part, views, accepted, Counter()):
            found.append(f"{part.session}/{part.id}: {status}")
    return found
