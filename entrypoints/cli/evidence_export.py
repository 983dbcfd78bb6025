"""`countersign evidence export`: a todo's attempts as files that somebody else can check offline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from adapters.evidence.export import write
from domain.errors import Malformed, Problem
from entrypoints import exporting
from entrypoints.cli import common


def export(
    name: Annotated[str, typer.Argument(metavar="TODO", help="A todo: TODO or SESSION/TODO.")],
    output: Annotated[Path, typer.Option(help="A folder that is not there yet, or a .tar.gz file.")],
    attempt: Annotated[int | None, typer.Option(min=1, help="Which attempt, instead of the last.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Every attempt, and the todo's other rows.")] = False,
    with_trees: Annotated[bool, typer.Option("--with-trees", help="The files of the frozen trees, too.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an export that is there.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="What was written, as JSON on stdout.")] = False,
) -> None:
    """Write an attempt's folder, every blob that it refers to and its rows of the trail, from the store.

    Check it anywhere with: sha256sum -c SHA256SUMS. The same attempt gives the same bytes each time.
    Exit code 3 when a blob that it should have is missing: the rest is written.

    Example: countersign evidence export wo-is-prime --output wo-is-prime.tar.gz
    """
    if every and attempt is not None:
        raise Malformed(
            [
                Problem(
                    file="command line", line=1, field="--all", what="--attempt is given, too", expected="one of them"
                )
            ]
        )
    trail, store = common.open_trail(), common.open_evidence()
    session, todo = common.split_todo(name, trail)
    rows = exporting.rows_of(trail, session, todo, None if every else attempt or trail.last_attempt(session, todo))
    if not rows:
        common.err(
            common.visible(f"the trail has nothing of {session}/{todo}" + (f", attempt {attempt}" if attempt else ""))
        )
        raise typer.Exit(common.EXIT_NOT_FOUND)
    chosen = exporting.Export(trail, store, rows, with_trees=with_trees)
    size = write(output, chosen.files, f"{session}-{todo}", force=force)
    facts = {"attempts": chosen.attempts, "rows": len(rows), "blobs": len(chosen.blobs), "bytes": size}
    if as_json:
        common.emit_json({"output": str(output), "session": session, "todo": todo, **facts, "missing": chosen.missing})
    else:
        common.out(common.visible(f"{output}  " + ", ".join(f"{name} {value}" for name, value in facts.items())))
    for digest in chosen.missing:
        common.err(f"missing: {digest} is not in the evidence store")
    if chosen.missing:
        raise typer.Exit(common.EXIT_UNAVAILABLE)
