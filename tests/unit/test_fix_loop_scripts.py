"""examples/fix_loop: the scripts do to the worker's file what their first lines say, and the orders are read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from adapters.config.order_file import load_order
from adapters.config.session_file import load_session
from adapters.config.settings import Settings
from adapters.roles.script import Turn, read_script

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "fix_loop"
WRONG = (EXAMPLE / "worker" / "src" / "solution.py").read_text()
SCRIPTS = ("roles.yaml", "three_loops.yaml", "never.yaml", "could_not_apply.yaml", "refused.yaml")
FORM = re.compile(r"APPLIED:1|COULD_NOT_APPLY: \S.*")


def turns(name: str) -> list[Turn]:
    return read_script(EXAMPLE / name).turns


def edits(name: str) -> list[dict[str, Any]]:
    return [use.arguments for turn in turns(name) for use in turn.uses if use.name == "Edit"]


def repaired(name: str, text: str) -> tuple[str, int]:
    """The file after one pass, and how many edits of it counted."""
    counted = 0
    for edit in edits(name):
        if edit["path"] == "src/solution.py" and text.count(edit["old"]) == 1:
            text, counted = text.replace(edit["old"], edit["new"]), counted + 1
    return text, counted


def is_prime_of_0(text: str) -> Any:
    """What the function comes to."""
    names: dict[str, Any] = {}
    exec(compile(text, "solution.py", "exec"), names)
    try:
        return names["is_prime"](0)
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize("name", SCRIPTS)
def test_only_the_fix_builder_has_lines_and_its_answers_have_its_form(name: str) -> None:
    assert {(turn.role, turn.stage) for turn in turns(name)} == {("fix_builder", "fix")}
    answers = [turn.answer for turn in turns(name) if turn.answer]
    assert len(answers) == 1
    assert FORM.fullmatch(str(answers[0]["result"]))


def test_the_worker_is_wrong_about_0() -> None:
    assert is_prime_of_0(WRONG) == "Input must be positive"


@pytest.mark.parametrize(
    ("name", "comes_to"),
    [
        ("roles.yaml", [False]),
        ("refused.yaml", [False]),
        ("three_loops.yaml", [None, True, False]),
        ("never.yaml", [None, "no", True]),
    ],
)
def test_each_pass_has_one_edit_that_counts(name: str, comes_to: list[Any]) -> None:
    text = WRONG
    for expected in comes_to:
        text, counted = repaired(name, text)
        assert counted == 1
        assert repr(is_prime_of_0(text)) == repr(expected)
    assert is_prime_of_0((EXAMPLE / "worker" / "src" / "solution.py").read_text()) == "Input must be positive"


def test_what_is_tried_before_is_there_to_be_tried() -> None:
    refused = [edit for edit in edits("refused.yaml") if edit["path"] != "src/solution.py"]
    there = {edit["path"]: EXAMPLE / "worker" / edit["path"] for edit in refused}
    assert {path for path, file in there.items() if not file.exists()} == {"src/edge_cases.py"}
    for edit in refused:
        if there[edit["path"]].exists():
            assert there[edit["path"]].read_text().count(edit["old"]) == 1
    tools = {use.name for turn in turns("refused.yaml") for use in turn.uses}
    assert tools == {"Edit", "Write", "Bash"}


def test_the_order_and_the_session_have_the_loop(tmp_path: Path) -> None:
    order = load_order(EXAMPLE / "order.yaml")
    settings = Settings(project=tmp_path, state_dir=tmp_path / "state")
    (todo,) = load_session(EXAMPLE / "session.yaml", settings).todos
    for one in (order, todo.order):
        assert one.fix_loop.enabled
        assert one.domain == "refactor"
        assert not one.verification.asks_auditor
