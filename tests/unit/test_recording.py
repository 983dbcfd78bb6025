"""What the recorder writes is read back and cut out; what it does not write is no record."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

import pytest

from adapters.checkers.recording import LARGEST, Job, recorded, with_recorder
from domain.checks import Observation
from domain.command_criteria import CommandParams
from domain.mutation.edits import Edit

NONCE = "0123abcd"
DOCUMENT: dict[str, Any] = {
    "tests": [["t.py::a", "p", 3], ["t.py::b", "f", 4]],
    "reasons": {"t.py::b": "assert 0"},
    "uncollected": {},
    "left_out": {},
    "deselected": [],
    "altered": [],
    "config": {"root": ".", "args": ["."]},
    "status": 1,
}


def line(kind: str, data: bytes = b"", nonce: str = NONCE) -> str:
    return f"\x1ecountersign:{nonce}:{kind}:{base64.b64encode(data).decode()}\x1e"


def ended(**changed: Any) -> str:
    return line("ended", zlib.compress(json.dumps({**DOCUMENT, **changed}).encode()))


def seen(stdout: str) -> Any:
    return recorded(Observation(exit_code=0, stdout=stdout), NONCE)


def test_a_record_is_read_and_cut_out() -> None:
    found = seen(f"{line('began')}one\ntw{ended()}o\n")
    assert found.observation.stdout == "one\ntwo\n"
    assert [(name, ran.state, ran.ms) for name, ran in found.run.tests.items()] == [
        ("t.py::a", "passed", 3),
        ("t.py::b", "failed", 4),
    ]
    assert found.run.reasons == {"t.py::b": "assert 0"}


def test_ids_are_from_the_trees_root() -> None:
    found = seen(line("began") + ended(config={"root": "sub/deep", "args": ["sub"]}))
    assert list(found.run.tests) == ["sub/deep/t.py::a", "sub/deep/t.py::b"]


def test_two_processes_are_one_run() -> None:
    other = ended(tests=[["t.py::a", "e", 1]])
    assert seen(line("began") + ended() + line("began") + other).run.tests["t.py::a"].state == "error"
    assert seen(line("began") + ended() + line("began")).run is None, "one of them never ended"


NO_RECORDS = {
    "nothing": "",
    "no end": line("began"),
    "no beginning": ended(),
    "two ends": line("began") + ended() + ended(),
    "another nonce": line("began") + line("ended", zlib.compress(json.dumps(DOCUMENT).encode()), "other"),
    "no base64": f"{line('began')}\x1ecountersign:{NONCE}:ended:A\x1e",
    "not compressed": line("began") + line("ended", b"{}"),
    "no document": line("began") + line("ended", zlib.compress(b"[]")),
    "a state that there is not": line("began") + ended(tests=[["t.py::a", "q", 1]]),
    "a session that never finished": line("began") + ended(status=-1),
    "a bomb": line("began") + line("ended", zlib.compress(json.dumps(DOCUMENT).encode() + b" " * LARGEST)),
}


@pytest.mark.parametrize("stdout", NO_RECORDS.values(), ids=NO_RECORDS)
def test_what_is_no_record(stdout: str) -> None:
    assert seen(stdout).run is None


def test_what_cannot_be_stored_is_made_storable() -> None:
    found = seen(line("began") + ended(reasons={"t.py::b": "\ud800"}, tests=[["t.py::\udfff", "p", 1]]))
    found.model_dump_json()
    assert found.run.model_dump_json()


ASSIGNED = {
    "PYTHONPATH=src pytest": 'PYTHONPATH="$COUNTERSIGN_PLACE":src pytest',
    "cd a && PYTEST_ADDOPTS='-x -q' pytest": "cd a && PYTEST_ADDOPTS=\"-p m \"'-x -q' pytest",
    "env PYTHONPATH=a:b pytest": 'env PYTHONPATH="$COUNTERSIGN_PLACE":a:b pytest',
    "MYPYTHONPATH=a pytest -k PYTHONPATH": "MYPYTHONPATH=a pytest -k PYTHONPATH",
}


@pytest.mark.parametrize(("command", "expected"), ASSIGNED.items())
def test_what_the_command_assigns_comes_second(command: str, expected: str) -> None:
    assert with_recorder(CommandParams(command=command), Job(nonce=NONCE, name="m")).command.endswith(f"\n{expected}")


def test_a_job_travels_in_variables_that_a_program_can_be_started_with() -> None:
    files = {f"tests/test_{n}.py": f"{n * 7919:064x}"[::-1] for n in range(8000)}
    edits = {name: (Edit(start=n, end=n + 1, text=str(n)),) for n, name in enumerate(files)}
    told = with_recorder(
        CommandParams(command="pytest", cwd="a/b"), Job(nonce=NONCE, name="m", files=files, edits=edits)
    )
    assert max(map(len, told.env.values())) <= 96 * 1024
    assert sum(map(len, told.env.values())) < 1024 * 1024
    assert "COUNTERSIGN_ROOT=$(cd ../.. && pwd -P)" in told.command
