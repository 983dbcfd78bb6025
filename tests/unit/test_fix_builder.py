"""Passes of the fix builder: what it is told and may do, what its answer has to be, and what comes of its edits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from adapters.roles.conversation import ANSWERS
from adapters.roles.runtime import ROLES
from domain.errors import Cause, Unavailable
from domain.roles.agents import Agents
from domain.roles.repaired import Repair
from domain.roles.results import PassResult
from domain.tree import Manifest, changes
from tests.fakes.evidence import MemoryStore
from tests.fakes.repairs import APPLIED, BASE, FIX, HEAD, RIGHT, Contents, pass_on
from tests.fakes.role_desk import EXPLANATION, Desk, FakeTool, Played, call, text

TOOLS = {"Read", "grep", "glob", "Edit"}


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Desk:
    return Desk(monkeypatch)


def content(desk: Desk, result: PassResult, path: str = "src/prime.py") -> bytes:
    assert result.fixed is not None, result.why
    return desk.store.get(Manifest.decode(desk.store.get(result.fixed.head)).by_path[path].digest)


async def test_a_repair_is_a_tree_and_a_patch(desk: Desk) -> None:
    request = pass_on(desk)
    desk.plays([call("Read", path="src/prime.py")], [call("Edit", **FIX)], [call("repair", **APPLIED)])
    result = await desk.run(request)
    assert (result.outcome, result.why, result.refused, result.usage.requests) == ("answered", "", (), 3)
    fixed = result.fixed
    assert fixed is not None
    assert (fixed.kind, fixed.answer, fixed.reason, fixed.edits, fixed.paths) == (
        *("applied", "APPLIED:1", "", 1, ("src/prime.py",)),
    )
    assert content(desk, result) == RIGHT
    head, old = (Manifest.decode(desk.store.get(one)) for one in (fixed.head, request.frozen.head))
    assert [one.path for one in changes(old, head)] == ["src/prime.py"]
    assert (fixed.head_files, fixed.head_bytes) == (len(head.entries), head.size)
    assert "+    return n > 1 and all(" in desk.store.get(fixed.patch).decode()
    assert Repair.model_validate_json(desk.store.get(result.said)) == Repair(**APPLIED)
    assert PassResult.model_validate_json(result.model_dump_json()) == result
    assert (result.audit, result.rulings, result.plan, result.specification) == (None, (), None, None)


async def test_a_part_of_it_is_a_repair_too(desk: Desk) -> None:
    desk.plays([call("Edit", **FIX)], [call("repair", result="PARTIAL: 1 / 2", notes="")])
    result = await desk.run(pass_on(desk))
    assert result.fixed is not None
    assert (result.fixed.kind, result.fixed.answer) == ("partial", "PARTIAL: 1 / 2")
    assert content(desk, result) == RIGHT


async def test_edits_are_thrown_away_where_it_could_not_apply(desk: Desk) -> None:
    reason = "COULD_NOT_APPLY: it takes\na new file"
    desk.plays([call("Edit", **FIX)], [call("repair", result=reason)])
    result = await desk.run(pass_on(desk))
    fixed = result.fixed
    assert fixed is not None
    assert (fixed.kind, fixed.answer) == ("could_not_apply", "COULD_NOT_APPLY: it takes a new file")
    assert (fixed.reason, fixed.head, fixed.patch, fixed.paths, fixed.edits) == ("it takes a new file", "", "", (), 0)


UNDO = {"path": FIX["path"], "old": FIX["new"], "new": FIX["old"]}


@pytest.mark.parametrize(
    ("edits", "said", "told"),
    [
        ([FIX], "I applied it.", "'I applied it.' is no result, expected APPLIED:n, PARTIAL:n/m or COULD_NOT_APPLY"),
        ([FIX], "APPLIED:1 and more", "is no result"),
        ([FIX], "APPLIED:-1", "is no result"),
        ([], "APPLIED:1", "APPLIED, and no file is otherwise than it was"),
        ([], "PARTIAL:1/2", "PARTIAL, and no file is otherwise than it was"),
        ([FIX, UNDO], "APPLIED:1", "APPLIED, and no file is otherwise than it was"),
        ([{**FIX, "path": "tests/test_prime.py"}], "APPLIED:1", "APPLIED, and no file is otherwise than it was"),
        ([FIX], "PARTIAL:3/2", "3 of 2 points are more than there are"),
        ([FIX], "PARTIAL:0/2", "PARTIAL of no point"),
        ([FIX], "APPLIED:0", "APPLIED of no point"),
        ([FIX], "COULD_NOT_APPLY:", "COULD_NOT_APPLY has no reason"),
        ([FIX], "COULD_NOT_APPLY: ", "COULD_NOT_APPLY has no reason"),
    ],
)
async def test_what_does_not_hold_up_goes_back_and_is_refused(desk: Desk, edits: Any, said: str, told: str) -> None:
    asked = [[call("Edit", **one)] for one in edits]
    played = desk.plays(*asked, [call("repair", result=said)])
    result = await desk.run(pass_on(desk))
    assert (result.outcome, result.fixed, result.said) == ("inconclusive", None, "")
    assert told in result.why
    assert told in played.told()
    assert len(played.asked) == len(edits) + ANSWERS


@pytest.mark.parametrize("turn", [text("APPLIED:1"), [call("repair", verdict="PASS")]])
async def test_what_cannot_be_read_is_inconclusive(desk: Desk, turn: Any) -> None:
    played = desk.plays(turn)
    result = await desk.run(pass_on(desk))
    assert (result.outcome, result.fixed, len(played.asked)) == ("inconclusive", None, ANSWERS)


async def test_an_answer_is_mended_after_the_edit_that_it_lacked(desk: Desk) -> None:
    desk.plays([call("repair", **APPLIED)], [call("Edit", **FIX)], [call("repair", **APPLIED)])
    result = await desk.run(pass_on(desk))
    assert (result.outcome, content(desk, result)) == ("answered", RIGHT)


async def test_it_has_four_tools_whatever_a_worker_process_has(desk: Desk) -> None:
    desk.tools = [FakeTool({"src/prime.py": "other"}, name=name) for name in ("Read", "Write", "Bash", "git_diff")]
    played = desk.plays(
        [call("Write", path="src/new.py", content="x"), call("Bash", command="rm -rf /")],
        [call("git_diff"), call("git_log"), call("run_tests", name="prints"), call("web_search", query="primes")],
        [call("Read", path="src/prime.py"), call("Edit", **FIX)],
        [call("repair", **APPLIED)],
    )
    result = await desk.run(pass_on(desk))
    assert ROLES["fix_builder"].tools == {tool.name for tool in played.asked[0][1].function_tools} == TOOLS
    assert [(one.tool, one.code) for one in result.refused] == [
        (name, "no_such_tool") for name in ("Write", "Bash", "git_diff", "git_log", "run_tests", "web_search")
    ]
    assert json.loads(result.refused[1].arguments) == {"command": "rm -rf /"}
    assert "     2\\t    return n > 1" in played.told()
    assert [tool.calls for tool in desk.tools if isinstance(tool, FakeTool)] == [[]] * 4
    assert content(desk, result) == RIGHT


async def test_what_is_refused_is_told_and_kept(desk: Desk) -> None:
    """An instruction in a file gets nobody further than the tools do: here a model that obeys it."""
    bad = {
        "src/new.py": "not_found",
        "tests/test_prime.py": "protected",
        "docs/manual.md": "out_of_scope",
        "../prime.py": "outside_tree",
        "/etc/passwd": "outside_tree",
        "out": "outside_tree",
    }
    extra: Contents = {"docs/manual.md": b"return n > 1\n", "out": "../../etc/passwd"}
    played = desk.plays(
        [call("Edit", **{**FIX, "path": path}) for path in bad],
        [call("Edit", path="src/prime.py", old="", new="x"), call("Edit", path="src/prime.py", content="x")],
        [call("repair", result="COULD_NOT_APPLY: everything is refused")],
    )
    order = {"scope": {"deny": ["docs/**"]}}
    result = await desk.run(pass_on(desk, {**HEAD, **extra}, {**BASE, **extra}, order=order))
    assert [(one.tool, one.code) for one in result.refused] == [
        *(("Edit", code) for code in bad.values()),
        *[("Edit", "bad_arguments")] * 2,
    ]
    assert [path in one.reason for path, one in zip(bad, result.refused, strict=False)] == [True] * len(bad)
    assert "Refused (protected)" in played.told()
    assert result.fixed is not None
    assert result.fixed.head == ""


async def test_several_edits_at_once_are_made_one_after_the_other(desk: Desk) -> None:
    more = {"path": "src/prime.py", "old": "range(2, n)", "new": "range(2, n // 2 + 1)"}
    desk.plays([call("Edit", **FIX), call("Edit", **more)], [call("repair", result="APPLIED:2")])
    result = await desk.run(pass_on(desk))
    assert b"n // 2" in content(desk, result)
    assert result.fixed is not None
    assert result.fixed.edits == 2


async def test_it_is_told_the_order_the_scope_and_the_feedback_and_not_what_the_worker_says(desk: Desk) -> None:
    order = {
        "content": "Write is_prime.",
        "domain": "polish",
        "scope": {"deny": ["src/other.py"], "protect": ["*.cfg"], "unprotect": ["a.cfg"]},
        "environment": {"inputs": ["requirements.txt"], "setup": ["true"]},
        "verification": {"tests": ["own"]},
    }
    request = pass_on(desk, own={"own/check.py": b"x"}, order=order)
    played = desk.plays([call("repair", result="COULD_NOT_APPLY: no")])
    await desk.run(request)
    (block,) = played.told().split("<data id=")[1:]
    told = json.loads(block.partition("\n")[2].partition("\n</data")[0])
    assert (told["todo_content"], told["domain"], told["files_changed"]) == (
        "Write is_prime.",
        "polish",
        ["src/prime.py"],
    )
    assert told["paths"] == sorted([*BASE, "own/check.py"])
    assert told["checks"] == [{"name": "prints", "command": "python src/app.py", "cwd": ".", "required": True}]
    for words in ("'**'", "'src/other.py'", "'*.cfg'", "'a.cfg'", "'own'", "'requirements.txt'"):
        assert words in " ".join(told["scope"])
    feedback = told["feedback"]
    assert (feedback["human_feedback"], feedback["specific_failures"], feedback["outputs"]) == (
        *("Mind the even numbers.", ["AC-1: is_prime(4) returned True"], {"AC-1": ["first line", "second line", ""]}),
    )
    assert feedback["verifier_feedback"] == "the auditor: it says yes too often"
    assert EXPLANATION not in played.told()
    assert "the claim says" not in played.told()


async def test_its_own_limits_and_a_model_that_never_stops(desk: Desk) -> None:
    desk.agents = Agents.model_validate({**desk.agents.model_dump(), "fix_builder": {"max_requests": 3}})
    played = desk.plays([call("Read", path="src/prime.py")])
    result = await desk.run(pass_on(desk))
    assert (result.outcome, result.fixed, len(played.asked)) == ("inconclusive", None, 3)


@pytest.mark.parametrize(("role", "budget"), [(None, 1), (1.0, 1), (0.000001, None), (0.000001, 10**9)])
async def test_what_is_left_of_the_budget_is_a_cap_of_the_role(
    desk: Desk, role: float | None, budget: int | None
) -> None:
    desk.agents = Agents.model_validate({**desk.agents.model_dump(), "caps": {"role": role}})
    played = desk.plays([call("repair", result="COULD_NOT_APPLY: no")])
    result = await desk.run(pass_on(desk, budget=budget))
    assert (result.outcome, result.fixed, played.asked) == ("cost_cap_exceeded", None, [])
    assert "the cap of a role is" in result.why
    desk.agents = Agents.model_validate({**desk.agents.model_dump(), "caps": {"role": None}})
    assert (await desk.run(pass_on(desk, budget=10**9))).outcome == "answered"


class Dying(MemoryStore):
    """A store that is away, once, when this is to be put: whoever runs then is as good as killed."""

    dies_at = ""

    def put(self, data: bytes) -> str:
        if self.dies_at and data.startswith(self.dies_at.encode()):
            self.dies_at = ""
            raise Unavailable(Cause.STORE_UNAVAILABLE, "killed", "Run it again.")
        return super().put(data)


MORE = {"path": "src/prime.py", "old": "n > 1", "new": "1 < n"}
AGAIN = {"path": "src/prime.py", "old": "1 < n", "new": "1 < n", "all": True}


def plays(desk: Desk, begun: Played | None = None) -> Played:
    """Each turn follows from the conversation; `begun` keeps what was asked before."""
    turns = [
        [call("Edit", **FIX)],
        [call("Edit", **{**FIX, "path": "src/new.py"})],
        [call("Edit", **MORE)],
        [call("Edit", **AGAIN)],
        [call("Read", path="src/prime.py")],
        [call("repair", result="APPLIED:1")],
    ]
    return desk.plays(*turns[len(begun.asked) if begun else 0 :])


@pytest.mark.parametrize(
    "dies_at",
    [
        "src/prime.py: replaced",
        "src/prime.py: lines",
        '{"result":"APPLIED:1"',
        "diff --git",
    ],
)
async def test_a_pass_that_was_killed_makes_no_edit_twice_and_sends_nothing_twice(desk: Desk, dies_at: str) -> None:
    plays(desk)
    whole = await desk.run(pass_on(desk))
    store = Dying()
    other = Desk(desk.monkeypatch, store=store)
    request, first = pass_on(other), plays(other)
    store.dies_at = dies_at
    with pytest.raises(Unavailable, match="killed"):
        await other.run(request)
    assert first.asked, "it was killed in the middle"
    second = plays(other, first)
    result = await other.run(request)
    assert result.fixed is not None
    assert result.fixed == whole.fixed
    assert result.fixed.edits == 2
    assert content(other, result) == RIGHT.replace(b"n > 1", b"1 < n")
    assert [one.code for one in result.refused] == [one.code for one in whole.refused] == ["not_found", "same"]
    assert (len(first.asked) + len(second.asked), result.usage.remembered) == (6, len(first.asked))


class Killed(BaseException):
    """Nobody catches it."""


async def test_every_request_may_be_the_last(desk: Desk) -> None:
    """Killed when each request was sent and not answered: what was answered is not asked again."""
    plays(desk)
    whole = await desk.run(pass_on(desk))
    for place in range(6):
        other = Desk(desk.monkeypatch)
        played = plays(other)
        played.turns = [*played.turns[:place], Killed()]
        with pytest.raises(Killed):
            await other.run(pass_on(other))
        rest = other.plays(*plays(other).turns[place:])
        result = await other.run(pass_on(other))
        assert (result.fixed, result.usage.remembered, len(rest.asked)) == (whole.fixed, place, 6 - place)


async def test_a_script_plays_it(desk: Desk, tmp_path: Path) -> None:
    turns = [
        {"stage": "fix", "tool": {"name": "Edit", "arguments": FIX}, "cost_usd": 0.25},
        {"role": "fix_builder", "answer": APPLIED},
    ]
    (tmp_path / "play.json").write_text(json.dumps(turns))
    desk.agents = Agents(model="script:play.json")
    request = pass_on(desk)
    result = await desk.run(request, root=tmp_path)
    assert (result.outcome, content(desk, result), result.provenance.scripted) == ("answered", RIGHT, True)
    assert result.usage.micros == 250_000
    assert desk.ledger.spent("local", "todo", 1, "fix_builder").micros == 250_000
    again = await desk.run(request, root=tmp_path)
    assert (again.fixed, again.usage.remembered) == (result.fixed, 2)
    assert desk.ledger.spent("local").micros == 250_000


async def test_without_its_feedback_there_is_nothing_to_go_by(desk: Desk) -> None:
    desk.plays([call("repair", result="COULD_NOT_APPLY: no")])
    with pytest.raises(Unavailable):
        await desk.run(pass_on(desk, feedback="0" * 64))
