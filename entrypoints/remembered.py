"""Answers a round that was decided before: the same work, decided by the same rules, on the same image. Runs nothing.

The trees are read and digested each time, as a freeze would; the answer is in the trail and the evidence store, where
no worker writes. What cannot be compared is not remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from pydantic import JsonValue

from adapters.config.settings import Settings
from adapters.masking.known import masker_of
from adapters.snapshot.found import SnapshotLimits
from adapters.snapshot.snapshots import FileSnapshots
from domain.authority import Authority
from domain.criteria import PROBE_IMAGE, HttpResponse
from domain.decision import RoundOutcome
from domain.errors import Cause, Unavailable, WorkspaceRefused
from domain.events import SYSTEM, Action, RowFilter, TrailRow
from domain.freezing import freeze_input
from domain.messages import Frozen, Image, RoundInput, RoundRecord
from domain.remembering import CONCLUSIVE, answered, changed_authority, same_work, unlasting
from domain.report import Remembered, Report
from entrypoints.human_verdicts import ROWS, HumanVerdict, by_attempt, feedback_of
from entrypoints.names import LOCAL_SESSION, host_id

if TYPE_CHECKING:
    from domain.claims.claim import Claim
    from domain.order import Order
    from domain.ports import EvidenceStore

_OF_A_ROUND: tuple[Action, ...] = ("verification_started", "snapshot_frozen")
_OF_IMAGES: tuple[Action, ...] = ("environment_ready", "environment_set_up")

OF_THE_TREES = (Cause.BASE_UNREADABLE, Cause.WORKSPACE_UNREADABLE, Cause.ORDER_FILES_UNUSABLE)
"""Why trees cannot be taken for reasons of their own: a round would not have decided on them either."""


class ImagesThere(Protocol):
    """The images that an engine has; nothing is built or pulled. Both raise `Unavailable`."""

    def present(self, image: str) -> Image | None:
        """What a round would run on that names `image`, if it is there."""
        ...

    def local_id(self, reference: str) -> str | None:
        """The engine's id of `reference`, if it is there."""
        ...


class Rows(Protocol):
    """A trail that is only read."""

    def rows(self, wanted: RowFilter) -> Iterator[TrailRow]:
        """The rows that match, by sequence. Raises `Unavailable`."""
        ...


@dataclass(frozen=True)
class Forgotten:
    """The round `attempt` was about the same trees, and does not answer for them; `why` in words."""

    attempt: int
    why: str


def request_of(
    order: Order,
    order_file: str,
    claim: Claim | None = None,
    authority: Authority | None = None,
    beside: Mapping[str, str] | None = None,
) -> RoundInput:
    """What the next round of `order` would be asked, but for its number."""
    return RoundInput(
        session=LOCAL_SESSION,
        todo=order.id,
        attempt=0,
        order=order,
        order_digest=order.digest,
        host=host_id(),
        order_file=order_file,
        actor=SYSTEM,
        claim=claim,
        authority=authority or Authority(),
        beside=dict(beside or {}),
    )


def trees_now(settings: Settings, store: EvidenceStore, request: RoundInput) -> Frozen | None:
    """The trees as the round would take them now, by digest; None where it would find none that it can use.

    Raises `Unavailable` for a store that cannot be used.
    """
    limits = SnapshotLimits(
        max_files=settings.max_files,
        max_file_bytes=settings.max_file_bytes,
        max_total_bytes=settings.max_total_bytes,
    )
    try:
        return FileSnapshots(store, limits, masker_of(settings)).look(freeze_input(request), lambda _: None)
    except WorkspaceRefused:
        return None
    except Unavailable as error:
        if error.cause in OF_THE_TREES:
            return None
        raise


@dataclass
class _Past:
    """A round of the todo, by its rows, and what a person decided about it."""

    rows: dict[str, TrailRow] = field(default_factory=dict)
    human: HumanVerdict | None = None

    @property
    def verdict(self) -> TrailRow:
        return self.rows["audit_completed"]

    @property
    def at(self) -> datetime:
        return self.human.at if self.human else self.verdict.timestamp

    def said(self, action: str, name: str) -> JsonValue:
        return self.rows[action].payload.get(name) if action in self.rows else None


class Memory:
    """The decided rounds of a trail. `images` opens the engine, which is done only where it has to be asked."""

    def __init__(
        self, settings: Settings, trail: Rows, store: EvidenceStore, images: Callable[[], ImagesThere]
    ) -> None:
        self._settings = settings
        self._trail = trail
        self._store = store
        self._images = images

    def answer(self, request: RoundInput) -> Report | Forgotten | None:
        """The report that answers for what `request` asks, None where no round was about the same.

        The last word counts: a person's about a round on these trees by this order, or a round's own. Raises
        `Unavailable` where the trail or the store cannot be used.
        """
        wanted = RowFilter(session=request.session, todo=request.todo, actions=(*_OF_A_ROUND, *ROWS))
        rows = tuple(self._trail.rows(wanted))
        decided = [past for past in _rounds(rows) if past.said("verification_started", "order") == request.order_digest]
        frozen = trees_now(self._settings, self._store, request) if decided else None
        if frozen is None:
            return None
        request = request.model_copy(update={"human_feedback": feedback_of(rows)})
        forgotten: Forgotten | None = None
        for past in decided:
            trees = (past.said("snapshot_frozen", "head"), past.said("snapshot_frozen", "base"))
            if trees != (frozen.head, frozen.base) or (forgotten and past.human is None):
                continue
            found = self._of(past, request, frozen)
            if isinstance(found, Report):
                return found
            if found and (past.human or past.verdict.payload.get("outcome") in CONCLUSIVE):
                return found
            forgotten = forgotten or found
        return forgotten

    def _of(self, past: _Past, request: RoundInput, frozen: Frozen) -> Report | Forgotten | None:
        """What that round says about `request`; None where it was about something else."""
        verdict, human = past.verdict, past.human
        if not verdict.payload.get("record"):
            return Forgotten(verdict.attempt, "what it saw was not recorded")
        try:
            record = RoundRecord.model_validate_json(self._store.get(str(verdict.payload["record"])))
            if human is None or human.verified:  # what a person sent back, stays that whatever else has changed
                if not same_work(record, request, frozen):
                    return None
                if why := self._why_not(record, request, decided=human is not None):
                    return Forgotten(verdict.attempt, why)
            report = Report.model_validate_json(self._store.get(str(verdict.payload["report"])))
        except Unavailable as error:
            return Forgotten(verdict.attempt, f"{error.reason} ({error.cause})")
        if human is None:
            return answered(report, Remembered(attempt=verdict.attempt, at=verdict.timestamp))
        where = Remembered(attempt=verdict.attempt, at=human.at, kind=human.kind, by=str(human.by))
        return answered(report, where, human.words)

    def _why_not(self, record: RoundRecord, request: RoundInput, *, decided: bool) -> str:
        """Why the round does not answer; `decided`: a person did, so that what it came to by itself is no matter."""
        if why := changed_authority(record.input.authority, request.authority):
            return why
        if not decided:
            if record.decision.outcome not in CONCLUSIVE:
                return "it came to no verdict"
            if why := unlasting(record):
                return why
            refused = record.decision.outcome is not RoundOutcome.VERIFIED
            if refused and record.input.human_feedback != request.human_feedback:
                return "people asked for more since"
        return self._other_image(record)

    def _other_image(self, record: RoundRecord) -> str:
        """What of the images is not as it was. Raises `Unavailable`."""
        given = record.input
        named = record.order.environment.image
        asks = any(isinstance(criterion, HttpResponse) for criterion in record.order.acceptance_criteria)
        if asks and named != PROBE_IMAGE:
            return f"the image that it asked from, {PROBE_IMAGE}, was not recorded"
        wanted = RowFilter(session=given.session, todo=given.todo, attempt=given.attempt, actions=_OF_IMAGES)
        for row in self._trail.rows(wanted):
            if not row.payload.get("id"):
                continue  # there was none, so that nothing ran on it
            then = (row.payload.get("image"), row.payload.get("id"))
            if row.action == "environment_set_up":
                if self._images().local_id(str(then[0])) != then[1]:
                    return "what environment.setup made is another image"
            else:
                now = self._images().present(named)
                if now is None or (now.reference, now.id) != then:
                    return f"the image {named} is another"
        return ""


def _rounds(rows: Iterable[TrailRow]) -> list[_Past]:
    """The rounds that were decided, that on which the last word was said first."""
    listed = tuple(rows)
    found: dict[int, _Past] = {}
    for row in listed:
        found.setdefault(row.attempt, _Past()).rows[row.action] = row
    for attempt, human in by_attempt(listed).items():
        found[attempt].human = human
    decided = (past for past in found.values() if "audit_completed" in past.rows)
    return sorted(decided, key=lambda past: (past.at, past.verdict.sequence), reverse=True)
