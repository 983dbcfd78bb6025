"""A process that lives its part of a plan, as an agent or a person: `python -m tests.chaos.todo_clients TASK`.

It knows what to do next from the read model and the ledger alone, so that one that was killed is simply started again.
What it asks and is answered it writes down, and judges nothing.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
import uuid
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from adapters.config.settings import Settings
from domain.claims.claim import Claim, ClaimedEvidence
from domain.errors import Refused, Unavailable
from domain.events import Actor
from domain.read_model import Table, TodoView
from domain.requests import (
    AddNote,
    Answer,
    Approve,
    Block,
    Delete,
    Edit,
    MakeClaim,
    Override,
    Pause,
    Reject,
    Reorder,
    Request,
    Resume,
    Return,
    Start,
    Unblock,
)
from entrypoints.lives import Lives, open_lives
from entrypoints.stores import build_trail
from tests.chaos.todo_log import Ledger, Log
from tests.chaos.todos import Act, Command, Key, Part, Plan, is_wrong, plan_of, wanted, workspace_of

AT_ONCE = 3
TICK_SECONDS = 0.2
AGAIN_SECONDS = 1.0
"""After a refusal, until it is asked again: something else has to happen meanwhile."""

KEEP_UP_SECONDS = 2.0
TODOS: tuple[Table, ...] = ("todos",)

STOP = "stop"
"""The file that ends every client."""


@dataclass(frozen=True)
class Task:
    """Who somebody is, and where. `party` is agent or person, and `number` which of them."""

    seed: int
    todos: int
    party: str
    number: int
    folder: str
    project: str
    state_dir: str
    database_url: str

    @property
    def name(self) -> str:
        """As the trail has it."""
        return f"{self.party}-{self.number}"

    @property
    def settings(self) -> Settings:
        """The same that the project's commands have."""
        return Settings(project=Path(self.project), state_dir=Path(self.state_dir), database_url=self.database_url)

    @property
    def text(self) -> str:
        """As an argument."""
        return json.dumps(asdict(self))


def views_of(settings: Settings) -> dict[Key, TodoView]:
    """Where every todo stands, as the trail has it. Raises `Unavailable`."""
    with closing(build_trail(settings)) as trail:
        return {(view.session, view.todo): view for view in trail.state(tables=TODOS).todos}


class Client:
    """One of them. What it asks carries an id of its own, as the trail then has it."""

    def __init__(self, task: Task, plan: Plan, lives: Lives) -> None:
        self._task, self._plan, self._lives = task, plan, lives
        self._log, self._ledger = Log(Path(task.folder), task.name), Ledger(Path(task.folder))
        role = "worker" if task.party == "agent" else "unattributed"
        self._actor = Actor(role=role, identity=task.name)
        self._busy: dict[Key, asyncio.Task[None]] = {}
        self._not_before: dict[Key, float] = {}
        self._ledger.read()

    async def live(self) -> None:
        """Until everybody is told to stop."""
        beside = [asyncio.create_task(one) for one in (self._asides(), self._keep_up())]
        while not self._stopped():
            self._ledger.read()
            try:
                views = await asyncio.to_thread(views_of, self._task.settings)
            except Unavailable:
                views = {}
            self._begin(views)
            await asyncio.sleep(TICK_SECONDS)
        await asyncio.gather(*self._busy.values(), *beside)

    def _stopped(self) -> bool:
        return (Path(self._task.folder) / STOP).exists()

    async def _keep_up(self) -> None:
        """While all wait for verdicts, nobody asks anything, and so nobody would start a host that was killed."""
        while not self._stopped():
            with suppress(Unavailable):
                await self._lives.revive()
            await asyncio.sleep(KEEP_UP_SECONDS)

    def _begin(self, views: Mapping[Key, TodoView]) -> None:
        for key in [key for key, doing in self._busy.items() if doing.done()]:
            self._busy.pop(key).result()
        for part in self._plan.parts:
            mine = (part.agent if self._task.party == "agent" else part.person) == self._task.number
            free = part.key not in self._busy and time.monotonic() > self._not_before.get(part.key, 0.0)
            if not (mine and free and len(self._busy) < AT_ONCE):
                continue
            next_one = wanted(part, views, self._ledger.accepted, self._ledger.refused)
            if next_one and next_one[0] == self._task.party:
                self._busy[part.key] = asyncio.create_task(self._do(part, views[part.key], next_one[1]))

    async def _do(self, part: Part, view: TodoView, command: Command) -> None:
        if command == "claim":
            folder = Path(self._task.project) / workspace_of(part)
            text = "wrong" if is_wrong(part, view) else "right"
            (folder / "a.txt").write_text(f"{text} {'x' * (view.attempt + 1)}\n")
        answer = await self._ask(part.key, command, self._request(part, view, command))
        if answer is None or answer.refused:
            self._not_before[part.key] = time.monotonic() + AGAIN_SECONDS

    def _request(self, part: Part, view: TodoView, command: Command) -> Request:
        actor, id = self._actor, uuid.uuid4().hex
        match command:
            case "start":
                return Start(actor=actor, tool_call_id=id)
            case "block":
                return Block(actor=actor, tool_call_id=id, question="which way?")
            case "unblock":
                return Unblock(actor=actor, tool_call_id=id, clarification="that way")
            case "approve":
                return Approve(actor=actor, tool_call_id=id)
            case "reject":
                return Reject(actor=actor, tool_call_id=id, feedback="not like that")
            case "return":
                return Return(actor=actor, tool_call_id=id, reason="once more")
            case "delete":
                return Delete(actor=actor, tool_call_id=id)
            case "override":
                return Override(actor=actor, tool_call_id=id, kind="check", reason="seen by me", acknowledged=("AC-1",))
            case "claim":
                return MakeClaim(actor=actor, tool_call_id=id, claim=_claim(part, view.attempt + 1))

    async def _ask(self, key: Key, command: str, request: Request, id: str = "") -> Answer | None:
        """The answer; None where nobody can tell."""
        session, todo = key
        told = {"session": session, "todo": todo, "command": command}
        id = id or request.tool_call_id
        self._log.write("asked", id, **told)
        try:
            if todo:
                answer = await self._lives.ask_todo(session, todo, command, request)
            else:
                answer = await self._lives.ask_session(session, command, request)
        except Unavailable as error:
            self._log.write("lost", id, **told, why=str(error))
            return None
        except Refused as error:
            self._log.write("lost", id, **told, why=f"{error.code}: {error}")
            return None
        refused = answer.refused.code if answer.refused else ""
        self._log.write("answered", id, **told, sequence=answer.sequence, refused=refused)
        return answer

    async def _asides(self) -> None:
        """What this person does beside, one after the other, each once unless it was killed in the middle of it."""
        for act in self._plan.acts:
            if self._task.party != "person" or act.person != self._task.number or str(act.number) in self._ledger.acted:
                continue
            while self._ledger.answers < act.after:
                if self._stopped():
                    return
                await asyncio.sleep(TICK_SECONDS)
            await self._aside(act)
            self._log.write("acted", str(act.number))

    async def _aside(self, act: Act) -> None:
        """Until it was answered; a pause always ends."""
        id = uuid.uuid4().hex
        if act.command == "pause":
            session = (act.target[0], "")
            await self._ask(session, "pause", Pause(actor=self._actor, reason=id), id)
            await asyncio.sleep(act.seconds)
            id = uuid.uuid4().hex
            while await self._ask(session, "resume", Resume(actor=self._actor, reason=id), id) is None:
                id = uuid.uuid4().hex
            return
        version = await asyncio.to_thread(self._version, act.target)
        requests: dict[str, Request] = {
            "note": AddNote(actor=self._actor, tool_call_id=id, content="look at this"),
            "edit": Edit(
                actor=self._actor,
                tool_call_id=id,
                expected_version=version,
                changes={"content": f"edited {act.number}"},
            ),
            "reorder": Reorder(actor=self._actor, tool_call_id=id, order_index=act.number, expected_version=version),
        }
        await self._ask(act.target, act.command, requests[act.command])

    def _version(self, key: Key) -> int:
        while True:
            try:
                return views_of(self._task.settings)[key].version
            except (Unavailable, KeyError):  # away, or not created yet
                time.sleep(TICK_SECONDS)


def _claim(part: Part, attempt: int) -> Claim:
    """One that brings something new each time."""
    evidence = ClaimedEvidence(label="file", type="file", data=f"a.txt of {part.id} {'x' * attempt}")
    return Claim(
        explanation="Wrote the line that is asked for into a.txt, see [file].",
        evidence=[evidence],
        files_modified=["a.txt"],
    )


async def main(task: Task) -> None:
    """Live it, as soon as there is a server."""
    while True:
        try:
            lives = await open_lives(task.settings)
            break
        except Unavailable:
            await asyncio.sleep(AGAIN_SECONDS)
    await Client(task, plan_of(task.seed, task.todos), lives).live()


if __name__ == "__main__":
    asyncio.run(main(Task(**json.loads(sys.argv[1]))))
