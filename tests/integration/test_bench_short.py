"""`make bench` works: each part once, and the shape of what it finds. How fast things are `make bench` says."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench import machine, numbers, page
from bench.__main__ import PARTS, measured

SHAPES: dict[str, set[str]] = {
    "starts": {"starts"},
    "trails": {"sqlite", "postgresql"},
    "cost": {"checks", "events", "events_ratio", "cpu_ms", "cpu_ratio"},
    "memory": {"idle", "idle_of_each", "peak_pss", "after_rounds"},
    "rounds": {"rounds"},
    "structured": {"suites"},
    "sessions": {"one_activity", "sizes", "ratios", "events_ratio", "cpu_an_event_ratio"},
    "fairness": {"kinds"},
    "updates": {"updates"},
}


@pytest.fixture
def scratch() -> Iterator[Path]:
    """A folder that the user whom PostgreSQL runs as can enter, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        folder.chmod(0o711)
        yield folder


def numbers_in(value: Any) -> list[float]:
    if isinstance(value, dict):
        return [number for part in value.values() for number in numbers_in(part)]
    if isinstance(value, list):
        return [number for part in value for number in numbers_in(part)]
    return [float(value)] if isinstance(value, int | float) else []


def unrounded(over: list[float], under: list[float]) -> float:
    """As `numbers.ratio`: where a machine stands still in one run alone, what is left of it is little, and not 0."""
    return statistics.median(over) / statistics.median(under)


LONG = {"rounds", "cost", "memory", "structured", "starts", "sessions", "fairness", "updates"}
"""Parts that start hosts or servers of their own; what else a `verify` of theirs could show, other tests do."""


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow if name in LONG else ()) for name in PARTS])
def test_a_part_measures_and_leaves_nothing(name: str, scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    monkeypatch.setattr("bench.memory.IDLE_SECONDS", 0.1)
    monkeypatch.setattr("bench.trails.ratio", unrounded)
    results = measured([name], runs=1, quick=True)
    part = results["measured"][name]
    assert part.keys() == SHAPES[name] | {"load_before", "runs"}, part
    assert all(number > 0 for number in numbers_in(part) if number != part["load_before"])
    assert not list(scratch.iterdir())
    shown = page.section(results)
    assert "not measured:" not in shown
    assert machine.facts()["cores"] >= 1


@pytest.mark.slow
def test_what_cannot_be_measured_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    results = measured(["rounds"], runs=1, quick=True)
    assert "docker" in results["measured"]["rounds"]["skipped"]
    assert "not measured: " in page.section(results)


def test_runs_are_interleaved_and_the_first_is_dropped() -> None:
    order: list[str] = []

    def run(name: str) -> float:
        order.append(name)
        return float(len(order))

    found = numbers.interleaved(2, {"a": lambda: run("a"), "b": lambda: run("b")})
    assert order == ["a", "b", "a", "b", "a", "b"]
    assert found == {"a": [3, 5], "b": [4, 6]}
    assert numbers.ratio(found["b"], found["a"]) == 1.25
    assert numbers.summary([1, 2, 9])["median"] == 2


def test_the_page_keeps_what_people_wrote() -> None:
    results = {"machine": machine.facts(), "runs": 1, "measured": {}}
    text = page.written(f"before\n{page.BEGIN}\nwhat was measured before\n{page.END}\nafter\n", results)
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "measured before" not in text
    assert "at most 0.75" in text
    with pytest.raises(ValueError, match="measured"):
        page.written("no marks", results)
