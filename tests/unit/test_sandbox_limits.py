"""When a proof of a limit is taken for failed."""

from __future__ import annotations

from typing import Any

import pytest

from adapters.sandbox import limits

HELD = {"ExitCode": 137, "OOMKilled": True}
FORGOTTEN = {"ExitCode": 137, "OOMKilled": False}
NOT_BOUND = {"ExitCode": 99, "OOMKilled": False}
MEMORY = limits._PROOFS[0]


@pytest.mark.parametrize(
    ("states", "tried", "held"),
    [([HELD], 1, True), ([FORGOTTEN, HELD], 2, True), ([NOT_BOUND] * 4, 3, False)],
    ids=["at once", "an engine that forgot to say so", "never"],
)
def test_a_limit_is_tried_a_few_times_before_it_is_refused(
    states: list[dict[str, Any]], tried: int, held: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = iter(states)
    seen: list[dict[str, Any]] = []

    def one(*_: object) -> dict[str, Any]:
        seen.append(next(left))
        return seen[-1]

    monkeypatch.setattr(limits, "_end_of_one", one)
    assert MEMORY.held(limits._end_of(None, MEMORY, "image", "owner")) is held  # type: ignore[arg-type] # not asked
    assert len(seen) == tried
