"""Commands and their controls through a scripted sandbox: what is run where, at the same time, and what is not."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from adapters.checkers.again import Again
from adapters.checkers.exit_zero import CommandExitZeroChecker
from domain.base import canonical_json
from domain.checks import Item, Observation, Outcome
from domain.command_criteria import CommandExitZero, ExitParams
from domain.errors import Cause, Unavailable
from domain.order import Resources
from domain.ports import CheckContext, Finding, RunRequest
from domain.tree import Entry, Manifest
from tests.fakes.evidence import MemoryStore
from tests.unit.test_checkers import Scripted

TEST = b'[ "$(sh a.sh)" = "Hello" ] || exit 1\n'
BASE = {"a.sh": b"exit 3\n", "tests/a.sh": TEST}
WORK = {**BASE, "a.sh": b"echo Hello\n"}
PATCH = b"--- a/a.sh\n+++ b/a.sh\n@@ -1 +1 @@\n-echo Hello\n+echo Bye\n"
PASSES = Observation(exit_code=0)
FAILS = Observation(exit_code=1)


def stored(store: MemoryStore, files: dict[str, bytes]) -> str:
    entries = [Entry(path=path, size=len(data), digest=store.put(data)) for path, data in files.items()]
    return store.put(Manifest.of(entries).encode())


class World(Scripted):
    """A sandbox that knows its trees by name: `work`, `base`, and each with something done to it."""

    def __init__(self, **said: Observation | Unavailable) -> None:
        super().__init__(PASSES)
        self.said = said
        self.store = MemoryStore()
        self.trees = {stored(self.store, BASE): "base", stored(self.store, WORK): "work"}
        self.ran: list[str] = []
        self.together = 0
        self.meet = 1  # so many have to have begun before one of them ends
        self.lasts = 0.02
        self.begun = asyncio.Event()

    def name(self, request: RunRequest) -> str:
        """The tree, `changed` after it where something was done to it; and the command, if it is the control's."""
        tree = self.trees.get(request.tree)
        if tree is None:
            entry = Manifest.decode(self.store.get(request.tree)).by_path
            tree = "base_changed" if entry["a.sh"].digest == self.store.put(BASE["a.sh"]) else "work_changed"
        return f"{tree}_control" if request.command == "break it" else tree

    async def run(self, request: RunRequest) -> Observation:
        self.ran.append(self.name(request))
        self.requests.append(request)
        if len(self.ran) >= self.meet:
            self.begun.set()
        self.together += 1
        try:
            async with asyncio.timeout(60):
                await self.begun.wait()
            said = self.said.get(self.name(request), PASSES)
            if isinstance(said, Unavailable):
                raise said
            await asyncio.sleep(self.lasts)
        finally:
            self.together -= 1
        return said

    async def check(
        self, command: str = "sh tests/a.sh", control: dict[str, Any] | None = None, **more: Any
    ) -> Finding:
        base, work = self.trees
        params = ExitParams.model_validate({"command": command, "control": control})
        criterion = CommandExitZero(id="c", type="command_exit_zero", timeout=5.0, params=params)
        fields = {
            **{"round": "round/s/t/1", "tree": work, "image": "sha256:1", "resources": Resources(), "base": base},
            **{"trusted": self.store.put(canonical_json(["tests/a.sh"]))},
            **{"order_files": stored(self.store, {"break.patch": PATCH})},
        }
        checker = CommandExitZeroChecker(self, self.store)
        context = CheckContext.model_validate({**fields, **more})
        return await checker.check(Item(spelling="check", criterion=criterion), context)


PATCHED = {"patch": "break.patch"}
OTHER = {"command": "break it"}


@pytest.mark.parametrize(
    ("control", "ran"),
    [
        (None, ["work", "work_changed"]),
        (PATCHED, ["work", "work_changed"]),
        (OTHER, ["work", "work_control"]),
    ],
)
async def test_a_control_that_fails_runs_beside_the_check(control: dict[str, Any] | None, ran: list[str]) -> None:
    world = World(work_changed=FAILS, work_control=FAILS)
    world.meet = 2
    finding = await world.check(control=control)
    assert (finding.outcome, finding.code, finding.text) == (Outcome.PASSED, "ok", "exit code 0")
    assert finding.control
    assert finding.control.outcome == "noticed"
    assert sorted(world.ran) == ran, "the base need not be asked"
    assert len({request.key for request in world.requests}) == 2
    assert not finding.out_of_process


@pytest.mark.parametrize(
    ("control", "ran"),
    [
        (None, ["base", "base_changed", "work", "work_changed"]),
        (PATCHED, ["work", "work_changed"]),
        (OTHER, ["base_control", "work", "work_control"]),
    ],
)
async def test_a_control_that_passes_is_held_against_the_base(control: dict[str, Any] | None, ran: list[str]) -> None:
    world = World(base=FAILS, base_changed=FAILS, base_control=FAILS)
    finding = await world.check(control=control)
    assert (finding.outcome, finding.code) == (Outcome.FAILED, "subverted")
    assert finding.next_step
    assert sorted(world.ran) == ran
    await world.check(control=control)
    assert sorted(world.ran) == sorted([*ran, *(name for name in ran if "base" not in name)]), "the base is remembered"


async def test_a_check_that_fails_says_so_whatever_its_control_does() -> None:
    world = World(work=FAILS)
    finding = await world.check()
    assert (finding.code, finding.control) == ("exit_code", None)
    assert "base" not in world.ran
    finding = await world.check(control={"patch": "nowhere.patch"})
    assert finding.code == "exit_code"


async def test_a_control_that_cannot_be_used_is_no_verdict() -> None:
    finding = await World().check(control={"patch": "nowhere.patch"})
    assert (finding.outcome, finding.code) == (Outcome.COULD_NOT_RUN, "control_unusable")
    assert "nowhere.patch" in finding.text
    assert finding.next_step


@pytest.mark.parametrize(
    "more",
    [
        {"base": ""},
        {"controls": False},
        {"command": "ruff check tests"},
        {"command": "sh -n tests/a.sh"},
    ],
)
async def test_where_there_is_no_control(more: dict[str, Any]) -> None:
    world = World()
    finding = await world.check(**more)
    assert (finding.code, finding.control, world.ran) == ("ok", None, ["work"])


async def test_tests_without_a_value_to_change_are_run_on_the_base() -> None:
    world = World(base=FAILS)
    finding = await world.check(trusted="")
    assert (finding.code, finding.control, world.ran) == ("ok", None, ["work", "base"])


def says(output: str, exit_code: int = 0) -> Observation:
    return Observation(exit_code=exit_code, stdout=output)


MADE = {
    "as many": ("3 passing\n", says("3 passing\n"), "ok"),
    "more": ("4 passing\n", says("2 passing\n1 failing\n", 1), "ok"),
    "fewer": ("2 passing\n1 pending\n", says("3 passing\n"), "tests_missing"),
    "no counts any more": ("done\n", says("3 passing\n"), "tests_missing"),
    "its own": ("2 passing\n", says("0 passing\n"), "no_trusted_tests"),
    "its own, where the base has no such script": (
        "2 passing\n",
        says('npm error Missing script: "test"\n', 1),
        "no_trusted_tests",
    ),
    "a base that ended before it had a count": ("2 passing\n", says("SyntaxError\n", 1), "ok"),
    "none": ("0 passing\n3 pending\n", says("3 passing\n"), "nothing_passed"),
}


@pytest.mark.parametrize(("head", "base", "code"), MADE.values(), ids=MADE)
@pytest.mark.parametrize("control", [None, OTHER])
async def test_as_many_tests_run_as_on_the_base(head: str, base: Observation, code: str, control: Any) -> None:
    world = World(work=says(head), base=base, work_control=FAILS)
    finding = await world.check(control=control, trusted="")
    if control and head == "done\n":
        code = "ok"  # a control that fails stands for tests that are not counted
    assert (finding.code, finding.outcome is Outcome.PASSED) == (code, code == "ok")
    criterion = CommandExitZero.model_validate(finding.seen["criterion"])
    item = Item(spelling="check", criterion=criterion)
    assert await Again(world.store).judge(item, finding, world.requests[0].tree) == (finding.outcome, code)


async def test_a_linter_is_judged_by_its_exit_code_whatever_it_prints() -> None:
    world = World(work=says("0 passing\n"), base=says("3 passing\n"))
    assert (await world.check(command="ruff check tests")).code == "ok"


@pytest.mark.parametrize("which", ["work", "work_changed"])
async def test_a_run_that_could_not_tell_ends_the_others(which: str) -> None:
    world = World(**{which: Unavailable(Cause.ENGINE_UNAVAILABLE, "gone", "start it")})
    world.meet = 2
    if which == "work":  # while the check itself is run to its end, whatever its control does
        world.lasts = 3600.0
    with pytest.raises(Unavailable):
        async with asyncio.timeout(60):
            await world.check()
    assert world.together == 0
