"""How tests act as people: no terminal is theirs, so that every unsigned act of a person says whose it is."""

from __future__ import annotations

import getpass
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from domain.actors import agent_marks
from entrypoints.cli import person

OF_PEOPLE = (
    *(("approve",), ("override",), ("reject",), ("return",), ("unblock",)),
    *(("todo", act) for act in ("note", "edit", "delete", "reorder", "subtask")),
)
SIGNED = {"--key", "--signature", "--print-statement", "--print-signature"}
COUNTERSIGN = Path(sys.executable).parent / "countersign"

UNDER_AN_AGENT = any(agent_marks(environ) for environ in (os.environ, *person.ancestors()))
"""Whether an agent runs the tests: read before `tests/conftest.py` takes its marks away."""


def program() -> tuple[str, ...]:
    """The console script; where an agent runs the tests, the same with no look at the processes above it."""
    if not UNDER_AN_AGENT:
        return (str(COUNTERSIGN),)
    code = "from entrypoints.cli import app, person; person.ancestors = lambda: iter(()); app.main()"
    return (sys.executable, "-c", code)


def as_a_person(arguments: tuple[str, ...], environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """The command line with `--as human:NAME --yes` where it is a person's act that has no signature and no terminal.

    The name is the user's own, unless the line or the environment has another.
    """
    unsigned = not SIGNED & set(arguments) and not environ.get("COUNTERSIGN_SIGNING_KEY")
    creates = arguments[:2] == ("todo", "create") and "--as" in arguments  # which a worker does unless it is said
    if not unsigned or "--yes" in arguments:
        return arguments
    if not creates and not any(arguments[: len(act)] == act for act in OF_PEOPLE):
        return arguments
    named = "--as" in arguments or environ.get("COUNTERSIGN_ACTOR")
    return (*arguments, *(() if named else ("--as", f"human:{getpass.getuser()}")), "--yes")
