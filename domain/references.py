"""Which blobs a round's rows, record and evidence name as theirs: what belongs to the round. Pure.

What merely looks like a digest is not among them; `domain.retention` keeps that, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from domain.events import TrailRow
from domain.messages import RoundRecord

_DIGEST = re.compile(r"[0-9a-f]{64}")
_TREES = frozenset({"head", "base", "tree"})
_OF_ROWS = frozenset({*_TREES, "report", "record", "evidence", "retry_context", "list"})
"""Fields of a row that hold a blob's digest, if they hold one; `order` is the digest of what is in the record."""


def of_rows(rows: Iterable[TrailRow], names: Iterable[str] = _OF_ROWS) -> frozenset[str]:
    """The blobs that rows name in these fields of their payload."""
    wanted = frozenset(names)
    values = [value for row in rows for name, value in row.payload.items() if name in wanted]
    return frozenset(value for value in values if isinstance(value, str) and _DIGEST.fullmatch(value))


def trees_of_rows(rows: Iterable[TrailRow]) -> frozenset[str]:
    """The manifests that rows name."""
    return of_rows(rows, _TREES)


def evidence_of_rows(rows: Iterable[TrailRow]) -> frozenset[str]:
    """The evidence that rows name, that of runs on the base, too."""
    return of_rows(rows, ("evidence",))


def of_record(record: RoundRecord) -> frozenset[str]:
    """The blobs that a round's record names: trees, what became of the changes, and each result's evidence."""
    frozen, scope = record.frozen, record.scope
    found = {result.evidence for result in record.results}
    if frozen:
        found |= {frozen.head, frozen.base, frozen.dropped, frozen.commits}
    if scope:
        found |= {scope.tree, scope.report, scope.diff}
    return frozenset(found - {""})


def of_evidence(evidence: bytes) -> frozenset[str]:
    """What one piece of evidence was seen in: its tree, and the file or the commits that were looked at."""
    body = json.loads(evidence)
    seen = body["finding"].get("seen", {})
    found = [body.get("tree"), seen.get("commits"), (seen.get("entry") or {}).get("digest")]
    return frozenset(value for value in found if isinstance(value, str) and _DIGEST.fullmatch(value))
