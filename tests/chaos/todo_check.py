"""What must be true of todos and sessions after any number of faults, told from outside: one line for what is not.

What is true of every trail and store, whatever was done with it, is `check`'s.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from domain.acts.step import SHOWN_FIELDS
from domain.decision import RoundOutcome
from domain.events import TrailRow
from domain.lifecycle import TRANSITIONS
from domain.lifecycle import Command as Asked
from domain.read_model import State, TodoView, fold
from domain.session import Session
from domain.status import LIVE, SessionStatus, TodoStatus
from domain.todo import Todo
from tests.chaos.todo_log import Said
from tests.chaos.todos import Key

EXPECTED_REFUSALS = frozenset(
    {
        *("session_paused", "dependencies_open", "open_children", "illegal_transition", "stale_version"),
        *("not_passed", "override_not_allowed", "not_acknowledged"),
    }
)
"""What can be refused to somebody who looked a moment ago."""

ENDS_A_ROUND = ("audit_completed", "verification_cancelled")
HUMANS = ("human", "unattributed")


@dataclass
class Found:
    """What the workflows themselves say, and what the server has of them."""

    todos: dict[Key, Todo] = field(default_factory=dict)
    sessions: dict[str, Session] = field(default_factory=dict)
    timers: dict[str, int] = field(default_factory=dict)
    """How many timers run, by workflow id."""

    rounds: dict[str, str] = field(default_factory=dict)
    """How each round's workflow stands, by its id."""


@dataclass
class Counts:
    """How the commands fared."""

    acknowledged: int = 0
    unanswered: int = 0
    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)

    @property
    def bound(self) -> float:
        """With a confidence of 95 %, at most this share of acknowledged commands is lost, where none was seen to be."""
        return float(1 - 0.05 ** (1 / self.acknowledged)) if self.acknowledged else 1.0


def counted(said: Iterable[Said], rows: Sequence[TrailRow]) -> Counts:
    """Every command that was acknowledged once in the trail, none more than once, and nothing that nobody asked."""
    by_id: defaultdict[str, list[TrailRow]] = defaultdict(list)
    for row in rows:
        by_id[row.tool_call_id or str(row.payload.get("reason", ""))].append(row)
    numbered = {(row.session, row.sequence): row for row in rows}
    lines = list(said)
    asked = {one.id: one for one in lines if one.word == "asked"}
    answers = Counter(one.id for one in lines if one.word == "answered")
    counts = Counts(acknowledged=len(answers), unanswered=len(asked) - len(answers))
    for one in lines:
        if one.word == "answered":
            counts.lost += [f"{_name(one)}: {what}" for what in _missing(one, by_id[one.id], numbered)]
    for id, one in asked.items():
        if len(by_id[id]) > 1 or answers[id] > 1:
            counts.doubled.append(f"{_name(one)}: {[row.action for row in by_id[id]]}, {answers[id]} answers")
    strange = {row.tool_call_id for row in rows if row.tool_call_id} - set(asked)
    counts.doubled += [f"nobody asked for {[row.action for row in by_id[id]]} ({id})" for id in sorted(strange)]
    return counts


def _name(one: Said) -> str:
    return f"{one.who} {one.command} {one.session}/{one.todo} ({one.id})"


def _missing(one: Said, rows: Sequence[TrailRow], numbered: Mapping[tuple[str, int], TrailRow]) -> Iterator[str]:
    """What the trail does not have of a command that was answered."""
    if one.sequence == 0:  # a repeated refusal is counted, and who pauses what is paused changes nothing
        if rows and not one.refused:
            yield f"answered without a row, and there is {rows[0].action}"
        return
    last = numbered.get((one.session, one.sequence))
    if last is None or last.todo_id != one.todo:
        yield f"it was told of row {one.sequence}, and that is {last.action if last else 'not there'}"
    actions = {row.action for row in rows}
    if not actions & _actions_of(one):
        yield f"the trail has {sorted(actions)} of it, not one of {sorted(_actions_of(one))}"


def _actions_of(one: Said) -> set[str]:
    if one.refused:
        return {"refused"}
    if not one.todo:
        return {"paused" if one.command == "pause" else "resumed"}
    found = {moved.event for (_, command, _), moved in TRANSITIONS.items() if command == Asked(one.command)}
    return {*found, "noted"} if one.command == "reject" else {*found}  # past the caps it is noted, then escalated


def of_commands(said: Iterable[Said]) -> Iterator[str]:
    """What was answered otherwise than anybody could expect."""
    for one in said:
        if one.refused and one.refused not in EXPECTED_REFUSALS:
            yield f"{_name(one)} was refused: {one.refused}"
        if one.word == "lost" and "unknown_" in one.why:
            yield f"{_name(one)}: {one.why}"


def of_refusals(said: Iterable[Said], todos: Mapping[Key, Todo]) -> Iterator[str]:
    """What was refused is counted by the todo, each once; of what nobody answered, perhaps."""
    answered: Counter[tuple[str, str, str]] = Counter()
    open_ones: Counter[tuple[str, str, str]] = Counter()
    lines = list(said)
    ended = {one.id for one in lines if one.word == "answered"}
    for one in lines:
        if one.word == "answered" and one.refused:
            answered[one.session, one.todo, one.command] += 1
        if one.word == "asked" and one.id not in ended:
            open_ones[one.session, one.todo, one.command] += 1
    for key, todo in todos.items():
        there: Counter[str] = Counter()
        for name, number in todo.refusals.items():
            there[name.split("|")[1]] += number
        for command in {*there, *(command for *of, command in answered if (*of,) == key)}:
            told = answered[*key, command]
            if not told <= there[command] <= told + open_ones[*key, command]:
                yield f"{key}: {told} refusals of {command} were told, {there[command]} counted"


def of_states(found: Found, rows: Sequence[TrailRow]) -> Iterator[str]:
    """What the trail makes of todos and sessions is what their workflows say, and sessions know of their todos."""
    state = fold(rows)
    views = {(view.session, view.todo): view for view in state.todos}
    for key in sorted({*views, *found.todos}):
        yield from _of_state(key, views.get(key), found)
    yield from _of_sessions(state, found)


def _of_state(key: Key, view: TodoView | None, found: Found) -> Iterator[str]:
    todo = found.todos.get(key)
    if todo is None or view is None:
        yield f"{key}: {'no workflow' if todo is None else 'no row'}"
        return
    said = todo.model_dump(mode="json", include=set(SHOWN_FIELDS) - {"retry_context"})
    said |= {"audit_cap": todo.caps.audits, "revision_cap": todo.caps.revisions}
    said["question"] = todo.question.question if todo.question else ""
    there = view.model_dump(mode="json")
    wrong = {name: (there[name], value) for name, value in said.items() if there[name] != value}
    if wrong:
        yield f"{key}: by the trail, and by its workflow: {wrong}"
    entry = found.sessions[key[0]].todos.get(key[1])
    if entry is None or entry.status is not todo.status:
        yield f"{key}: its session has it as {entry.status if entry else 'nothing'}, it is {todo.status}"


def _of_sessions(state: State, found: Found) -> Iterator[str]:
    views = {view.session: view for view in state.sessions}
    for id, session in found.sessions.items():
        view = views.get(id)
        if view is None or (view.status, view.todos) != (session.status, len(session.todos)):
            yield f"session {id}: the trail has {view}, it is {session.status} with {len(session.todos)} todos"


def of_caps(rows: Iterable[TrailRow], views: Iterable[TodoView]) -> Iterator[str]:
    """Audits and revisions as the rows count them are what the todo counts, and no more than it was allowed."""
    by_todo = _by_todo(rows)
    for view in views:
        mine = by_todo[view.session, view.todo]
        over = {row.attempt for row in mine if row.action == "round_ignored"}
        audits = [
            row
            for row in mine
            if row.action == "audit_completed"
            and row.attempt not in over
            and row.payload["outcome"] != RoundOutcome.INCONCLUSIVE
            and row.payload.get("trigger", "") not in ("checks_could_not_run", "system_error")
        ]
        revisions = [row for row in mine if row.action == "changes_requested"]
        counts = (len(audits), len(revisions))
        if counts != (view.audits, view.revisions):
            yield f"{view.session}/{view.todo}: {counts} audits and revisions, it counts {view.audits, view.revisions}"
        if len(audits) > view.audit_cap or len(revisions) > view.revision_cap:
            yield f"{view.session}/{view.todo}: {counts}, at most {view.audit_cap, view.revision_cap}"


def of_verdicts(rows: Iterable[TrailRow]) -> Iterator[str]:
    """Nothing is verified but by a round that says so of that very tree, or by a human who may."""
    for key, mine in _by_todo(rows).items():
        snapshot, judged = "", dict[int, object]()
        for row in mine:
            if row.action == "todo_claimed":
                snapshot, judged = str(row.payload["snapshot"]), {}
            if row.action == "edited":
                judged = {}
            if row.action == "audit_completed":
                judged[row.attempt] = row.payload["outcome"]
            if row.after.get("status") == TodoStatus.VERIFIED and row.before.get("status") != TodoStatus.VERIFIED:
                yield from (f"{key} row {row.sequence}: {what}" for what in _unfounded(row, snapshot, judged))


def _unfounded(row: TrailRow, snapshot: str, judged: Mapping[int, object]) -> Iterator[str]:
    if row.action == "human_override" and row.actor.role in HUMANS:
        if row.payload["kind"] != "direct" and not judged:
            yield "overridden, and no round has judged that tree"
        return
    if row.action != "approved":
        yield f"verified by {row.action}"
        return
    if row.payload["snapshot"] != snapshot or not snapshot:
        yield f"approved for {row.payload['snapshot']!r}, claimed is {snapshot!r}"
    if row.actor.role in HUMANS:
        if not judged:
            yield f"approved by {row.actor}, and no round has judged that tree"
    elif judged.get(row.attempt) != RoundOutcome.VERIFIED:
        yield f"approved by {row.actor}, and the rounds on that tree came to {dict(judged)}"


def of_rounds(rows: Iterable[TrailRow], found: Found) -> Iterator[str]:
    """Every round once in the trail, with each of its steps, and its workflow ended."""
    for key, mine in _by_todo(rows).items():
        steps: defaultdict[int, Counter[str]] = defaultdict(Counter)
        for row in mine:
            if row.workflow_id.startswith("round/"):
                steps[row.attempt][f"{row.action} {row.payload.get('check', '')}".strip()] += 1
        for attempt, counts in steps.items():
            name = f"round/{'/'.join(key)}/{attempt}"
            yield from (f"{name}: {number} times {step}" for step, number in counts.items() if number != 1)
            if counts["verification_started"] != 1 or sum(counts[end] for end in ENDS_A_ROUND) != 1:
                yield f"{name}: {dict(counts)}"
            if found.rounds.get(name) not in ("COMPLETED", "CANCELED"):
                yield f"{name}: its workflow is {found.rounds.get(name)}"
    for name in found.rounds.keys() - {row.workflow_id for row in rows}:
        if found.rounds[name] != "CANCELED":
            yield f"{name}: {found.rounds[name]}, and no row of it"


def of_waiting(found: Found) -> Iterator[str]:
    """Everything that is not over waits for somebody who is told, or for a timer that runs."""
    for id, session in found.sessions.items():
        going = session.status in (SessionStatus.RUNNING, SessionStatus.PAUSED)
        if going and not found.timers.get(session.workflow_id):
            yield f"session {id} is {session.status}, and no timer runs"
    for key, todo in found.todos.items():
        if todo.status in LIVE and (why := _forgotten(todo, found)):
            yield f"{key} is {todo.status}: {why}"


def _forgotten(todo: Todo, found: Found) -> str:
    """Why nobody would ever do anything about it; empty where somebody does."""
    session = found.sessions[todo.session]
    timer = found.timers.get(todo.workflow_id, 0) > 0
    if session.status is SessionStatus.PAUSED:
        held = session.paused_by_human or any(entry.escalated for entry in session.todos.values())
        return "" if held else "its session is paused for nobody"
    if session.status is not SessionStatus.RUNNING:
        return f"its session is {session.status}"
    match todo.status:
        case TodoStatus.IN_PROGRESS:
            return "" if todo.clock.since and timer else "its worker has all the time in the world"
        case TodoStatus.CLAIMED:
            runs = found.rounds.get(f"round/{todo.session}/{todo.id}/{todo.round}") == "RUNNING"
            return "" if timer and (runs or todo.retry_at or todo.question) else "no round runs or will"
        case TodoStatus.BLOCKED:
            return "" if todo.question else "nobody was asked anything"
        case TodoStatus.NEEDS_HUMAN:
            return "" if todo.trigger else "no human knows why"
    missing = {needed for needed in todo.order.depends_on if session.todos[needed].status is not TodoStatus.VERIFIED}
    return "" if missing == set(todo.gate.waits_for) else f"it waits for {todo.gate.waits_for}, not for {missing}"


def _by_todo(rows: Iterable[TrailRow]) -> defaultdict[Key, list[TrailRow]]:
    found: defaultdict[Key, list[TrailRow]] = defaultdict(list)
    for row in rows:
        if row.todo_id:
            found[row.session, row.todo_id].append(row)
    return found
