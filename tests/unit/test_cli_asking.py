"""The commands on sessions and todos: what each asks of whom, as whom, and what is said of the answer."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

import pytest

from adapters.config.settings import Settings
from domain.base import canonical_json
from domain.errors import Refused
from domain.events import Action, Actor
from domain.order import Order
from domain.read_model import RoundView, SessionView, State, TodoView
from domain.requests import Answer, Refusal, Request
from domain.status import ReviewStatus, SessionStatus, TodoStatus
from entrypoints import lives
from entrypoints.cli import common
from entrypoints.cli.app import Commands
from entrypoints.cli.output import speak
from entrypoints.host_files import Files, HostState, Process
from entrypoints.stores import build_evidence
from tests.acting import as_a_person
from tests.fakes.trail import Memory, MemoryTrail
from tests.unit.test_events import row

NOW = datetime(2026, 1, 15, 10, 0, tzinfo=UTC)
ORDER = Order.model_validate_json(
    canonical_json(
        {
            "id": "a",
            "content": "Write it",
            "workspace": "/elsewhere/w",
            "base": "/elsewhere/b",
            "acceptance_criteria": [{"type": "file_exists", "params": {"path": "a.txt"}}],
        }
    )
)
DONE = Answer(status="in_progress", review_status="not_requested", version=3)
CLAIM = {"explanation": "wrote a.txt by hand, see [log]", "evidence": [{"label": "log", "type": "log", "data": "ok"}]}


@dataclass
class Spoken:
    """What a command line came to."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass
class Desk:
    """A project with two sessions, and workflows that answer what they are told to."""

    settings: Settings
    memory: Memory
    capsys: pytest.CaptureFixture[str]
    monkeypatch: pytest.MonkeyPatch
    answer: Answer = DONE
    asked: list[tuple[str, str, Request]] = field(default_factory=list)

    async def ask_todo(self, session: str, todo: str, command: str, request: Request) -> Answer:
        """The answer that was set; what was asked is noted."""
        self.asked.append((f"{session}/{todo}", command, request))
        return self.answer

    async def ask_session(self, session: str, command: str, request: Request) -> Answer:
        """The same."""
        self.asked.append((session, command, request))
        return self.answer

    async def session(self, session: str) -> str:
        """That there is such a session."""
        if session not in {one.session for one in self.memory.state.sessions}:
            raise Refused("unknown_session", "there is none", "look")
        return session

    def run(self, *arguments: str) -> Spoken:
        """`countersign ARGUMENTS`, of a person with what a person needs who has no terminal."""
        return self.run_bare(*as_a_person(arguments))

    def run_bare(self, *arguments: str) -> Spoken:
        """The same with these arguments and no other."""
        self.monkeypatch.setattr(sys, "argv", ["countersign", *arguments])
        with pytest.raises(SystemExit) as ended:
            speak(lambda: Commands(name="countersign")(list(arguments)))
        said = self.capsys.readouterr()
        return Spoken(int(ended.value.code or 0), said.out, said.err)


def view(session: str, todo: str, **fields: Any) -> TodoView:
    times = {"created_at": NOW, "updated_at": NOW}
    return TodoView.model_validate({"session": session, "todo": todo, **times, **fields})


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Desk:
    for name in ("COUNTERSIGN_ACTOR", "TEMPORAL_ADDRESS", "COUNTERSIGN_TEMPORAL_ADDRESS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("USER", "ann")
    monkeypatch.setenv("LOGNAME", "ann")
    settings = Settings(project=tmp_path, state_dir=tmp_path / "state")
    memory = Memory()
    build_evidence(settings).put(canonical_json(ORDER.model_dump(mode="json")))
    todos = (
        view("one", "a", version=7, order_digest=ORDER.digest, content="Write it", title="Write it"),
        view("one", "b", parent="a"),
        view("two", "b"),
        view("local", "a"),
    )
    sessions = tuple(SessionView(session=name, created_at=NOW) for name in ("local", "one", "two"))
    memory.state = State(sessions=sessions, todos=todos)
    made = Desk(settings, memory, capsys, monkeypatch)

    async def open_lives(settings: Settings, secrets: tuple[str, ...] = ()) -> Desk:
        return made

    def defect(code: int) -> NoReturn:
        raise AssertionError(f"a defect, which would have ended the process with {code}")

    monkeypatch.setattr("entrypoints.cli.output.os._exit", defect)
    monkeypatch.setattr("entrypoints.telemetry.log_errors", lambda: None)  # once a process, and this one is pytest's
    monkeypatch.setattr(lives, "open_lives", open_lives)
    monkeypatch.setattr(common, "settings", lambda: settings)
    monkeypatch.setattr(common, "open_trail", lambda: MemoryTrail(memory))
    return made


COMMANDS: list[tuple[str, str, str, str, dict[str, Any]]] = [
    ("todo start a", "one/a", "start", "worker", {}),
    ("todo block a --question why?", "one/a", "block", "worker", {"question": "why?"}),
    ("todo respond a --answer so", "one/a", "respond", "worker", {"answer": "so", "additional_evidence": []}),
    ("approve one/a --reason fine", "one/a", "approve", "unattributed", {"reason": "fine"}),
    (
        "override a --kind check --acknowledge ruff --acknowledge mypy --reason r",
        *("one/a", "override", "unattributed"),
        {"kind": "check", "acknowledged": ["ruff", "mypy"], "reason": "r"},
    ),
    ("reject a --feedback f --extra-attempts 2", "one/a", "reject", "unattributed", {"extra_attempts": 2}),
    ("return a", "one/a", "return", "unattributed", {"extra_attempts": 1, "worker": None, "cost_usd": 0.0}),
    ("return a --no-worker --attempts 3", "one/a", "return", "unattributed", {"extra_attempts": 3, "worker": ""}),
    ("return a --budget 2.5", "one/a", "return", "unattributed", {"cost_usd": 2.5, "extra_attempts": 1}),
    ("return a --worker ./b.sh", "one/a", "return", "unattributed", {"worker": "./b.sh"}),
    ("unblock a --clarification c", "one/a", "unblock", "unattributed", {"clarification": "c"}),
    ("todo note a --text t", "one/a", "note", "unattributed", {"content": "t", "kind": "feedback"}),
    ("todo reorder a --to 2", "one/a", "reorder", "unattributed", {"order_index": 2, "expected_version": 7}),
    ("todo delete a --reason r", "one/a", "delete", "unattributed", {"reason": "r", "expected_version": 7}),
    ("todo delete a --expected-version 6", "one/a", "delete", "unattributed", {"expected_version": 6}),
    ("session pause one --reason r", "one", "pause", "unattributed", {"reason": "r"}),
    ("session resume one", "one", "resume", "unattributed", {}),
    ("session stop one", "one", "stop", "unattributed", {}),
]


@pytest.mark.parametrize(("line", "whom", "command", "role", "fields"), COMMANDS, ids=[c[0] for c in COMMANDS])
def test_a_command_asks_one_thing(
    desk: Desk, line: str, whom: str, command: str, role: str, fields: dict[str, Any]
) -> None:
    spoken = desk.run(*line.split(" "))
    assert spoken.code == 0, spoken.err
    ((asked, name, request),) = desk.asked
    assert (asked, name) == (whom, command)
    assert request.actor == Actor(role=role, identity="ann")
    said = request.model_dump(mode="json")
    assert {key: said[key] for key in fields} == fields


def test_what_is_asked_is_answered_as_json(desk: Desk) -> None:
    desk.answer = DONE.model_copy(update={"snapshot": "d" * 64, "evidence": {"log": "ev-1"}})
    told = desk.run("todo", "start", "a", "--json").json
    assert told == {"session": "one", "todo": "a", **desk.answer.model_dump(mode="json", exclude={"refused"})}


@pytest.mark.parametrize(
    ("said", "role", "name", "session"),
    [
        ("worker:bob", "worker", "bob", ""),
        ("worker:bob@two", "worker", "bob", "two"),
        ("human:eve", "unattributed", "eve", ""),
        ("unattributed:eve", "unattributed", "eve", ""),
        ("worker", "worker", "ann", ""),
    ],
)
@pytest.mark.parametrize("by_variable", [False, True])
def test_anybody_may_say_who_they_are(
    desk: Desk, said: str, role: str, name: str, session: str, by_variable: bool
) -> None:
    if by_variable:
        desk.monkeypatch.setenv("COUNTERSIGN_ACTOR", said)
    if role == "worker":  # which the todo refuses
        desk.answer = Answer(refused=Refusal(code="forbidden", reason="it is so", next_step="ask"))
    assert desk.run("approve", "a", *(() if by_variable else ("--as", said))).code == (role == "worker")
    request = desk.asked[0][2]
    assert (request.actor.role, request.actor.identity, request.session) == (role, name, session)


@pytest.mark.parametrize("said", ["system:x", "harness", "auditor:y", "", "worker:x@", "Worker:x"])
def test_nobody_speaks_as_countersign(desk: Desk, said: str) -> None:
    spoken = desk.run("approve", "a", "--as", said, "--json")
    assert spoken.code == 2
    assert spoken.json["problems"][0]["field"] == "--as"
    assert desk.asked == []


@pytest.mark.parametrize(
    ("refusal", "code"), [("illegal_transition", 1), ("stale_version", 6), ("unknown_todo", 5), ("forbidden", 1)]
)
def test_a_refusal_is_told_with_its_code_and_what_would_help(desk: Desk, refusal: str, code: int) -> None:
    desk.answer = Answer(refused=Refusal(code=refusal, reason="it is so", next_step="do that"))
    spoken = desk.run("todo", "start", "a", "--json")
    assert spoken.code == code
    assert spoken.json == {"error": "refused", "code": refusal, "reason": "it is so", "next_step": "do that"}
    assert f"refused: it is so ({refusal})\nnext: do that" in spoken.err


def test_a_name_that_two_sessions_have_is_asked_back(desk: Desk) -> None:
    spoken = desk.run("todo", "start", "b")
    assert spoken.code == 2
    assert "expected one of one/b, two/b" in spoken.err
    assert desk.asked == []


@pytest.mark.parametrize(
    "line", ["todo start nobody", "approve one/nobody", "session pause nobody", "todo list nobody"]
)
def test_what_is_not_there_is_not_found(desk: Desk, line: str) -> None:
    spoken = desk.run(*line.split(" "), "--json")
    assert spoken.code == 5
    assert spoken.json["code"].startswith("unknown_")
    assert desk.asked == []


def test_a_claim_is_sent_as_it_is_and_judged_by_its_todo(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "claim.json").write_text(json.dumps({**CLAIM, "explanation": "Done."}))
    desk.answer = Answer(refused=Refusal(code="inadmissible_claim", reason="it says nothing", next_step="say it"))
    spoken = desk.run("todo", "claim", "a", "--claim", str(tmp_path / "claim.json"), "--json")
    assert (spoken.code, spoken.json["code"]) == (1, "inadmissible_claim")
    assert desk.asked[0][2].model_dump()["claim"]["explanation"] == "Done."


def test_a_claim_that_is_none_is_told_line_by_line(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "claim.json").write_text('{"explanation": "x",\n "done": true}')
    spoken = desk.run("todo", "claim", "a", "--claim", str(tmp_path / "claim.json"))
    assert spoken.code == 2
    assert "claim.json:2: done:" in spoken.err
    assert desk.asked == []


def test_a_claim_comes_from_stdin(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", _Stdin(json.dumps(CLAIM)))
    assert desk.run("todo", "claim", "a", "--claim", "-").code == 0
    assert desk.asked[0][1] == "claim"


class _Stdin:
    def __init__(self, text: str) -> None:
        self._text = text

    def read(self) -> str:
        return self._text


AFTERWARDS: list[tuple[TodoStatus, ReviewStatus, str, int]] = [
    (TodoStatus.VERIFIED, ReviewStatus.APPROVED, "", 0),
    (TodoStatus.IN_PROGRESS, ReviewStatus.CHANGES_REQUESTED, "", 1),
    (TodoStatus.FAILED, ReviewStatus.ESCALATED, "hard_fail", 1),
    (TodoStatus.NEEDS_HUMAN, ReviewStatus.ESCALATED, "audit_cap_exceeded", 4),
    (TodoStatus.NEEDS_HUMAN, ReviewStatus.ESCALATED, "checks_could_not_run", 3),
]


@pytest.mark.parametrize(("status", "review", "trigger", "code"), AFTERWARDS)
def test_who_waits_for_the_verdict_ends_with_its_code(
    desk: Desk, tmp_path: Path, status: TodoStatus, review: ReviewStatus, trigger: str, code: int
) -> None:
    (tmp_path / "claim.json").write_text(json.dumps(CLAIM))
    (claimed,) = (one for one in desk.memory.state.todos if (one.session, one.todo) == ("one", "a"))
    standing = {"status": status, "review_status": review, "trigger": trigger, "attempt": 2}
    desk.memory.state = State(sessions=desk.memory.state.sessions, todos=(claimed.model_copy(update=standing),))
    spoken = desk.run("todo", "claim", "one/a", "--claim", str(tmp_path / "claim.json"), "--wait", "--json")
    assert spoken.code == code
    assert (spoken.json["status"], spoken.json["trigger"]) == (status, trigger)


def test_an_agent_polls_what_it_has_to_know(desk: Desk) -> None:
    told = desk.run("todo", "show", "a", "--json").json
    assert (told["name"], told["content"], told["version"]) == ("one/a", "Write it", 7)
    assert [(one["id"], one["type"]) for one in told["criteria"]] == [("AC-1", "file_exists")]
    assert told["retry_context"] is None
    assert desk.asked == [], "no workflow is asked"


def test_evidence_is_a_files_text_or_the_text_itself(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text("5 passed\n")
    for data in (str(tmp_path / "log.txt"), "5 passed\n"):
        line = ("todo", "add-evidence", "a", "--type", "log", "--label", "tests", "--data", data)
        assert desk.run(*line).code == 0
    sent = [request.model_dump()["evidence"][0]["data"] for _, _, request in desk.asked]
    assert sent == ["5 passed\n", "5 passed\n"]


def test_edits_name_fields_and_the_version_that_was_read(desk: Desk) -> None:
    line = ("todo", "edit", "a", "--set", "content=Write it well", "--set", "depends_on=[]")
    assert desk.run(*line).code == 0
    ((whom, command, request),) = desk.asked
    said = request.model_dump(mode="json")
    assert (whom, command, said["expected_version"]) == ("one/a", "edit", 7)
    assert said["changes"] == {"content": "Write it well", "depends_on": []}
    edited = ORDER.model_copy(update={"content": "Write it well"})
    assert build_evidence(desk.settings).has(edited.digest), "whoever reads the list finds the order"


def test_an_edit_names_one_field_of_an_object_and_leaves_the_rest(desk: Desk, tmp_path: Path) -> None:
    file = tmp_path / "fields.yaml"
    file.write_text("safeguards: {todo_timeout: 60, revisions: 4}\ncontent: New\n")
    sets = ("--set", "safeguards.todo_timeout=7200", "--set", "verification.retry.max_attempts=5")
    assert desk.run("todo", "edit", "a", "--file", str(file), *sets).code == 0
    ((_, _, request),) = desk.asked
    said = request.model_dump(mode="json")["changes"]
    assert said == {
        "safeguards": {"todo_timeout": 7200, "revisions": 4},
        "content": "New",
        "verification": {"retry": {"max_attempts": 5}},
    }
    safeguards = ORDER.safeguards.model_copy(update={"todo_timeout": 7200.0, "revisions": 4})
    retry = ORDER.verification.retry.model_copy(update={"max_attempts": 5})
    verification = ORDER.verification.model_copy(update={"retry": retry})
    changed = {"content": "New", "safeguards": safeguards, "verification": verification}
    assert build_evidence(desk.settings).has(ORDER.model_copy(update=changed).digest)


@pytest.mark.parametrize(
    "changes",
    [(), ("--set", "content"), ("--set", "content: ["), ("--set", ".a=1"), ("--set", "a..b=1"), ("--set", "a.=1")],
)
def test_an_edit_that_names_nothing_is_refused(desk: Desk, changes: tuple[str, ...]) -> None:
    assert desk.run("todo", "edit", "a", *changes).code == 2
    assert desk.asked == []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("verification.chex=[]", "verification.chex: unknown field 'chex', did you mean 'checks'?"),
        ("contant=x", "contant: unknown field 'contant', did you mean 'content'?"),
        ("domain=securty", "did you mean 'security'?"),
        (
            "safeguards.todo_timeout=long",
            "safeguards.todo_timeout: the text 'long', expected seconds: a number above 0",
        ),
        ("verification.checks=[{name: a}]", "verification.checks[0].command: is missing, expected "),
    ],
)
def test_an_edit_that_makes_no_order_is_told_in_words_and_not_sent(desk: Desk, change: str, told: str) -> None:
    ran = desk.run("todo", "edit", "a", "--set", change)
    assert ran.code == 2
    assert "command line:1: " in ran.err
    assert told in ran.err
    assert desk.asked == []


def test_lists_are_read_without_asking_anybody(desk: Desk) -> None:
    sessions = desk.run("session", "list", "--json").json
    assert [one["session"] for one in sessions] == ["local", "one", "two"]
    todos = desk.run("todo", "list", "one", "--json").json
    assert [(one["todo"], [below["todo"] for below in one["subtasks"]]) for one in todos] == [("a", ["b"])]
    assert desk.asked == []


@pytest.mark.parametrize("command", [("session", "create"), ("run",)])
def test_no_session_is_a_workers_to_create(desk: Desk, tmp_path: Path, command: tuple[str, ...]) -> None:
    """Its file says how the todos are verified. Of one that is there, the refusal is recorded."""
    for folder in ("work", "base"):
        (tmp_path / folder).mkdir()
    file = tmp_path / "own.yaml"
    for name, code, asked in (("own", "forbidden", []), ("one", "session_exists", [("one", "replace")])):
        file.write_text(f"id: {name}\ndefaults: {{workspace: work, base: base}}\ntodos: [{{content: It}}]\n")
        spoken = desk.run(*command, str(file), "--as", "worker:eve", "--json")
        assert (spoken.code, spoken.json["code"]) == (1, code)
        assert [(whom, what) for whom, what, _ in desk.asked] == asked


READERS = ("session list", "session show one", "todo list one", "todo show a", "inbox")


@pytest.mark.parametrize("line", READERS)
@pytest.mark.parametrize("ended", ["killed", "by itself", "could not start"])
def test_who_only_reads_has_a_host_that_was_killed_started_again(desk: Desk, line: str, ended: str) -> None:
    files = Files(desk.settings.state_dir)
    begun: list[Settings] = []
    if ended != "by itself":
        gone = Process(pid=2**22 + 1, created=1.0)
        files.write(HostState(host=gone, error="no port is free" if ended == "could not start" else ""))
    desk.monkeypatch.setattr("entrypoints.spawning.begin", begun.append)
    spoken = desk.run(*line.split())
    assert spoken.code == 0
    assert begun == ([desk.settings] if ended == "killed" else [])
    assert ("was killed" in spoken.err) is (ended == "killed")


@pytest.fixture
def waiting(desk: Desk) -> Desk:
    late, early = NOW.replace(hour=12), NOW.replace(hour=8)
    todos = (
        view("one", "a", order_digest="1", status="needs_human", trigger="timeout", waiting_since=late, attempt=1),
        view("one", "b", order_digest="1", status="blocked", question="which one?", waiting_since=early),
        view("one", "c", order_digest="1", status="claimed", question="the auditor asks", waiting_since=early),
        view("one", "d", order_digest="1", status="verified"),
        view("two", "e", order_digest="1", status="needs_human", trigger="timeout", waiting_since=NOW),
        view("local", "f", status="needs_human", trigger="nothing_to_check", attempt=1, waiting_since=late),
        view("local", "g", status="failed", trigger="hard_fail"),
        view("local", "h", status="in_progress"),
    )
    sessions = (
        SessionView(session="one", created_at=NOW, status=SessionStatus.PAUSED, paused_for="a"),
        SessionView(session="two", created_at=NOW, status=SessionStatus.STOPPED),
        SessionView(session="three", created_at=NOW, status=SessionStatus.PAUSED, paused_for="human"),
    )
    desk.memory.state = State(sessions=sessions, todos=todos)
    return desk


def test_the_inbox_has_what_waits_for_a_human_the_oldest_first(waiting: Desk) -> None:
    found = waiting.run("inbox", "--json").json
    assert [(one["session"], one["todo"], one["why"]) for one in found] == [
        ("one", "b", "which one?"),
        ("three", "", "a human paused it"),
        ("local", "f", "nothing_to_check"),
        ("one", "a", "timeout"),
    ]
    assert [command.partition(" --")[0] for command in found[2]["next"]] == [
        "countersign review local/f",
        "countersign override local/f",
        "countersign reject local/f",
    ], "a standalone round has no worker to go back to, and its order is a file"
    assert "countersign unblock one/b --clarification TEXT --expected-version 1" in found[0]["next"]
    assert found[1]["next"] == ["countersign session resume three"]
    assert "countersign return one/a --attempts 1 --reason TEXT --expected-version 1" in found[3]["next"]


def test_a_todo_whose_fix_loop_runs_says_so(desk: Desk) -> None:
    told: tuple[tuple[Action, dict[str, Any]], ...] = (
        ("fix_loop_started", {"attempt": 1}),
        ("fix_iteration_started", {"loop": 2, "of": 3}),
    )
    for number, (action, payload) in enumerate(told, 1):
        desk.memory.rows["fix/one/a/1", number] = row(
            session="one", todo_id="a", sequence=number, action=action, payload=payload
        )
    claimed = view("one", "a", status="claimed", attempt=1)
    round_ = {"session": "one", "todo": "a", "attempt": 1, "workflow_id": "round/one/a/1", "status": "decided"}
    sessions = (SessionView(session="one", created_at=NOW),)
    rounds = (RoundView.model_validate({**round_, "started_at": NOW}),)
    desk.memory.state = State(sessions=sessions, todos=(claimed,), rounds=rounds)
    assert desk.run("todo", "show", "one/a", "--json").json["fix_loop"] == "fix loop 2 of 3"
    assert "fix loop 2 of 3" in desk.run("todo", "show", "one/a").out
    assert desk.run("todo", "list", "one", "--json").json[0]["fix_loop"] == "fix loop 2 of 3"
    assert desk.run("session", "show", "one", "--json").json["todos"][0]["fix_loop"] == "fix loop 2 of 3"


def test_the_inbox_says_why_a_fix_loop_gave_up(desk: Desk) -> None:
    fields = {"trigger": "revision_cap_exceeded", "flag": "3 of 3 loops used", "reasons": ("tests_failed",)}
    gave_up = view("one", "a", order_digest="1", status="needs_human", **fields)
    offered = view("one", "b", order_digest="1", status="verified", flag="the repair is not in the workspace")
    sessions = (SessionView(session="one", created_at=NOW),)
    desk.memory.state = State(sessions=sessions, todos=(gave_up, offered))
    found = desk.run("inbox", "--json").json
    assert [(one["status"], one["why"]) for one in found] == [
        ("needs_human", "revision_cap_exceeded; 3 of 3 loops used; tests_failed"),
        ("flagged", "the repair is not in the workspace"),
    ]


@pytest.mark.parametrize("budget", ["0", "-1", "nan", "inf", "1e9"])
def test_a_budget_that_is_none_is_malformed(desk: Desk, budget: str) -> None:
    spoken = desk.run("return", "a", "--budget", budget)
    assert (spoken.code, desk.asked) == (2, [])
    assert "--budget" in spoken.err


def test_the_inbox_of_one_session(waiting: Desk) -> None:
    assert [one["todo"] for one in waiting.run("inbox", "--session", "one", "--json").json] == ["b", "a"]
    assert waiting.run("inbox", "--session", "two").out == "nothing waits for a human\n"
    assert waiting.run("inbox", "--session", "nobody").code == 5
