"""Which environments are an agent's, and how a person is established at a terminal or without one."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from domain.actors import AGENT_MARKS, agent_marks
from domain.errors import Malformed, Refused
from entrypoints.cli import person

EXAMPLES = [
    *("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "CODEX_SANDBOX", "CODEX_THREAD_ID", "CODEX_CI"),
    *("CURSOR_AGENT", "CURSOR_TRACE_ID", "GEMINI_CLI", "AIDER_MODEL", "CI_AGENT", "AI_AGENT", "OPENCODE", "QWEN_CODE"),
    *("CLINE_ACTIVE", "COPILOT_CLI", "COPILOT_AGENT_SESSION_ID", "GOOSE_TERMINAL", "COUNTERSIGN_BRIEF"),
]


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user, and no other name for them."""
    monkeypatch.delenv("COUNTERSIGN_ACTOR", raising=False)
    monkeypatch.setattr("getpass.getuser", lambda: "ann")


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    """An interactive terminal: what is written into it is read."""
    made = Terminal()
    monkeypatch.setattr(sys, "stdin", made)
    monkeypatch.setattr(person, "at_a_terminal", lambda: True)
    yield made


def types(terminal: Terminal, text: str) -> None:
    terminal.write(text)
    terminal.seek(0)


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("value", ["1", ""])
def test_what_agents_set_marks_whatever_its_value(name: str, value: str) -> None:
    assert agent_marks({"PATH": "/bin", name: value}) == (name,)


@pytest.mark.parametrize("pattern", AGENT_MARKS)
def test_every_pattern_marks(pattern: str) -> None:
    assert agent_marks({pattern.replace("*", "X"): "1"})


@pytest.mark.parametrize(
    "name",
    [
        *("PATH", "SSH_AGENT_PID", "GPG_AGENT_INFO", "CLAUDECODEX", "CODEX", "MY_CODEX_X", "claudecode", "CI"),
        *("CODEX_HOME", "CODEX_API_KEY", "CURSOR_API_KEY", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_MAX_OUTPUT_TOKENS"),
    ],
)
def test_what_people_set_marks_nothing(name: str) -> None:
    assert agent_marks({name: "1"}) == ()


def test_further_patterns_mark_too_and_no_exception_takes_them_back() -> None:
    environ = {"MY_AGENT_ID": "1", "CODEX_HOME": "/x", "GEMINI_CLI": "1"}
    assert agent_marks(environ, ("MY_AGENT_*", "CODEX_HOME")) == ("CODEX_HOME", "GEMINI_CLI", "MY_AGENT_ID")


@pytest.mark.parametrize(
    ("value", "marked"), [("worker:bot@s", True), ("worker", True), ("human:ann", False), ("workers-of:x", False)]
)
def test_the_actor_variable_marks_where_it_names_a_worker(value: str, marked: bool) -> None:
    assert bool(agent_marks({"COUNTERSIGN_ACTOR": value})) is marked


def test_a_person_types_the_name_or_its_last_part(typed: Terminal) -> None:
    for text in ("release-7/wo-login\n", "wo-login\n", "  wo-login \n"):
        typed.seek(0), typed.truncate()
        types(typed, text)
        who = person.establish("release-7/wo-login", None, False, what="approve release-7/wo-login")
        assert (str(who.actor), who.session, who.established) == ("unattributed:ann", "", "terminal")


@pytest.mark.parametrize("text", ["wo-logi\n", "release-7\n", "y\n", "\n", ""])
def test_another_text_is_no_confirmation(typed: Terminal, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    types(typed, text)
    with pytest.raises(Refused) as caught:
        person.establish("release-7/wo-login", None, True, what="approve release-7/wo-login")
    assert caught.value.code == "not_confirmed"
    assert "expected release-7/wo-login" in caught.value.reason
    told = capsys.readouterr()
    assert told.err == "to approve release-7/wo-login, type release-7/wo-login or wo-login: "
    assert told.out == ""


def test_a_name_at_a_terminal_is_typed_for_all_the_same(typed: Terminal) -> None:
    types(typed, "a\n")
    who = person.establish("one/a", "human:eve", False, what="approve one/a")
    assert (str(who.actor), who.established) == ("unattributed:eve", "terminal")


def test_nothing_is_typed_where_nothing_is_asked_for(typed: Terminal) -> None:
    assert person.establish("", None, False, what="pin it").established == "terminal"


def test_without_a_terminal_both_options_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(person, "at_a_terminal", lambda: False)
    who = person.establish("one/a", "human:eve", True, what="approve one/a")
    assert (str(who.actor), who.established) == ("unattributed:eve", "said")
    for said, yes in ((None, False), (None, True), ("human:eve", False)):
        with pytest.raises(Refused) as caught:
            person.establish("one/a", said, yes, what="approve one/a")
        assert caught.value.code == "not_a_person"
        assert "--as human:NAME --yes" in caught.value.next_step


def test_a_worker_and_nonsense_are_no_person(typed: Terminal) -> None:
    types(typed, "a\n")
    with pytest.raises(Refused, match="forbidden"):
        person.establish("one/a", "worker:bot", True, what="approve one/a")
    with pytest.raises(Malformed):
        person.establish("one/a", "system:x", True, what="approve one/a")


@pytest.mark.parametrize("said", [None, "human:ann", "worker:bot"])
def test_an_agent_is_no_person_whatever_it_says(
    typed: Terminal, monkeypatch: pytest.MonkeyPatch, said: str | None
) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    types(typed, "a\n")
    with pytest.raises(Refused, match=r"CLAUDECODE.*forbidden"):
        person.establish("one/a", said, True, what="approve one/a")
    with pytest.raises(Refused, match=r"CLAUDECODE.*forbidden"):
        person.present(said, what="stop one")


def test_a_mark_of_a_process_above_counts_as_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(person, "ancestors", lambda: iter(({"PATH": "/"}, {"GEMINI_CLI": "1"}, {"CODEX_CI": "1"})))
    assert person.marks() == ("GEMINI_CLI", "CODEX_CI")
    with pytest.raises(Refused, match="GEMINI_CLI, CODEX_CI in the environment"):
        person.present(None, what="approve one/a")


def test_who_is_present_is_at_a_terminal_unless_another_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for terminal, said, wanted in ((True, None, "terminal"), (True, "human:eve", "said"), (False, None, "said")):
        monkeypatch.setattr(person, "at_a_terminal", lambda terminal=terminal: terminal)
        assert person.present(said, what="stop one").established == wanted
    with pytest.raises(Refused, match="forbidden"):
        person.present("worker:bot", what="stop one")


def test_the_processes_above_are_read_as_they_began(tmp_path: Path) -> None:
    """`env -u MARK` takes the variable from the command itself, and from nobody above it."""
    inner = tmp_path / "inner.py"
    inner.write_text(
        textwrap.dedent(
            """
            import os, time
            from entrypoints.cli import common, person
            common.settings()
            began = time.perf_counter()
            found = person.marks()
            print(os.environ.get("GEMINI_CLI"), ",".join(found), time.perf_counter() - began)
            """
        )
    )
    line = f"env -u GEMINI_CLI -u CODEX_CI {sys.executable} {inner}; true"
    root = Path(person.__file__).parents[2]
    environ = {**os.environ, "GEMINI_CLI": "1", "CODEX_CI": "x y)", "PYTHONPATH": str(root)}
    told = subprocess.run(["/bin/sh", "-c", line], env=environ, capture_output=True, text=True, check=True)
    own, found, seconds = told.stdout.split()
    assert (own, set(found.split(",")) >= {"GEMINI_CLI", "CODEX_CI"}) == ("None", True)
    assert float(seconds) < 0.05


def test_what_cannot_be_read_above_is_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(person, "PROC", tmp_path)
    assert list(person.environments_from(7)) == []
    above = tmp_path / "7"
    above.mkdir()
    (above / "stat").write_text("7 (a ) 9 b) S 41 7 7 0")
    (tmp_path / "41").mkdir()
    (tmp_path / "41" / "stat").write_text("41 (x) S 0 41")
    (tmp_path / "41" / "environ").write_bytes(b"A=1\0NOT\0B=x=y\0")
    assert list(person.environments_from(7)) == [{"A": "1", "B": "x=y"}]
