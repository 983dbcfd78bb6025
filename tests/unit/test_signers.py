"""Who may sign, as the configuration has it: read strictly, outside the workspace, and what follows for orders."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
import typer

from adapters.config.defaults import load_policy
from adapters.config.order_file import order_in
from adapters.config.session_file import load_session
from adapters.config.settings import load_settings
from adapters.config.signers import load_signers, signers_left
from adapters.config.worker_written import refuse_authority_within
from adapters.masking.known import KNOWN
from adapters.signatures import keygen as keygen_module
from domain.errors import Malformed
from domain.events import Actor
from domain.lifecycle import Command
from domain.requests import AddNote, Approve, Refusal
from domain.session import Session
from domain.sessions import SessionStep, opened
from domain.signatures import Signers
from domain.signing import About, read
from domain.status import SessionStatus
from entrypoints import signing
from entrypoints.cli import common, doctor
from entrypoints.cli.finding import Finding
from entrypoints.planning import Written, joining_at, new_session, plan
from tests.fakes.evidence import MemoryStore
from tests.signing import Key, make_key

ANN = Actor(role="unattributed", identity="ann")
ABOUT = About("s1", "t1", 2, "e" * 64, "f" * 64)
ORDER = "content: Do it\nbase: base\n"


@pytest.fixture(autouse=True)
def no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("COUNTERSIGN_SIGNERS_FILE", "COUNTERSIGN_PROJECT"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "work").mkdir(parents=True)
    (folder / "base").mkdir()
    return folder


@pytest.fixture
def key(tmp_path: Path) -> Key:
    return make_key(tmp_path, "key")


def configured(project: Path, table: str, allowed: str | None = None) -> Signers | None:
    (project / "countersign.toml").write_text(table)
    if allowed is not None:
        (project / "allowed_signers").write_text(allowed)
    return load_signers(load_settings(project))


def problems(project: Path, table: str, allowed: str | None = None) -> list[str]:
    with pytest.raises(Malformed) as caught:
        configured(project, table, allowed)
    return str(caught.value).replace(f"{project}/", "").splitlines()


def test_people_with_their_roles(project: Path, key: Key) -> None:
    table = """
[signers]
file = "allowed_signers"
[signers.roles]
"ann@example.org" = "owner"
[signers.acts]
override = "reviewer"
"""
    allowed = "# people\n\n" + key.line("ann@example.org") + key.line("*@example.com", "cert-authority")
    found = configured(project, table, allowed)
    lines = key.line("ann@example.org") + key.line("*@example.com", "cert-authority")
    assert found == Signers(allowed=lines, roles={"ann@example.org": "owner"}, acts={"override": "reviewer"})


def test_nobody(project: Path) -> None:
    assert load_signers(load_settings(project)) is None
    assert configured(project, "[limits]\nmax_files = 3\n") is None


def test_what_is_read_is_what_is_there_now(project: Path, key: Key) -> None:
    (project / "countersign.toml").write_text('[signers]\nfile = "allowed_signers"\n')
    settings = load_settings(project)
    (project / "allowed_signers").write_text(key.line("ann@example.org"))
    assert load_signers(settings) == Signers(allowed=key.line("ann@example.org"))
    (project / "allowed_signers").write_text(key.line("bob@example.org"))
    assert load_signers(settings) == Signers(allowed=key.line("bob@example.org"))
    (project / "countersign.toml").unlink()
    assert signers_left(settings) is None


def test_who_is_left_is_by_the_lines_alone(project: Path, key: Key) -> None:
    """A session that began with more goes on: what is no way to begin one is a way to take people out."""
    toml, allowed = project / "countersign.toml", project / "allowed_signers"
    toml.write_text('[signers]\nfile = "allowed_signers"\n[signers.roles]\n"ann@example.org" = "owner"\n')
    settings = load_settings(project)
    for text in (key.line("ann@example.org"), key.line("bob@example.org"), "# nobody\n"):
        allowed.write_text(text)
        assert signers_left(settings) == Signers(allowed="" if text.startswith("#") else text)
    allowed.write_text("ann\n")
    with pytest.raises(Malformed, match="is no line of an allowed signers file"):
        signers_left(settings)
    toml.unlink()
    assert signers_left(settings) is None


def test_the_variable_names_them_where_no_file_does(project: Path, key: Key, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "others").write_text(key.line("bob@example.org"))
    monkeypatch.setenv("COUNTERSIGN_SIGNERS_FILE", str(project / "others"))
    assert configured(project, "") == Signers(allowed=key.line("bob@example.org"))
    assert configured(project, '[signers]\nfile = "others"\n') == Signers(allowed=key.line("bob@example.org"))
    with pytest.raises(Malformed, match=r"COUNTERSIGN_SIGNERS_FILE: .* is not the file that .*countersign.toml names"):
        configured(project, '[signers]\nfile = "allowed_signers"\n', key.line("ann@example.org"))


def test_what_is_wrong_is_told_with_its_line(project: Path, key: Key) -> None:
    named = '[signers]\nfile = "allowed_signers"\n'
    ann = key.line("ann@example.org")
    assert problems(project, named) == [
        "allowed_signers:1: file: does not exist, expected a file with an OpenSSH allowed signers file"
    ]
    expected = "expected a line such as: ann@example.org ssh-ed25519 AAAA..."
    assert problems(project, named, "# nobody\n") == [f"allowed_signers:1: file: names nobody, {expected}"]
    (first, second) = problems(project, named, f"ann\n{ann}*@example.org {key.public}\n")
    assert first.startswith("allowed_signers:1: line: is no line of an allowed signers file, expected PRINCIPAL")
    assert second.startswith("allowed_signers:3: line: '*@example.org' names nobody, expected principals in full")
    roles = f'{named}[signers.roles]\n"bob@example.org" = "owner"\n[signers.acts]\nlaunch = "owner"\nclaim = "owner"\n'
    told = problems(project, roles, ann)
    assert [line.split(", expected")[0] for line in told] == [
        "countersign.toml:4: signers.roles['bob@example.org']: 'bob@example.org' is nobody in the allowed signers file",
        "countersign.toml:6: signers.acts.launch: 'launch' is no act",
        "countersign.toml:7: signers.acts.claim: 'claim' is no act",
    ]
    (told_role,) = problems(project, f'{named}[signers.roles]\n"ann@example.org" = "boss"\n', ann)
    assert told_role.startswith("countersign.toml:4: signers.roles")
    (told_file,) = problems(project, '[signers.acts]\noverride = "owner"\n')
    assert told_file == "countersign.toml:1: signers: names no file, expected file = PATH in it"


@pytest.mark.parametrize("place", ["table", "file", "link", "variable"])
def test_a_worker_cannot_choose_who_may_sign(
    project: Path, key: Key, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    inside = project / "work" / "allowed"
    inside.write_text(key.line("ann@example.org"))
    (project / "outside").write_text(key.line("ann@example.org"))
    named = {"table": "outside", "file": "work/allowed", "link": "link"}.get(place)
    if place == "link":
        (project / "link").symlink_to(inside)
    if named:
        (project / "countersign.toml").write_text(f'[signers]\nfile = "{named}"\n')
    else:
        monkeypatch.setenv("COUNTERSIGN_SIGNERS_FILE", str(inside))
    settings = load_settings(project)
    assert load_signers(settings) is not None
    workspace = project if place == "table" else project / "work"
    with pytest.raises(Malformed) as caught:
        refuse_authority_within(settings, workspace)
    assert caught.value.problems[0].field in ("signers", "signers.file")
    refuse_authority_within(settings, project / "base")


@pytest.mark.parametrize(
    ("file", "order", "signatures"),
    [
        ("", "", "required"),
        ("", "override_policy: {signatures: optional}\n", "optional"),
        ("", "override_policy: {signatures: off}\n", "off"),
        ("", "override_policy: {direct_approval_allowed: true}\n", "required"),
        ("[override_policy]\nsignatures = 'optional'\n", "", "optional"),
        ("[override_policy]\nsignatures = 'off'\n", "override_policy: {signatures: required}\n", "required"),
    ],
)
def test_where_people_can_sign_they_have_to_unless_somebody_says_otherwise(
    project: Path, key: Key, file: str, order: str, signatures: str
) -> None:
    order = order.replace(": off}", ": 'off'}")
    for signers, expected in ((True, signatures), (False, signatures if "signatures" in file + order else "optional")):
        table = '[signers]\nfile = "allowed_signers"\n' if signers else ""
        configured(project, table + file, key.line("ann@example.org"))
        policy = load_policy(load_settings(project))
        read_order = order_in(f"{ORDER}workspace: work\n{order}", project / "order.yaml", policy)
        assert read_order.override_policy.signatures == expected


@pytest.mark.parametrize(("signers", "signatures"), [("", "optional"), ("a digest", "required")])
def test_a_todo_that_joins_a_session_has_to_be_signed_only_where_somebody_can(
    project: Path, key: Key, signers: str, signatures: str
) -> None:
    configured(project, '[signers]\nfile = "allowed_signers"\n', key.line("ann@example.org"))
    moment = datetime(2026, 1, 15, tzinfo=UTC)
    session = Session(
        id="s", host="h", created_by=Actor(role="unattributed"), created_at=moment, deadline=moment, signers=signers
    )
    joining, person = joining_at(session, ""), Actor(role="unattributed", identity="ann")
    todo = f"content: x\nworkspace: {project}/work\nbase: {project}/base\n"
    planned = plan(Written(todo, "x"), None, joining, person, load_settings(project))
    assert not isinstance(planned, Refusal)
    assert planned[0].order.override_policy.signatures == signatures


@pytest.mark.parametrize("asked", ["off", "optional"])
def test_the_floor_holds_for_signatures(project: Path, key: Key, asked: str) -> None:
    table = "[signers]\nfile = 'allowed_signers'\n[policy_floor]\nsignatures = 'required'\n"
    configured(project, table, key.line("ann@example.org"))
    policy = load_policy(load_settings(project))
    with pytest.raises(Malformed, match="policy floor asks for required"):
        order_in(f"{ORDER}override_policy: {{signatures: '{asked}'}}\n", project / "order.yaml", policy)


def test_a_session_begins_with_who_may_sign_and_its_first_row_says_it(project: Path, key: Key) -> None:
    (project / "session.yaml").write_text(
        "id: s1\ndefaults: {base: base, workspace: work}\ntodos: [{id: t1, content: Do it}]\n"
    )
    store = MemoryStore()
    signers = configured(project, '[signers]\nfile = "allowed_signers"\n', key.line("ann@example.org"))
    settings = load_settings(project)
    assert signers
    asked = new_session(load_session(project / "session.yaml", settings), store, "store", ANN, settings)
    assert asked.session
    assert (asked.signers, Signers.model_validate_json(store.get(asked.session.signers))) == (signers, signers)
    step = opened(asked.session, ANN, (), asked.session.created_at, asked.signers)
    assert isinstance(step, SessionStep)
    assert step.session.status is SessionStatus.RUNNING
    payload = step.events[0].payload
    assert (payload["signers"], payload["signers_digest"]) == (signers.model_dump(mode="json"), asked.session.signers)
    (project / "countersign.toml").unlink()
    without = load_settings(project)
    plain = new_session(load_session(project / "session.yaml", without), store, "store", ANN, without)
    assert plain.session
    assert (plain.signers, plain.session.signers) == (None, "")
    (first,) = opened(plain.session, ANN, (), plain.session.created_at).events  # type: ignore[union-attr] # it begins
    assert "signers" not in first.payload


# --- signing --------------------------------------------------------------------------------------------------------


def test_what_is_signed_is_one_statement_that_is_read_back(key: Key) -> None:
    request = Approve(actor=ANN, reason="größer", expected_version=3, dry_run=True)
    signed = signing.sign(request, Command.APPROVE, ABOUT, key.file)
    assert signed.signed
    statement = read(signed.signed)
    assert (getattr(statement, "reason", ""), getattr(statement, "details", None)) == ("größer", {})
    assert signed.model_copy(update={"signed": None}) == request
    texts = {signing.statement_text(request, Command.APPROVE, ABOUT) for _ in range(3)}
    assert len(texts) == 3, "each has a nonce of its own"


@pytest.mark.parametrize("minutes", [0, -1, float("nan"), 7 * 24 * 60 + 1])
def test_for_how_long(minutes: float) -> None:
    with pytest.raises(Malformed, match="at most 10080"):
        signing.statement_text(Approve(actor=ANN), Command.APPROVE, ABOUT, minutes=minutes)


def test_what_the_trail_would_mask_is_not_signed() -> None:
    KNOWN.learn({"SIGNING_TEST_TOKEN": b"w7Yt4Mc1Qp9Zs3Vd"})
    with pytest.raises(Malformed, match="secret in it that the trail would mask"):
        signing.statement_text(Approve(actor=ANN, reason="it is w7Yt4Mc1Qp9Zs3Vd"), Command.APPROVE, ABOUT)


def test_what_is_too_long_is_not_signed() -> None:
    with pytest.raises(Malformed, match="at most 200000"):
        signing.statement_text(AddNote(actor=ANN, content='"' * 65_000, reason='"' * 65_000), Command.NOTE, ABOUT)


def test_files_that_were_signed_by_hand(tmp_path: Path, key: Key) -> None:
    text = signing.statement_text(Approve(actor=ANN), Command.APPROVE, ABOUT)
    signed = key.signs(text)
    (tmp_path / "s.json").write_text(text)
    (tmp_path / "s.json.sig").write_text(signed.signature)
    assert signing.envelope(tmp_path / "s.json", tmp_path / "s.json.sig") == signed
    (tmp_path / "s.json").write_text(f"{text}\n")
    with pytest.raises(Malformed, match="ends with a line end"):
        signing.envelope(tmp_path / "s.json", tmp_path / "s.json.sig")


def test_doctor_names_who_may_sign_and_what_is_wrong_with_that(
    project: Path, key: Key, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for one in ("_python", "_state_dir", "_database", "_evidence", "_temporal", "_images", "_workers"):
        monkeypatch.setattr(doctor, one, lambda: Finding("another", True, "is there"))
    for several in ("_sandbox", "_configuration", "models", "web", "notifications"):
        monkeypatch.setattr(doctor, several, lambda *_, **__: [])

    def told(table: str) -> str:
        configured(project, table, f"{key.line('ann@example.org')}{key.line('bob@example.org')}")
        monkeypatch.setattr(common, "settings", lambda: load_settings(project))
        doctor.doctor()
        return "\n".join(line for line in capsys.readouterr().out.splitlines() if "another" not in line)

    table = '[signers]\nfile = "allowed_signers"\n'
    assert told(table).split(maxsplit=2) == [
        "\N{CHECK MARK}",
        "signers",
        "ann@example.org, bob@example.org; owners: none",
    ]
    assert told(f'{table}[signers.roles]\n"bob@example.org" = "owner"\n').endswith("owners: bob@example.org")
    assert told("") == ""
    monkeypatch.setattr(keygen_module, "PROGRAM", "no-such-program")
    with pytest.raises(typer.Exit) as ended:
        told(table)
    assert ended.value.exit_code == common.EXIT_UNAVAILABLE
    assert "ssh-keygen is not there" in capsys.readouterr().out
