"""Blobs that the rows of a fix loop name are the todo's: nothing that is thrown away is named by them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pydantic import JsonValue

from domain.events import SYSTEM, Action, TrailRow
from domain.references import of_rows

BLOBS = {
    name: digit * 64 for name, digit in zip(("feedback", "patch", "summary", "prompt", "packet"), "12345", strict=True)
}


def row(action: Action, **payload: JsonValue) -> TrailRow:
    return TrailRow(
        workflow_id="fix/local/wo-1/1",
        ordinal=1,
        session="local",
        todo_id="wo-1",
        actor=SYSTEM,
        action=action,
        payload=payload,
        timestamp=datetime(2026, 1, 15, tzinfo=UTC),
        event_id="1",
        sequence=1,
        previous_hash="",
        hash="",
    )


@pytest.mark.parametrize(
    ("action", "names"),
    [
        ("fix_iteration_completed", ("feedback", "patch")),
        ("patch_applied", ("patch",)),
        ("patch_offered", ("patch",)),
        ("fix_loop_ended", ("summary",)),
        ("role_pass_completed", ("prompt", "packet")),
    ],
)
def test_what_a_row_names_is_referred_to(action: Action, names: tuple[str, ...]) -> None:
    payload: dict[str, JsonValue] = {name: BLOBS[name] for name in names}
    assert of_rows([row(action, **payload)]) == {BLOBS[name] for name in names}


def test_a_field_that_is_empty_names_nothing() -> None:
    assert of_rows([row("fix_loop_ended", summary="")]) == frozenset()
