"""The command `countersign`: which commands there are."""

from __future__ import annotations

import logging

import typer

from entrypoints.cli import evidence, log
from entrypoints.cli.common import speak
from entrypoints.cli.doctor import doctor
from entrypoints.cli.graph import graph
from entrypoints.cli.host_commands import down, status, up
from entrypoints.cli.init import init
from entrypoints.cli.verify import verify
from entrypoints.client import log_to_stderr

app = typer.Typer(
    help="Verifies work that autonomous agents claim to have done.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (init, doctor, up, down, status, verify, graph):
    app.command()(command)
app.add_typer(log.app, name="log")
app.add_typer(evidence.app, name="evidence")


def main() -> None:
    """Run the command line."""
    log_to_stderr(logging.ERROR)
    speak(app)
