"""`countersign inbox --watch`: what comes, changes and goes, each once; and nothing is read again that is the same."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable
from typing import Any

from rich.console import Console

from domain.errors import Cause, Unavailable
from domain.read_model import TodoView
from entrypoints.cli import common, inbox, waits
from entrypoints.cli.watching_inbox import InboxWatcher
from tests.unit.test_cli_asking import NOW, Desk, Spoken, desk
from tests.unit.test_cli_log_follow import Comes
from tests.unit.test_inbox import put
from tests.unit.test_inbox import waits as waiting_todo

__all__ = ["desk"]  # a fixture


def one(desk: Desk, todo: str = "a", **fields: Any) -> TodoView:
    return waiting_todo(desk, todo, **{"trigger": "timeout", "attempt": 0, "waiting_since": NOW, **fields})


def watched(desk: Desk, *happens: Callable[[], object], options: tuple[str, ...] = ()) -> Spoken:
    desk.monkeypatch.setattr(inbox, "wait_for_more", Comes(*happens))
    return desk.run("inbox", "--watch", *options)


def nothing() -> None:
    """Between two looks."""


def test_each_thing_is_told_once_as_it_comes_changes_and_goes(desk: Desk) -> None:
    put(desk, one(desk))
    spoken = watched(
        desk,
        nothing,
        lambda: put(desk, one(desk), one(desk, "b")),
        lambda: put(desk, one(desk, trigger="no_progress"), one(desk, "b")),
        lambda: put(desk, one(desk, "b")),
        nothing,
        options=("--json",),
    )
    assert (spoken.code, spoken.err) == (0, "")
    told = [json.loads(line) for line in spoken.out.splitlines()]
    assert [(each["event"], each["entry"]["todo"], each["entry"]["why"]) for each in told] == [
        ("waiting", "a", "timeout"),
        ("waiting", "b", "timeout"),
        ("changed", "a", "no_progress"),
        ("resolved", "a", "no_progress"),
    ]


def test_in_words_what_waits_is_told_whole_and_what_is_resolved_in_a_line(desk: Desk) -> None:
    put(desk, one(desk, title="Write it"))
    lines = watched(desk, lambda: put(desk)).out.splitlines()
    assert lines[0].startswith("waiting: 2026-01-15 10:00Z, ")
    assert lines[0].endswith("  one/a  needs human (escalation): timeout")
    assert lines[1:3] == ["    Write it", "    countersign review one/a  # look at it, and decide there"]
    assert lines[-1].startswith("resolved: 2026-01-15 10:00Z, ")
    assert [line.startswith(" ") for line in lines].count(False) == 2


def test_what_is_the_same_is_not_read_again(desk: Desk) -> None:
    made: list[str] = []
    entry = waits.Desk.entry

    def counted(self: waits.Desk, candidate: waits.Candidate) -> waits.Waiting:
        made.append(candidate.key[1])
        return entry(self, candidate)

    desk.monkeypatch.setattr(waits.Desk, "entry", counted)
    put(desk, one(desk), one(desk, "b"))
    watched(desk, nothing, lambda: put(desk, one(desk), one(desk, "b", flag="look")), nothing)
    assert made == ["a", "b", "b"]


def test_a_subtask_that_opens_changes_what_can_be_done(desk: Desk) -> None:
    put(desk, one(desk), one(desk, "b", status="verified", parent="a"))
    reopened = one(desk, "b", status="in_progress", parent="a")
    spoken = watched(desk, lambda: put(desk, one(desk), reopened), options=("--json",))
    assert [json.loads(line)["event"] for line in spoken.out.splitlines()] == ["waiting"], "an entry that is the same"
    order = {"override_policy": {"direct_approval_allowed": True}}
    put(desk, one(desk, order=order), one(desk, "b", status="verified", parent="a"))
    spoken = watched(desk, lambda: put(desk, one(desk, order=order), reopened), options=("--json",))
    before, after = (json.loads(line) for line in spoken.out.splitlines())
    assert (before["event"], after["event"]) == ("waiting", "changed")
    assert any("override" in command for command in before["entry"]["next"])
    assert not any("override" in command for command in after["entry"]["next"])


def test_a_filter_is_heeded_all_the_while(desk: Desk) -> None:
    put(desk, one(desk))
    asked = one(desk, "b", status="blocked", question="?")
    spoken = watched(desk, lambda: put(desk, one(desk), asked), options=("--json", "--kind", "question"))
    assert [json.loads(line)["entry"]["todo"] for line in spoken.out.splitlines()] == ["b"]


def test_a_trail_that_is_away_is_said_once_and_nothing_is_resolved_by_that(desk: Desk) -> None:
    put(desk, one(desk))
    gone = Unavailable(Cause.STORE_UNAVAILABLE, "the server\x1b is gone", "start it")

    def back() -> None:
        desk.memory.trouble = None
        put(desk, one(desk), one(desk, "b"))

    spoken = watched(desk, lambda: setattr(desk.memory, "trouble", gone), nothing, back, options=("--json",))
    assert spoken.code == 0
    assert [json.loads(line)["entry"]["todo"] for line in spoken.out.splitlines()] == ["a", "b"]
    assert spoken.err == (
        "the trail cannot be read now: the server\\x1b is gone; asking again\nthe trail can be read again\n"
    )


def test_a_trail_that_cannot_be_read_at_the_start_is_no_answer(desk: Desk) -> None:
    desk.memory.trouble = Unavailable(Cause.STORE_UNAVAILABLE, "gone", "wait")
    assert watched(desk).code == common.EXIT_UNAVAILABLE


def test_who_has_read_enough_ends_it_well(desk: Desk) -> None:
    def leaves() -> None:
        raise BrokenPipeError

    put(desk, one(desk))
    kept: list[tuple[int, int]] = []
    desk.monkeypatch.setattr(os, "dup2", lambda *given: kept.append(given))
    desk.monkeypatch.setattr("sys.stdout.fileno", lambda: 1, raising=False)
    assert watched(desk, leaves).code == 0
    assert len(kept) == 1


def test_on_a_terminal_it_is_drawn_anew(desk: Desk) -> None:
    put(desk, one(desk))
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=120)
    desk.monkeypatch.setattr(common, "stdout", console)
    seen = inbox.Inbox(common.open_trail(), inbox.Wanted(), None)
    with InboxWatcher(as_json=False) as watcher:
        assert watcher.live is not None
        for todos, shown in (((one(desk),), "one/a"), ((), "nothing waits for a human"), ((one(desk, "b"),), "one/b")):
            put(desk, *todos)
            watcher.see(seen.look())
            watcher.live.refresh()
            assert shown in screen.getvalue()
            screen.truncate(0)
    assert "waiting:" not in screen.getvalue()
    assert InboxWatcher(as_json=True).live is None, "an object a line, on a terminal too"
