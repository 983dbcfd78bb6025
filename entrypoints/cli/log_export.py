"""`countersign log export`, and the check of what it wrote: the one needs the trail, the other nothing but the file."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated

import typer

from adapters.trail.export import Header, check_export, write_export
from domain.errors import Cause, Unavailable
from domain.event_lines import plain
from domain.events import RowFilter, TrailCheck
from entrypoints.cli import common
from entrypoints.cli.log_filter import todo_and_session
from entrypoints.cli.log_follow import until_nobody_reads


def export(
    session: Annotated[str | None, typer.Option(help="Only this session.")] = None,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write it to FILE, whole or not at all, instead of to stdout.")
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="With --output: the file's header as JSON on stdout. The export is JSON anyway."),
    ] = False,
) -> None:
    """Write the trail as JSON lines that anybody can check without Countersign: a header, then the rows as hashed.

    docs/trail-export.md has the format, and a check of it in a few lines of Python.

    Example: countersign log export --session local --output trail.jsonl
    """
    only, _ = todo_and_session(None, session)
    trail = common.open_trail()
    rows = trail.rows(RowFilter(session=only))
    if only is not None and next(iter(trail.rows(RowFilter(session=only))), None) is None:
        common.err(f"the trail has nothing of {plain(only)}")
        raise typer.Exit(common.EXIT_NOT_FOUND)
    if output is None:
        with until_nobody_reads():
            write_export(rows, trail.store_id(), only, sys.stdout.buffer)
        return
    with _whole(output) as out:
        header = write_export(rows, trail.store_id(), only, out)
    if as_json:
        common.emit_json({"file": str(output), **header.model_dump()})
    else:
        common.err(common.visible(_written(output, header)))


def check_file(file: Path, heads: Path | None) -> TrailCheck:
    """What an export comes to. Raises `Malformed` for what is none, `Unavailable` for what cannot be read."""
    try:
        return check_export(file, heads)
    except OSError as error:
        raise Unavailable(
            Cause.STORE_UNAVAILABLE,
            f"{error.filename or file} cannot be read: {error.strerror}",
            "see that the file is there and may be read, then run it again",
        ) from error


def _written(output: Path, header: Header) -> str:
    return f"{output}: {common.counted((header.rows, 'row'), (len(header.heads), 'session'))}"


@contextmanager
def _whole(output: Path) -> Iterator[IO[bytes]]:
    """A file that takes the place of `output` when all is written, and goes when not. Raises `Unavailable`."""
    try:
        with tempfile.NamedTemporaryFile(dir=output.parent, prefix=f".{output.name}.", delete=False) as out:
            try:
                yield out
                out.flush()
                os.fsync(out.fileno())
                Path(out.name).replace(output)
            except BaseException:
                Path(out.name).unlink(missing_ok=True)
                raise
    except OSError as error:
        raise Unavailable(
            Cause.STORE_UNAVAILABLE,
            f"{output} cannot be written: {error.strerror}",
            "name a file in a folder that is there, with space left",
        ) from error
