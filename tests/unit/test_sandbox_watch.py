"""What a container's watcher makes of time, by a clock that the test moves."""

from __future__ import annotations

import struct
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from adapters.sandbox import check

LIMIT = 10.0
MARK = struct.pack(">BxxxL", 1, 1) + b"\x06"


class Engine:
    """One container: `story` is what comes off its stream, each piece some seconds after the one before."""

    def __init__(self, story: list[tuple[float, bytes]], exit_code: int) -> None:
        self.now = 1000.0
        self._story = iter(story)
        self._state = {"ExitCode": exit_code, "OOMKilled": False, "Running": False}

    def start(self, _: str) -> None:
        """It runs."""

    def inspect_container(self, _: str) -> dict[str, Any]:
        return {"State": self._state}

    def events(self, **_: object) -> list[object]:
        return []

    def receive(self) -> bytes:
        seconds, data = next(self._story)
        self.now += seconds
        return data

    def close(self) -> None:
        """Nobody reads it any more."""


def watched(story: list[tuple[float, bytes]], exit_code: int, monkeypatch: pytest.MonkeyPatch) -> check.Ending:
    engine = Engine(story, exit_code)
    monkeypatch.setattr(check, "Attachment", lambda *_: engine)
    monkeypatch.setattr(check, "time", SimpleNamespace(monotonic=lambda: engine.now, time=lambda: engine.now))
    watch = check.Watch(engine, "container", LIMIT, threading.Event())  # type: ignore[arg-type]  # all it asks of one
    return watch.to_the_end()


@pytest.mark.parametrize(
    ("exit_code", "copy", "ran", "timed_out"),
    [(0, 60.0, 1.5, False), (124, 0.5, 1.5, False), (124, 60.0, 10.0, True), (137, 0.5, 12.0, True)],
)
def test_the_time_that_counts_begins_when_the_tree_is_there(
    exit_code: int, copy: float, ran: float, timed_out: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    story = [(copy / 2, MARK), (copy / 2, MARK), (0.0, MARK), (ran, b"")]
    ending = watched(story, exit_code, monkeypatch)
    assert (ending.marks, ending.exit_code, ending.killed) == (check.BEGAN, exit_code, False)
    assert (ending.seconds, ending.timed_out) == (ran, timed_out)


def test_a_build_is_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    ending = watched([(3.0, MARK), (1.0, MARK), (2.0, MARK), (4.0, b"")], 0, monkeypatch)
    assert (ending.seconds, ending.timed_out) == (6.0, False)
