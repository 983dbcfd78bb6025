"""What `countersign log verify` says of signatures: each is checked again, from the rows alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from adapters.signatures.recheck import LOOKED_AT, Recheck
from adapters.trail.export import signed_rows
from domain.errors import Unavailable
from domain.events import RowFilter, TrailCheck
from domain.ports import Trail
from entrypoints.cli import common


def with_signatures(check: TrailCheck, source: Trail | Path) -> TrailCheck:
    """The same with what is wrong with signatures. Where they cannot be looked at, that is said, and they are counted.

    Rows that cannot be read are faults already, which `check` has.
    """
    found = Recheck()
    try:
        found.look(signed_rows(source) if isinstance(source, Path) else _plain(source.rows(_WANTED)))
    except Unavailable as error:
        if not check.faults:
            raise
        common.err(common.visible(f"signatures are not all looked at: {error}"))
    if found.why is not None:
        signatures = common.counted((found.unchecked, "signature"))
        common.err(common.visible(f"unproven: {signatures}, for {found.why}"))
    faults = (*check.faults, *found.faults)
    return check.model_copy(update={"faults": faults, "signatures": found.checked, "unchecked": found.unchecked})


_WANTED = RowFilter(actions=LOOKED_AT)


def _plain(rows: Iterable[Any]) -> Iterator[Mapping[str, Any]]:
    for row in rows:
        if row.action == LOOKED_AT[0] or "signature" in row.payload:
            yield row.model_dump()
