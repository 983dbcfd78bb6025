"""What `verify --verbose` says while a round runs: a line as each stage ends, from the rows of the trail.

Beside a line stands the seed's name for the event, where it has one. Source: seed `pipeline` "Events Emitted".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from rich.text import Text

from domain.errors import Unavailable
from domain.event_names import named
from domain.events import Action, RowFilter, TrailRow
from entrypoints.cli.marks import MARKS, WORD_MARKS
from entrypoints.cli.output import counted, one_line

if TYPE_CHECKING:
    from domain.ports import Trail

Line = tuple[str, str, str]
"""The status that gives the mark, what has ended, and what is said of it."""


class Stages:
    """The stages of one attempt, each told once."""

    def __init__(self, trail: Trail, session: str, todo: str, attempt: int) -> None:
        self._trail = trail
        self._wanted = RowFilter(session=session, todo=todo, attempt=attempt)
        self._after: dict[str, int] = {}
        self._dropped = 0

    def new(self) -> Iterator[Text]:
        """A line for each stage that has ended since; a trail that cannot be read now tells it later."""
        try:
            rows = list(self._trail.rows(self._wanted.model_copy(update={"after": dict(self._after)})))
        except Unavailable:
            return
        for row in rows:
            self._after[row.session] = row.sequence
            self._dropped += row.action == "check_rejected" and row.payload.get("dropped") is True
            text = stage_line(row, self._dropped)
            if text is not None:
                yield text


def stage_line(row: TrailRow, dropped: int = 0) -> Text | None:
    """The line of one row, None for one that ends no stage. `dropped`: drafted checks that were rejected before it."""
    tell = next((tell for action, tell in _LINES.items() if action == row.action), None)
    line = tell(row) if tell else None
    if line is None:
        return None
    status, what, said = line
    if row.action == "tests_generated" and dropped:
        said = f"{said}, {dropped} rejected"
    mark, style = {**MARKS, **WORD_MARKS}[status]
    text = Text().append(f"{mark} {one_line(what)}", style)
    text.append(f"  {one_line(said, 200)}")
    event = named(row, "pipeline")
    return text.append(f"  {event.name}", "dim") if event else text


def _text(row: TrailRow, field: str) -> str:
    value = row.payload.get(field)
    return value if isinstance(value, str) else "" if value is None else str(value)


def _count(row: TrailRow, field: str) -> int:
    """A number, or how many a list has: rows of other versions are taken as they are."""
    value = row.payload.get(field)
    return len(value) if isinstance(value, list) else value if isinstance(value, int) else 0


def _started(row: TrailRow) -> Line:
    return (
        "running",
        "started",
        f"attempt {row.attempt}: {counted((_count(row, 'items'), 'check'))} written in the order",
    )


def _snapshot(row: TrailRow) -> Line:
    return _or_error(row, "snapshot", "the work and its base are frozen")


def _environment(row: TrailRow) -> Line:
    return _or_error(row, "environment", _text(row, "image"))


def _or_error(row: TrailRow, what: str, said: str) -> Line:
    error = _text(row, "error")
    return ("could_not_run", what, error) if error else ("done", what, said)


def _scope(row: TrailRow) -> Line:
    said = f"{_count(row, 'changed')} changed, {_count(row, 'restored')} restored, {_count(row, 'dropped')} left out"
    broken = _count(row, "violations")
    return ("failed", "scope", f"{said}, {broken} not allowed") if broken else ("done", "scope", said)


def _spec(row: TrailRow) -> Line:
    return "done", "specification", f"{_count(row, 'criteria')} criteria: {_text(row, 'summary')}"


def _rejected(row: TrailRow) -> Line:
    then = "dropped" if row.payload.get("dropped") is True else "goes back once"
    what = f"{_text(row, 'criterion')} {_text(row, 'check')} [{_text(row, 'code')}]"
    return "failed", f"rejected {_text(row, 'criterion')}", f"{what}: {_text(row, 'reason')} ({then})"


def _tests(row: TrailRow) -> Line:
    return "done", "tests generated", _text(row, "count")


def _check(row: TrailRow) -> Line:
    outcome = _text(row, "outcome")
    status = outcome if outcome in MARKS else "could_not_run"
    return status, f"check {_text(row, 'check')}", f"{outcome.replace('_', ' ')} ({_text(row, 'code')})"


def _probe(row: TrailRow) -> Line:
    return "failed" if row.payload.get("tested") is False else "done", "probe", _text(row, "text")


def _asked(row: TrailRow) -> Line:
    return "waiting", "asked", _text(row, "question")


def _pass(row: TrailRow) -> Line | None:
    """What a role did: of those that a row of their own tells of, only that there was no answer."""
    role, outcome = _text(row, "role"), _text(row, "outcome")
    who = f"{role}, scripted" if row.payload.get("scripted") is True else role
    if outcome == "answered":
        return ("done", "argued", f"by the {who}") if _text(row, "stage") == "argument" else None
    if outcome in {"asks", "wants_tests"}:
        return None
    return "could_not_run", role, f"{outcome.replace('_', ' ')}: {_text(row, 'why')}"


def _audited(row: TrailRow) -> Line:
    return _worded(row, "audited", _text(row, "assessment"), "")


def _judged(row: TrailRow) -> Line:
    return _worded(row, "judged", _text(row, "verdict"), f", the {_text(row, 'first')} read first")


def _worded(row: TrailRow, what: str, word: str, more: str) -> Line:
    status = word if word in WORD_MARKS else "UNPROVED"
    return status, f"{what} {_text(row, 'criterion')}", f"{word}, confidence {_text(row, 'confidence')}{more}"


def _verdict(row: TrailRow) -> Line:
    word, reasons = _text(row, "result"), row.payload.get("reasons")
    codes = ", ".join(str(code) for code in reasons) if isinstance(reasons, list) else ""
    status = word if word in WORD_MARKS else "UNPROVED"
    said = f"{word}, {_text(row, 'outcome').replace('_', ' ')}"
    return status, "verdict", f"{said}: {codes}" if codes else said


_LINES: dict[Action, Callable[[TrailRow], Line | None]] = {
    "verification_started": _started,
    "snapshot_frozen": _snapshot,
    "environment_ready": _environment,
    "scope_assessed": _scope,
    "spec_created": _spec,
    "check_rejected": _rejected,
    "tests_generated": _tests,
    "check_completed": _check,
    "probe_completed": _probe,
    "follow_up_asked": _asked,
    "role_pass_completed": _pass,
    "criterion_audited": _audited,
    "criterion_judged": _judged,
    "audit_completed": _verdict,
}
"""How the end of each stage is told; other rows say nothing that a person waits for."""
