"""Which blobs a round's rows, record and evidence name as theirs: what belongs to the round. Pure.

What merely looks like a digest is not among them; `domain.retention` keeps that, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from domain.answers import passes_of
from domain.events import TrailRow
from domain.messages import RoundRecord

_DIGEST = re.compile(r"[0-9a-f]{64}")
_TREES = frozenset({"head", "base", "tree"})
_OF_ROWS = frozenset(
    {
        *_TREES,
        *("report", "record", "evidence", "retry_context", "list", "spec", "tests"),
        *("said", "messages", "prompt", "packet"),
        *("feedback", "patch", "summary"),
    }
)
"""Fields of a row that hold a blob's digest, if they hold one; `order` is the digest of what is in the record."""


class ToolAnswer(NamedTuple):
    """What a tool told a role: what its id is minted of, a title, and the blob with the whole answer."""

    what: str
    title: str
    digest: str


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
    """The blobs that a round's record names: trees, what became of the changes, each result's evidence, the roles'."""
    frozen, scope, audit = record.frozen, record.scope, record.audit
    found = {result.evidence for result in (*record.results, *(audit.ran if audit else ()))}
    for result in passes_of(record):
        found |= {result.said, result.messages, result.provenance.prompt, result.provenance.packet}
    if record.draft:
        found.add(record.draft.specification)
    if frozen:
        found |= {frozen.head, frozen.base, frozen.dropped, frozen.commits, frozen.order_files}
    if scope:
        found |= {scope.tree, scope.report, scope.diff, scope.base, scope.trusted, scope.doctests}
    return frozenset(found - {""})


def tool_answers(messages: bytes) -> Iterator[ToolAnswer]:
    """What tools answered in a stored conversation of a role, by the marks that they leave there."""
    for mark in _marks(messages):
        if all(isinstance(mark.get(name), str) for name in ToolAnswer._fields):
            yield ToolAnswer(mark["what"], mark["title"], mark["digest"])


def tests_told(messages: bytes) -> Iterator[dict[str, Any]]:
    """The checks that were run for a role in a stored conversation: each a `domain.roles.passes.RanTest`."""
    return (mark["ran"] for mark in _marks(messages) if isinstance(mark.get("ran"), dict))


def of_messages(messages: bytes) -> frozenset[str]:
    """The blobs that a stored conversation names."""
    return frozenset(answer.digest for answer in tool_answers(messages) if _DIGEST.fullmatch(answer.digest))


def _marks(messages: bytes) -> Iterator[dict[str, Any]]:
    """What the answers to a role's calls are marked with: it is the harness's, and no model saw it."""
    for message in json.loads(messages):
        for part in message.get("parts", ()):
            if part.get("part_kind") == "tool-return" and isinstance(mark := part.get("metadata"), dict):
                yield mark


def of_evidence(evidence: bytes) -> frozenset[str]:
    """What one piece of evidence was seen in: its tree, and the file or the commits that were looked at."""
    body = json.loads(evidence)
    seen = body["finding"].get("seen", {})
    found = [body.get("tree"), seen.get("commits"), (seen.get("entry") or {}).get("digest")]
    return frozenset(value for value in found if isinstance(value, str) and _DIGEST.fullmatch(value))
