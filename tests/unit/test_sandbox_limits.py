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


def test_limits_are_proven_on_the_image_that_is_the_least_likely_to_be_removed_meanwhile() -> None:
    class Engine:
        def __init__(self, known: int) -> None:
            self.known = known

        def images(self) -> list[dict[str, object]]:
            tags = (None, ["other:1"], ["countersign/setup:1"], ["countersign/python:2"], ["countersign-base:3"])
            return [{"Id": str(number), "RepoTags": tag} for number, tag in enumerate(tags[: self.known])]

    chosen = [limits._available_image(Engine(known)) for known in range(2, 6)]  # type: ignore[arg-type] # all it asks of one
    assert chosen == [None, "2", "3", "4"]
