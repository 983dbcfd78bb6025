"""`python -m bench`: measure, then write `bench/results.json` and `docs/performance.md`. It stays on this machine."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench import cost, fairness, machine, memory, page, rounds, sessions, starts, structured, trails, updates
from bench.project import CannotMeasure
from domain.errors import CountersignError

ROOT = Path(__file__).resolve().parent.parent
RUNS = 10
QUICK_RUNS = 3

Part = Callable[[Path, int, bool], dict[str, Any]]
PARTS: dict[str, Part] = {
    "starts": starts.measure,
    "trails": trails.measure,
    "cost": cost.measure,
    "memory": memory.measure,
    "rounds": rounds.measure,
    "structured": structured.measure,
    "sessions": sessions.measure,
    "updates": updates.measure,
    "fairness": fairness.measure,
}


def measured(names: Sequence[str], runs: int, quick: bool) -> dict[str, Any]:
    """The named parts, each in a folder that is removed; one that cannot be measured says why."""
    results: dict[str, Any] = {"machine": machine.facts(), "runs": runs, "quick": quick, "measured": {}}
    for name in names:
        print(f"{name} ...", file=sys.stderr, flush=True)
        load = round(os.getloadavg()[0], 2)
        with tempfile.TemporaryDirectory(prefix="countersign-bench-") as folder:
            try:
                found = PARTS[name](Path(folder), runs, quick)
                results["measured"][name] = {**found, "load_before": load, "runs": runs}
            except (CannotMeasure, CountersignError, subprocess.SubprocessError) as error:
                results["measured"][name] = {"skipped": str(error)}
    return results


def main() -> None:
    """Measure what is asked for; parts that are not keep what the last run found."""
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--only", default=",".join(PARTS), help=f"some of {','.join(PARTS)}")
    parser.add_argument("--quick", action="store_true", help="few runs, the small tree, seven checks: to see it work")
    parser.add_argument("--runs", type=int, help=f"of each (default: {RUNS}, quick: {QUICK_RUNS})")
    parser.add_argument("--results", type=Path, default=ROOT / "bench" / "results.json")
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "performance.md")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # on the way out, hosts and folders go
    names = [name for name in asked.only.split(",") if name]
    if unknown := [name for name in names if name not in PARTS]:
        parser.error(f"{unknown[0]!r} is none of {', '.join(PARTS)}")
    results = measured(names, asked.runs or (QUICK_RUNS if asked.quick else RUNS), asked.quick)
    if asked.quick:
        print(page.section(results))
        return
    before = json.loads(asked.results.read_text())["measured"] if asked.results.exists() else {}
    results["measured"] = {**before, **results["measured"]}
    asked.results.write_text(json.dumps(results, indent=2) + "\n")
    asked.page.write_text(page.written(asked.page.read_text(), results))
    print(page.section(results))


if __name__ == "__main__":
    main()
