"""A check that comes to another engine than the one its image was made ready on runs on what that engine has."""

from __future__ import annotations

import json
from typing import Any

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.checks import CheckActivities
from domain.base import sha256_hex
from domain.checks import BaseOutcome, CheckResult, Item, Outcome
from domain.command_criteria import CommandExitZero, ExitParams
from domain.criteria import FileExists, FileExistsParams
from domain.errors import Cause, Unavailable
from domain.messages import CheckInput, Image, SetupInput
from domain.order import Resources
from domain.ports import CheckContext, Finding, Progress
from tests.fakes.evidence import MemoryStore
from tests.fakes.rounds import SaidSandbox

PASS = Finding(outcome=Outcome.PASSED, code="ok", text="exit code 0", exit_code=0)
COMMAND = CommandExitZero(id="c", type="command_exit_zero", params=ExitParams(command="run"))
THERE = FileExists(id="f", type="file_exists", params=FileExistsParams(path="a"))
PYTHON = Image(reference="countersign/python:1", id="sha256:first")
SET_UP = SetupInput(image=PYTHON, base="b" * 64, setup=("install",))


class Engine(SaidSandbox):
    """It has each image under an id of its own, and notes what it was asked for."""

    def __init__(self, name: str) -> None:
        super().__init__({})
        self.name = name
        self.asked: list[tuple[str, SetupInput | None]] = []

    async def ready(self, image: Image, setup: SetupInput | None, progress: Progress) -> Image:
        self.asked.append((image.reference, setup))
        if image.reference == "nowhere:1":
            raise Unavailable(Cause.IMAGE_MISSING, "no image nowhere:1", "build it")
        return image.model_copy(update={"id": f"sha256:{image.reference} on {self.name}"})


class Checker:
    """It passes everything, and notes on what."""

    type = "command_exit_zero"

    def __init__(self) -> None:
        self.contexts: list[CheckContext] = []

    async def check(self, item: Item, context: CheckContext) -> Finding:
        self.contexts.append(context)
        return PASS


def asked(criterion: CommandExitZero | FileExists = COMMAND, **more: Any) -> CheckInput:
    fields: dict[str, Any] = {
        **{"session": "local", "todo": "wo-1", "attempt": 1, "round": "round/local/wo-1/1"},
        **{"item": Item(spelling="check", criterion=criterion), "tree": "1" * 64, "resources": Resources()},
        **{"image": PYTHON.id, "reference": PYTHON.reference},
    }
    return CheckInput(**{**fields, **more})


class Bench:
    """Activities on some engine, over a store that several may share."""

    def __init__(self, engine: Engine, store: MemoryStore) -> None:
        self.checker = Checker()
        self.activities = CheckActivities(
            {"command_exit_zero": self.checker, "file_exists": self.checker}, store, engine
        )

    async def run(self, request: CheckInput) -> CheckResult:
        result: CheckResult = await ActivityEnvironment().run(self.activities.run, request)
        return result

    async def run_on_base(self, request: CheckInput) -> BaseOutcome:
        base: BaseOutcome = await ActivityEnvironment().run(self.activities.run_on_base, request)
        return base


async def test_it_runs_on_what_this_engine_has_and_its_evidence_says_so() -> None:
    engine, store = Engine("b"), MemoryStore()
    bench = Bench(engine, store)
    result = await bench.run(asked(set_up=SET_UP, probe_image="sha256:p", probe_reference="countersign/probe:1"))
    (context,) = bench.checker.contexts
    assert context.image == "sha256:countersign/python:1 on b"
    assert context.probe_image == "sha256:countersign/probe:1 on b"
    assert json.loads(store.get(result.evidence))["image"] == context.image
    assert engine.asked == [("countersign/python:1", SET_UP), ("countersign/probe:1", None)]


@pytest.mark.parametrize(
    "request_",
    [asked(THERE), asked(reference=""), asked(THERE, reference="nowhere:1")],
    ids=["no container", "an input of before", "no container, no image"],
)
async def test_what_needs_no_image_or_names_none_asks_for_none(request_: CheckInput) -> None:
    engine = Engine("b")
    bench = Bench(engine, MemoryStore())
    assert (await bench.run(request_)).passed
    assert (engine.asked, bench.checker.contexts[0].image) == ([], PYTHON.id)


async def test_an_image_that_cannot_be_had_here_is_no_verdict() -> None:
    with pytest.raises(ApplicationError) as raised:
        await Bench(Engine("b"), MemoryStore()).run(asked(reference="nowhere:1"))
    assert raised.value.details[0] == Cause.IMAGE_MISSING.value


async def test_a_run_on_the_base_is_taken_from_an_engine_with_the_same_image_only() -> None:
    store = MemoryStore()
    first, same, other = (Bench(Engine(name), store) for name in ("a", "a", "b"))
    outcomes = [await bench.run_on_base(asked(image=sha256_hex(b"any"))) for bench in (first, same, other)]
    assert [len(bench.checker.contexts) for bench in (first, same, other)] == [1, 0, 1]
    assert outcomes[0] == outcomes[1]
    assert outcomes[0].evidence != outcomes[2].evidence
