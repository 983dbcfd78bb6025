"""The few lines of Python in docs/trail-export.md, run as they stand there on exports that are in order and are not."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from adapters.trail.export import check_export
from tests.unit.test_trail_export import B, Export, recut

PAGE = Path(__file__).resolve().parents[2] / "docs" / "trail-export.md"
LINES = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)[0]


@pytest.fixture
def export(tmp_path: Path) -> Export:
    return Export(tmp_path)


def run(export: Export, *more: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-I", "-S", "-c", LINES, export.file, *more], capture_output=True, text=True, check=False
    )


def test_they_are_few() -> None:
    assert len(LINES.splitlines()) <= 25


def test_what_is_in_order_is_said_to_be(export: Export) -> None:
    for more in ((), (export.heads,)):
        result = run(export, *more)
        assert (result.returncode, result.stdout) == (0, "9 rows, 2 sessions, in order\n"), result.stderr


def test_one_session_is_held_against_all_heads(tmp_path: Path) -> None:
    export = Export(tmp_path, B, session="b")
    assert run(export, export.heads).stdout == "3 rows, 1 sessions, in order\n"


def swap(lines: list[bytes]) -> None:
    lines[3], lines[4] = lines[4], lines[3]


def edit(lines: list[bytes]) -> None:
    lines[3] = lines[3].replace(b'"attempt":0', b'"attempt":1')


CHANGES: list[tuple[Callable[[list[bytes]], object], str]] = [
    (edit, "line 4: edited"),
    (swap, "line 4: a row is missing or new"),
    (lambda lines: lines.pop(3), "line 4: a row is missing or new"),
    (lambda lines: lines.insert(3, lines[3]), "line 5: a row is missing or new"),
    (lambda lines: lines.pop(), "the end was cut off"),
]


@pytest.mark.parametrize(("change", "told"), CHANGES, ids=["edit", "swap", "removal", "insertion", "cut"])
def test_what_is_not_is_named_by_both(export: Export, change: Callable[[list[bytes]], object], told: str) -> None:
    lines = export.lines
    change(lines)
    export.write(lines)
    result = run(export)
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1] == f"AssertionError: {told}"
    assert check_export(export.file).faults


def test_a_cut_tail_with_its_header_repaired_is_named_with_the_heads(export: Export) -> None:
    recut(export, 2)
    assert run(export).returncode == 0
    assert "rows that the heads name are missing: [('b', 3)]" in run(export, export.heads).stderr


def test_another_row_than_that_of_the_heads_is_named(export: Export) -> None:
    heads = [json.loads(line) for line in export.heads.read_text().splitlines()]
    heads[4]["hash"] = "f" * 64
    export.heads.write_text("".join(json.dumps(head) + "\n" for head in heads))
    assert "line 6: not the row of the heads" in run(export, export.heads).stderr
