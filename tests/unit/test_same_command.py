"""Which command lines run the same thing, however they were typed, and which only look like it."""

from __future__ import annotations

import time

import pytest

from domain.claims.same_command import same_command


@pytest.mark.parametrize(
    ("claimed", "command", "exits"),
    [
        ("pytest -q", "pytest -q", True),
        ("python -m pytest -v tests", "pytest -q tests/", True),
        ("cd /repo && PYTHONPATH=src python3 -m pytest ./tests/", "pytest tests", True),
        ("PYTHONPATH=src .venv/bin/pytest --tb short -n auto -p no:cacheprovider", "py.test", True),
        ("uv run pytest b a", "python3.11 -m pytest a b", True),
        ("pytest tests 2>&1 | tail -5", "pytest tests", False),
        ("pytest; echo $?", "pytest", False),
        ("pytest || true", "pytest", False),
        ("go test -v ./...", "go test ./...", True),
        ("npx jest --verbose", "jest", True),
        ("python3 src/app.py 7", "python src/app.py 7", True),
        ("make   lint && make test", "make lint && make test", True),
        ("pytest -q | tail -3", "pytest -q | tail -3", True),
        ("pytest -k 'a or b'", 'pytest -k "a or b"', True),
    ],
)
def test_the_same_thing(claimed: str, command: str, exits: bool) -> None:
    run = same_command(claimed, command, ".")
    assert run
    assert run.exits is exits


@pytest.mark.parametrize(
    ("claimed", "command"),
    [
        ("pytest tests/unit", "pytest tests"),
        ("pytest -x", "pytest"),
        ("pytest -k fast", "pytest"),
        ("cd sub && pytest", "pytest"),
        ("grep -v after a.txt", "grep after a.txt"),
        ("python app.py a b", "python app.py b a"),
        ("pip install -e . && pytest", "pytest"),
        ("pytest > out.txt", "pytest"),
        ("pytest | python mend.py", "pytest"),
        ("pytest\n-q", "pytest"),
        ("pytest 'tests", "pytest tests"),
        ("./pytest/run.sh", "pytest"),
        ("", "pytest"),
    ],
)
def test_another_thing(claimed: str, command: str) -> None:
    assert same_command(claimed, command, ".") is None


def test_the_folder_counts_where_both_are_relative() -> None:
    assert same_command("pytest", "pytest -q", "sub") is None
    assert same_command("cd sub && pytest", "pytest -q", "sub")
    assert same_command("cd ./sub/ && pytest", "cd sub && pytest -q", ".")
    assert same_command("cd /repo/sub && pytest", "pytest -q", "sub")


@pytest.mark.parametrize("part", ['"', "'a ", "\\", "cd a;", "a=b ", "| tail "])
def test_a_hostile_command_is_looked_at_in_no_time(part: str) -> None:
    began = time.process_time()
    for length in (3999, 2**20):
        assert same_command((part * length)[:length], "pytest", ".") is None
    assert time.process_time() - began < 2
