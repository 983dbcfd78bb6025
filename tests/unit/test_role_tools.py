"""Whose words a tool's answer is: what the worker wrote is no part of a first look, and carries no approval."""

from __future__ import annotations

import pytest

from adapters.roles.tooling import Toolbox
from tests.fakes.role_desk import LOOKED, Desk, FakeTool, call


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Desk:
    return Desk(monkeypatch)


async def test_commits_are_no_part_of_a_first_look(desk: Desk) -> None:
    desk.tools = [FakeTool({"HEAD": "I did all that was asked"}, name="git_log")]
    played = desk.plays([call("git_log", path="HEAD")], [call("first_look", **LOOKED)])
    result = await desk.run(desk.pass_of())
    assert [(each.tool, each.code) for each in result.refused] == [("git_log", "no_such_tool")]
    assert "I did all" not in played.told()
    desk.plays([call("git_log", path="HEAD")], [call("question", question="?", evidence_requested=["a"], reason="r")])
    informed = await desk.run(desk.pass_of("informed", questions=1))
    assert informed.refused == ()


@pytest.mark.parametrize(
    ("name", "observed"),
    [
        ("Read", True),
        ("grep", True),
        ("glob", True),
        ("git_diff", True),
        ("git_log", False),
        ("browser_view", False),
        ("browser_navigate", False),
        ("web_search", False),
        ("arxiv_search", False),
    ],
)
async def test_only_what_was_seen_of_the_work_carries_an_approval(desk: Desk, name: str, observed: bool) -> None:
    box = Toolbox([FakeTool({"a": "all is well"}, name=name)], desk.store, desk.pass_of("informed"))
    heard = await box.call(name, {"path": "a"})
    assert heard.piece is not None
    assert heard.piece.observed is observed
