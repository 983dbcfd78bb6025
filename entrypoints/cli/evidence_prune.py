"""`countersign evidence prune`: removes what nothing refers to any more, and says so in the trail."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from domain.errors import Malformed, Problem
from domain.retention import Pruned, seconds_of
from entrypoints.cli import common, person
from entrypoints.evidence_store import open_sweep
from entrypoints.pruning import SESSION, Pruner


def prune(
    older_than: Annotated[
        str, typer.Option(help="Only what nobody has used for so long: a number and s, m, h, d or w, such as 30d.")
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be removed.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="What was removed, as JSON on stdout.")] = False,
) -> None:
    """Remove evidence that no live todo and no verdict refers to. Rounds may run meanwhile.

    What was used in the last 15 minutes, or since the oldest open round began, always stays. What is removed is
    recorded in the trail first, as evidence_pruned, with the list.

    Example: countersign evidence prune --older-than 30d --dry-run
    """
    try:
        seconds = seconds_of(older_than)
    except ValueError as error:
        what, _, expected = str(error).partition(", ")
        problem = Problem(file="command line", line=1, field="--older-than", what=what, expected=expected)
        raise Malformed([problem]) from error
    trail, store = common.open_trail(), common.open_evidence()
    who = person.sender(None)
    if isinstance(who, person.Agent):
        raise person.forbidden_and_recorded("remove evidence", "prune", who, trail, SESSION)
    pruner = Pruner(trail, store, open_sweep(common.settings()), datetime.now(UTC))
    pruned = pruner.run(seconds, who.actor, who.established, dry_run=dry_run)
    if as_json:
        common.emit_json({"dry_run": dry_run, **pruned.model_dump(mode="json")})
        return
    _tell(pruned, dry_run=dry_run)


def _tell(pruned: Pruned, *, dry_run: bool) -> None:
    told = common.counted((pruned.blobs, "blob"), (pruned.memos, "memo"), (pruned.folders, "folder"))
    limit = pruned.cutoff.isoformat(timespec="seconds").replace("+00:00", "Z")
    common.out(f"{'would remove' if dry_run else 'removed'} {told}, {pruned.bytes} bytes, not used since {limit}")
    if pruned.spared:
        common.out(f"{pruned.spared} of them stayed: they were used again meanwhile, or gone already")
    if pruned.list:
        common.out(f"the list: countersign evidence show {pruned.list}")
