"""`countersign log show --follow`: each row once, whatever the database does meanwhile."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest
from typer.testing import Result

from domain.errors import Cause, Unavailable
from domain.events import EVERYTHING, RowFilter, TrailRow
from entrypoints.cli import common, log_follow, log_show
from tests.fakes.trail import Memory, MemoryTrail
from tests.unit.test_cli_log import LINE, entry, memory, run, three

__all__ = ["memory", "three"]  # fixtures


class Comes:
    """What happens between one look at the trail and the next; after the last thing, Ctrl-C."""

    def __init__(self, *happens: Callable[[], object]) -> None:
        self.happens = list(happens)

    def __call__(self) -> None:
        if not self.happens:
            raise KeyboardInterrupt
        self.happens.pop(0)()


def follow(monkeypatch: pytest.MonkeyPatch, happens: list[Callable[[], object]], *arguments: str) -> Result:
    monkeypatch.setattr(log_show, "wait_for_more", Comes(*happens))
    return run("show", "--follow", *arguments)


def test_following_shows_each_row_once_as_it_comes(three: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    trail = MemoryTrail(three)
    happens: list[Callable[[], object]] = [
        lambda: trail.append(entry(10)),
        lambda: None,
        lambda: [trail.append(entry(11, session="new")), trail.append(entry(12, session="other"))],
    ]
    result = follow(monkeypatch, happens, "--json", "--last", "1")
    assert result.exit_code == 0
    rows = [json.loads(text) for text in result.stdout.splitlines()]
    assert [(row["session"], row["sequence"]) for row in rows] == [("other", 1), ("local", 3), ("new", 1), ("other", 2)]
    assert result.stderr == ""


def test_following_heeds_what_was_asked_for(three: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    trail = MemoryTrail(three)
    started = {"action": "check_started", "payload": {"check": "c"}}
    happens: list[Callable[[], object]] = [
        lambda: [trail.append(entry(10)), trail.append(entry(11, **started)), trail.append(entry(12, session="other"))]
    ]
    result = follow(monkeypatch, happens, "abc123", "--action", "audit_completed", "--names", "authority")
    assert result.exit_code == 0
    assert result.stdout.count("VerificationCompleted task_id=abc123 attempt_id=local/abc123/") == 3
    assert len(result.stdout.splitlines()) == 3


def test_following_waits_for_an_attempt_but_not_for_a_todo(three: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    trail = MemoryTrail(three)
    result = follow(monkeypatch, [lambda: trail.append(entry(10, attempt=3))], "abc123", "--attempt", "3")
    assert (result.exit_code, result.stdout) == (0, LINE)
    nobody = follow(monkeypatch, [], "abd123")
    assert (nobody.exit_code, nobody.stderr) == (
        common.EXIT_NOT_FOUND,
        "the trail has nothing of local/abd123\n",
    )


def test_following_outlives_a_database_that_is_away(three: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    trail = MemoryTrail(three)
    gone = Unavailable(Cause.STORE_UNAVAILABLE, "the server\x1b is gone", "start it")

    def back() -> None:
        three.trouble = None
        trail.append(entry(10))

    happens: list[Callable[[], object]] = [
        lambda: setattr(three, "trouble", gone),
        lambda: None,
        back,
        lambda: None,
    ]
    result = follow(monkeypatch, happens, "--last", "0")
    assert (result.exit_code, result.stdout) == (0, LINE)
    assert result.stderr == (
        "the trail cannot be read now: the server\\x1b is gone; asking again until it can\n"
        "the trail can be read again\n"
    )
    assert result.output.endswith(f"the trail can be read again\n{LINE}"), "whoever has the row may want no more"


def test_a_database_that_breaks_off_in_the_middle_loses_and_repeats_nothing(three: Memory) -> None:
    seen: list[tuple[str, int]] = []

    class Breaks(MemoryTrail):
        broken = False

        def rows(self, wanted: RowFilter = EVERYTHING) -> Iterator[TrailRow]:
            for row in super().rows(wanted):
                yield row
                if not self.broken:
                    Breaks.broken = True
                    raise Unavailable(Cause.STORE_UNAVAILABLE, "gone", "wait")

    with pytest.raises(KeyboardInterrupt):
        log_follow.follow(
            Breaks(three), EVERYTHING, {}, lambda row: seen.append((row.session, row.sequence)), Comes(lambda: None)
        )
    assert seen == [("local", 1), ("local", 2), ("other", 1)]


def test_a_trail_that_cannot_be_read_at_the_start_is_no_answer(three: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    three.trouble = Unavailable(Cause.STORE_UNAVAILABLE, "gone", "wait")
    assert isinstance(follow(monkeypatch, []).exception, Unavailable)
