"""What a person may do with a round that stands alone: the rules of a todo, applied to its newest round.

No workflow keeps such a round. The value that the rules of `acts` judge is made of what the trail and the store have
of it; a newer round ends what waits of an older one. Source: issue "Who holds the pen" 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from pydantic import JsonValue

from domain.acts.approving import approve, override
from domain.acts.asked import done, told_sender, unsigned
from domain.acts.people import note, reject
from domain.acts.standing import learned
from domain.acts.step import Declined, Event, Outcome, Step, refusal
from domain.base import Message, sha256_hex
from domain.events import Action, TrailRow
from domain.facts import passed
from domain.lifecycle import PARTIES, Command, allowed
from domain.messages import RoundRecord, RoundResult
from domain.read_model import TodoView
from domain.requests import AddNote, Answer, Approve, Changed, Override, Refusal, Reject
from domain.safeguards import Clock
from domain.signatures import SignatureCheck, Signers
from domain.signing import spent_nonces
from domain.status import TodoStatus
from domain.todo import Admitted, Todo

PersonRequest = Override | Reject | AddNote | Approve
"""What can be asked of such a round; everything else that a todo takes needs a worker or a session."""

COMMANDS = (Command.APPROVE, Command.OVERRIDE, Command.REJECT, Command.NOTE)

ROWS: tuple[Action, ...] = (
    *("approved", "human_override", "changes_requested", "noted", "refused"),
    *("fix_loop_started", "fix_loop_ended"),
)
"""The rows that `stands` reads: the acts of people, and whether a fix loop still runs."""

_SHOWN = frozenset({"status", "review_status", "trigger", "flag", "feedback", "note"})
"""What of a todo such an act changes: it has no clock, no caps and no question."""

_NO_CAPS = 1_000_000
"""Granted attempts: nobody counts the rounds that people run by themselves."""


class Standing(Message):
    """Where a standalone todo is: what the person's command read, and what the act is judged by."""

    attempt: int = 0
    status: str = ""
    review_status: str = ""

    @classmethod
    def of(cls, view: TodoView) -> Standing:
        """Where the lists have it."""
        return cls(attempt=view.attempt, status=view.status, review_status=view.review_status)


class StandaloneActInput(Message):
    """An act of a person on the newest round of `session`/`todo`. `key` names the act: sent twice, it is done once.

    `seen`: where the person saw it; moved since, the act is refused as stale.
    """

    session: str
    todo: str
    store: str = ""
    seen: Standing
    request: PersonRequest
    key: str

    @property
    def workflow_id(self) -> str:
        """`act/SESSION/TODO/ATTEMPT/KEY`."""
        return f"act/{self.session}/{self.todo}/{self.seen.attempt}/{self.key}"


class LoadInput(Message):
    """Which standalone todo to load; `store` is the id of the trail that the command reads."""

    session: str
    todo: str
    store: str = ""


class Loaded(Message):
    """A standalone todo as the trail has it. `ordinal` numbers the last act on its newest round.

    `todo` is None where no act is possible, `why_not` says why. `refusals` as in `domain.todo.Todo`. `signers`: who may
    sign now, whose blob the todo names.
    """

    standing: Standing = Standing()
    ordinal: int = 0
    refusals: dict[str, int] = {}
    todo: Todo | None = None
    signers: Signers | None = None
    why_not: Refusal | None = None


class Settled(Message):
    """What an act comes to: the row that records it, and the answer; no row for a repeated refusal or a dry run."""

    event: Event | None
    answer: Answer


def trail_id(session: str, todo: str, attempt: int) -> str:
    """The key that the rows of all acts on one round have in common: of two with one number, one is stored."""
    return f"acts/{session}/{todo}/{attempt}"


def command_of(request: PersonRequest) -> Command:
    """The command that the request is made by."""
    match request:
        case Override():
            return Command.OVERRIDE
        case Reject():
            return Command.REJECT
        case AddNote():
            return Command.NOTE
        case Approve():
            return Command.APPROVE


def unavailable_reason(view: TodoView | None, running: bool, rows: Iterable[TrailRow]) -> Refusal | None:
    """Why no act is possible on the newest round now; None where one is. `running`: it has not ended."""
    if view is None or not view.attempt:
        return Refusal(
            code="unknown_todo", reason="no round of that id was run", next_step="countersign verify ORDER runs one"
        )
    loops = [row.action for row in rows if row.action in ("fix_loop_started", "fix_loop_ended")]
    if running or loops[-1:] == ["fix_loop_started"]:
        what = "its fix loop" if not running else f"the round of attempt {view.attempt}"
        return Refusal(
            code="round_running",
            reason=f"{what} is still running",
            next_step="wait until it has ended, or end it with Ctrl-C where it was started",
        )
    return None


def no_record(attempt: int) -> Refusal:
    """Why nothing can be decided about a round that came to no verdict."""
    return Refusal(
        code="no_verdict",
        reason=f"attempt {attempt} ended without a verdict, so that there is nothing to decide about",
        next_step="run countersign verify again",
    )


def loaded(view: TodoView, record: RoundRecord, rows: tuple[TrailRow, ...], signers: Signers | None) -> Loaded:
    """The newest round of `view` with the acts on it (`rows`, of the actions `ROWS`). `signers`: who may sign now.

    Raises ValueError for a record of another attempt: a defect.
    """
    if record.input.attempt != view.attempt:
        raise ValueError(f"the record of attempt {record.input.attempt} for attempt {view.attempt}")
    mine = tuple(row for row in rows if row.workflow_id == trail_id(view.session, view.todo, view.attempt))
    return Loaded(
        standing=Standing.of(view),
        ordinal=max((row.ordinal for row in mine), default=0),
        refusals=_refusals(mine),
        todo=_todo(view, record, rows, sha256_hex(signers.blob) if signers else ""),
        signers=signers,
    )


def _todo(view: TodoView, record: RoundRecord, rows: tuple[TrailRow, ...], signers: str) -> Todo:
    given = record.input
    sent_back = [row for row in rows if row.action == "changes_requested" and PARTIES[row.actor.role] == "human"]
    frozen = record.frozen
    todo = Todo(
        session=view.session,
        id=view.todo,
        order=given.order,
        order_digest=given.order_digest,
        order_file=given.order_file,
        host=given.host,
        store=given.store,
        created_by=given.actor,
        version=view.version,
        status=_for_people(view.status),
        review_status=view.review_status,
        trigger=view.trigger,
        attempt=view.attempt,
        revisions=len(sent_back),
        granted=_NO_CAPS,
        clock=Clock(limit=given.order.safeguards.todo_timeout),
        admitted=Admitted(claim="", frozen=frozen, news="") if frozen else None,
        feedback=view.feedback,
        flag=view.flag,
        signers=signers,
        nonces=spent_nonces(rows),
    )
    not_passed, all_passed = passed(record)
    result = RoundResult(decision=record.decision, report="", not_passed=not_passed, passed=all_passed)
    return todo.model_copy(update=learned(result))


def _for_people(status: TodoStatus) -> TodoStatus:
    """No worker has a claim open here: what a round sent back waits for a newer round, or for a person's decision."""
    return TodoStatus.NEEDS_HUMAN if status is TodoStatus.IN_PROGRESS else status


def possible(view: TodoView) -> tuple[Command, ...]:
    """What a person can ask of the newest round where the lists have it."""
    return tuple(command for command in allowed(_for_people(view.status), "unattributed") if command in COMMANDS)


def settle(
    now_there: Loaded, seen: Standing, request: PersonRequest, check: SignatureCheck | None, now: datetime
) -> Settled:
    """What the act comes to on the round as it is now. `check`: whose signature it has, None without one."""
    command, there = command_of(request), now_there.standing
    if now_there.todo is None:
        assert now_there.why_not is not None, "one of the two is there"
        return _refused(now_there, command, unsigned(request), now_there.why_not)
    if stale := _stale(seen, there):
        return _refused(now_there, command, unsigned(request), stale)
    todo = now_there.todo
    if isinstance(request, Reject) and request.extra_attempts:
        return _refused(now_there, command, unsigned(request), _NOTHING_TO_GRANT)
    outcome, asked = _judged(todo, request, check, now)
    if isinstance(outcome, Declined):
        outcome = outcome.refusal
    if isinstance(outcome, Refusal):
        return _refused(now_there, command, asked, _for_this(outcome, todo), check)
    (event,) = outcome.events  # an act that changes nothing here is refused, and none has more than one row
    event = _as_here(event, todo, now_there)
    after = {**there.model_dump(), **event.after}
    return Settled(
        event=None if request.dry_run else event,
        answer=Answer(
            status=str(after["status"]),
            review_status=str(after["review_status"]),
            version=outcome.todo.version,
            attempt=todo.attempt,
            changed=_changed(event),
            dry_run=request.dry_run,
            signer=asked.actor.identity if asked.actor.role == "human" else "",
        ),
    )


def _judged(
    todo: Todo, request: PersonRequest, check: SignatureCheck | None, now: datetime
) -> tuple[Outcome | Declined, PersonRequest]:
    match request:
        case Override():
            return done(todo, Command.OVERRIDE, request, override, check, now)
        case Reject():
            return done(todo, Command.REJECT, request, reject, check, now)
        case AddNote():
            return done(todo, Command.NOTE, request, note, check, now)
        case Approve():
            return done(todo, Command.APPROVE, request, approve, check, now)


def _refused(
    there: Loaded, command: Command, request: PersonRequest, why: Refusal, check: SignatureCheck | None = None
) -> Settled:
    """The refusal with its row. Repeats have none, as in `acts.step.refusal`."""
    _, event = refusal(there.refusals, command.value, request.actor, why, request.tool_call_id)
    if event is not None and there.todo is not None:
        (event,) = told_sender(Step(todo=there.todo, events=(event,)), request, check).events
    standing = there.standing
    answer = Answer(
        status=standing.status,
        review_status=standing.review_status,
        attempt=standing.attempt,
        refused=why,
        dry_run=request.dry_run,
    )
    return Settled(event=None if request.dry_run else event, answer=answer)


def _stale(seen: Standing, there: Standing) -> Refusal | None:
    if seen == there:
        return None
    return Refusal(
        code="stale_version",
        reason=f"it was looked at as {_spelled(seen)}, and is now {_spelled(there)}",
        next_step="look at it as it is now (countersign review), and ask again",
    )


def _spelled(standing: Standing) -> str:
    return f"attempt {standing.attempt}, {standing.status} ({standing.review_status})"


_NOTHING_TO_GRANT = Refusal(
    code="stands_alone",
    reason="a round that stands alone has no caps, so that there are no attempts to grant",
    next_step="reject it without --extra-attempts: countersign verify runs as often as it is called",
)


def _for_this(why: Refusal, todo: Todo) -> Refusal:
    """A refusal of the table names what can be asked instead: of a todo, and here it is less."""
    if why.code in ("signature_required", "no_signers") and not todo.signers:
        return why.model_copy(update={"next_step": "configure [signers] in countersign.toml, then ask again"})
    if why.code != "illegal_transition":
        return why
    can = ", ".join(command for command in allowed(todo.status, "unattributed") if command in COMMANDS)
    next_step = f"what a person can do now: {can}; or change the work and run countersign verify again"
    return why.model_copy(update={"next_step": next_step})


def _as_here(event: Event, todo: Todo, now_there: Loaded) -> Event:
    """The row without what only a todo has, from where the lists have it; where it is signed, with who could sign."""
    there = now_there.standing
    real: dict[str, JsonValue] = {"status": there.status, "review_status": there.review_status}
    mapped: dict[str, JsonValue] = {"status": todo.status.value, "review_status": todo.review_status.value}
    before = {name: value for name, value in event.before.items() if name in _SHOWN} | real
    after = {name: value for name, value in event.after.items() if name in _SHOWN}
    after |= {name: real[name] for name in real if after.get(name) == mapped[name] and event.action == "noted"}
    payload, signature = event.payload, event.payload.get("signature")
    if isinstance(signature, dict) and now_there.signers is not None:
        payload = {**payload, "signature": {**signature, "signers": now_there.signers.model_dump(mode="json")}}
    return event.model_copy(update={"before": before, "after": after, "payload": payload})


def _changed(event: Event) -> dict[str, Changed]:
    names = [name for name in event.after if event.before.get(name) != event.after[name]]
    return {name: Changed(before=event.before.get(name), after=event.after[name]) for name in names}


def _refusals(rows: Iterable[TrailRow]) -> dict[str, int]:
    """Counts as far as the rows have them; what came between two rows is not counted again."""
    found: dict[str, int] = {}
    for row in rows:
        if row.action == "refused":
            said: Mapping[str, JsonValue] = row.payload
            digest = sha256_hex(str(said.get("reason")).encode())[:16]
            count = said.get("count")
            found[f"{row.actor}|{said.get('command')}|{said.get('code')}|{digest}"] = (
                count if isinstance(count, int) else 1
            )
    return found
