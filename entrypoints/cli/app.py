"""The command `countersign`: which commands there are. What a command needs is imported when it is given."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from adapters.masking.streams import mask_standard_streams
from entrypoints.cli.output import speak
from entrypoints.imports import without_collecting
from entrypoints.leaving import EXIT_UNSAID, leave

COMMANDS = {
    "init": "Write an order for a repository: the image, what to install, the test command, the commit to trust.",
    "trust": "Trust an order as it is now: its text, the files beside it that it names, its base and its workspace.",
    "doctor": "Look at everything that a verdict needs. Exit code 3 when something is missing.",
    "up": "Start this project's host, unless it runs: Temporal server, Web UI, worker.",
    "down": "End this project's host. Rounds that run are kept and go on at the next `up`.",
    "status": "Say what runs for this project, and where. Exit code 5 when nothing does.",
    "verify": "Verify a claim: run an order's checks and criteria on a frozen copy of the work, and decide.",
    "run": "Run a session: its worker commands do the work, every claim is verified, until a human is needed or all "
    "is done.",
    "session": "Sessions: todos that belong together, and what may go on in them.",
    "todo": "Todos: what agents claim, and what people change.",
    "inbox": "List what waits for a human, the oldest first, and what to do about each.",
    "review": "Review a todo on one screen: difference, checks, arguments, dialogue, timeline, and a key for every "
    "decision.",
    "approve": "Countersign a claim yourself: only where everything required passed on the tree as it is now.",
    "override": "Make a todo verified in spite of what was seen, as far as the order's override policy allows.",
    "reject": "Send a claim back, or a todo that was verified: one revision more.",
    "return": "Give a todo that waits for a human back to a worker, with more attempts and a fresh clock.",
    "unblock": "Answer a worker that cannot go on, so that it can.",
    "backup": "Write all that this project's host keeps to one file. Host, rounds and sessions may run meanwhile.",
    "restore": "Put a backup where this project's state belongs, which must be empty, and verify its trail.",
    "graph": "Draw what waits for what: what a round of an order does, or the todos of a session.",
    "log": "The trail: who did what, and whether it is still what was written.",
    "evidence": "What an attempt left to look at.",
    "codec-server": "Decrypt what the Web UI and `temporal` show, with the keys of this project, until Ctrl-C. On this "
    "machine alone.",
    "eval": "Measure how often verdicts are right: run claims whose truth is known, and count.",
    "rejudge": "Judge a round once more on its stored evidence: row, report, record and decision must agree.",
}
"""Each with the first line of its help, as the command itself has it."""

ELSEWHERE = {
    **dict.fromkeys(("up", "down", "status"), "host_commands"),
    "restore": "backup",
    "codec-server": "codec_server",
    **dict.fromkeys(("approve", "override", "reject", "return", "unblock"), "people"),
}
"""The modules of the commands that have none of their own name. A module with an `app` is a family of commands."""

FUNCTIONS = {"return": "give_back", "codec-server": "codec_server", "eval": "evaluate"}
"""The functions of the commands whose names Python does not take, or has given to another one."""


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

    def invoke(self, ctx: Any) -> Any:
        """Run the command; a reader that has gone ends it here, since typer would end it with a verdict's code, 1."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            leave(SystemExit(EXIT_UNSAID))


def loaded(name: str) -> Any:
    """The command of that name, ready to be run."""
    module = without_collecting(f"entrypoints.cli.{ELSEWHERE.get(name, name)}")
    family = getattr(module, "app", None)
    if family is not None:
        return typer.main.get_command(family)
    alone = typer.Typer(add_completion=False)
    alone.command(name)(getattr(module, FUNCTIONS.get(name, name)))
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
    except BrokenPipeError:  # what was to be told is an error, and nobody reads that either
        leave(SystemExit(EXIT_UNSAID))
