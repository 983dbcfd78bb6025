"""The command `countersign`: which commands there are. What a command needs is imported when it is given."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from adapters.masking.streams import mask_standard_streams
from entrypoints.cli.output import leave, speak
from entrypoints.imports import without_collecting

COMMANDS = {
    "init": "Write an order for a repository: the image, what to install, the test command, the commit to trust.",
    "doctor": "Look at everything that a verdict needs. Exit code 3 when something is missing.",
    "up": "Start this project's host, unless it runs: Temporal server, Web UI, worker.",
    "down": "End this project's host. Rounds that run are kept and go on at the next `up`.",
    "status": "Say what runs for this project, and where. Exit code 5 when nothing does.",
    "verify": "Verify a claim: run an order's checks and criteria on a frozen copy of the work, and decide.",
    "graph": "Draw what a round of an order does, and what waits for what.",
    "log": "The trail: who did what, and whether it is still what was written.",
    "evidence": "What an attempt left to look at.",
    "rejudge": "Judge a round once more on its stored evidence: row, report, record and decision must agree.",
}
"""Each with the first line of its help, as the command itself has it."""

ELSEWHERE = {"up": "host_commands", "down": "host_commands", "status": "host_commands"}
"""The modules of the commands that have none of their own name. A module with an `app` is a family of commands."""


BEGINS_FIRST = ("verify",)
"""Those that see to their logs themselves, after they have started what takes long."""


class Commands(TyperGroup):
    """A group whose list of commands costs nothing: a command is imported once it is named on the command line."""

    def __init__(self, **attributes: Any) -> None:
        listed = {name: TyperCommand(name, help=text) for name, text in COMMANDS.items()}
        super().__init__(commands=dict(listed), **attributes)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that `args` name, imported; from now on all logs go to stderr."""
        if args[0] in COMMANDS:
            if args[0] not in BEGINS_FIRST:
                without_collecting("entrypoints.telemetry").log_errors()
            self.commands[args[0]] = loaded(args[0])
        return super().resolve_command(ctx, args)


def loaded(name: str) -> Any:
    """The command of that name, ready to be run."""
    module = without_collecting(f"entrypoints.cli.{ELSEWHERE.get(name, name)}")
    family = getattr(module, "app", None)
    if family is not None:
        return typer.main.get_command(family)
    alone = typer.Typer(add_completion=False)
    alone.command(name)(getattr(module, name))
    return typer.main.get_command(alone)


app = Commands(
    name="countersign", help="Verifies work that autonomous agents claim to have done.", no_args_is_help=True
)


def main() -> None:
    """Run the command line."""
    mask_standard_streams()
    try:
        speak(app)
    except SystemExit as ended:
        leave(ended)
