"""`countersign backup` and `countersign restore`: all state of the embedded mode in one file, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from adapters.backup.archive import About
from domain.events import TrailCheck
from entrypoints.backup import back_up
from entrypoints.cli import common, person
from entrypoints.cli.log import EXIT_FAULTS, tell_check
from entrypoints.restoring import restore as restore_state

Json = Annotated[bool, typer.Option("--json", help="What was done, as JSON on stdout.")]


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A .tar or .tar.gz that is not there yet.")],
    as_json: Json = False,
) -> None:
    """Write all that this project's host keeps to one file. Host, rounds and sessions may run meanwhile.

    The copy's trail is verified. Exit code 1 when the trail has faults or a blob is damaged: the file is written.
    FILE has what the state directory has, so keep it where only you can read it. The workspaces are not in it.

    Example: countersign backup /mnt/backups/project.tar.gz
    """
    done = back_up(common.settings(), file)
    if as_json:
        common.emit_json({"file": str(file), **_facts(done.about, done.check), "damaged": done.damaged})
    else:
        common.out(f"backed up to {file}: {_told(done.about)}")
        tell_check(done.check)
        for what in done.about.elsewhere:
            common.out(f"not in it, and needed beside it: {what}")
        for digest in done.damaged:
            common.out(f"damaged: the blob {digest} is not what was stored")
    if done.check.faults or done.damaged:
        raise typer.Exit(EXIT_FAULTS)


def restore(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False, help="What `countersign backup` wrote.")
    ],
    as_json: Json = False,
) -> None:
    """Put a backup where this project's state belongs, which must be empty, and verify its trail.

    Run it in the project's folder, with the workspaces where they were. Exit code 1 when the trail has faults.

    Example: countersign restore /mnt/backups/project.tar.gz
    """
    person.present(None, what="restore a backup")
    settings = common.settings()
    about = restore_state(settings, file)
    check = common.open_trail().verify()
    moved = about.project != str(settings.project)
    if as_json:
        common.emit_json({"state_dir": str(settings.state_dir), **_facts(about, check), "moved": moved})
    else:
        common.out(f"restored to {settings.state_dir}: {_told(about)}")
        tell_check(check)
        if moved:
            common.out(f"the project was at {about.project}: open todos look for their workspaces where they were then")
        for what in about.elsewhere:
            common.out(f"needed beside it: {what}")
        common.out("next: countersign up")
    if check.faults:
        raise typer.Exit(EXIT_FAULTS)


def _facts(about: About, check: TrailCheck) -> dict[str, object]:
    return {**about.model_dump(mode="json", exclude={"files"}), "files": len(about.files), "size": about.size} | {
        "check": check
    }


def _told(about: About) -> str:
    made = about.made_at.isoformat(timespec="seconds").replace("+00:00", "Z")
    size = common.counted((len(about.files), "file"), (about.size, "byte"))
    return f"{size}, made {made} on {about.hosts[0]} by countersign {about.version}"
