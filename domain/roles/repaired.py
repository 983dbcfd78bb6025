"""What a fix builder may answer: the shape, the three words of it, and why an answer may not stand. Pure.

Which edits it made, the caller knows. Source: seed `fix loop` 1 "Step D".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from domain.roles.opinion import Said, Text
from domain.roles.packet import one_line

FORMS = "APPLIED:n, PARTIAL:n/m or COULD_NOT_APPLY: reason"

_RESULT = re.compile(
    r"APPLIED: ?(?P<all>[0-9]{1,4})"
    r"|PARTIAL: ?(?P<some>[0-9]{1,4}) ?/ ?(?P<of>[0-9]{1,4})"
    r"|COULD_NOT_APPLY:(?P<reason>.*)"
)

Kind = Literal["applied", "partial", "could_not_apply"]


class Repair(Said):
    """The fix builder's whole answer. `result`: one of `FORMS`, n of the m points of the feedback."""

    result: Annotated[Text, Field(description=FORMS)]
    notes: Annotated[str, Field(max_length=4000)] = ""


class Word(NamedTuple):
    """A result that can be read: `done` of `of` points, or the `reason` why none."""

    kind: Kind
    done: int = 0
    of: int = 0
    reason: str = ""


def word_of(repair: Repair) -> Word | None:
    """What the result says; None for what is of no form."""
    found = _RESULT.fullmatch(one_line(repair.result))
    if found is None:
        return None
    if found["all"] is not None:
        return Word("applied", int(found["all"]), int(found["all"]))
    if found["some"] is not None:
        return Word("partial", int(found["some"]), int(found["of"]))
    return Word("could_not_apply", reason=found["reason"].strip())


def faults_of_repair(repair: Repair, changed: bool) -> tuple[str, ...]:
    """Why it may not stand. `changed`: the edits that were made leave some file otherwise than it was."""
    word = word_of(repair)
    if word is None:
        return (f"{one_line(repair.result)[:100]!r} is no result, expected {FORMS}",)
    return tuple(_faults(word, changed))


def _faults(word: Word, changed: bool) -> Iterator[str]:
    if word.kind == "could_not_apply":
        if not word.reason:
            yield "COULD_NOT_APPLY has no reason, expected COULD_NOT_APPLY: and why"
        return
    name = word.kind.upper()
    if word.done < 1:
        yield f"{name} of no point: where nothing was applied, the result is COULD_NOT_APPLY: and why"
    if word.done > word.of:
        yield f"{name}: {word.done} of {word.of} points are more than there are"
    if not changed:
        yield f"{name}, and no file is otherwise than it was: no edit counts so far"
