"""How one thing that waits is shown: line by line, and once as long as it stays what it is."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from adapters.masking.known import KNOWN
from entrypoints.cli.proposals import Proposal
from entrypoints.cli.render_inbox import lines
from entrypoints.cli.waits import Waiting
from entrypoints.cli.watching_inbox import InboxWatcher
from entrypoints.tried import ChangedPath, Difference, OtherOutcome, Tried

SECRET = "w7Yt4Mc1Qp9Zs3Vd"


def waiting(**fields: Any) -> Waiting:
    given = {
        "session": "s",
        "todo": "a",
        "since": datetime(2026, 1, 15, tzinfo=UTC),
        "status": "needs_human",
        "kind": "escalation",
        "why": "timeout",
        "waited": 60,
        "proposals": (),
        **fields,
    }
    return Waiting(**given)


def told(**fields: Any) -> list[str]:
    return [line.strip() for line in list(lines(waiting(**fields)))[1:]]


def test_of_many_attempts_the_last_are_shown_and_how_many_there_were() -> None:
    tried = tuple(Tried(attempt=n, outcome="changes_requested", verdict="FAIL", snapshot="") for n in range(1, 6))
    assert told(tried=tried) == [
        "tried 5 times; the last 3:",
        *(f"attempt {number}: changes requested" for number in (3, 4, 5)),
    ]
    assert told(tried=tried[:1]) == ["attempt 1: changes requested"]


def test_a_difference_says_paths_and_outcomes_or_why_it_cannot() -> None:
    path = ChangedPath(path="a.py", kind="modified", added=2, removed=1)
    outcome = OtherOutcome(name="tests", before="failed", after="passed")
    assert told(difference=Difference(before=1, after=2, paths=(path,), outcomes=(outcome,))) == [
        "attempt 1 to 2: a.py modified +2 -1",
        "tests: failed, then passed",
    ]
    assert told(difference=Difference(before=0, after=1)) == ["the base to attempt 1: the same tree"]
    assert told(difference=Difference(before=1, after=2, unknown="the tree was pruned")) == [
        "attempt 1 to 2: cannot be compared: the tree was pruned"
    ]


def test_nothing_in_a_command_reaches_the_terminal_as_it_is() -> None:
    (line,) = told(proposals=(Proposal(command="countersign note '\x1b[2J'", does="say it"),))
    assert "\x1b" not in line
    assert line.endswith("# say it")


def test_that_time_passes_is_no_change_and_secrets_are_masked(capsys: pytest.CaptureFixture[str]) -> None:
    KNOWN.learn({"INBOX_TEST_TOKEN": SECRET.encode()})
    with InboxWatcher(as_json=True) as watcher:
        watcher.see([waiting(why=f"got {SECRET}")])
        watcher.see([waiting(why=f"got {SECRET}", waited=61, cost_usd=0.5)])
        watcher.see([waiting(why="another")])
    out = capsys.readouterr().out
    assert [json.loads(line)["event"] for line in out.splitlines()] == ["waiting", "changed"]
    assert SECRET not in out
