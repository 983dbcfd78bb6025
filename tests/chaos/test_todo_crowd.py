"""Creating a session is asked again where nobody could tell, and for no other reason."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

import pytest

from tests.chaos.todo_crowd import TRIES, created_before

Answered = subprocess.CompletedProcess[str]


def answered(status: int, /, **told: str) -> Answered:
    """What `session create --json` would say."""
    return Answered((), status, json.dumps(told) if told else "", f"said with {status}")


CREATED = answered(0, session="s")
UNSURE = answered(3, error="unavailable", code="server_unavailable")
THERE = answered(1, error="refused", code="session_exists")
DEFECT = answered(3)


def script(*answers: Answered) -> Callable[[], Answered]:
    waiting = list(answers)
    return lambda: waiting.pop(0)


@pytest.mark.parametrize(
    ("answers", "before"),
    [((CREATED,), False), ((UNSURE, CREATED), False), ((UNSURE, UNSURE, THERE), True)],
    ids=["at once", "at the second try", "by a try that could not tell"],
)
def test_asks_until_somebody_can_tell(answers: tuple[Answered, ...], before: bool) -> None:
    assert created_before(script(*answers)) is before


@pytest.mark.parametrize(
    "answers",
    [(THERE,), (DEFECT,), (UNSURE, answered(1, error="refused", code="forbidden")), (answered(2, error="malformed"),)],
    ids=["of somebody else", "a defect", "refused", "malformed"],
)
def test_every_other_answer_is_a_failure(answers: tuple[Answered, ...]) -> None:
    with pytest.raises(AssertionError, match="said with"):
        created_before(script(*answers, CREATED))


def test_does_not_ask_forever() -> None:
    with pytest.raises(AssertionError, match="nobody could tell"):
        created_before(script(*[UNSURE] * TRIES, CREATED))
