"""`countersign log verify, export, rebuild`: what they print, and their exit codes, over a trail in memory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from domain.errors import Cause, Unavailable
from domain.read_model import Difference
from entrypoints.cli import common
from tests.fakes.trail import Memory, MemoryTrail
from tests.unit.test_cli_log import entry, memory, run, three

__all__ = ["memory", "three"]  # fixtures


def test_a_trail_in_order(three: Memory) -> None:
    result = run("verify")
    assert (result.exit_code, result.stdout) == (0, "3 rows, 2 sessions, 0 faults\n")
    assert json.loads(run("verify", "--json").stdout) == {
        **{"rows": 3, "sessions": 2, "faults": [], "unproven": []},
        **{"signatures": 0, "unchecked": 0},
    }


def test_a_fault_is_a_line_and_exit_code_1(three: Memory) -> None:
    three.rows["w", 1] = three.rows["w", 1].model_copy(update={"attempt": 7})
    result = run("verify")
    assert result.exit_code == 1
    assert result.stdout == (
        "local/2: row 2 is not the row that was written: its hash does not match its content\n"
        "3 rows, 2 sessions, 1 fault\n"
    )
    found = json.loads(run("verify", "--json").stdout)
    assert [(fault["session"], fault["sequence"]) for fault in found["faults"]] == [("local", 2)]
    assert run("verify", "--json").exit_code == 1


def test_an_unproven_tail_is_said_and_no_fault(three: Memory) -> None:
    three.recorded.pop()
    result = run("verify")
    assert result.exit_code == 0
    assert result.stdout == (
        "other: tail unproven: no head outside the database confirms its last row\n3 rows, 2 sessions, 0 faults\n"
    )


def test_a_session_cannot_forge_a_line_of_the_answer(memory: Memory) -> None:
    MemoryTrail(memory).append(entry(0, session="x\n9 rows, 1 session, 0 faults"))
    memory.recorded.clear()
    assert run("verify").stdout.count("\n") == 2


def exported(folder: Path) -> Path:
    file = folder / "out.jsonl"
    result = run("export", "--output", str(file))
    assert (result.exit_code, result.stdout) == (0, ""), result.stderr
    assert result.stderr == f"{file}: 3 rows, 2 sessions\n"
    return file


def test_an_export_is_written_and_checked_without_a_trail(
    three: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = exported(tmp_path)
    assert run("export").stdout.encode() == file.read_bytes()
    monkeypatch.delattr(common, "open_trail")
    for spelling in ([str(file)], ["--file", str(file)], [str(file), "--file", str(file)]):
        result = run("verify", *spelling)
        assert (result.exit_code, result.stdout) == (
            0,
            "tails unproven: no file of heads was given (--heads), so rows may be missing at every session's end\n"
            "3 rows, 2 sessions, 0 faults\n",
        )
    assert json.loads(run("verify", str(file), "--json").stdout) == {
        "rows": 3,
        "sessions": 2,
        "faults": [],
        "unproven": ["local", "other"],
        "signatures": 0,
        "unchecked": 0,
    }
    assert list(tmp_path.iterdir()) == [file], "nothing is left beside it"


def test_an_export_that_was_changed_is_exit_code_1(three: Memory, tmp_path: Path) -> None:
    file = exported(tmp_path)
    file.write_bytes(file.read_bytes().replace(b'"attempt":2', b'"attempt":3'))
    result = run("verify", str(file))
    assert result.exit_code == 1
    assert result.stdout.splitlines()[0] == (
        "local/2: row 2 is not the row that was written: its hash does not match its content"
    )


def test_heads_prove_an_export(three: Memory, tmp_path: Path) -> None:
    file, heads = exported(tmp_path), tmp_path / "heads.jsonl"
    heads.write_text("".join(head.model_dump_json() + "\n" for head in three.recorded))
    result = run("verify", str(file), "--heads", str(heads))
    assert (result.exit_code, result.stdout) == (0, "3 rows, 2 sessions, 0 faults\n")
    assert run("export", "--session", "local", "--output", str(file)).exit_code == 0
    assert run("verify", str(file), "--heads", str(heads)).stdout == "2 rows, 1 session, 0 faults\n"


def test_the_header_as_json(three: Memory, tmp_path: Path) -> None:
    file = tmp_path / "out.jsonl"
    told = json.loads(run("export", "--output", str(file), "--json").stdout)
    assert told == {"file": str(file), **json.loads(file.read_bytes().splitlines()[0])}


def test_an_export_of_nothing(memory: Memory) -> None:
    assert json.loads(run("export").stdout)["rows"] == 0
    result = run("export", "--session", "none\n")
    assert (result.exit_code, result.stderr) == (common.EXIT_NOT_FOUND, "the trail has nothing of 'none\\n'\n")


def test_a_file_that_cannot_be_written_is_no_export(three: Memory, tmp_path: Path) -> None:
    result = run("export", "--output", str(tmp_path / "no" / "out.jsonl"))
    assert isinstance(result.exception, Unavailable)
    assert "cannot be written" in result.exception.reason


def test_an_export_that_fails_leaves_what_was_there(three: Memory, tmp_path: Path) -> None:
    file = exported(tmp_path)
    before = file.read_bytes()
    three.trouble = Unavailable(Cause.STORE_UNAVAILABLE, "gone", "wait")
    assert run("export", "--output", str(file)).exception is three.trouble
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    "arguments",
    [["none.jsonl"], ["--file", "none.jsonl"], ["--heads", "h"], [".", "--heads", "h"], ["a", "--file", "b"]],
    ids=str,
)
def test_verify_of_nonsense_is_a_mistake(three: Memory, arguments: list[str]) -> None:
    assert run("verify", *arguments).exit_code == common.EXIT_MALFORMED


TODO = {"session": "local", "todo": "x", "status": "claimed", "title": "a b"}
DIFFERENCES = (
    Difference(table="todos", key=("local", "x"), stored=TODO, derived={**TODO, "status": "verified"}),
    Difference(table="rounds", key=("local", "x", 1), stored=None, derived={"session": "local"}),
    Difference(table="sessions", key=("a\nb",), stored={"session": "a\nb"}, derived=None),
)


@pytest.mark.parametrize("found", [(), DIFFERENCES], ids=["same", "different"])
@pytest.mark.parametrize("check", [True, False], ids=["check", "repair"])
def test_rebuild_tells_each_difference(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, found: tuple[Difference, ...], check: bool
) -> None:
    asked: list[bool] = []

    def rebuild(self: MemoryTrail, repair: bool = True) -> tuple[Difference, ...]:
        asked.append(repair)
        return found

    monkeypatch.setattr(MemoryTrail, "rebuild", rebuild, raising=False)
    arguments = ["--check"] if check else []
    result = run("rebuild", *arguments)
    assert result.exit_code == (1 if check and found else 0)
    told = [
        "todos local/x: status=claimed -> verified",
        "rounds local/x/1: missing",
        "sessions 'a\\nb': not in the trail",
    ]
    count = f"{len(found)} differences" + (", repaired" if found and not check else "")
    assert result.stdout.splitlines() == [*(told if found else []), count]
    as_json = json.loads(run("rebuild", *arguments, "--json").stdout)
    assert as_json["repaired"] is (bool(found) and not check)
    assert [each["table"] for each in as_json["differences"]] == [each.table for each in found]
    assert asked == [not check, not check]
