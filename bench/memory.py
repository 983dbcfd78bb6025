"""What the host holds in memory: idle before and after rounds, and at most while one runs."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import psutil

from bench.numbers import summary
from bench.project import LARGE, SMALL, Project, opened

IDLE_SECONDS = 5.0
SAMPLE_SECONDS = 0.2
CHECKS = 20


def measure(folder: Path, runs: int, quick: bool) -> dict[str, Any]:
    """Megabytes (10^6 bytes) of supervisor, server and worker: PSS, RSS, and what is not backed by files."""
    with opened(folder, SMALL if quick else LARGE) as project:
        project.verify(1)
        idle = []
        for _ in range(runs):
            project.countersign("down")
            project.countersign("up")
            time.sleep(IDLE_SECONDS)
            idle.append(_of_each(project))
        peaks = [_peak(project) for _ in range(max(1, runs // 3))]
        time.sleep(IDLE_SECONDS)
        after = _of_each(project)
    kinds = ("pss", "rss", "anonymous")
    return {
        "idle": {kind: summary([sum(part[kind] for part in sample.values()) for sample in idle], 1) for kind in kinds},
        "idle_of_each": idle[-1],
        "peak_pss": summary(peaks, 1),
        "after_rounds": {kind: round(sum(part[kind] for part in after.values()), 1) for kind in kinds},
    }


def _of_each(project: Project) -> dict[str, dict[str, float]]:
    return {name: _memory(process) for name, process in project.processes().items()}


def _memory(process: psutil.Process) -> dict[str, float]:
    full = process.memory_full_info()
    rollup = Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines()
    anonymous = next(int(line.split()[1]) for line in rollup if line.startswith("Anonymous:"))
    return {"pss": full.pss / 1e6, "rss": full.rss / 1e6, "anonymous": anonymous * 1024 / 1e6}


def _peak(project: Project) -> float:
    """The most at once during a round."""
    processes, over, seen = list(project.processes().values()), threading.Event(), [0.0]

    def watch() -> None:
        while not over.wait(SAMPLE_SECONDS):
            seen.append(_pss(processes))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        project.verify(CHECKS)
    finally:
        over.set()
        watcher.join()
    return max(seen)


def _pss(processes: Iterable[psutil.Process]) -> float:
    return sum(process.memory_full_info().pss for process in processes) / 1e6
