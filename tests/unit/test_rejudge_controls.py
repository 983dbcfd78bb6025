"""Rounds with controls and flakes, judged once more: no drift as they are, and drift where the evidence says else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from domain.base import canonical_json
from domain.checks import CheckResult, Observation
from domain.ports import Finding
from domain.rejudge import Rejudged
from entrypoints import exporting
from entrypoints.rejudging import Rejudging
from tests.fakes.rounds import World

PASSES = Observation(exit_code=0)
FAILS = Observation(exit_code=1, stderr="boom\n")


def order_of(**verification: Any) -> dict[str, Any]:
    check = {"name": "tests", "command": "run tests", "control": {"command": "break it"}}
    return {"verification": {"checks": [check], **verification}}


async def judged(world: World, **fields: Any) -> tuple[CheckResult, Rejudged]:
    """A round's one result, and what judging the round again comes to."""
    record = await world.verify(world.order(**fields))
    (result,) = record.results
    return result, await again(world)


async def again(world: World) -> Rejudged:
    rows = exporting.rows_of(world.trail, "local", "wo-1", 1)
    verdict = exporting.verdict_of(rows)
    assert verdict is not None
    return await Rejudging(world.store, rows, verdict).run()


@pytest.mark.parametrize(
    ("said", "more", "code"),
    [
        ({"run tests": PASSES, "break it": FAILS}, {}, "ok"),
        ({"run tests": PASSES, "break it": PASSES}, {}, "control_unusable"),
        ({"run tests": FAILS, "break it": FAILS}, {}, "exit_code"),
        ({"run tests": FAILS, "again run tests": PASSES, "break it": FAILS}, {}, "flaky"),
        ({"run tests": FAILS, "again run tests": PASSES, "break it": FAILS}, {"on_flaky": "pass"}, "flaky"),
        ({"run tests": FAILS, "break it": FAILS}, {"retries_on_failure": 3}, "exit_code"),
    ],
)
async def test_the_same_evidence_gives_the_same_verdict(
    tmp_path: Path, said: dict[str, Observation], more: dict[str, Any], code: str
) -> None:
    result, found = await judged(World(tmp_path, said=said), **order_of(**more))
    assert result.code == code
    assert (found.drift, found.damaged, found.compared) == ((), {}, ())
    assert found.rederived[0] == "tests"
    assert found.decided == found.recorded != ""


async def test_a_control_that_was_passed_is_found_in_the_evidence(tmp_path: Path) -> None:
    world = World(tmp_path, said={"run tests": PASSES, "break it": FAILS})
    result, found = await judged(world, **order_of())
    assert found.drift == ()
    body = json.loads(world.store.get(result.evidence))
    body["finding"]["seen"]["control"]["runs"][0]["observation"]["exit_code"] = 0
    assert Finding.model_validate(body["finding"]).code == "ok"
    rows = exporting.rows_of(world.trail, "local", "wo-1", 1)
    rejudging = Rejudging(world.store, rows, rows[-1])
    assert (await rejudging._judged("tests", body)).code == "subverted"
    assert [drift.found for drift in rejudging._drift] == ["failed", "subverted"]


@pytest.mark.parametrize("which", [0, 1])
async def test_a_run_that_went_otherwise_is_drift(tmp_path: Path, which: int) -> None:
    world = World(tmp_path, said={"run tests": FAILS, "again run tests": PASSES, "break it": FAILS})
    result, _ = await judged(world, **order_of())
    body = json.loads(world.store.get(result.evidence))
    observed = body["findings"][which]["seen"]["observation"]
    observed["exit_code"] = 1 - observed["exit_code"]
    rows = exporting.rows_of(world.trail, "local", "wo-1", 1)
    rejudging = Rejudging(world.store, rows, rows[-1])
    await rejudging._judged("tests", json.loads(canonical_json(body)))
    assert {drift.where for drift in rejudging._drift} == {"evidence"}


async def test_a_finding_that_stands_for_other_runs_is_drift(tmp_path: Path) -> None:
    world = World(tmp_path, said={"run tests": FAILS, "again run tests": PASSES, "break it": FAILS})
    result, _ = await judged(world, **order_of())
    body = json.loads(world.store.get(result.evidence))
    body["finding"]["stderr"] = "something else\n"
    rows = exporting.rows_of(world.trail, "local", "wo-1", 1)
    rejudging = Rejudging(world.store, rows, rows[-1])
    await rejudging._judged("tests", body)
    assert [drift.field for drift in rejudging._drift] == ["tests.stderr"]
