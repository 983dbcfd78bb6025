"""`countersign init`: looks at a repository and writes an order for it, to be read and changed by a person."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from adapters.config.defaults import load_policy
from adapters.config.order_file import load_order
from adapters.config.settings import Settings, load_settings
from adapters.survey.base import Trusted, copy_base, find_base, opened
from adapters.survey.files import Files
from adapters.survey.order_text import Paths, write_order
from adapters.survey.plan import Plan
from adapters.survey.survey import survey
from domain.errors import Cause, Malformed, Problem, Refused, Unavailable, WorkspaceRefused
from domain.order import BaseRevision, Order
from entrypoints.cli import common
from entrypoints.cli.person import at_a_terminal, marks, present
from entrypoints.pinning import Options, reach_of
from entrypoints.state_dir import prepare_state_dir
from entrypoints.stores import build_trail
from entrypoints.trusting import Consent, candidate_of_text, trust

FOLDER, NAME = ".countersign", "order.yaml"


def init(
    directory: Annotated[Path, typer.Argument(help="The repository, or a folder in it.")] = Path(),
    output: Annotated[
        Path | None, typer.Option(help=f"Write the order here instead of {FOLDER}/{NAME} in the repository.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an order that is there.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Say what was found as JSON on stdout.")] = False,
) -> None:
    """Write an order for a repository: the image, what to install, the test command, the commit to trust.

    Nothing of the repository is run. Read the order, say what the agent was asked to do, trust it, then verify. At a
    terminal the command pins the order as it wrote it; what is changed later is trusted by `countersign trust`.

    Example: countersign init ~/src/project && countersign verify ~/src/project/.countersign/order.yaml
    """
    chosen = _directory(directory)
    trusted = find_base(chosen)
    file = (output if output is not None else trusted.root / FOLDER / NAME).absolute()
    if os.path.lexists(file) and not force:
        raise Refused("order_exists", f"there is an order already: {file}", "--force overwrites it; or name --output")
    try:
        with opened(trusted) as files:
            plan = survey(files, trusted.version)
            paths = _paths(trusted, files, file)
    except WorkspaceRefused as error:
        raise Refused("tree_refused", error.reason, error.next_step) from error
    except OSError as error:
        raise _unreadable(error) from error
    if trusted.root != chosen:
        plan.notes.append(f"the order is for the whole repository {trusted.root}")
    content = write_order(trusted.root.name, plan, paths).encode()
    _write(file, content)
    settings = load_settings(trusted.root)
    order = load_order(file, policy=load_policy(settings), content=content)
    pinned = _pinned(file, content, order, settings) if reach_of(file, [order], settings) else None
    if as_json:
        common.emit_json({**_facts(file, plan, order.resolved_base), "pinned": pinned})
    else:
        common.out(common.visible(_page(file, plan, paths, pinned, Options().of(settings))))


def _pinned(file: Path, content: bytes, order: Order, settings: Settings) -> bool:
    """Pin the order that was just written, for the person at the terminal; whether there is one."""
    if not (at_a_terminal() and sys.stdout.isatty()) or marks() or settings.human_acts == "signed":
        return False
    person = present(None, what=f"trust {file}")
    for one in {each.state_dir: each for each in (settings, common.settings())}.values():
        _refuse_state_within(one.state_dir, Path(order.workspace))
        prepare_state_dir(one.state_dir)
        found = candidate_of_text(file, content, order, one)
        trust(found, Consent(person.actor, person.established, datetime.now(UTC)), one, build_trail(one))
    return True


def _directory(path: Path) -> Path:
    with suppress(OSError, ValueError, RuntimeError):  # what no folder can be named is no folder
        found = path.resolve()
        if found.is_dir():
            return found
    raise _malformed("DIRECTORY", f"{str(path)!r} is no directory", "expected a repository's folder")


def _paths(trusted: Trusted, files: Files, file: Path) -> Paths:
    """The trees as they are written: relative to the order, but a copy, which is elsewhere, by its whole path."""
    workspace = os.path.relpath(trusted.root, file.parent.resolve())
    if trusted.revision:
        return Paths(workspace, workspace, trusted.revision, trusted.because, trusted.branch)
    state = load_settings(trusted.root).state_dir
    _refuse_state_within(state, trusted.root)
    prepare_state_dir(state)
    copy = copy_base(files, state / "bases", trusted.root.name)
    return Paths(workspace, str(copy), because=trusted.because)


def _refuse_state_within(state: Path, tree: Path) -> None:
    if state.is_relative_to(tree):
        raise _malformed("COUNTERSIGN_STATE_DIR", "it is inside the tree", "expected a folder that no worker can write")


def _write(file: Path, content: bytes) -> None:
    """Whole or not at all; a link in the order's place is replaced, not followed."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_name(f".{file.name}.{os.getpid()}.tmp")
        partial.write_bytes(content)
        partial.replace(file)
    except OSError as error:
        what = f"{str(file)!r} cannot be written: {error.strerror}"
        raise _malformed("--output", what, "expected a file that can be written") from error


def _facts(file: Path, plan: Plan, base: str | BaseRevision) -> dict[str, Any]:
    return {
        "file": str(file),
        "language": plan.language,
        "image": plan.image,
        "base": base.model_dump() if isinstance(base, BaseRevision) else base,
        "checks": [{"name": check.name, "command": check.command, "env": check.env} for check in plan.checks],
        "setup": plan.setup,
        "inputs": plan.inputs,
        "build": plan.build,
        "notes": plan.notes,
    }


def _page(file: Path, plan: Plan, paths: Paths, pinned: bool | None, options: Options) -> str:
    """What was written, and what to do next. `pinned`: None where the worker cannot write the order."""
    rows = [("language", plan.language), ("image", plan.image)]
    rows.append(("base", f"{paths.revision or paths.base} ({paths.because})"))
    rows += [("setup", command) for command in plan.setup]
    rows += [("build", command) for command in plan.build]
    rows += [(check.name, check.command) for check in plan.checks]
    rows += [("note", note) for note in plan.notes]
    shown = os.path.relpath(file) if file.is_relative_to(Path.cwd()) else str(file)
    lines = [f"wrote {shown}", "", *(f"  {name:<9} {text}" for name, text in rows), ""]
    if pinned is not None:
        why = "it takes a signature ([policy] human_acts)" if options.signed else "nobody has trusted it yet"
        lines.append("pinned: as it is now it decides" if pinned else f"not pinned: {why}")
    lines.append("next: say in it what the agent was asked to do, then run")
    lines += [f"  {options.trust(shown)}"] if pinned is not None else []
    return "\n".join([*lines, f"  countersign verify {shown}"])


def _unreadable(error: OSError) -> Unavailable:
    return Unavailable(
        Cause.WORKSPACE_UNREADABLE,
        f"the tree cannot be read or copied: {error.strerror} ({error.filename})",
        "see that this user may read it, and that the disk of the state directory has room",
    )


def _malformed(field: str, what: str, expected: str) -> Malformed:
    return Malformed([Problem(file="command line", line=1, field=field, what=what, expected=expected)])
