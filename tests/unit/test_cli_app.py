"""The list of commands costs nothing, and says of each what the command itself says."""

from __future__ import annotations

import subprocess
import sys

import pytest

from entrypoints.cli.app import COMMANDS, app, loaded

SLOW = (
    "temporalio",
    "sqlalchemy",
    "alembic",
    "psycopg",
    "docker",
    "httpx",
    "dulwich",
    "structlog",
    "textual",
    "apprise",
    "pydantic_settings",
)
SLOW_FOR_THE_HOST = (*SLOW, "pydantic", "rich", "typer", "asyncio")

HELP = """
import os, sys
os._exit = sys.exit
sys.argv = ["countersign", "--help"]
from entrypoints.cli.app import main
try:
    main()
except SystemExit as end:
    assert end.code == 0
"""


def imported(program: str) -> set[str]:
    """The packages that are loaded once `program` has run."""
    told = "\nimport sys\nprint('loaded', *sys.modules, file=sys.stderr)"
    ended = subprocess.run([sys.executable, "-c", program + told], capture_output=True, text=True, check=True)
    _, *names = ended.stderr.splitlines()[-1].split()
    return {name.partition(".")[0] for name in names}


def test_help_imports_nothing_slow() -> None:
    found = imported(HELP)
    assert "typer" in found, "the program ran"
    assert found.isdisjoint(SLOW)


def test_the_host_imports_nothing_that_would_stay_in_memory_for_nothing() -> None:
    found = imported("import entrypoints.embedded")
    assert "psutil" in found
    assert found.isdisjoint(SLOW_FOR_THE_HOST)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_says_what_the_command_says(name: str) -> None:
    help_text = loaded(name).help
    assert help_text.split("\n\n")[0].replace("\n", " ").strip() == COMMANDS[name]


def test_every_command_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        app(["--help"])
    shown = capsys.readouterr().out
    assert all(f" {name} " in shown for name in COMMANDS)


def test_a_command_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        app(["verifi"])
    assert end.value.code == 2
    assert "verify" in capsys.readouterr().err, "what may have been meant"
