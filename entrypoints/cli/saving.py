"""`verify --save-tests`: what a round drafted goes into the order's file, so that the next one asks nobody for it.

How the file is written, and which are not, is `adapters/config/order_writing`'s.
"""

from __future__ import annotations

from datetime import UTC

from adapters.config.order_writing import Drafted, OrderText
from domain.drafts.record import DraftRecord
from domain.messages import RoundInput
from domain.ports import Trail
from entrypoints import exporting
from entrypoints.cli import common
from entrypoints.cli.output import one_line

MOST = 300
NOTHING = "--save-tests: nothing is saved"


def save(into: OrderText, trail: Trail, request: RoundInput) -> None:
    """Save what the round drafted, as its record has it, and say what was written. Raises `Unavailable`."""
    verdict = exporting.verdict_of(exporting.rows_of(trail, request.session, request.todo, request.attempt))
    record = exporting.record_of(common.open_evidence(), verdict) if verdict else None
    draft = record.draft if record else None
    if draft is None or verdict is None:
        common.err(f"{NOTHING}: the round drafted nothing")
    elif not any(criterion.deterministic for criterion in draft.criteria):
        common.err(f"{NOTHING}: {_why_none(draft)}")
    else:
        when = f"{verdict.timestamp.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ} in {request.workflow_id}"
        _say(into, into.save(Drafted(draft.criteria, draft.dropped, when)), draft)


def _why_none(draft: DraftRecord) -> str:
    """Without a check among them the next round would draft once more, beside what was saved."""
    why = one_line(draft.why, MOST) if draft.why else "no check was drafted that counts"
    return "; ".join([why, *_dropped(draft)])


def _say(into: OrderText, saved: tuple[str, ...], draft: DraftRecord) -> None:
    if not saved:
        common.err(f"--save-tests: {into.path} has them already: {_ids(draft)}")
        return
    common.err(f"--save-tests: {', '.join(saved)} saved into {into.path}: the next round drafts nothing")
    for line in _dropped(draft):
        common.err(f"--save-tests: {line}")


def _dropped(draft: DraftRecord) -> list[str]:
    return [one_line(f"{one.criterion} was dropped ({one.code}): {one.check}", MOST) for one in draft.dropped]


def _ids(draft: DraftRecord) -> str:
    return ", ".join(criterion.id for criterion in draft.criteria)
