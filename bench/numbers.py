"""Medians of interleaved runs, and ratios of them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

WARM_UP = 1
"""Runs of each that are not counted: caches fill, images load, limits are proven."""


def interleaved(
    runs: int, measured: Mapping[str, Callable[[], float]], warm_up: int = WARM_UP
) -> dict[str, list[float]]:
    """What each came to, a/b/c, a/b/c, ...: what disturbs the machine disturbs them all. `warm_up` runs are dropped."""
    found: dict[str, list[float]] = {name: [] for name in measured}
    for number in range(warm_up + runs):
        for name, measure in measured.items():
            value = measure()
            if number >= warm_up:
                found[name].append(value)
    return found


def seconds(work: Callable[[], object]) -> float:
    """How long `work` takes on the clock."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def summary(values: Sequence[float], digits: int = 3) -> dict[str, Any]:
    """Median, least and most, and of how many."""
    return {
        "median": round(statistics.median(values), digits),
        "min": round(min(values), digits),
        "max": round(max(values), digits),
        "runs": len(values),
    }


def ratio(over: Sequence[float], under: Sequence[float]) -> float:
    """Of the medians."""
    return round(statistics.median(over) / statistics.median(under), 2)
