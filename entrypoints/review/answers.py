"""What came of asking, in words: an answer, a refusal with its code and next step, or why nobody could be asked."""

from __future__ import annotations

import json
from collections.abc import Iterator

from pydantic import JsonValue
from rich.text import Text

from domain.errors import CountersignError, Malformed, Refused, Unavailable
from domain.requests import Answer, Refusal
from domain.shown_text import one_line
from entrypoints.review.acts import Act

STALE = frozenset({"stale_version", "stale_snapshot", "stale_signature"})
"""What is refused because something else is there by now than what was shown."""


def told(name: str, act: Act, answer: Answer) -> Text:
    """The answer to `act`, asked of the todo or session `name`."""
    if answer.refused is not None:
        return refused(answer.refused)
    if answer.dry_run:
        text = Text(f"{act.title} would be done: nothing has been yet", "bold green")
    else:
        text = Text(f"✓ {act.name}: {one_line(name)} is {answer.status.replace('_', ' ')}", "bold green")
        if answer.review_status:
            text.append(f" ({answer.review_status.replace('_', ' ')})")
    text.append(f", version {answer.version}" if answer.version else "", "")
    text.append(f", signed by {one_line(answer.signer)}" if answer.signer else "", "")
    for line in _changes(answer):
        text.append(f"\n  {line}", "not bold default")
    return text


def refused(refusal: Refusal) -> Text:
    """With its code and what would help."""
    text = Text(f"refused: {one_line(refusal.reason, 2000)} ({one_line(refusal.code)})", "bold red")
    text.append(f"\nnext: {one_line(refusal.next_step, 2000)}", "yellow")
    if refusal.code in STALE:
        text.append("\nclose this with escape to see it as it is now; what you have typed is kept", "yellow")
    return text


def failed(error: CountersignError) -> Text:
    """What kept it from being asked, or from being answered."""
    if isinstance(error, Refused):
        return refused(Refusal(code=error.code, reason=error.reason, next_step=error.next_step))
    if isinstance(error, Unavailable):
        text = Text(f"could not tell: {one_line(error.reason, 2000)} ({error.cause})", "bold red")
        return text.append(f"\nnext: {one_line(error.next_step, 2000)}", "yellow")
    if isinstance(error, Malformed):
        return Text(
            "\n".join(one_line(f"{each.field}: {each.what}, {each.expected}") for each in error.problems), "red"
        )
    return Text(one_line(str(error), 2000), "bold red")


def _changes(answer: Answer) -> Iterator[str]:
    for field, change in answer.changed.items():
        yield f"{one_line(field)}: {_value(change.before)} → {_value(change.after)}"


def _value(value: JsonValue) -> str:
    return one_line(value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False))
