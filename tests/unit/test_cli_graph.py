"""`countersign graph`: a session's todos, what waits for what, whatever they are called and say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NoReturn
from xml.etree import ElementTree

import pytest

from adapters.config.settings import Settings
from entrypoints.cli import common
from entrypoints.cli.app import Commands
from entrypoints.cli.output import speak

SESSION = """
id: words
defaults: {workspace: work, base: base}
todos:
  - id: end
    content: 'Say "<b>", `end` & more'
    depends_on: [a-b]
  - id: a-b
    content: First
    subtasks:
      - {id: two, content: Second, depends_on: [one]}
      - {id: one, content: One}
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    def defect(code: int) -> NoReturn:
        raise AssertionError(f"a defect, which would have ended the process with {code}")

    monkeypatch.setattr("entrypoints.cli.output.os._exit", defect)
    monkeypatch.setattr("entrypoints.telemetry.log_errors", lambda: None)  # once a process, and this one is pytest's
    monkeypatch.setattr(common, "settings", lambda: Settings(project=tmp_path, state_dir=tmp_path / "state"))
    for folder in ("work", "base"):
        (tmp_path / folder).mkdir()
    made = tmp_path / "session.yaml"
    made.write_text(SESSION)
    return made


def ran(*arguments: str) -> int:
    """The exit code of `countersign graph ARGUMENTS`."""
    with pytest.raises(SystemExit) as ended:
        speak(lambda: Commands(name="countersign")(["graph", *arguments]))
    return int(ended.value.code or 0)


def test_a_sessions_todos_come_after_what_they_wait_for(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ran(str(file), "--json") == 0
    found = {one["name"]: one["needs"] for one in json.loads(capsys.readouterr().out)}
    assert list(found) == ["one", "two", "a-b", "end"]
    assert found == {"one": [], "two": ["one"], "a-b": ["two", "one"], "end": ["a-b"]}


def test_its_arrows_tell_parts_from_dependencies(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ran(str(file)) == 0
    drawn = capsys.readouterr().out.splitlines()
    assert {line.strip() for line in drawn if ">" in line and "[" not in line} == {
        "todo_one --> todo_two",
        "todo_one -.-> todo_a_b",
        "todo_two -.-> todo_a_b",
        "todo_a_b --> todo_end",
    }
    (said,) = (line.strip() for line in drawn if line.startswith("    todo_end["))
    assert said == 'todo_end["<b>end</b><br/>Say #quot;&lt;b&gt;#quot;, #96;end#96; &amp; more"]'


def test_the_picture_is_well_formed_whatever_todos_say(file: Path, tmp_path: Path) -> None:
    assert ran(str(file), "--format", "svg", "--output", str(tmp_path / "s.svg")) == 0
    root = ElementTree.fromstring((tmp_path / "s.svg").read_text())
    texts = [element.text for element in root.iter() if element.tag.endswith("text")]
    assert 'Say "<b>", `end` & more' in texts
    assert sum(element.get("stroke-dasharray") is not None for element in root.iter()) == 2


def test_what_is_wrong_with_a_session_is_told_as_for_any(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(SESSION.replace("[a-b]", "[nobody]"))
    assert ran(str(file)) == 2
    assert "session.yaml:7: todos[0].depends_on[0]: there is no todo 'nobody'" in capsys.readouterr().err
