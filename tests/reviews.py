"""Todos that wait for a reviewer: real snapshots, rounds and rows, and one who answers in the todo's place."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from domain.base import canonical_json
from domain.checks import Observation
from domain.claims.claim import Claim
from domain.errors import CountersignError
from domain.event_payloads import Payload
from domain.events import Action, Actor, TrailEntry
from domain.messages import RoundRecord
from domain.order import Order
from domain.read_model import SessionView, TodoView
from domain.requests import Answer, Changed, HumanRequest, Refusal
from domain.signatures import Signed
from domain.status import ReviewStatus, SessionStatus, TodoStatus
from entrypoints.review.acts import Act
from entrypoints.review.page import ChangedFile, Difference, Needed, Page
from entrypoints.review.reading import read_page
from entrypoints.review.sections import sections
from tests.fakes.rounds import World

NOW = datetime(2026, 1, 15, 10, 0, tzinfo=UTC)
WORKER = Actor(role="worker", identity="bob")
HUMAN = Actor(role="unattributed", identity="ann")
STEERS = "\x1b[31mred\x1b[0m [bold]loud[/bold] \u202egnp\u202c\x07 [link=https://example.com]x[/link]"
"""What a worker may write to be taken for something else: escapes, rich's marks, a right-to-left override."""


def world_in(folder: Path, session: str = "s") -> World:
    """Base and work that differ in every way that a reviewer has to tell apart."""
    world = World(
        folder,
        session=session,
        said={"run tests": Observation(exit_code=1, stdout="many\nlines\n", stderr=f"boom {STEERS}\n")},
    )
    world.write(
        "base", **{"tests/test_a.py": "def test_a():\n    assert True\n", "gone.txt": "gone\n", "mode.sh": "x\n"}
    )
    world.write("work", **{"tests/test_a.py": "def test_a():\n    pass\n", "secret.env": "A=1\n", "mode.sh": "x\n"})
    world.write("work", **{"new.py": f'WORD = """one\ntwo"""  # {STEERS}\n', "big.txt": "x" * 2_000_000 + "\n"})
    (folder / "work" / "mode.sh").chmod(0o755)
    (folder / "work" / "image.bin").write_bytes(b"\0\1\2")
    return world


def order_in(world: World, **fields: Any) -> Order:
    """One that denies a file, and asks for two checks and a judge."""
    criteria = [
        {"id": "there", "type": "file_exists", "params": {"path": "a.txt"}, "description": f"It is there {STEERS}"},
        {"id": "reads", "type": "subjective", "description": "It reads well"},
    ]
    checks = {"checks": [{"name": "tests", "command": "run tests"}]}
    return world.order(acceptance_criteria=criteria, verification=checks, scope={"deny": ["secret.env"]}, **fields)


@dataclass
class Managed:
    """A todo with a workflow, as its rows tell it, in `world`."""

    world: World
    order: Order

    def row(self, action: Action, payload: dict[str, Any] | Payload, actor: Actor = WORKER, **after: Any) -> None:
        """One row of the todo itself."""
        world = self.world
        world.ordinal += 1
        told = payload if isinstance(payload, dict) else payload.model_dump(mode="json")
        entry = TrailEntry(
            workflow_id=f"todo/{world.session}/{self.order.id}",
            ordinal=world.ordinal,
            session=world.session,
            todo_id=self.order.id,
            actor=actor,
            action=action,
            after=after,
            payload=told,
            timestamp=world.at,
        )
        world.trail.append(entry)

    def create(self) -> None:
        """The todo, and its order in the store."""
        digest = self.world.store.put(canonical_json(self.order.model_dump(mode="json")))
        payload = {"content": self.order.content, "title": "some work", "order": digest, "parent": "", "depends_on": []}
        self.row("todo_created", payload, HUMAN, status="pending", review_status="not_requested", version=1)

    def claim(self, head: str, attempt: int, explanation: str = "I changed a.txt") -> None:
        """A claim on that tree; its round comes after it."""
        said = Claim.model_validate(
            {
                "explanation": explanation,
                "evidence": [{"label": "log", "type": "text", "data": f"it ran {STEERS}"}],
                "files_modified": ["a.txt"],
                "commands_run": [{"command": "pytest", "stdout": "all fine", "exit_code": 0}],
            }
        )
        claim = self.world.store.put(said.model_dump_json().encode())
        payload = {"snapshot": head, "claim": claim, "explanation": explanation, "commands": 1}
        self.row("todo_claimed", payload, status="claimed", review_status="auditing", attempt=attempt)

    def escalate(self, trigger: str, attempt: int) -> None:
        """A human is needed."""
        after = {"status": "needs_human", "review_status": "escalated", "attempt": attempt, "trigger": trigger}
        self.row("escalated", {"trigger": trigger, "reason": f"look {STEERS}"}, Actor(role="system"), **after)

    @property
    def view(self) -> TodoView:
        """As the lists have it."""
        (view,) = self.world.trail.state(self.world.session, self.order.id).todos
        return view

    def page(self, attempt: int | None = None) -> Page:
        """What a reviewer gets."""
        return read_page(self.world.trail, self.world.store, self.view, attempt)


async def escalated(folder: Path) -> tuple[Managed, list[RoundRecord]]:
    """Two rounds that came to nothing; the second claim has another tree. A human has to decide."""
    world = world_in(folder)
    todo = Managed(world, order_in(world))
    todo.create()
    records = []
    for attempt in (1, 2):
        world.write("work", **{"a.txt": f"after {attempt}\n"})
        record = await world.verify(todo.order, attempt)
        assert record.frozen is not None
        todo.claim(record.frozen.head, attempt, f"I changed a.txt {STEERS}")
        records.append(record)
    todo.escalate("audit_cap_exceeded", 2)
    return todo, records


def text_of(page: Page, *only: str, full: bool = False) -> str:
    """What both faces show, without colours; of some sections only where they are named."""
    parts = [part for part in sections(page, full=full) if not only or part.id in only]
    return "\n".join(line.plain for part in parts for line in (*part.lines,))


def some_page(status: TodoStatus = TodoStatus.NEEDS_HUMAN, **more: Any) -> Page:
    """A page by hand; `more`: fields of it, and `session_status`, `question`."""
    view = TodoView(
        session="s",
        todo="a",
        status=status,
        review_status=ReviewStatus.ESCALATED,
        title="Do it",
        version=3,
        attempt=2,
        order_digest="o" * 64,
        snapshot="h" * 64,
        question=more.pop("question", ""),
        created_at=NOW,
        updated_at=NOW,
    )
    session = SessionView(session="s", created_at=NOW, status=more.pop("session_status", SessionStatus.RUNNING))
    files = (ChangedFile(path="a.py", sort="modified", diff="@@ -1 +1 @@\n-a = 1\n+a = 2\n", added=1, removed=1),)
    fields: dict[str, Any] = {
        "todo": view,
        "session": session,
        "standalone": False,
        "attempt": 2,
        "numbers": (1, 2),
        "snapshot": view.snapshot,
        "needed": Needed(kind="check", names=("tests", "lint")),
        "difference": Difference(base="b", head="h", files=files),
    }
    return Page(**{**fields, **more})


@dataclass
class SaidAsker:
    """Answers what it is told to, in its order, and remembers what it was asked; at the end it does what is asked."""

    answers: list[Answer | CountersignError] = field(default_factory=list)
    asked: list[HumanRequest] = field(default_factory=list)
    acts: list[str] = field(default_factory=list)
    sign: bool = False
    held: asyncio.Event | None = None
    """Nobody answers before it is set."""

    def signs(self, act: Act) -> bool:
        return self.sign and act.command is not None

    def signed(self, page: Page, act: Act, request: HumanRequest) -> HumanRequest:
        number = sum(one.signed is not None for one in self.asked)
        return request.model_copy(update={"signed": Signed(statement=f"{act.name} {number}", signature="armored")})

    async def ask(self, page: Page, act: Act, request: HumanRequest) -> Answer:
        self.asked.append(request)
        self.acts.append(act.name)
        if self.held is not None:
            await self.held.wait()
        if self.answers:
            said = self.answers.pop(0)
            if isinstance(said, CountersignError):
                raise said
            return said
        changed = {"status": Changed(before=page.todo.status.value, after="done")}
        return Answer(status="done", version=4, changed=changed, dry_run=request.dry_run)


def no(code: str) -> Answer:
    """A refusal."""
    return Answer(refused=Refusal(code=code, reason=f"because of {STEERS}", next_step="do [b]otherwise[/b]"))
