"""The commands of people: the options that they share, what is signed, and what is said of what has changed."""

from __future__ import annotations

import getpass
import io
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from domain.errors import Cause, Unavailable
from domain.lifecycle import Command
from domain.planning import SessionPlan
from domain.read_model import TodoView
from domain.requests import Answer, Changed, Create, HumanRequest, Refusal
from domain.session import Entry, Session
from domain.signatures import Signed
from domain.signing import About
from domain.todo import Todo
from entrypoints import signing
from entrypoints.stores import build_evidence
from tests.model import todos
from tests.unit import test_cli_asking as neighbours
from tests.unit.test_cli_asking import NOW, ORDER, Desk

desk = neighbours.desk
TREE = "ab" * 32
OF_TODOS = [
    "approve a",
    "override a --kind check --acknowledge ruff",
    "reject a --feedback f",
    "return a",
    "unblock a --clarification c",
    "todo note a --text t",
    "todo edit a --set content=New",
    "todo reorder a --to 2",
    "todo delete a",
]
OF_SESSIONS = ["session pause one", "session resume one", "session stop one"]
SIGNED = Signed(statement='{"action":"approve"}', signature="-----BEGIN SSH SIGNATURE-----\n")
VERIFIED = Answer(
    status="verified",
    review_status="overridden",
    version=3,
    changed={
        "status": Changed(before="needs_human", after="verified"),
        "review_status": Changed(before="escalated", after="overridden"),
        "trigger": Changed(before="audit_cap_exceeded", after=""),
        "granted": Changed(before=0, after=1),
        "feedback": Changed(before="", after="do it\nso"),
        "time_left": Changed(before=1.0, after=2.0),
    },
)


@dataclass
class Pen:
    """What signs: it notes what it was asked to sign, as whom and about what."""

    asked: list[tuple[HumanRequest, Command, About, Path | None]] = field(default_factory=list)

    def about_of(self, view: TodoView) -> About:
        """What an act on it would be about."""
        return About(view.session, view.todo, view.attempt, view.snapshot, view.order_digest)

    def statement_text(self, request: HumanRequest, command: Command, about: About) -> str:
        """Something that is not what is sent."""
        self.asked.append((request, command, about, None))
        return '{"action":"approve"}'

    def sign(self, request: HumanRequest, command: Command, about: About, key: Path) -> HumanRequest:
        """The request with the one signature that there is."""
        self.asked.append((request, command, about, key))
        return request.model_copy(update={"signed": SIGNED})

    named = staticmethod(signing.named)

    def envelope(self, statement: Path, signature: Path) -> Signed:
        """The two files as one."""
        return Signed(statement=statement.read_text(), signature=signature.read_text())


@pytest.fixture
def pen(monkeypatch: pytest.MonkeyPatch) -> Pen:
    monkeypatch.delenv("COUNTERSIGN_SIGNING_KEY", raising=False)
    made = Pen()
    monkeypatch.setitem(sys.modules, "entrypoints.signing", made)
    return made


@pytest.fixture
def key(tmp_path: Path) -> Path:
    made = tmp_path / "id_ed25519"
    made.write_text("a key\n")
    return made


@pytest.mark.parametrize("line", [*OF_TODOS, *OF_SESSIONS])
def test_every_command_of_a_person_says_why_of_which_version_and_whether_it_is_a_trial(desk: Desk, line: str) -> None:
    shared = ("--reason", "so it is", "--as", "human:eve", "--expected-version", "5", "--dry-run", "--json")
    desk.answer = Answer(status="x", version=5, dry_run=True, signer="eve@x", changed={"version": Changed(after=5)})
    spoken = desk.run(*line.split(), *shared)
    assert spoken.code == 0, spoken.err
    ((_, _, request),) = desk.asked
    assert isinstance(request, HumanRequest)
    assert (request.reason, request.expected_version, request.dry_run) == ("so it is", 5, True)
    assert str(request.actor) == "unattributed:eve"
    assert (spoken.json["dry_run"], spoken.json["version"]) == (True, 5)
    assert spoken.json["changed"] == {"version": {"before": None, "after": 5}}
    assert spoken.json.get("signer", "eve@x") == "eve@x"


@pytest.mark.parametrize("line", OF_TODOS)
def test_a_trial_is_none_unless_it_is_said(desk: Desk, line: str) -> None:
    assert desk.run(*line.split()).code == 0
    ((_, _, request),) = desk.asked
    assert isinstance(request, HumanRequest)
    assert (request.dry_run, request.reason, request.signed, request.snapshot) == (False, "", None, "")


@pytest.mark.parametrize("line", OF_TODOS)
def test_what_people_ask_of_a_todo_is_of_a_tree_and_signed(desk: Desk, pen: Pen, key: Path, line: str) -> None:
    assert desk.run(*line.split(), "--snapshot", TREE, "--key", str(key)).code == 0
    ((whom, command, request),) = desk.asked
    assert isinstance(request, HumanRequest)
    assert (whom, request.snapshot, request.signed) == ("one/a", TREE, SIGNED)
    ((asked, said, about, with_key),) = pen.asked
    assert asked == request.model_copy(update={"signed": None})
    assert (said.value, about.session, about.todo, about.order, with_key) == (command, "one", "a", ORDER.digest, key)


def test_a_key_of_the_environment_signs_unless_it_is_taken_back(desk: Desk, pen: Pen, key: Path) -> None:
    desk.monkeypatch.setenv("COUNTERSIGN_SIGNING_KEY", str(key))
    assert desk.run("approve", "a").code == 0
    assert desk.run("approve", "a", "--key", "", "--as", "human:ann", "--yes").code == 0
    signed = [request.signed for _, _, request in desk.asked if isinstance(request, HumanRequest)]
    assert signed == [SIGNED, None]


@pytest.mark.parametrize("by_hand", [False, True])
def test_whoever_is_named_has_to_be_the_signer_and_a_persons_name_may_be_an_address(
    desk: Desk, pen: Pen, key: Path, tmp_path: Path, by_hand: bool
) -> None:
    (tmp_path / "statement").write_text("{}")
    with_it = ("--statement", str(tmp_path / "statement"), "--signature", str(key)) if by_hand else ("--key", str(key))
    assert desk.run("approve", "a", *with_it, "--as", "human:ann@example.org").code == 0
    assert desk.run("approve", "a", *with_it).code == 0
    assert desk.run("approve", "a", "--as", "human:ann@example.org").code == 0
    actors = [str(request.actor) for _, _, request in desk.asked if isinstance(request, HumanRequest)]
    assert actors == ["human:ann@example.org", f"unattributed:{getpass.getuser()}", "unattributed:ann@example.org"]
    assert {request.session for _, _, request in desk.asked} == {""}


def test_the_statement_is_printed_to_the_letter_and_nothing_is_sent(desk: Desk, pen: Pen) -> None:
    spoken = desk.run("approve", "a", "--reason", "r", "--print-statement")
    assert (spoken.code, spoken.out, desk.asked) == (0, '{"action":"approve"}', [])
    assert pen.asked[0][0].reason == "r"


def test_what_was_signed_by_hand_is_sent(desk: Desk, pen: Pen, tmp_path: Path) -> None:
    files = []
    for name, text in (("statement", SIGNED.statement), ("signature", SIGNED.signature)):
        (tmp_path / name).write_text(text)
        files += [f"--{name}", str(tmp_path / name)]
    assert desk.run("approve", "a", *files).code == 0
    ((_, _, request),) = desk.asked
    assert isinstance(request, HumanRequest)
    assert request.signed == SIGNED
    assert pen.asked == [], "it is signed already"


def test_a_signature_for_somebody_elses_hands_is_printed(desk: Desk, pen: Pen, key: Path) -> None:
    spoken = desk.run("approve", "a", "--key", str(key), "--print-signature")
    assert (spoken.code, desk.asked) == (0, [])
    assert Signed.model_validate_json(spoken.out) == SIGNED


COMBINATIONS = [
    (("--statement", "x"), "--statement"),
    (("--signature", "x"), "--statement"),
    (("--print-signature",), "--print-signature"),
    (("--print-signature", "--print-statement", "--key", "x"), "--print-statement"),
    (("--print-statement", "--statement", "x", "--signature", "y"), "--print-statement"),
    (("--print-statement", "--dry-run"), "--dry-run"),
    (("--print-signature", "--key", "x", "--dry-run"), "--dry-run"),
    (("--print-statement", "--json"), "--json"),
    (("--key", "nowhere"), "--key"),
    (("--statement", "nowhere", "--signature", "nowhere"), "--statement"),
    (("--snapshot", "abc"), "--snapshot"),
    (("--snapshot", "AB" * 32), "--snapshot"),
    (("--reason", "x" * 70_000), "--reason"),
    (("--as", "system:x"), "--as"),
]


@pytest.mark.parametrize(("options", "field"), COMBINATIONS, ids=[" ".join(c[0])[:60] for c in COMBINATIONS])
def test_what_does_not_go_together_is_malformed(desk: Desk, pen: Pen, options: tuple[str, ...], field: str) -> None:
    spoken = desk.run("approve", "a", *options)
    assert (spoken.code, desk.asked, pen.asked) == (2, [], [])
    assert f"command line:1: {field}: " in spoken.err
    assert ", expected " in spoken.err


@pytest.mark.parametrize(("spelled", "kind"), [("CHECK_OVERRIDE", "check"), ("DIRECT_APPROVAL", "direct")])
def test_an_override_has_two_spellings_and_no_third(desk: Desk, spelled: str, kind: str) -> None:
    assert desk.run("override", "a", "--kind", spelled).code == 0
    assert desk.asked[0][2].model_dump()["kind"] == kind
    assert desk.run("override", "a", "--kind", spelled.lower()).code == 2


def test_what_has_changed_is_told_line_by_line(desk: Desk) -> None:
    desk.answer = VERIFIED.model_copy(update={"signer": "ann@example.org"})
    assert desk.run("override", "a", "--kind", "check").out.splitlines() == [
        "one/a: needs_human (escalated) -> verified (overridden), version 3",
        "  trigger cleared (was audit_cap_exceeded)",
        "  granted 0 -> 1",
        "  feedback: do it so",
        "  signed by ann@example.org",
    ]


def test_a_trial_says_that_it_is_one(desk: Desk) -> None:
    desk.answer = VERIFIED.model_copy(update={"dry_run": True})
    first, *_ = desk.run("approve", "a", "--dry-run").out.splitlines()
    assert first == "would change: one/a: needs_human (escalated) -> verified (overridden), version 3"
    desk.answer = VERIFIED.model_copy(update={"dry_run": True, "changed": {}})
    assert desk.run("approve", "a", "--dry-run").out == (
        "dry run: one/a: nothing would change, verified (overridden), version 3\n"
    )


def test_what_a_worker_wrote_does_not_reach_the_terminal(desk: Desk) -> None:
    changed = {"flag": Changed(before="\x1b[31mred", after=""), "worker": Changed(before=["a"], after=True)}
    desk.answer = VERIFIED.model_copy(update={"changed": changed})
    assert desk.run("approve", "a").out.splitlines()[1:] == [
        "  flag cleared (was \\x1b[31mred)",
        '  worker ["a"] -> yes',
    ]


def test_a_session_says_what_has_changed(desk: Desk) -> None:
    changed = {
        "status": Changed(before="running", after="paused"),
        "version": Changed(before=1, after=2),
        "paused_by_human": Changed(before=False, after=True),
    }
    desk.answer = Answer(status="paused", version=2, sequence=9, changed=changed)
    assert desk.run("session", "pause", "one").out.splitlines() == [
        "one: running -> paused, version 2",
        "  paused by human no -> yes",
    ]
    assert desk.run("session", "pause", "one", "--json").json == {
        "session": "one",
        "status": "paused",
        "version": 2,
        "sequence": 9,
        "changed": {name: change.model_dump() for name, change in changed.items()},
        "dry_run": False,
    }


@pytest.mark.parametrize("code", ["stale_version", "stale_snapshot", "stale_signature"])
def test_what_is_not_there_any_more_is_a_conflict(desk: Desk, code: str) -> None:
    desk.answer = Answer(refused=Refusal(code=code, reason="it is so", next_step="look"))
    assert desk.run("approve", "a").code == 6


@pytest.mark.parametrize("line", ["session list --json", "session show one --json"])
def test_the_version_of_a_session_is_shown(desk: Desk, line: str) -> None:
    sessions = tuple(one.model_copy(update={"version": 4}) for one in desk.memory.state.sessions)
    desk.memory.state = desk.memory.state.model_copy(update={"sessions": sessions})
    told = desk.run(*line.split()).json
    assert (told[1] if isinstance(told, list) else told["session"])["version"] == 4
    assert "version 4" in desk.run("session", "show", "one").out


@pytest.fixture
def planning(desk: Desk) -> Desk:
    """The desk, whose session has a todo and defaults."""
    store = build_evidence(desk.settings)
    plan = SessionPlan(defaults=ORDER.model_copy(update={"id": ""}))
    when = {"created_at": NOW, "deadline": NOW}
    known = Session.model_validate(
        {"id": "one", "host": "h", "created_by": {"role": "unattributed"}, "order": store.put(plan.blob), **when}
    ).model_copy(update={"todos": {"a": Entry(id="a")}})

    async def session(_name: str) -> Session:
        return known

    async def todo(_session: str, _todo: str) -> Todo:
        return todos.todo(order=ORDER)

    async def need(_secrets: Any) -> None:
        """They are there."""

    for name, call in (("session", session), ("need", need), ("todo", todo)):
        desk.monkeypatch.setattr(desk, name, call, raising=False)
    return desk


@pytest.mark.parametrize("line", ["todo create one", "todo subtask one/a"])
def test_a_new_todo_is_a_persons_act_like_any_other(planning: Desk, line: str) -> None:
    planning.answer = Answer(status="running", dry_run=True)
    shared = ("--as", "human:eve", "--reason", "why", "--expected-version", "3", "--dry-run")
    words = (*line.split(), "--file", str(_order_file(planning)), *shared)
    spoken = planning.run(*words)
    assert spoken.code == 0, spoken.err
    assert spoken.out == "would change: one/new would be created\n"
    ((whom, command, request),) = planning.asked
    assert isinstance(request, Create)
    assert (whom, command, request.ids) == ("one", "create", ("new",))
    assert (request.reason, request.expected_version, request.dry_run) == ("why", 3, True)
    assert planning.run(*words, "--json").json["dry_run"] is True


def _order_file(desk: Desk) -> Path:
    for name in ("w", "b"):
        (desk.settings.project / name).mkdir()
    file = desk.settings.project / "new.yaml"
    file.write_text(
        "id: new\ncontent: Do it\nworkspace: w\nbase: b\nverification: {checks: [{name: t, command: 'true'}]}\n"
    )
    return file


REFUSED = Answer(refused=Refusal(code="forbidden", reason="never for a worker", next_step="ask"))


@pytest.fixture
def terminal(desk: Desk) -> Desk:
    """The desk, at an interactive terminal."""
    desk.monkeypatch.setattr("entrypoints.cli.person.at_a_terminal", lambda: True)
    return desk


def types(desk: Desk, text: str) -> None:
    desk.monkeypatch.setattr(sys, "stdin", io.StringIO(f"{text}\n"))


@pytest.mark.parametrize("more", ["", "--dry-run", "--as human:eve --yes", "--yes", "--key KEY"])
@pytest.mark.parametrize("line", [*OF_TODOS, *OF_SESSIONS])
def test_what_an_agent_asks_as_a_person_is_refused_and_recorded_also_a_trial(
    terminal: Desk, pen: Pen, key: Path, line: str, more: str
) -> None:
    if line in OF_SESSIONS and "KEY" in more:
        more = ""
    terminal.monkeypatch.setenv("CLAUDECODE", "1")
    terminal.answer = REFUSED
    types(terminal, "a")
    spoken = terminal.run_bare(*line.split(), *more.replace("KEY", str(key)).split())
    assert (spoken.code, pen.asked) == (1, [])
    assert "CLAUDECODE" in spoken.err
    assert "(forbidden)" in spoken.err
    ((_, _, request),) = terminal.asked
    assert isinstance(request, HumanRequest)
    name = "eve" if "eve" in more else "ann"
    assert (str(request.actor), request.marks) == (f"worker:{name}", ("CLAUDECODE",))
    assert (request.dry_run, request.signed) == (False, None)


@pytest.mark.parametrize("line", ["todo subtask one/a", "todo create one --as human:eve"])
def test_an_agent_adds_no_todo_as_a_person(planning: Desk, line: str) -> None:
    planning.monkeypatch.setenv("GEMINI_CLI", "1")
    planning.answer = REFUSED
    spoken = planning.run(*line.split(), "--file", str(_order_file(planning)))
    assert (spoken.code, "(forbidden)" in spoken.err) == (1, True)
    ((whom, command, request),) = planning.asked
    assert isinstance(request, Create)
    assert (whom, command, request.actor.role, request.marks) == ("one", "create", "worker", ("GEMINI_CLI",))
    assert request.refused
    assert (request.refused.code, request.orders) == ("forbidden", "")


def test_a_refusal_that_could_not_be_recorded_stands_and_says_so(desk: Desk) -> None:
    async def away(*_: Any) -> Answer:
        raise Unavailable(Cause.SERVER_UNAVAILABLE, "the server is away", "wait")

    desk.monkeypatch.setenv("CODEX_SANDBOX", "seatbelt")
    desk.monkeypatch.setattr(desk, "ask_todo", away)
    spoken = desk.run("approve", "a", "--json")
    assert (spoken.code, spoken.json["code"]) == (1, "forbidden")
    assert "(not recorded: the server is away)" in spoken.json["reason"]


def test_marks_of_the_project_count_too(desk: Desk) -> None:
    desk.monkeypatch.setenv("MY_AGENT_ID", "7")
    assert desk.run("approve", "a").code == 0
    desk.answer = REFUSED
    further = desk.settings.model_copy(update={"agent_marks": ("MY_AGENT_*",)})
    desk.monkeypatch.setattr("entrypoints.cli.common.settings", lambda: further)
    assert "MY_AGENT_ID" in desk.run("approve", "a").err


@pytest.mark.parametrize("line", OF_TODOS)
def test_a_person_types_the_todo_at_a_terminal(terminal: Desk, line: str) -> None:
    types(terminal, "one/a")
    spoken = terminal.run_bare(*line.split())
    assert spoken.code == 0, spoken.err
    assert "type one/a or a: " in spoken.err
    types(terminal, "one")
    wrong = terminal.run_bare(*line.split(), "--json")
    assert (wrong.code, wrong.json["code"]) == (1, "not_confirmed")
    types(terminal, "")
    assert terminal.run_bare(*line.split(), "--dry-run").code == 0
    how = [
        (request.established, request.dry_run) for _, _, request in terminal.asked if isinstance(request, HumanRequest)
    ]
    assert how == [("terminal", False), ("terminal", True)]


@pytest.mark.parametrize("line", OF_TODOS)
@pytest.mark.parametrize("options", ["", "--yes", "--as human:eve", "--dry-run", "--dry-run --as human:eve"])
def test_without_a_terminal_nobody_is_a_person_by_half(desk: Desk, line: str, options: str) -> None:
    spoken = desk.run_bare(*line.split(), *options.split(), "--json")
    assert (spoken.code, spoken.json["code"], desk.asked) == (1, "not_a_person", [])
    assert "--as human:NAME --yes" in spoken.json["next_step"]


def test_without_a_terminal_a_name_and_yes_are_what_is_said(desk: Desk) -> None:
    assert desk.run_bare("approve", "a", "--as", "human:eve", "--yes").code == 0
    desk.monkeypatch.setenv("COUNTERSIGN_ACTOR", "human:eve")
    assert desk.run_bare("approve", "a").code == 1
    assert desk.run_bare("approve", "a", "--yes").code == 0
    assert [request.model_dump()["established"] for _, _, request in desk.asked] == ["said", "said"]


@pytest.mark.parametrize("line", OF_SESSIONS)
def test_of_a_session_nothing_is_typed_and_it_is_said_how_they_were_established(terminal: Desk, line: str) -> None:
    types(terminal, "")
    assert terminal.run_bare(*line.split()).code == 0
    terminal.monkeypatch.setattr("entrypoints.cli.person.at_a_terminal", lambda: False)
    assert terminal.run_bare(*line.split()).code == 0
    assert [request.model_dump()["established"] for _, _, request in terminal.asked] == ["terminal", "said"]


@pytest.mark.parametrize("line", OF_TODOS)
def test_where_only_signed_acts_are_taken_no_other_is_sent(desk: Desk, pen: Pen, key: Path, line: str) -> None:
    signed_only = desk.settings.model_copy(update={"human_acts": "signed"})
    desk.monkeypatch.setattr("entrypoints.cli.common.settings", lambda: signed_only)
    for options in ("--as human:eve --yes", "--dry-run --as human:eve --yes"):
        spoken = desk.run_bare(*line.split(), *options.split(), "--json")
        assert (spoken.code, spoken.json["code"], desk.asked) == (1, "signature_required", [])
    assert desk.run_bare(*line.split(), "--key", str(key)).code == 0
    assert desk.asked[0][2].model_dump()["signed"]
